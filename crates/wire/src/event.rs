//! `event`: an admitted change, on the topic `events`.

use std::sync::LazyLock;

use model::{Event, EventKey, Listed, Millis, Person, Score, SubjectRef, Tenant};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    cell::{CellDto, cells, to_state},
    codec::{Codec, Undecodable, WireError},
    list,
    parts::{Text, event_key},
};

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("event", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/event.avsc"), include_str!("../../../schemas/old/event.1.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "event")]
pub(crate) struct EventDto<'a> {
    tenant: Text<'a>,
    key: Fixed<16>,
    what: Text<'a>,
    subject: Text<'a>,
    actor: Option<Text<'a>>,
    occurred: i64,
    #[serde(with = "list")]
    persons: Vec<ListedDto<'a>>,
    #[serde(with = "list")]
    state: Vec<CellDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "listed")]
struct ListedDto<'a> {
    person: Text<'a>,
    score: i64,
}

pub fn encode(event: &Event) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&EventDto::of(event))
}

pub fn decode(bytes: &[u8]) -> Result<Event, Undecodable> {
    CODEC.decode::<EventDto<'_>>(bytes)?.model()
}

impl<'a> EventDto<'a> {
    pub(crate) fn of(event: &'a Event) -> Self {
        Self {
            tenant: event.tenant.as_str().into(),
            key: event_key(event.key),
            what: event.what.as_str().into(),
            subject: event.subject.as_str().into(),
            actor: event.actor.as_ref().map(|actor| actor.as_str().into()),
            occurred: event.occurred.0,
            persons: event.persons.iter().map(ListedDto::of).collect(),
            state: cells(&event.state),
        }
    }

    pub(crate) fn model(self) -> Result<Event, Undecodable> {
        Ok(Event {
            tenant: Tenant::new(&self.tenant)?,
            key: EventKey(self.key.0),
            what: self.what.into_owned(),
            subject: SubjectRef::new(&self.subject)?,
            actor: self.actor.map(|actor| Person::new(&actor)).transpose()?,
            occurred: Millis(self.occurred),
            persons: self.persons.iter().map(ListedDto::model).collect::<Result<_, _>>()?,
            state: to_state(self.state)?,
        })
    }
}

impl<'a> ListedDto<'a> {
    fn of(listed: &'a Listed) -> Self {
        Self { person: listed.person.as_str().into(), score: listed.score.0 }
    }

    fn model(&self) -> Result<Listed, Undecodable> {
        Ok(Listed { person: Person::new(&self.person)?, score: Score(self.score) })
    }
}
