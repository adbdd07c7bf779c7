//! A mark as serde sees it: what `window` owes to days, and what `archive` keeps of them.

use model::{EndReason, KeyListId, Mark, MarkAction, ReadyId, UtcMillis};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::FixedBytes,
    codec::DecodeError,
    list,
    record_parts::{
        ChannelDto, EntryKeyDto, HookDto, WhyDto, entry_keys, join_channel, ready_id, split_channel,
        to_entry_keys,
    },
};

#[derive(Serialize, Deserialize)]
#[serde(rename = "mark")]
pub(crate) struct MarkDto {
    channel: Option<ChannelDto>,
    hook: HookDto,
    what: MarkActionDto,
    ready: Option<FixedBytes<16>>,
    why: Option<WhyDto>,
    maybe: Option<bool>,
    until: Option<i64>,
    #[serde(with = "list")]
    covers: Vec<EntryKeyDto>,
    list: Option<FixedBytes<16>>,
    at: i64,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "mark_what", rename_all = "snake_case")]
enum MarkActionDto {
    Taken,
    Returned,
    Left,
    Ended,
    Carried,
    Read,
    Cleared,
    Seen,
    Unread,
    Restored,
    Saved,
    Unsaved,
    Snoozed,
    Withdrawn,
}

/// What a mark says, and what belongs to that.
struct MarkParts {
    what: MarkActionDto,
    ready: Option<ReadyId>,
    why: Option<EndReason>,
    maybe: Option<bool>,
    until: Option<UtcMillis>,
}

impl MarkParts {
    fn plain(what: MarkActionDto) -> Self {
        Self { what, ready: None, why: None, maybe: None, until: None }
    }

    fn from_action(what: MarkAction) -> Self {
        match what {
            MarkAction::Taken(ready) => Self { ready: Some(ready), ..Self::plain(MarkActionDto::Taken) },
            MarkAction::Returned { ready, maybe } => {
                Self { ready: Some(ready), maybe: Some(maybe), ..Self::plain(MarkActionDto::Returned) }
            }
            MarkAction::Left { ready, why } => {
                Self { ready: Some(ready), why: Some(why), ..Self::plain(MarkActionDto::Left) }
            }
            MarkAction::Ended(why) => Self { why: Some(why), ..Self::plain(MarkActionDto::Ended) },
            MarkAction::Carried(ready) => Self { ready: Some(ready), ..Self::plain(MarkActionDto::Carried) },
            MarkAction::Read => Self::plain(MarkActionDto::Read),
            MarkAction::Cleared => Self::plain(MarkActionDto::Cleared),
            MarkAction::Seen => Self::plain(MarkActionDto::Seen),
            MarkAction::Unread => Self::plain(MarkActionDto::Unread),
            MarkAction::Restored => Self::plain(MarkActionDto::Restored),
            MarkAction::Saved => Self::plain(MarkActionDto::Saved),
            MarkAction::Unsaved => Self::plain(MarkActionDto::Unsaved),
            MarkAction::Snoozed(until) => Self { until: Some(until), ..Self::plain(MarkActionDto::Snoozed) },
            MarkAction::Withdrawn => Self::plain(MarkActionDto::Withdrawn),
        }
    }

    fn action(&self) -> Result<MarkAction, DecodeError> {
        Ok(match (self.what, self.ready, self.why, self.maybe, self.until) {
            (MarkActionDto::Taken, Some(ready), None, None, None) => MarkAction::Taken(ready),
            (MarkActionDto::Returned, Some(ready), None, Some(maybe), None) => {
                MarkAction::Returned { ready, maybe }
            }
            (MarkActionDto::Left, Some(ready), Some(why), None, None) => MarkAction::Left { ready, why },
            (MarkActionDto::Ended, None, Some(why), None, None) => MarkAction::Ended(why),
            (MarkActionDto::Carried, Some(ready), None, None, None) => MarkAction::Carried(ready),
            (MarkActionDto::Snoozed, None, None, None, Some(until)) => MarkAction::Snoozed(until),
            (what, None, None, None, None) => match what {
                MarkActionDto::Read => MarkAction::Read,
                MarkActionDto::Cleared => MarkAction::Cleared,
                MarkActionDto::Seen => MarkAction::Seen,
                MarkActionDto::Unread => MarkAction::Unread,
                MarkActionDto::Restored => MarkAction::Restored,
                MarkActionDto::Saved => MarkAction::Saved,
                MarkActionDto::Unsaved => MarkAction::Unsaved,
                MarkActionDto::Withdrawn => MarkAction::Withdrawn,
                lacking => return Err(mark_error(lacking)),
            },
            (what, ..) => return Err(mark_error(what)),
        })
    }
}

fn mark_error(what: MarkActionDto) -> DecodeError {
    DecodeError::new(format!("a mark {what:?} lacks a part or has one too many"))
}

impl MarkDto {
    pub(crate) fn from_mark(mark: &Mark) -> Self {
        let MarkParts { what, ready, why, maybe, until } = MarkParts::from_action(mark.what);
        let (channel, hook) = mark.channel.map(split_channel).unzip();
        Self {
            channel,
            hook: hook.flatten(),
            what,
            ready: ready.map(ready_id),
            why: why.map(WhyDto::from_model),
            maybe,
            until: until.map(|until| until.0),
            covers: entry_keys(&mark.covers),
            list: mark.list.map(|list| FixedBytes(list.0)),
            at: mark.at.0,
        }
    }

    pub(crate) fn model(&self) -> Result<Mark, DecodeError> {
        let parts = MarkParts {
            what: self.what,
            ready: self.ready.map(|id| ReadyId(id.0)),
            why: self.why.map(WhyDto::model),
            maybe: self.maybe,
            until: self.until.map(UtcMillis),
        };
        let what = parts.action()?;
        let channel = match (self.channel, self.hook.as_deref()) {
            (None, None) => None,
            (None, Some(_)) => return Err(DecodeError::new("a mark has a hook and no channel")),
            (Some(channel), hook) => Some(join_channel(channel, hook)?),
        };
        let list = self.list.map(|list| KeyListId(list.0));
        Ok(Mark { channel, what, covers: to_entry_keys(&self.covers)?, list, at: UtcMillis(self.at) })
    }
}
