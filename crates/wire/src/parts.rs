//! What several records have in common, as serde sees it. The Rust names are ours, the serde names are
//! those of the schemas: Avro writes under a wrong name and then cannot read what it wrote.

use std::borrow::Cow;

use model::{Because, Channel, EntryKey, EventKey, Kind, ReadyId, Reason, SubjectRef, Why};
use serde::{Deserialize, Serialize};

use crate::{bytes::Fixed, codec::Undecodable};

/// A text, borrowed when written and owned when read.
pub(crate) type Text<'a> = Cow<'a, str>;

pub(crate) type EntryKeyDto = Fixed<24>;

pub(crate) fn entry_key(key: EntryKey) -> EntryKeyDto {
    Fixed(key.bytes())
}

pub(crate) fn entry_keys(keys: &[EntryKey]) -> Vec<EntryKeyDto> {
    keys.iter().map(|key| entry_key(*key)).collect()
}

impl Fixed<24> {
    pub(crate) fn model(self) -> Result<EntryKey, Undecodable> {
        EntryKey::from_bytes(&self.0).ok_or_else(|| Undecodable::new("no entry key"))
    }
}

pub(crate) fn to_entry_keys(keys: &[EntryKeyDto]) -> Result<Vec<EntryKey>, Undecodable> {
    keys.iter().map(|key| key.model()).collect()
}

pub(crate) fn event_key(key: EventKey) -> Fixed<16> {
    Fixed(key.0)
}

pub(crate) fn ready_id(id: ReadyId) -> Fixed<16> {
    Fixed(id.0)
}

/// Both directions of an enum whose variants have the same names.
macro_rules! twins {
    ($dto:ident = $model:ty as $name:literal: $($variant:ident),*) => {
        #[derive(Serialize, Deserialize, Clone, Copy)]
        #[serde(rename = $name, rename_all = "snake_case")]
        pub(crate) enum $dto { $($variant),* }

        impl $dto {
            pub(crate) fn of(model: $model) -> Self {
                match model { $(<$model>::$variant => Self::$variant),* }
            }

            pub(crate) fn model(self) -> $model {
                match self { $(Self::$variant => <$model>::$variant),* }
            }
        }
    };
}
pub(crate) use twins;

twins!(ChannelDto = Channel as "channel": Email);

twins!(WhyDto = Why as "why": NoLongerTrue, Unfollowed, KindGone, PlanGone, Unsubscribed, NoAddress, Erased,
    Expired, MaybeSent, Refused, SeenBefore, ToldElsewhere);

#[derive(Serialize, Deserialize)]
#[serde(rename = "reason")]
pub(crate) struct ReasonDto<'a> {
    kind: Text<'a>,
    because: BecauseDto,
    target: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "because", rename_all = "snake_case")]
enum BecauseDto {
    Follows,
}

impl<'a> ReasonDto<'a> {
    pub(crate) fn of(reason: &'a Reason) -> Self {
        let (because, target) = match &reason.because {
            Because::Follows(target) => (BecauseDto::Follows, Some(target.as_str().into())),
        };
        Self { kind: reason.kind.as_str().into(), because, target }
    }

    pub(crate) fn model(&self) -> Result<Reason, Undecodable> {
        let because = match (&self.because, &self.target) {
            (BecauseDto::Follows, Some(target)) => Because::Follows(SubjectRef::new(target)?),
            (BecauseDto::Follows, None) => return Err(Undecodable::new("a reason follows nothing")),
        };
        Ok(Reason { kind: Kind::new(&self.kind)?, because })
    }
}
