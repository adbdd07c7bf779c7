//! A mark as serde sees it: what `window` owes to days, and what `archive` keeps of them.

use model::{KeyListId, Mark, MarkAction, ReadyId, UtcMillis};
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
}

impl MarkDto {
    pub(crate) fn from_mark(mark: &Mark) -> Self {
        let (what, ready, why, maybe) = match mark.what {
            MarkAction::Taken(ready) => (MarkActionDto::Taken, Some(ready), None, None),
            MarkAction::Returned { ready, maybe } => {
                (MarkActionDto::Returned, Some(ready), None, Some(maybe))
            }
            MarkAction::Left { ready, why } => (MarkActionDto::Left, Some(ready), Some(why), None),
            MarkAction::Ended(why) => (MarkActionDto::Ended, None, Some(why), None),
            MarkAction::Carried(ready) => (MarkActionDto::Carried, Some(ready), None, None),
            MarkAction::Read => (MarkActionDto::Read, None, None, None),
            MarkAction::Cleared => (MarkActionDto::Cleared, None, None, None),
        };
        let (channel, hook) = mark.channel.map(split_channel).unzip();
        Self {
            channel,
            hook: hook.flatten(),
            what,
            ready: ready.map(ready_id),
            why: why.map(WhyDto::from_model),
            maybe,
            covers: entry_keys(&mark.covers),
            list: mark.list.map(|list| FixedBytes(list.0)),
            at: mark.at.0,
        }
    }

    pub(crate) fn model(&self) -> Result<Mark, DecodeError> {
        let ready = self.ready.map(|id| ReadyId(id.0));
        let why = self.why.map(WhyDto::model);
        let what = match (self.what, ready, why, self.maybe) {
            (MarkActionDto::Taken, Some(ready), None, None) => MarkAction::Taken(ready),
            (MarkActionDto::Returned, Some(ready), None, Some(maybe)) => {
                MarkAction::Returned { ready, maybe }
            }
            (MarkActionDto::Left, Some(ready), Some(why), None) => MarkAction::Left { ready, why },
            (MarkActionDto::Ended, None, Some(why), None) => MarkAction::Ended(why),
            (MarkActionDto::Carried, Some(ready), None, None) => MarkAction::Carried(ready),
            (MarkActionDto::Read, None, None, None) => MarkAction::Read,
            (MarkActionDto::Cleared, None, None, None) => MarkAction::Cleared,
            (what, ..) => {
                return Err(DecodeError::new(format!("a mark {what:?} lacks a part or has one too many")));
            }
        };
        let channel = match (self.channel, self.hook.as_deref()) {
            (None, None) => None,
            (None, Some(_)) => return Err(DecodeError::new("a mark has a hook and no channel")),
            (Some(channel), hook) => Some(join_channel(channel, hook)?),
        };
        let list = self.list.map(|list| KeyListId(list.0));
        Ok(Mark { channel, what, covers: to_entry_keys(&self.covers)?, list, at: UtcMillis(self.at) })
    }
}
