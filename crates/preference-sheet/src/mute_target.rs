//! What somebody mutes, or has muted.

use catalogue::Catalogue;
use model::{Kind, Person, SubjectRef};
use preferences::PreferenceScope;
use serde_json::{Value as Json, json};

/// What is muted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MuteTarget {
    Kind(Kind),
    Actor(Person),
    Subject(SubjectRef),
    Thread(SubjectRef),
}

impl MuteTarget {
    /// What a link asks less of: a kind, or a subject, of which all goes that hangs on it, if something can.
    pub fn parse_link(name: &str, catalogue: &Catalogue) -> Option<Self> {
        if !name.contains(':') {
            let kind = Kind::new(name).ok()?;
            return catalogue.kinds.contains_key(&kind).then_some(Self::Kind(kind));
        }
        let subject = SubjectRef::new(name).ok()?;
        catalogue.subjects.contains_key(subject.kind()).then_some(())?;
        Some(if catalogue.is_thread(&subject) { Self::Thread(subject) } else { Self::Subject(subject) })
    }

    /// By the name of the flag that says so.
    pub fn from_flag(flag: &str) -> Option<Self> {
        let (sort, id) = flag.split_once(' ')?;
        match sort {
            preferences::KIND => Kind::new(id).ok().map(Self::Kind),
            preferences::ACTOR => Person::new(id).ok().map(Self::Actor),
            preferences::SUBJECT => SubjectRef::new(id).ok().map(Self::Subject),
            preferences::THREAD => SubjectRef::new(id).ok().map(Self::Thread),
            _ => None,
        }
    }

    fn scope(&self) -> PreferenceScope<'_> {
        match self {
            Self::Kind(kind) => PreferenceScope::Kind(kind),
            Self::Actor(actor) => PreferenceScope::Actor(actor),
            Self::Subject(subject) => PreferenceScope::Subject(subject),
            Self::Thread(thread) => PreferenceScope::Thread(thread),
        }
    }

    /// The name of the flag that says so.
    pub fn flag(&self) -> String {
        self.scope().field(None)
    }

    /// As a link asks less of it; nothing of what no link of ours is about.
    pub fn link_name(&self) -> Option<&str> {
        match self {
            Self::Kind(kind) => Some(kind.as_str()),
            Self::Subject(subject) | Self::Thread(subject) => Some(subject.as_str()),
            Self::Actor(_) => None,
        }
    }

    /// The subject whose name says what it is.
    pub fn subject(&self) -> Option<&SubjectRef> {
        match self {
            Self::Subject(subject) | Self::Thread(subject) => Some(subject),
            Self::Kind(_) | Self::Actor(_) => None,
        }
    }

    /// The data of the fact that a person mutes it, or does not any more.
    pub fn fact_data(&self, person: &Person) -> Json {
        let (sort, of) = match self {
            Self::Kind(kind) => (preferences::KIND, kind.as_str()),
            Self::Actor(actor) => (preferences::ACTOR, actor.as_str()),
            Self::Subject(subject) => (preferences::SUBJECT, subject.as_str()),
            Self::Thread(thread) => (preferences::THREAD, thread.as_str()),
        };
        json!({"person": person.as_str(), sort: of})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_muted_has_its_name_both_ways() {
        for flag in
            ["kind item_offered", "actor bob", "actor bob the second", "subject item:1", "thread maker:1"]
        {
            assert_eq!(MuteTarget::from_flag(flag).map(|mute| mute.flag()).as_deref(), Some(flag));
        }
        for flag in ["", "kind", "kind ", "kinds offered", "actor ", "thread maker", "subject item:", " "] {
            assert_eq!(MuteTarget::from_flag(flag), None, "{flag}");
        }
    }
}
