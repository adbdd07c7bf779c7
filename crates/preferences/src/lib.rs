//! What a person wants to be told of, as the fields of their preferences: of which part of what is told, in one place or
//! all, and how. That they mute something is the same as that they turn it off.

#[cfg(test)]
mod tests;

use std::fmt;

use model::{Channel, Kind, Person, SubjectRef, Value, VersionedState};

/// What can be muted, by the words of facts; names of fields begin so too.
pub const MUTABLE: [&str; 4] = [KIND, ACTOR, SUBJECT, THREAD];

pub const KIND: &str = "kind";
pub const ACTOR: &str = "actor";
pub const SUBJECT: &str = "subject";
pub const THREAD: &str = "thread";
pub const CATEGORY: &str = "category";
pub const ABOUT: &str = "about";
pub const ALL: &str = "all";

/// How somebody wants to be told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PreferenceChoice {
    /// As the catalogue has it.
    On,
    /// By a plan that gathers, if the kind offers one.
    Digest,
    /// Not at all.
    Off,
}

impl PreferenceChoice {
    pub const ALL: [Self; 3] = [Self::On, Self::Digest, Self::Off];

    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Digest => "digest",
            Self::Off => "off",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == text)
    }

    /// How it is kept; nothing where the person takes their word back. Of two words of one version the greater value stands:
    /// that is off, since telling somebody who did not want it is the worse mistake, and a word taken back is a value for that
    /// reason too.
    pub fn to_value(choice: Option<Self>) -> Value {
        match choice {
            None => Value::Flag(false),
            Some(Self::Off) => Value::Flag(true),
            Some(other) => Value::from_text(other.name()),
        }
    }

    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Flag(true) => Some(Self::Off),
            Value::Text(text) => Self::parse(text),
            _ => None,
        }
    }
}

/// Where somebody reads what they are told: in what a channel brings, or in the feed on the product's own site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReadingPlace {
    Channel(Channel),
    Feed,
}

impl ReadingPlace {
    pub const ALL: [Self; 1 + Channel::ALL.len()] = {
        let mut all = [Self::Feed; 1 + Channel::ALL.len()];
        let mut at = 0;
        while at < Channel::ALL.len() {
            all[at] = Self::Channel(Channel::ALL[at]);
            at += 1;
        }
        all
    };

    pub fn name(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::Channel(channel) => channel.name(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == text)
    }

    /// What a choice comes to here: a feed has no digest.
    pub fn limit_choice(self, choice: PreferenceChoice) -> PreferenceChoice {
        match (self, choice) {
            (Self::Feed, PreferenceChoice::Digest) => PreferenceChoice::On,
            _ => choice,
        }
    }
}

impl From<Channel> for ReadingPlace {
    fn from(channel: Channel) -> Self {
        Self::Channel(channel)
    }
}

/// The part of what is told that a preference is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreferenceScope<'a> {
    /// Whatever this person does.
    Actor(&'a Person),
    /// A kind, as far as it is about a subject.
    About(&'a Kind, &'a SubjectRef),
    Subject(&'a SubjectRef),
    /// What hangs on a subject.
    Thread(&'a SubjectRef),
    Kind(&'a Kind),
    /// The kinds of a category, by its name in the catalogue.
    Category(&'a str),
    All,
}

impl fmt::Display for PreferenceScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Actor(actor) => write!(f, "{ACTOR} {actor}"),
            Self::About(kind, subject) => write!(f, "{ABOUT} {kind} {subject}"),
            Self::Subject(subject) => write!(f, "{SUBJECT} {subject}"),
            Self::Thread(subject) => write!(f, "{THREAD} {subject}"),
            Self::Kind(kind) => write!(f, "{KIND} {kind}"),
            Self::Category(category) => write!(f, "{CATEGORY} {category}"),
            Self::All => f.write_str(ALL),
        }
    }
}

impl PreferenceScope<'_> {
    /// The field of what is said of it for one place, or for all.
    pub fn field(self, place: Option<ReadingPlace>) -> String {
        match place {
            Some(place) => format!("{}/{self}", place.name()),
            None => self.to_string(),
        }
    }

    /// What the person says of it for a place, by which field: the place's own word stands before that for all.
    pub fn choice_in(
        self,
        words: &VersionedState,
        place: ReadingPlace,
    ) -> Option<(PreferenceChoice, String)> {
        [Some(place), None].into_iter().find_map(|of| {
            let field = self.field(of);
            let value = words.get(&field)?;
            Some((PreferenceChoice::from_value(value)?, field))
        })
    }
}

/// A field taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreferenceField<'a> {
    /// Which place it is for, by its name.
    pub place: Option<&'a str>,
    /// The sort of what it is about, and which one; of everything there is but one.
    pub sort: &'a str,
    pub of: &'a str,
}

impl<'a> PreferenceField<'a> {
    /// Whether it is for the feed alone.
    pub fn is_of_feed(&self) -> bool {
        self.place == Some(ReadingPlace::Feed.name())
    }

    pub fn parse(field: &'a str) -> Self {
        let (head, of) = field.split_once(' ').unwrap_or((field, ""));
        let (place, sort) = head.split_once('/').map_or((None, head), |(place, sort)| (Some(place), sort));
        Self { place, sort, of }
    }
}

/// What they belong to who want to be told of a subject: of one kind, or of all that is about it. No subject that a catalogue
/// declares has such a type.
pub fn subscribers_target(kind: Option<&Kind>, subject: &SubjectRef) -> Option<SubjectRef> {
    let kind = kind.map_or("", Kind::as_str);
    SubjectRef::new(&format!("{kind}@{subject}")).ok()
}

/// The subject of such a target.
pub fn subscribed_subject(target: &SubjectRef) -> Option<SubjectRef> {
    let (of_type, _) = target.as_str().split_once(':')?;
    let at = of_type.find('@')?;
    SubjectRef::new(&target.as_str()[at + 1..]).ok()
}
