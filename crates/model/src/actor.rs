//! Who did something, as its source says.

use std::{fmt, sync::Arc};

use crate::id::{Person, write_hex};

/// Who did something, and what the source called them then.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Actor {
    pub id: ActorId,
    pub name: Option<Arc<str>>,
}

/// Who did something: two events with the same one are of the same actor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ActorId {
    Person(Person),
    /// Somebody without an account.
    Anonymous(AnonymousHash),
    /// The source itself, and nobody.
    System,
}

/// What is kept of an address or a cookie by which a source tells people without an account apart. Nobody reads it back
/// without the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AnonymousHash(pub [u8; 16]);

impl From<Person> for Actor {
    fn from(person: Person) -> Self {
        Self { id: ActorId::Person(person), name: None }
    }
}

impl Actor {
    /// The person, if it is one.
    pub fn person(&self) -> Option<&Person> {
        match &self.id {
            ActorId::Person(person) => Some(person),
            ActorId::Anonymous(_) | ActorId::System => None,
        }
    }
}

/// The id, and the name if there is one: for operators.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} ({name})", self.id),
            None => fmt::Display::fmt(&self.id, f),
        }
    }
}

impl ActorId {
    /// The word for its sort.
    pub fn sort(&self) -> &'static str {
        match self {
            Self::Person(_) => "person",
            Self::Anonymous(_) => "anonymous",
            Self::System => "system",
        }
    }
}

/// A person by their id.
impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(person) => f.write_str(person.as_str()),
            Self::Anonymous(AnonymousHash(hash)) => {
                f.write_str("anonymous:")?;
                write_hex(f, hash)
            }
            Self::System => f.write_str("system:"),
        }
    }
}
