//! What a person said of single things: what they subscribed to, and what they muted.

use std::{cmp::Reverse, collections::BTreeMap};

use model::{Kind, SubjectRef};
use preferences::PreferenceChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ReaderState;

/// What a person said of one thing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ThingLine {
    /// `actor`, `subject`, `thread`, or `about`: a kind about a subject, with a blank between them.
    pub about: String,
    pub id: String,
    /// What was said of all channels, and of single ones.
    pub choices: Vec<ThingChoice>,
}

/// How a person wants to be told of a thing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ThingChoice {
    /// Nothing where it holds for all channels.
    pub channel: Option<String>,
    /// `on`, `digest` or `off`.
    pub choice: String,
}

impl ThingLine {
    /// Whether the person wants to be told of it, on some channel at least. Else it is muted.
    pub fn is_subscription(&self) -> bool {
        self.choices.iter().any(|one| one.choice != PreferenceChoice::Off.name())
    }

    /// The field that speaks of it for all channels.
    pub fn field(&self) -> String {
        format!("{} {}", self.about, self.id)
    }

    /// Each field in which something is said of it, with the choice.
    pub fn words(&self) -> impl Iterator<Item = (String, &str)> {
        self.choices.iter().map(|one| {
            let field = match &one.channel {
                Some(channel) => format!("{channel}/{}", self.field()),
                None => self.field(),
            };
            (field, one.choice.as_str())
        })
    }

    /// The subject whose name says what it is; of somebody there is none.
    pub fn subject(&self) -> Option<SubjectRef> {
        let id = match self.about.as_str() {
            preferences::SUBJECT | preferences::THREAD => self.id.as_str(),
            preferences::ABOUT => self.id.split_once(' ')?.1,
            _ => return None,
        };
        SubjectRef::new(id).ok()
    }

    /// The kind that alone is meant.
    pub fn kind(&self) -> Option<Kind> {
        let (kind, _) = self.id.split_once(' ').filter(|_| self.about == preferences::ABOUT)?;
        Kind::new(kind).ok()
    }
}

/// The things of which a person says something, what was said last first: those that they want to be told of, and those
/// that they do not.
pub(crate) fn list_things(reader: &ReaderState<'_>) -> (Vec<ThingLine>, Vec<ThingLine>) {
    let mut things: BTreeMap<(&str, &str), (i64, Vec<ThingChoice>)> = BTreeMap::new();
    for (field, choice, version) in reader.things() {
        let (newest, choices) = things.entry((field.sort, field.of)).or_insert((version, Vec::new()));
        *newest = version.max(*newest);
        let channel = field.place.map(str::to_owned);
        choices.push(ThingChoice { channel, choice: choice.name().to_owned() });
    }
    let mut things: Vec<_> = things.into_iter().collect();
    things.sort_by_key(|(_, (newest, _))| Reverse(*newest));
    let line = |((about, id), (_, mut choices)): ((&str, &str), (i64, Vec<ThingChoice>))| {
        choices.sort();
        ThingLine { about: about.to_owned(), id: id.to_owned(), choices }
    };
    things.into_iter().map(line).partition(ThingLine::is_subscription)
}
