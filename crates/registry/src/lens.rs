//! How a value changes between the rooms and the log.

use std::{collections::HashMap, fmt};

use async_trait::async_trait;
use topic::TopicRecord;
use wire::{
    SchemaLookupError, SchemaSource as _, framing,
    schemas::{self, BundledSchema, split_single_object},
};

use crate::{SchemaRegistry, registration::subject_name};

/// What changes values on their way. What it does not know stays as it is.
#[async_trait]
pub(crate) trait ValueLens: Send + Sync + fmt::Debug {
    fn encode_value(&self, topic: &str, value: Vec<u8>) -> Vec<u8>;

    /// What is needed to read these records; fails if nobody can say now.
    async fn prepare(&self, records: &[TopicRecord]) -> Result<SchemaHeaderMap, String>;

    fn decode_value(&self, headers: &SchemaHeaderMap, topic: &str, value: Vec<u8>) -> Vec<u8>;
}

/// By what single objects begin, by the ids of their schemas.
pub(crate) type SchemaHeaderMap = HashMap<u32, [u8; 10]>;

/// Our records in the registry's frame.
pub(crate) struct RegistryFrame {
    registry: SchemaRegistry,
    topics: HashMap<&'static str, (String, BundledSchema)>,
}

impl RegistryFrame {
    pub fn new(registry: SchemaRegistry, prefix: &str) -> Self {
        let named = |bundled: BundledSchema| (bundled.topic, (subject_name(prefix, bundled.topic), bundled));
        Self { registry, topics: schemas::bundled_schemas().into_iter().map(named).collect() }
    }
}

impl fmt::Debug for RegistryFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryFrame").field("registry", &self.registry).finish_non_exhaustive()
    }
}

#[async_trait]
impl ValueLens for RegistryFrame {
    fn encode_value(&self, topic: &str, value: Vec<u8>) -> Vec<u8> {
        let framed = || {
            let (subject, _) = self.topics.get(topic)?;
            let (header, datum) = split_single_object(&value)?;
            // An older record that is put back keeps its own header: this id is that of one schema.
            let ours = self.registry.cache.own_schema_id(subject).filter(|ours| ours.header == header)?;
            Some(framing::add_frame(ours.id, datum))
        };
        framed().unwrap_or(value)
    }

    async fn prepare(&self, records: &[TopicRecord]) -> Result<SchemaHeaderMap, String> {
        let mut headers = SchemaHeaderMap::new();
        for record in records {
            let value = record.value.as_deref().filter(|_| self.topics.contains_key(&*record.topic));
            let Some((id, _)) = value.and_then(framing::split_frame) else { continue };
            if headers.contains_key(&id) {
                continue;
            }
            match self.registry.schema(id).await {
                Ok(writer) => drop(headers.insert(id, writer.header())),
                Err(SchemaLookupError::Unreachable(reason)) => return Err(reason),
                // Whoever reads it says so.
                Err(SchemaLookupError::Unknown(_)) => {}
            }
        }
        Ok(headers)
    }

    fn decode_value(&self, headers: &SchemaHeaderMap, topic: &str, value: Vec<u8>) -> Vec<u8> {
        let single = || {
            let (_, bundled) = self.topics.get(topic)?;
            let (id, datum) = framing::split_frame(&value)?;
            let header = headers.get(&id)?;
            bundled.reads_header(header).then(|| [header.as_slice(), datum].concat())
        };
        single().unwrap_or(value)
    }
}
