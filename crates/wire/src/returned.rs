//! `returned`: what came back of a mail, on the topic `returns`. Its schema is written for readers outside.

use std::sync::{Arc, LazyLock};

use model::{
    Channel, Millis, Person, PlanName, ReadyId, Tenant,
    returns::{Slip, Sort},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    codec::{Codec, Undecodable, WireError},
    parts::{ChannelDto, HookDto, Text, channel, ready_id, to_channel, twins},
};

/// A mail that came back, by its person. Which address it went to is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Returned {
    pub tenant: Tenant,
    pub person: Person,
    pub plan: PlanName,
    pub stream: Arc<str>,
    pub channel: Channel,
    pub ready: ReadyId,
    pub what: Sort,
    pub code: String,
    /// When the mail left.
    pub sent: Millis,
    /// When it was heard.
    pub at: Millis,
}

impl Returned {
    pub fn of(slip: &Slip, ready: ReadyId, (what, code): (Sort, &str), at: Millis) -> Self {
        let Slip { tenant, person, plan, stream, channel, address: _, at: sent } = slip.clone();
        Self { tenant, person, plan, stream, channel, ready, what, code: code.to_owned(), sent, at }
    }
}

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("returned", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 1] = [include_str!("../../../schemas/returned.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "returned")]
pub(crate) struct ReturnedDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    plan: Text<'a>,
    stream: Text<'a>,
    channel: ChannelDto,
    hook: HookDto,
    ready: Fixed<16>,
    what: SortDto,
    code: Text<'a>,
    sent: i64,
    at: i64,
}

twins!(SortDto = Sort as "returned_what": Hard, Soft, Complaint);

pub fn encode(returned: &Returned) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&ReturnedDto::of(returned))
}

pub fn decode(bytes: &[u8]) -> Result<Returned, Undecodable> {
    CODEC.decode::<ReturnedDto<'_>>(bytes)?.model()
}

impl<'a> ReturnedDto<'a> {
    pub(crate) fn of(returned: &'a Returned) -> Self {
        let (channel, hook) = channel(returned.channel);
        Self {
            tenant: returned.tenant.as_str().into(),
            person: returned.person.as_str().into(),
            plan: returned.plan.as_str().into(),
            stream: Text::Borrowed(&returned.stream),
            channel,
            hook,
            ready: ready_id(returned.ready),
            what: SortDto::of(returned.what),
            code: returned.code.as_str().into(),
            sent: returned.sent.0,
            at: returned.at.0,
        }
    }

    fn model(self) -> Result<Returned, Undecodable> {
        Ok(Returned {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            plan: PlanName::new(&self.plan)?,
            stream: self.stream.as_ref().into(),
            channel: to_channel(self.channel, self.hook.as_deref())?,
            ready: ReadyId(self.ready.0),
            what: self.what.model(),
            code: self.code.into_owned(),
            sent: Millis(self.sent),
            at: Millis(self.at),
        })
    }
}
