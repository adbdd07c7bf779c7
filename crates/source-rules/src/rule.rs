//! A source of a catalogue that has been checked: a topic of others, and the rule by which its records become statements.

use std::collections::BTreeMap;

use catalogue_format::words::SourceFormat;
use expression::SourceExpression;

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
    pub otherwise: Option<String>,
    pub when: Option<SourceExpression>,
    /// Attributes by their names: `subject`, `person` and their like.
    pub attributes: BTreeMap<&'static str, SourceExpression>,
    /// `None`: the fields of the row that the subject declares.
    pub data: Option<BTreeMap<String, SourceExpression>>,
    /// The fields that the subject declares.
    pub declared: Vec<String>,
    /// Whether rows count that were there when their source was first read.
    pub snapshot: bool,
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
    /// All that it says, in lines of a name and a text, for the hash of its catalogue.
    pub fn parts(&self) -> Vec<(&str, String)> {
        let mut parts = vec![
            ("source", self.name.clone()),
            ("topic", self.topic.clone()),
            ("format", self.format.name().to_owned()),
        ];
        let Some(tells) = &self.tells else { return parts };
        parts.extend([
            ("tells", format!("{:?}", tells.what)),
            ("otherwise", tells.otherwise.clone().unwrap_or_default()),
            ("snapshot", tells.snapshot.to_string()),
            ("when", tells.when.as_ref().map(|when| when.text.clone()).unwrap_or_default()),
        ]);
        parts.extend(tells.attributes.iter().map(|(name, expression)| (*name, expression.text.clone())));
        let data = tells.data.iter().flatten();
        parts.extend(data.map(|(name, expression)| (name.as_str(), expression.text.clone())));
        parts
    }
}

impl StatementSort {
    /// The attributes that it has, those that must be there first, and how many these are.
    pub fn attributes(&self) -> (&'static [&'static str], usize) {
        match self {
            Self::Event(_) => {
                (&["subject", "id", "time", "version", "actor", "actorname", "actorkind", "persons"], 1)
            }
            Self::Follow => (&["person", "subject", "time", "version"], 2),
            Self::Mute | Self::Profile => (&["person", "time", "version"], 1),
        }
    }
}
