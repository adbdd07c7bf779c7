//! Types of subjects: which fields they have, and what a field holds.

use std::{collections::BTreeMap, fmt};

/// A type of subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubjectType {
    pub name: String,
    pub fields: BTreeMap<String, FieldType>,
    /// The field that is its name to readers: what `called` says, else the first that is a text.
    pub called: Option<String>,
}

/// What a field holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldType {
    Text,
    /// An absolute address on the web, http or https.
    Url,
    Number,
    Flag,
    Time,
    /// Another subject, of this type.
    Ref(String),
    /// Several of this type.
    Refs(String),
    Place,
    /// The id of one person.
    Person,
}

impl FieldType {
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let parsed = match (words.next()?, words.next()) {
            ("text", None) => Self::Text,
            ("url", None) => Self::Url,
            ("number", None) => Self::Number,
            ("flag", None) => Self::Flag,
            ("time", None) => Self::Time,
            ("place", None) => Self::Place,
            ("person", None) => Self::Person,
            ("ref", Some(target)) => Self::Ref(target.to_string()),
            ("refs", Some(target)) => Self::Refs(target.to_string()),
            _ => return None,
        };
        words.next().is_none().then_some(parsed)
    }

    /// The type that a reference points to.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Ref(target) | Self::Refs(target) => Some(target),
            Self::Text | Self::Url | Self::Number | Self::Flag | Self::Time | Self::Place | Self::Person => {
                None
            }
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Url => f.write_str("url"),
            Self::Number => f.write_str("number"),
            Self::Flag => f.write_str("flag"),
            Self::Time => f.write_str("time"),
            Self::Ref(target) => write!(f, "ref {target}"),
            Self::Refs(target) => write!(f, "refs {target}"),
            Self::Place => f.write_str("place"),
            Self::Person => f.write_str("person"),
        }
    }
}
