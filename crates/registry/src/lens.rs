//! How a value changes between the rooms and the log.

use std::{collections::HashMap, fmt};

use async_trait::async_trait;
use topic::Record;
use wire::{
    NoSchema, Schemas as _, framing,
    schemas::{self, Bundled, single_object},
};

use crate::{Registry, register::subject};

/// What changes values on their way. What it does not know stays as it is.
#[async_trait]
pub(crate) trait Lens: Send + Sync + fmt::Debug {
    fn out(&self, topic: &str, value: Vec<u8>) -> Vec<u8>;

    /// What is needed to read these records; fails if nobody can say now.
    async fn prepare(&self, records: &[Record]) -> Result<Headers, String>;

    fn back(&self, headers: &Headers, topic: &str, value: Vec<u8>) -> Vec<u8>;
}

/// By what single objects begin, by the ids of their schemas.
pub(crate) type Headers = HashMap<u32, [u8; 10]>;

/// Our records in the registry's frame.
pub(crate) struct Frame {
    registry: Registry,
    topics: HashMap<&'static str, (String, Bundled)>,
}

impl Frame {
    pub fn new(registry: Registry, prefix: &str) -> Self {
        let named = |bundled: Bundled| (bundled.topic, (subject(prefix, bundled.topic), bundled));
        Self { registry, topics: schemas::all().into_iter().map(named).collect() }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("registry", &self.registry).finish_non_exhaustive()
    }
}

#[async_trait]
impl Lens for Frame {
    fn out(&self, topic: &str, value: Vec<u8>) -> Vec<u8> {
        let framed = || {
            let (subject, _) = self.topics.get(topic)?;
            let (header, datum) = single_object(&value)?;
            // An older record that is put back keeps its own header: this id is that of one schema.
            let ours = self.registry.cache.ours(subject).filter(|ours| ours.header == header)?;
            Some(framing::framed(ours.id, datum))
        };
        framed().unwrap_or(value)
    }

    async fn prepare(&self, records: &[Record]) -> Result<Headers, String> {
        let mut headers = Headers::new();
        for record in records {
            let value = record.value.as_deref().filter(|_| self.topics.contains_key(&*record.topic));
            let Some((id, _)) = value.and_then(framing::unframed) else { continue };
            if headers.contains_key(&id) {
                continue;
            }
            match self.registry.schema(id).await {
                Ok(writer) => drop(headers.insert(id, writer.header())),
                Err(NoSchema::Unreachable(reason)) => return Err(reason),
                // Whoever reads it says so.
                Err(NoSchema::Unknown(_)) => {}
            }
        }
        Ok(headers)
    }

    fn back(&self, headers: &Headers, topic: &str, value: Vec<u8>) -> Vec<u8> {
        let single = || {
            let (_, bundled) = self.topics.get(topic)?;
            let (id, datum) = framing::unframed(&value)?;
            let header = headers.get(&id)?;
            bundled.reads(header).then(|| [header.as_slice(), datum].concat())
        };
        single().unwrap_or(value)
    }
}
