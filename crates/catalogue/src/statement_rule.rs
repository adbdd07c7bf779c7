//! A source of a catalogue that has been checked: a topic of others, and the rule by which its records become statements.

use std::collections::BTreeMap;

use catalogue_format::words::SourceFormat;
use expression::SourceExpression;

use crate::hash::CanonicalText;

/// A topic of others, and what its records mean.
#[derive(Clone, PartialEq, Debug)]
pub struct SourceDef {
    pub name: String,
    /// As it is called in the log, without any prefix.
    pub topic: String,
    pub format: SourceFormat,
    /// `None` for `CloudEvents` that are taken as they are.
    pub tells: Option<StatementRule>,
}

/// What records mean.
#[derive(Clone, PartialEq, Debug)]
pub struct StatementRule {
    pub what: StatementSort,
    /// The event that is told of records for which `when` does not hold.
    pub(crate) otherwise: Option<String>,
    pub(crate) when: Option<SourceExpression>,
    /// Attributes by their names: `subject`, `person` and their like.
    pub(crate) attributes: BTreeMap<&'static str, SourceExpression>,
    /// `None`: the fields of the row that the subject declares.
    pub(crate) data: Option<BTreeMap<String, SourceExpression>>,
    /// The fields that the subject declares.
    pub(crate) declared: Vec<String>,
    /// Whether rows count that were there when their source was first read.
    pub(crate) snapshot: bool,
}

/// Which sort of thing is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementSort {
    /// A change of this type.
    Event(String),
    Follow,
    Mute,
    Profile,
}

impl SourceDef {
    /// The parts that go into the hash of the catalogue.
    pub(crate) fn write(&self, text: &mut CanonicalText) {
        text.line("source", &self.name);
        text.line("topic", &self.topic);
        text.line("format", self.format.name());
        let Some(tells) = &self.tells else { return };
        text.line("tells", &format!("{:?}", tells.what));
        text.line("otherwise", tells.otherwise.as_deref().unwrap_or_default());
        text.line("snapshot", if tells.snapshot { "true" } else { "false" });
        text.line("when", tells.when.as_ref().map(|when| when.text.as_str()).unwrap_or_default());
        for (name, expression) in &tells.attributes {
            text.line(name, &expression.text);
        }
        for (name, expression) in tells.data.iter().flatten() {
            text.line(name, &expression.text);
        }
    }
}

impl StatementSort {
    /// The attributes that it has, those that must be there first, and how many these are.
    pub(crate) fn attributes(&self) -> (&'static [&'static str], usize) {
        match self {
            Self::Event(_) => {
                (&["subject", "id", "time", "version", "actor", "actorname", "actorkind", "persons"], 1)
            }
            Self::Follow => (&["person", "subject", "time", "version"], 2),
            Self::Mute | Self::Profile => (&["person", "time", "version"], 1),
        }
    }
}
