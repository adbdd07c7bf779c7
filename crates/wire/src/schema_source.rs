//! The schemas that others wrote with, and the port by which they are asked for.

use std::{fmt, sync::Arc};

use apache_avro::{Schema, schema::ResolvedSchema};
use async_trait::async_trait;

use crate::codec::{HEADER_BYTES, schema_header, shorten_text};

/// Bytes of a schema of others.
pub const SCHEMA_BYTES_MAX: usize = 512 * 1024;

/// The source of foreign schemas, by their ids.
#[async_trait]
pub trait SchemaSource: Send + Sync + fmt::Debug {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError>;
}

/// Why there is no schema of an id.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaLookupError {
    /// There will be none: what was written with it cannot be read.
    #[error("{0}")]
    Unknown(String),
    /// Nobody can say now: try again.
    #[error("{0}")]
    Unreachable(String),
}

/// For a house without a registry.
#[derive(Clone, Copy, Debug)]
pub struct NoSchemaSource;

#[async_trait]
impl SchemaSource for NoSchemaSource {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError> {
        let reason = format!("it was written with schema {id} of a registry, and none is configured");
        Err(SchemaLookupError::Unknown(reason))
    }
}

/// A schema that somebody wrote with.
pub struct WriterSchema {
    pub(crate) schema: Schema,
    header: [u8; HEADER_BYTES],
}

impl WriterSchema {
    /// Reads a schema's text, which comes from outside.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(format!("the schema has {} bytes, more than {SCHEMA_BYTES_MAX}", text.len()));
        }
        let error = |error: apache_avro::Error| shorten_text(&error.to_string());
        let schema = Schema::parse_str(text).map_err(error)?;
        ResolvedSchema::new(&schema).map_err(error)?;
        Ok(Self { header: schema_header(&schema)?, schema })
    }

    /// By what a record of this schema begins in single-object encoding.
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        self.header
    }
}

impl fmt::Debug for WriterSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriterSchema({:02x?})", &self.header[2..])
    }
}
