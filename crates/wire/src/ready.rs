//! `ready`: what is due for one person on one channel, on the topic of that name. Its schema is written
//! for readers outside too.

use std::sync::LazyLock;

use model::{
    Day, Person, PlanName, ReadyId, SubjectRef, Tenant, UtcMillis,
    key_list::{DayKeyList, KeyListId},
    limits::{
        BUNDLE_KEYS_MAX, DAY_ROWS_READ_MAX, ID_BYTES_MAX, KEPT_BYTES_MAX, LIST_KEYS_MAX, READY_ENTRIES_MAX,
        READY_REASONS_MAX, WINDOW_DAYS_MAX,
    },
    ready::{Ready, ReadyEntry},
};
use serde::{Deserialize, Serialize};

use crate::{
    actor::{ActorMoreDto, join_actor, split_actor},
    bytes::FixedBytes,
    codec::{DecodeError, RECORD_BYTES_MAX, RecordCodec, WireError},
    kept_fields::{KeptFieldDto, join_kept, split_kept},
    list,
    record_parts::{
        ChannelDto, EntryKeyDto, HookDto, ReasonDto, WireText, entry_key, entry_keys, join_channel, ready_id,
        split_channel, to_entry_keys,
    },
};

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("ready", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 5] = [
    include_str!("../../../schemas/ready.avsc"),
    include_str!("../../../schemas/old/ready.4.avsc"),
    include_str!("../../../schemas/old/ready.3.avsc"),
    include_str!("../../../schemas/old/ready.2.avsc"),
    include_str!("../../../schemas/old/ready.1.avsc"),
];

/// The longest entry: its key and subject, reasons with two names each, who did it, what it keeps, and its others by key or
/// by lists. A Ready that comes back in the inbox is a little larger than it was.
const ENTRY_BYTES_MAX: usize = 64
    + 3 * ID_BYTES_MAX
    + READY_REASONS_MAX * (2 * ID_BYTES_MAX + 32)
    + 2 * KEPT_BYTES_MAX
    + BUNDLE_KEYS_MAX * 24
    + WINDOW_DAYS_MAX * 26;
/// What lists take beyond one for each entry and day, however long they are.
const LISTS_BYTES_MAX: usize = DAY_ROWS_READ_MAX / LIST_KEYS_MAX * WINDOW_DAYS_MAX * 26;
const _: () = assert!(READY_ENTRIES_MAX * ENTRY_BYTES_MAX + LISTS_BYTES_MAX < RECORD_BYTES_MAX / 8 * 7);

#[derive(Serialize, Deserialize)]
#[serde(rename = "ready")]
pub(crate) struct ReadyDto<'a> {
    id: FixedBytes<16>,
    tenant: WireText<'a>,
    person: WireText<'a>,
    plan: WireText<'a>,
    key: WireText<'a>,
    opening: i64,
    channel: ChannelDto,
    hook: HookDto,
    silent: bool,
    attempt: u16,
    due: i64,
    expires: i64,
    #[serde(with = "list")]
    entries: Vec<ReadyEntryDto<'a>>,
    #[serde(with = "list")]
    more: Vec<u16>,
    badge: Option<UnseenDaysDto>,
}

/// That a number is told. What it counts was said here once; by now that is the sender's to know.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename = "unseen")]
pub(crate) struct UnseenDaysDto {
    #[serde(with = "list")]
    days: Vec<i32>,
    since: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "ready_entry")]
struct ReadyEntryDto<'a> {
    key: EntryKeyDto,
    subject: WireText<'a>,
    #[serde(with = "list")]
    reasons: Vec<ReasonDto<'a>>,
    section: u16,
    maybe: bool,
    actor: Option<WireText<'a>>,
    actor_more: Option<ActorMoreDto<'a>>,
    #[serde(with = "list")]
    kept: Vec<KeptFieldDto<'a>>,
    #[serde(with = "list")]
    others: Vec<EntryKeyDto>,
    #[serde(with = "list")]
    lists: Vec<KeyListDto>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "key_list")]
struct KeyListDto {
    day: i32,
    id: FixedBytes<16>,
    count: u32,
}

pub fn encode(ready: &Ready) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&ReadyDto::from_ready(ready))
}

pub fn decode(bytes: &[u8]) -> Result<Ready, DecodeError> {
    CODEC.decode::<ReadyDto<'_>>(bytes)?.model()
}

impl<'a> ReadyDto<'a> {
    pub(crate) fn from_ready(ready: &'a Ready) -> Self {
        let (channel, hook) = split_channel(ready.channel);
        Self {
            id: ready_id(ready.id),
            tenant: ready.tenant.as_str().into(),
            person: ready.person.as_str().into(),
            plan: ready.plan.as_str().into(),
            key: WireText::Borrowed(&ready.key),
            opening: ready.opening.0,
            channel,
            hook,
            silent: ready.silent,
            attempt: ready.attempt,
            due: ready.due.0,
            expires: ready.expires.0,
            entries: ready.entries.iter().map(ReadyEntryDto::from_entry).collect(),
            more: ready.more.clone(),
            badge: ready.badge.then(UnseenDaysDto::default),
        }
    }

    pub(crate) fn model(self) -> Result<Ready, DecodeError> {
        Ok(Ready {
            id: ReadyId(self.id.0),
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            opening: UtcMillis(self.opening),
            channel: join_channel(self.channel, self.hook.as_deref())?,
            silent: self.silent,
            attempt: self.attempt,
            due: UtcMillis(self.due),
            expires: UtcMillis(self.expires),
            entries: self.entries.into_iter().map(ReadyEntryDto::model).collect::<Result<_, _>>()?,
            more: self.more,
            badge: self.badge.is_some(),
            renews: None,
        })
    }
}

impl<'a> ReadyEntryDto<'a> {
    fn from_entry(entry: &'a ReadyEntry) -> Self {
        let (actor, actor_more) = split_actor(entry.actor.as_ref());
        Self {
            key: entry_key(entry.key),
            subject: entry.subject.as_str().into(),
            reasons: entry.reasons.iter().map(ReasonDto::from_reason).collect(),
            section: entry.section,
            maybe: entry.maybe,
            actor,
            actor_more,
            kept: split_kept(&entry.kept),
            others: entry_keys(entry.named_others()),
            lists: entry.lists.iter().map(KeyListDto::from_list).collect(),
        }
    }

    fn model(self) -> Result<ReadyEntry, DecodeError> {
        Ok(ReadyEntry {
            key: self.key.model()?,
            subject: SubjectRef::new(&self.subject)?,
            reasons: self.reasons.iter().map(ReasonDto::model).collect::<Result<_, _>>()?,
            section: self.section,
            maybe: self.maybe,
            actor: join_actor((self.actor, self.actor_more))?,
            kept: join_kept(self.kept)?,
            others: to_entry_keys(&self.others)?,
            lists: self.lists.iter().map(KeyListDto::model).collect(),
        })
    }
}

impl KeyListDto {
    fn from_list(list: &DayKeyList) -> Self {
        Self { day: list.day.0, id: FixedBytes(list.id.0), count: list.count }
    }

    fn model(&self) -> DayKeyList {
        DayKeyList { day: Day(self.day), id: KeyListId(self.id.0), count: self.count }
    }
}
