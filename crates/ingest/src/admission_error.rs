//! The reason and place of a refusal, and how foreign text is quoted in it.

use model::id::BadName;
use source_text::{quote_text, suggest_name};
use wire::cloud_event::join_place;

/// Why a CloudEvent was not admitted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", join_place(.at, .reason))]
pub struct AdmissionError {
    /// A JSON pointer such as `/time`, empty for the whole. Fields of the flat form are pointed to as if they
    /// stood in `data`.
    pub at: String,
    pub reason: String,
}

impl AdmissionError {
    pub fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

/// An admission that ends with a reason.
pub(crate) fn refuse_at<T>(at: impl Into<String>, reason: impl Into<String>) -> Result<T, AdmissionError> {
    Err(AdmissionError::new(at, reason))
}

/// Refuses a field that does not exist, with the one that was probably meant.
pub(crate) fn refuse_unknown_field<T>(field: &str, known: &[&str]) -> Result<T, AdmissionError> {
    let help = suggest_name(field, known.iter().copied());
    refuse_at(data_pointer(&quote_text(field)), format!("there is no field `{}`: {help}", quote_text(field)))
}

/// The pointer to a field of the data.
pub(crate) fn data_pointer(field: &str) -> String {
    format!("/data/{}", field.replace('~', "~0").replace('/', "~1"))
}

/// Why a name is wrong, without quoting all of it.
pub(crate) fn describe_bad_name(bad: &BadName) -> String {
    match bad {
        BadName::Form { text } => format!("`{}` is not of the form type:id", quote_text(text)),
        other => other.to_string(),
    }
}
