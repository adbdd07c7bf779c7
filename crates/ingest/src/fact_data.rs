//! The data of a fact or of feedback: fields of ours, and subjects that the catalogue declares.

use catalogue::Catalogue;
use model::{SubjectRef, id::BadName};
use serde_json::{Map, Value};

use crate::admission_error::{
    AdmissionError, data_pointer, describe_bad_name, refuse_at, refuse_unknown_field,
};

/// The data of a CloudEvent whose fields are ours.
#[derive(Clone, Copy)]
pub(crate) struct FactData<'a>(pub &'a Map<String, Value>);

impl<'a> FactData<'a> {
    /// A text that must be there.
    pub fn text(self, field: &str) -> Result<&'a str, AdmissionError> {
        match self.0.get(field) {
            Some(Value::String(text)) => Ok(text),
            None | Some(Value::Null) => refuse_at(data_pointer(field), format!("`{field}` is missing")),
            Some(_) => refuse_at(data_pointer(field), "it is not a text"),
        }
    }

    pub fn parse_name<T>(
        self,
        field: &str,
        new: impl Fn(&str) -> Result<T, BadName>,
    ) -> Result<T, AdmissionError> {
        new(self.text(field)?)
            .map_err(|bad| AdmissionError::new(data_pointer(field), describe_bad_name(&bad)))
    }

    pub fn check_fields(self, known: &[&str]) -> Result<(), AdmissionError> {
        match self.0.keys().find(|field| !known.contains(&field.as_str())) {
            None => Ok(()),
            Some(field) => refuse_unknown_field(field, known),
        }
    }
}

/// Refuses a subject of no declared type, with the one that was probably meant.
pub(crate) fn check_declared(
    subject: &SubjectRef,
    at: &str,
    catalogue: &Catalogue,
) -> Result<(), AdmissionError> {
    match catalogue.state(subject, &Map::new(), 0) {
        Ok(_) => Ok(()),
        Err(bad) => refuse_at(at, bad.to_string()),
    }
}
