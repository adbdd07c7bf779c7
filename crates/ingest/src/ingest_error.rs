//! Why nothing was acknowledged: an engine is busy, full or broken.

use store::StoreError;
use topic::TopicError;

/// Why nothing was acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IngestError {
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Full(String),
    #[error("{0}")]
    Broken(String),
}

impl From<StoreError> for IngestError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Busy(_) => Self::Busy(text),
            StoreError::Full(_) => Self::Full(text),
            StoreError::Refused(_) | StoreError::Broken(_) => Self::Broken(text),
        }
    }
}

impl From<TopicError> for IngestError {
    fn from(error: TopicError) -> Self {
        let text = error.to_string();
        match error {
            TopicError::Busy(_) => Self::Busy(text),
            TopicError::Full(_) => Self::Full(text),
            TopicError::Refused(_) | TopicError::Broken(_) => Self::Broken(text),
        }
    }
}
