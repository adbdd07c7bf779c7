//! `returned`: what came back of a mail, on the topic `returns`. Its schema is written for readers outside.

use std::sync::{Arc, LazyLock};

use model::{
    Channel, Person, PlanName, ReadyId, Tenant, UtcMillis,
    returns::{ReturnSort, Slip},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::FixedBytes,
    codec::{DecodeError, RecordCodec, WireError},
    record_parts::{ChannelDto, HookDto, WireText, join_channel, ready_id, split_channel, twins},
};

/// A mail that came back, by its person. Which address it went to is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReturnNotice {
    pub tenant: Tenant,
    pub person: Person,
    pub plan: PlanName,
    pub stream: Arc<str>,
    pub channel: Channel,
    pub ready: ReadyId,
    pub what: ReturnSort,
    pub code: String,
    /// When the mail left.
    pub sent: UtcMillis,
    /// When it was heard.
    pub at: UtcMillis,
}

impl ReturnNotice {
    pub fn from_slip(slip: &Slip, ready: ReadyId, (what, code): (ReturnSort, &str), at: UtcMillis) -> Self {
        let Slip { tenant, person, plan, stream, channel, address: _, at: sent } = slip.clone();
        Self { tenant, person, plan, stream, channel, ready, what, code: code.to_owned(), sent, at }
    }
}

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("returned", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 1] = [include_str!("../../../schemas/returned.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "returned")]
pub(crate) struct ReturnNoticeDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    plan: WireText<'a>,
    stream: WireText<'a>,
    channel: ChannelDto,
    hook: HookDto,
    ready: FixedBytes<16>,
    what: SortDto,
    code: WireText<'a>,
    sent: i64,
    at: i64,
}

twins!(SortDto = ReturnSort as "returned_what": Hard, Soft, Complaint);

pub fn encode(returned: &ReturnNotice) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&ReturnNoticeDto::from_notice(returned))
}

pub fn decode(bytes: &[u8]) -> Result<ReturnNotice, DecodeError> {
    CODEC.decode::<ReturnNoticeDto<'_>>(bytes)?.model()
}

impl<'a> ReturnNoticeDto<'a> {
    pub(crate) fn from_notice(returned: &'a ReturnNotice) -> Self {
        let (channel, hook) = split_channel(returned.channel);
        Self {
            tenant: returned.tenant.as_str().into(),
            person: returned.person.as_str().into(),
            plan: returned.plan.as_str().into(),
            stream: WireText::Borrowed(&returned.stream),
            channel,
            hook,
            ready: ready_id(returned.ready),
            what: SortDto::from_model(returned.what),
            code: returned.code.as_str().into(),
            sent: returned.sent.0,
            at: returned.at.0,
        }
    }

    fn model(self) -> Result<ReturnNotice, DecodeError> {
        Ok(ReturnNotice {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            plan: PlanName::new(&self.plan)?,
            stream: self.stream.as_ref().into(),
            channel: join_channel(self.channel, self.hook.as_deref())?,
            ready: ReadyId(self.ready.0),
            what: self.what.model(),
            code: self.code.into_owned(),
            sent: UtcMillis(self.sent),
            at: UtcMillis(self.at),
        })
    }
}
