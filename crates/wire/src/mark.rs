//! A mark as serde sees it: what `window` owes to days, and what `archive` keeps of them.

use model::{Mark, Millis, ReadyId, What};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    codec::Undecodable,
    list,
    parts::{
        ChannelDto, EntryKeyDto, HookDto, WhyDto, channel, entry_keys, ready_id, to_channel, to_entry_keys,
    },
};

#[derive(Serialize, Deserialize)]
#[serde(rename = "mark")]
pub(crate) struct MarkDto {
    channel: Option<ChannelDto>,
    hook: HookDto,
    what: WhatDto,
    ready: Option<Fixed<16>>,
    why: Option<WhyDto>,
    maybe: Option<bool>,
    #[serde(with = "list")]
    covers: Vec<EntryKeyDto>,
    at: i64,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "mark_what", rename_all = "snake_case")]
enum WhatDto {
    Taken,
    Returned,
    Left,
    Ended,
    Carried,
    Read,
    Cleared,
}

impl MarkDto {
    pub(crate) fn of(mark: &Mark) -> Self {
        let (what, ready, why, maybe) = match mark.what {
            What::Taken(ready) => (WhatDto::Taken, Some(ready), None, None),
            What::Returned { ready, maybe } => (WhatDto::Returned, Some(ready), None, Some(maybe)),
            What::Left { ready, why } => (WhatDto::Left, Some(ready), Some(why), None),
            What::Ended(why) => (WhatDto::Ended, None, Some(why), None),
            What::Carried(ready) => (WhatDto::Carried, Some(ready), None, None),
            What::Read => (WhatDto::Read, None, None, None),
            What::Cleared => (WhatDto::Cleared, None, None, None),
        };
        let (channel, hook) = mark.channel.map(channel).unzip();
        Self {
            channel,
            hook: hook.flatten(),
            what,
            ready: ready.map(ready_id),
            why: why.map(WhyDto::of),
            maybe,
            covers: entry_keys(&mark.covers),
            at: mark.at.0,
        }
    }

    pub(crate) fn model(&self) -> Result<Mark, Undecodable> {
        let ready = self.ready.map(|id| ReadyId(id.0));
        let why = self.why.map(WhyDto::model);
        let what = match (self.what, ready, why, self.maybe) {
            (WhatDto::Taken, Some(ready), None, None) => What::Taken(ready),
            (WhatDto::Returned, Some(ready), None, Some(maybe)) => What::Returned { ready, maybe },
            (WhatDto::Left, Some(ready), Some(why), None) => What::Left { ready, why },
            (WhatDto::Ended, None, Some(why), None) => What::Ended(why),
            (WhatDto::Carried, Some(ready), None, None) => What::Carried(ready),
            (WhatDto::Read, None, None, None) => What::Read,
            (WhatDto::Cleared, None, None, None) => What::Cleared,
            (what, ..) => {
                return Err(Undecodable::new(format!("a mark {what:?} lacks a part or has one too many")));
            }
        };
        let channel = match (self.channel, self.hook.as_deref()) {
            (None, None) => None,
            (None, Some(_)) => return Err(Undecodable::new("a mark has a hook and no channel")),
            (Some(channel), hook) => Some(to_channel(channel, hook)?),
        };
        Ok(Mark { channel, what, covers: to_entry_keys(&self.covers)?, at: Millis(self.at) })
    }
}
