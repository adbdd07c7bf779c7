//! A schema registry that speaks Confluent's API: who upstream teams share their schemas with.
//!
//! # Tour
//!
//! [`Registry`] asks for schemas by their ids, once each, and remembers them, in memory and in a small
//! file, so that a house starts while the registry is away. [`register`](mod@register) is how ours get
//! there: whether they are compatible is asked first. [`Framed`] stands between the rooms and the log: our
//! records go out in the registry's frame and come in as what the rooms read. The schemas themselves are
//! built in; without an answer records go out in single-object encoding, and both are always read.

mod cache;
mod client;
mod framed;
mod lens;
pub mod register;

#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use runtime::Clock;
use secrecy::SecretString;
use tokio::sync::Mutex;
use wire::{NoSchema, Schemas, schemas::Writer};

pub use framed::Framed;
pub use register::{Unfit, migrate};

use cache::Cache;
use client::{Client, Trouble};

/// How to reach a registry.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Roots of the API, the next one asked where one does not answer.
    pub urls: Vec<String>,
    pub user: Option<String>,
    pub password: Option<SecretString>,
    /// Who signs its certificate, instead of those whom browsers trust.
    pub ca: Option<PathBuf>,
    /// For one question.
    pub timeout: Duration,
    /// The file of what was learned.
    pub cache: Option<PathBuf>,
}

impl Settings {
    /// With what is usual. Several addresses stand apart by commas.
    pub fn at(url: &str) -> Self {
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
pub struct Registry {
    client: Client,
    cache: Arc<Cache>,
    /// One question at a time: many records at once ask for the same schema.
    asking: Arc<Mutex<()>>,
    clock: Clock,
}

impl Registry {
    /// Reads what was learned before; asks nothing yet.
    pub fn open(settings: Settings, clock: Clock) -> anyhow::Result<Self> {
        let cache = Cache::open(settings.cache.clone(), &settings.urls);
        Ok(Self { client: Client::new(&settings)?, cache: Arc::new(cache), asking: Arc::default(), clock })
    }

    /// From memory.
    fn known(&self, id: u32) -> Option<Result<Arc<Writer>, NoSchema>> {
        self.cache.schema(id, self.clock.now())
    }

    async fn ask(&self, id: u32) -> Result<Arc<Writer>, NoSchema> {
        // Ids are signed numbers of 32 bits, and registries say all sorts of things to others.
        if i32::try_from(id).is_err() {
            return Err(NoSchema::Unknown(format!("the registry has no schema {id}")));
        }
        let answer = match self.client.get(&format!("/schemas/ids/{id}")).await {
            Ok(answer) => answer,
            Err(Trouble::Refused { status: 404, code: NO_SUCH_SCHEMA, .. }) => {
                return Err(NoSchema::Unknown(format!("the registry has no schema {id}")));
            }
            Err(Trouble::Large) => {
                return Err(NoSchema::Unknown(format!("schema {id} of the registry is too large")));
            }
            Err(error) => return Err(NoSchema::Unreachable(format!("schema {id}: {error}"))),
        };
        let unknown = |why: &str| Err(NoSchema::Unknown(format!("schema {id} of the registry {why}")));
        if answer.get("schemaType").and_then(|of| of.as_str()).is_some_and(|of| of != "AVRO") {
            return unknown("is not avro");
        }
        if answer.get("references").and_then(|all| all.as_array()).is_some_and(|all| !all.is_empty()) {
            return unknown("refers to others, which is not read");
        }
        let Some(text) = answer.get("schema").and_then(|text| text.as_str()) else {
            return Err(NoSchema::Unreachable(format!("schema {id}: the registry's answer has none")));
        };
        match Writer::parse(text) {
            Ok(writer) => Ok(self.cache.learn(id, text, writer)),
            Err(error) => unknown(&format!("cannot be read: {error}")),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("client", &self.client).finish_non_exhaustive()
    }
}

#[async_trait]
impl Schemas for Registry {
    async fn schema(&self, id: u32) -> Result<Arc<Writer>, NoSchema> {
        if let Some(known) = self.known(id) {
            return known;
        }
        let _one_at_a_time = self.asking.lock().await;
        if let Some(known) = self.known(id) {
            return known;
        }
        let answer = self.ask(id).await;
        if let Err(NoSchema::Unknown(reason)) = &answer {
            self.cache.miss(id, reason, self.clock.now() + UNKNOWN_MS);
        }
        answer
    }
}
