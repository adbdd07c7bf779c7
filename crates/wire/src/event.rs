//! `event`: an admitted change, on the topic `events`.

use std::sync::LazyLock;

use model::{Event, EventKey, ListedPerson, Person, PersonScore, SubjectRef, Tenant, UtcMillis};
use serde::{Deserialize, Serialize};

use crate::{
    actor::{ActorMoreDto, join_actor, split_actor},
    bytes::FixedBytes,
    cell::{CellDto, state_cells, to_state},
    codec::{DecodeError, RecordCodec, WireError},
    list,
    record_parts::{WireText, event_key},
};

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("event", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 3] = [
    include_str!("../../../schemas/event.avsc"),
    include_str!("../../../schemas/old/event.2.avsc"),
    include_str!("../../../schemas/old/event.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "event")]
pub(crate) struct EventDto<'a> {
    tenant: WireText<'a>,
    key: FixedBytes<16>,
    what: WireText<'a>,
    subject: WireText<'a>,
    actor: Option<WireText<'a>>,
    actor_more: Option<ActorMoreDto<'a>>,
    occurred: i64,
    #[serde(with = "list")]
    persons: Vec<EventPersonDto<'a>>,
    #[serde(with = "list")]
    state: Vec<CellDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "listed")]
struct EventPersonDto<'a> {
    person: WireText<'a>,
    score: i64,
}

pub fn encode(event: &Event) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&EventDto::from_event(event))
}

pub fn decode(bytes: &[u8]) -> Result<Event, DecodeError> {
    CODEC.decode::<EventDto<'_>>(bytes)?.model()
}

impl<'a> EventDto<'a> {
    pub(crate) fn from_event(event: &'a Event) -> Self {
        let (actor, actor_more) = split_actor(event.actor.as_ref());
        Self {
            tenant: event.tenant.as_str().into(),
            key: event_key(event.key),
            what: event.what.as_str().into(),
            subject: event.subject.as_str().into(),
            actor,
            actor_more,
            occurred: event.occurred.0,
            persons: event.persons.iter().map(EventPersonDto::from_listed).collect(),
            state: state_cells(&event.state),
        }
    }

    pub(crate) fn model(self) -> Result<Event, DecodeError> {
        Ok(Event {
            tenant: Tenant::new(&self.tenant)?,
            key: EventKey(self.key.0),
            what: self.what.into_owned(),
            subject: SubjectRef::new(&self.subject)?,
            actor: join_actor((self.actor, self.actor_more))?,
            occurred: UtcMillis(self.occurred),
            persons: self.persons.iter().map(EventPersonDto::model).collect::<Result<_, _>>()?,
            state: to_state(self.state)?,
        })
    }
}

impl<'a> EventPersonDto<'a> {
    fn from_listed(listed: &'a ListedPerson) -> Self {
        Self { person: listed.person.as_str().into(), score: listed.score.0 }
    }

    fn model(&self) -> Result<ListedPerson, DecodeError> {
        Ok(ListedPerson { person: Person::new(&self.person)?, score: PersonScore(self.score) })
    }
}
