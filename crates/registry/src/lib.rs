//! A schema registry with Confluent's API, where upstream teams share their schemas.
//!
//! # Tour
//!
//! [`SchemaRegistry`] asks for schemas by their ids, once each, and remembers them, in memory and in a small
//! file, so that a house starts while the registry is away. [`registration`](mod@registration) is how ours get
//! there: whether they are compatible is asked first. [`FramedTopics`] stands between the rooms and the log: our
//! records go out in the registry's frame and come in as what the rooms read. The schemas themselves are
//! built in; without an answer records go out in single-object encoding, and both are always read.

mod cache;
mod client;
mod framed_topics;
mod lens;
pub mod metrics;
pub mod registration;

#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use runtime::Clock;
use secrecy::SecretString;
use tokio::sync::Mutex;
use wire::{SchemaLookupError, SchemaSource, schemas::WriterSchema};

pub use framed_topics::FramedTopics;
pub use registration::{SchemaRefusedError, migrate_registry};

use cache::SchemaCache;
use client::{RegistryClient, RegistryError};

/// How to reach a registry.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Roots of the API, the next one asked where one does not answer.
    pub urls: Vec<String>,
    pub user: Option<String>,
    pub password: Option<SecretString>,
    /// The certificate authorities of the registry, instead of those that the machine trusts.
    pub ca: Option<PathBuf>,
    /// For one question.
    pub timeout: Duration,
    /// The file of what was learned.
    pub cache: Option<PathBuf>,
}

impl Settings {
    /// With what is usual. Several addresses stand apart by commas.
    pub fn from_urls(url: &str) -> Self {
        let urls = url.split(',').map(|url| url.trim().trim_end_matches('/').to_owned());
        Self {
            urls: urls.filter(|url| !url.is_empty()).collect(),
            user: None,
            password: None,
            ca: None,
            timeout: Duration::from_secs(5),
            cache: None,
        }
    }
}

/// For so long it is believed that there is no schema of an id.
const UNKNOWN_MS: i64 = 10_000;
/// `Schema not found`, as the API numbers it.
const NO_SUCH_SCHEMA: i64 = 40_403;

/// A registry. Cheap to clone.
#[derive(Clone)]
pub struct SchemaRegistry {
    client: RegistryClient,
    cache: Arc<SchemaCache>,
    /// One question at a time: many records at once ask for the same schema.
    asking: Arc<Mutex<()>>,
    clock: Clock,
}

impl SchemaRegistry {
    /// Reads what was learned before; asks nothing yet.
    pub fn open(settings: Settings, clock: Clock) -> anyhow::Result<Self> {
        let cache = SchemaCache::open(settings.cache.clone(), &settings.urls);
        Ok(Self {
            client: RegistryClient::new(&settings)?,
            cache: Arc::new(cache),
            asking: Arc::default(),
            clock,
        })
    }

    /// Whether it answers, whatever it says.
    async fn answers(&self) -> bool {
        !matches!(self.client.get("/config").await, Err(RegistryError::Unreachable(_)))
    }

    /// From memory.
    fn cached_schema(&self, id: u32) -> Option<Result<Arc<WriterSchema>, SchemaLookupError>> {
        self.cache.schema(id, self.clock.now())
    }

    async fn fetch_schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError> {
        // Ids are signed numbers of 32 bits, and registries say all sorts of things to others.
        if i32::try_from(id).is_err() {
            return Err(SchemaLookupError::Unknown(format!("the registry has no schema {id}")));
        }
        let answer = match self.client.get(&format!("/schemas/ids/{id}")).await {
            Ok(answer) => answer,
            Err(RegistryError::Refused { status: 404, code: NO_SUCH_SCHEMA, .. }) => {
                return Err(SchemaLookupError::Unknown(format!("the registry has no schema {id}")));
            }
            Err(RegistryError::Large) => {
                return Err(SchemaLookupError::Unknown(format!("schema {id} of the registry is too large")));
            }
            Err(error) => return Err(SchemaLookupError::Unreachable(format!("schema {id}: {error}"))),
        };
        let unknown =
            |why: &str| Err(SchemaLookupError::Unknown(format!("schema {id} of the registry {why}")));
        if answer.get("schemaType").and_then(|of| of.as_str()).is_some_and(|of| of != "AVRO") {
            return unknown("is not Avro");
        }
        if answer.get("references").and_then(|all| all.as_array()).is_some_and(|all| !all.is_empty()) {
            return unknown("refers to other schemas, which is not supported");
        }
        let Some(text) = answer.get("schema").and_then(|text| text.as_str()) else {
            return Err(SchemaLookupError::Unreachable(format!(
                "schema {id}: the registry's answer has no schema"
            )));
        };
        match WriterSchema::parse(text) {
            Ok(writer) => Ok(self.cache.learn(id, text, writer)),
            Err(error) => unknown(&format!("cannot be read: {error}")),
        }
    }
}

impl fmt::Debug for SchemaRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaRegistry").field("client", &self.client).finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaSource for SchemaRegistry {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError> {
        if let Some(known) = self.cached_schema(id) {
            return known;
        }
        let _one_at_a_time = self.asking.lock().await;
        if let Some(known) = self.cached_schema(id) {
            return known;
        }
        let answer = self.fetch_schema(id).await;
        if let Err(SchemaLookupError::Unknown(reason)) = &answer {
            self.cache.learn_missing(id, reason, self.clock.now() + UNKNOWN_MS);
        }
        answer
    }
}
