//! How our schemas get into a registry: whether they are compatible is asked before they are registered.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use wire::schemas::{self, BundledSchema};

use crate::{SchemaRegistry, cache::OwnSchemaId, client::RegistryError};

/// Every reader must be able to read what was written before it.
const LEVEL: &str = "BACKWARD";

/// Schemas that the registry does not take: somebody has to set that right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SchemaRefusedError(pub String);

/// What a registry makes of a schema of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SchemaStanding {
    /// It has been there.
    Registered(u32),
    /// It is compatible with the latest version, or the first.
    Wanting { is_first: bool },
}

/// Registers the schema of every topic, or only says what would be done; a line for each thing.
pub async fn migrate_registry(
    registry: &SchemaRegistry,
    prefix: &str,
    check: bool,
) -> anyhow::Result<Vec<String>> {
    let (mut done, mut wrong) = (Vec::new(), Vec::new());
    for bundled in schemas::bundled_schemas() {
        let subject = subject_name(prefix, bundled.topic);
        match registry.settle_schema(&subject, &bundled, check).await {
            Ok(line) => done.extend(line),
            // Of the others it would be said again, and each time late.
            Err(error) if matches!(error.downcast_ref(), Some(RegistryError::Unreachable(_))) => {
                return Err(error);
            }
            Err(error) => wrong.push(format!("schema {subject}: {error:#}")),
        }
    }
    if wrong.is_empty() { Ok(done) } else { Err(SchemaRefusedError(wrong.join("\n")).into()) }
}

/// The name under which the records of a topic are registered.
pub(crate) fn subject_name(prefix: &str, topic: &str) -> String {
    format!("{prefix}{topic}-value")
}

impl SchemaRegistry {
    /// Sees to one schema; says what was done, or would be.
    async fn settle_schema(
        &self,
        subject: &str,
        bundled: &BundledSchema,
        check: bool,
    ) -> anyhow::Result<Option<String>> {
        let (id, line) = match self.find_standing(subject, bundled.text).await? {
            SchemaStanding::Registered(id) => (id, None),
            SchemaStanding::Wanting { .. } if check => {
                return Ok(Some(format!("schema {subject} is to be registered")));
            }
            SchemaStanding::Wanting { is_first } => {
                let id = self.register(subject, bundled.text, is_first).await?;
                (id, Some(format!("schema {subject} registered as {id}")))
            }
        };
        self.cache.learn_own_schema_id(subject, OwnSchemaId { id, header: bundled.header()?.to_vec() });
        Ok(line)
    }

    /// The id under which a schema is registered already.
    async fn find_registered(&self, subject: &str, schema: &Value) -> anyhow::Result<Option<u32>> {
        match self.client.post(&format!("/subjects/{subject}"), schema).await {
            Ok(found) => read_schema_id(&found).map(Some),
            Err(RegistryError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn find_standing(&self, subject: &str, text: &str) -> anyhow::Result<SchemaStanding> {
        let schema = json!({"schema": text, "schemaType": "AVRO"});
        if let Some(id) = self.find_registered(subject, &schema).await? {
            return Ok(SchemaStanding::Registered(id));
        }
        let path = format!("/compatibility/subjects/{subject}/versions/latest?verbose=true");
        let answer = match self.client.post(&path, &schema).await {
            Ok(answer) => answer,
            Err(RegistryError::Refused { status: 404, .. }) => {
                return Ok(SchemaStanding::Wanting { is_first: true });
            }
            Err(error) => return Err(error.into()),
        };
        if answer.get("is_compatible").and_then(Value::as_bool) == Some(true) {
            return Ok(SchemaStanding::Wanting { is_first: false });
        }
        let messages = answer.get("messages").filter(|all| all.as_array().is_none_or(|all| !all.is_empty()));
        let messages =
            messages.map_or_else(|| "the registry does not say why".to_owned(), ToString::to_string);
        bail!(
            "it is not compatible with the latest version there ({messages}): if another house or an \
            upstream service registered that one, set another `kafka.prefix` or delete it there"
        )
    }

    async fn register(&self, subject: &str, text: &str, is_first: bool) -> anyhow::Result<u32> {
        let schema = json!({"schema": text, "schemaType": "AVRO"});
        let id = match self.client.post(&format!("/subjects/{subject}/versions"), &schema).await {
            Ok(answer) => read_schema_id(&answer)?,
            Err(RegistryError::Refused { status: 409, message, .. }) => {
                // Another process of ours may have been quicker.
                if let Some(id) = self.find_registered(subject, &schema).await? {
                    return Ok(id);
                }
                bail!("it is not compatible with the version that is registered: {message}")
            }
            Err(error) => return Err(error.into()),
        };
        // Some registries check nothing unless they are told to.
        if is_first
            && let Err(error) =
                self.client.put(&format!("/config/{subject}"), &json!({"compatibility": LEVEL})).await
        {
            tracing::warn!(subject, %error, "the registry rejects the compatibility level");
        }
        Ok(id)
    }
}

fn read_schema_id(answer: &Value) -> anyhow::Result<u32> {
    let id = answer.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
    id.context("the registry's answer has no id")
}
