//! Who did something, as serde sees it: a person, and beside it what else is said, which mostly is nothing.

use model::{Actor, ActorId, Person, actor::AnonymousHash};
use serde::{Deserialize, Serialize};

use crate::{bytes::FixedBytes, codec::DecodeError, record_parts::WireText};

#[derive(Serialize, Deserialize)]
#[serde(rename = "actor_more")]
pub(crate) struct ActorMoreDto<'a> {
    name: Option<WireText<'a>>,
    hash: Option<FixedBytes<16>>,
    system: bool,
}

/// The person, and what else is said.
pub(crate) type ActorParts<'a> = (Option<WireText<'a>>, Option<ActorMoreDto<'a>>);

pub(crate) fn split_actor(actor: Option<&Actor>) -> ActorParts<'_> {
    let Some(Actor { id, name }) = actor else { return (None, None) };
    let name = name.as_deref().map(WireText::Borrowed);
    match id {
        ActorId::Person(person) => {
            let more = name.map(|name| ActorMoreDto { name: Some(name), hash: None, system: false });
            (Some(person.as_str().into()), more)
        }
        ActorId::Anonymous(AnonymousHash(hash)) => {
            (None, Some(ActorMoreDto { name, hash: Some(FixedBytes(*hash)), system: false }))
        }
        ActorId::System => (None, Some(ActorMoreDto { name, hash: None, system: true })),
    }
}

pub(crate) fn join_actor((person, more): ActorParts<'_>) -> Result<Option<Actor>, DecodeError> {
    let (name, hash, system) = more.map(|more| (more.name, more.hash, more.system)).unwrap_or_default();
    let id = match (person, hash, system) {
        (None, None, false) if name.is_none() => return Ok(None),
        (Some(person), None, false) => ActorId::Person(Person::new(&person)?),
        (None, Some(hash), false) => ActorId::Anonymous(AnonymousHash(hash.0)),
        (None, None, true) => ActorId::System,
        _ => return Err(DecodeError::new("an actor lacks a part or has one too many")),
    };
    Ok(Some(Actor { id, name: name.map(|name| name.as_ref().into()) }))
}
