//! The types of values in texts.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use model::{FieldType, SubjectType};

use crate::message_types::MessageTypes;

/// What a value in a text can be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextValueType {
    Text,
    Url,
    Number,
    Flag,
    Time,
    Place,
    /// A subject of one of these types. Its references can be followed if `near`: texts read one
    /// reference deep, so that all they need is loaded in one go.
    Subject {
        types: BTreeSet<String>,
        near: bool,
    },
    List(Arc<TextValueType>),
    Record(Arc<RecordType>),
    /// One of several types, or a constant of no type; goes anywhere.
    Any,
}

/// A value with named parts that is no subject.
#[derive(PartialEq, Eq, Debug)]
pub struct RecordType {
    pub name: &'static str,
    pub parts: BTreeMap<Cow<'static, str>, TextValueType>,
    /// It can be printed: it has a name of its own.
    pub printed: bool,
}

/// What a text may read, by name.
#[derive(Clone, Debug)]
pub struct TextScope<'a> {
    pub subjects: &'a BTreeMap<String, SubjectType>,
    pub names: BTreeMap<String, TextValueType>,
    /// What a text may say by its name; nothing where there are no messages.
    pub messages: Option<Arc<MessageTypes>>,
    /// How many places it has at which something stands that is chosen later.
    pub slots: u16,
}

impl TextValueType {
    pub fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    pub fn record(
        name: &'static str,
        printed: bool,
        parts: impl IntoIterator<Item = (impl Into<Cow<'static, str>>, Self)>,
    ) -> Self {
        let parts = parts.into_iter().map(|(part, of)| (part.into(), of)).collect();
        Self::Record(Arc::new(RecordType { name, parts, printed }))
    }

    pub fn subject(name: &str) -> Self {
        Self::Subject { types: BTreeSet::from([name.to_string()]), near: true }
    }

    /// The type of a field, reached from a subject at hand.
    pub fn from_field(field: &FieldType) -> Self {
        let far = |target: &String| Self::Subject { types: BTreeSet::from([target.clone()]), near: false };
        match field {
            // A person is their id.
            FieldType::Text | FieldType::Person => Self::Text,
            FieldType::Url => Self::Url,
            FieldType::Number => Self::Number,
            FieldType::Flag => Self::Flag,
            FieldType::Time => Self::Time,
            FieldType::Place => Self::Place,
            FieldType::Ref(target) => far(target),
            FieldType::Refs(target) => Self::list(far(target)),
        }
    }

    /// Either of two types: the same, or anything.
    #[must_use]
    pub fn union_with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Text | Self::Url, Self::Text | Self::Url) => Self::Text,
            (one, other) if one == other => one,
            (Self::Subject { types: mut one, near }, Self::Subject { types: other, near: also }) => {
                one.extend(other);
                Self::Subject { types: one, near: near && also }
            }
            _ => Self::Any,
        }
    }

    /// Whether it can stand where a text is wanted.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Url | Self::Any)
    }

    /// Whether `{{ }}` can print it.
    pub fn is_printed(&self) -> bool {
        match self {
            Self::Text | Self::Url | Self::Number | Self::Time | Self::Subject { .. } | Self::Any => true,
            Self::Record(record) => record.printed,
            Self::Flag | Self::Place | Self::List(_) => false,
        }
    }

    /// Whether `==` and `<` between the two mean anything.
    pub fn compares_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (one, other) if one.is_text() => other.is_text(),
            (Self::Number, Self::Number) | (Self::Flag, Self::Flag) | (Self::Time, Self::Time) => true,
            _ => false,
        }
    }
}

impl fmt::Display for TextValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Url => f.write_str("url"),
            Self::Number => f.write_str("number"),
            Self::Flag => f.write_str("flag"),
            Self::Time => f.write_str("time"),
            Self::Place => f.write_str("place"),
            Self::Subject { types, .. } => {
                let types: Vec<&str> = types.iter().map(String::as_str).collect();
                f.write_str(&types.join(" or "))
            }
            Self::List(of) => write!(f, "list of {of}"),
            Self::Record(record) => f.write_str(record.name),
            Self::Any => f.write_str("anything"),
        }
    }
}
