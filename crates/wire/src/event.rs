//! `event`: an admitted change, on the topic `events`.

use std::sync::LazyLock;

use model::{Event, EventKey, Millis, Person, SubjectRef, Tenant};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    cell::{CellDto, cells, to_state},
    codec::{Codec, Undecodable, WireError},
    list,
    parts::{Text, event_key},
};

static CODEC: LazyLock<Codec> =
    LazyLock::new(|| Codec::new("event", &[include_str!("../../../schemas/event.avsc")]));

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
    state: Vec<CellDto<'a>>,
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
            state: cells(&event.state),
        }
    }

    fn model(self) -> Result<Event, Undecodable> {
        Ok(Event {
            tenant: Tenant::new(&self.tenant)?,
            key: EventKey(self.key.0),
            what: self.what.into_owned(),
            subject: SubjectRef::new(&self.subject)?,
            actor: self.actor.map(|actor| Person::new(&actor)).transpose()?,
            occurred: Millis(self.occurred),
            state: to_state(self.state)?,
        })
    }
}
