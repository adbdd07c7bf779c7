//! What several records have in common, as serde sees it. The Rust names are ours, the serde names are
//! those of the schemas: Avro writes under a wrong name and then cannot read what it wrote.

use std::borrow::Cow;

use model::{
    AudienceMatch, Channel, EndReason, EntryKey, EntryReason, EventKey, Kind, Person, PersonScore, ReadyId,
    SubjectRef, hook::Hook,
};
use serde::{Deserialize, Serialize};

use crate::{bytes::FixedBytes, codec::DecodeError};

/// A text, borrowed when written and owned when read.
pub(crate) type WireText<'a> = Cow<'a, str>;

pub(crate) type EntryKeyDto = FixedBytes<24>;

pub(crate) fn entry_key(key: EntryKey) -> EntryKeyDto {
    FixedBytes(key.to_bytes())
}

pub(crate) fn entry_keys(keys: &[EntryKey]) -> Vec<EntryKeyDto> {
    keys.iter().map(|key| entry_key(*key)).collect()
}

impl FixedBytes<24> {
    pub(crate) fn model(self) -> Result<EntryKey, DecodeError> {
        EntryKey::from_bytes(&self.0).ok_or_else(|| DecodeError::new("not an entry key"))
    }
}

pub(crate) fn to_entry_keys(keys: &[EntryKeyDto]) -> Result<Vec<EntryKey>, DecodeError> {
    keys.iter().map(|key| key.model()).collect()
}

pub(crate) fn event_key(key: EventKey) -> FixedBytes<16> {
    FixedBytes(key.0)
}

pub(crate) fn ready_id(id: ReadyId) -> FixedBytes<16> {
    FixedBytes(id.0)
}

/// Both directions of an enum whose variants have the same names.
macro_rules! twins {
    ($dto:ident = $model:ty as $name:literal: $($variant:ident),*) => {
        #[derive(Serialize, Deserialize, Clone, Copy)]
        #[serde(rename = $name, rename_all = "snake_case")]
        pub(crate) enum $dto { $($variant),* }

        impl $dto {
            pub(crate) fn from_model(model: $model) -> Self {
                match model { $(<$model>::$variant => Self::$variant),* }
            }

            pub(crate) fn model(self) -> $model {
                match self { $(Self::$variant => <$model>::$variant),* }
            }
        }
    };
}
pub(crate) use twins;

/// A channel; which hook it is stands beside it, so that one more of them is no other schema.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "channel", rename_all = "snake_case")]
pub(crate) enum ChannelDto {
    Email,
    Push,
    Hook,
}

/// The name of a hook, where there is one.
pub(crate) type HookDto = Option<WireText<'static>>;

pub(crate) fn split_channel(channel: Channel) -> (ChannelDto, HookDto) {
    match channel {
        Channel::Email => (ChannelDto::Email, None),
        Channel::Push => (ChannelDto::Push, None),
        Channel::Hook(hook) => (ChannelDto::Hook, Some(hook.name().into())),
    }
}

pub(crate) fn join_channel(channel: ChannelDto, hook: Option<&str>) -> Result<Channel, DecodeError> {
    match (channel, hook) {
        (ChannelDto::Email, None) => Ok(Channel::Email),
        (ChannelDto::Push, None) => Ok(Channel::Push),
        (ChannelDto::Hook, Some(name)) => {
            let hook =
                Hook::parse(name).ok_or_else(|| DecodeError::new(format!("no hook is called {name:?}")));
            hook.map(Channel::Hook)
        }
        (channel, _) => Err(DecodeError::new(format!("a channel {channel:?} lacks a name or has one"))),
    }
}

twins!(WhyDto = EndReason as "why": NoLongerTrue, Unfollowed, KindGone, PlanGone, Unsubscribed, NoAddress, Erased,
    Expired, MaybeSent, Refused, SeenBefore, ToldElsewhere, Muted, MovedAway, ToldBefore,
    TooFew, QuietHours, SeesItself, OverCap, Cancelled, Bounced, BouncedSoftly, Complained, Withdrawn, PutOff);

#[derive(Serialize, Deserialize)]
#[serde(rename = "reason")]
pub(crate) struct ReasonDto<'a> {
    kind: WireText<'a>,
    because: ReasonCauseDto,
    target: Option<WireText<'a>>,
    person: Option<WireText<'a>>,
    score: Option<i64>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "because", rename_all = "snake_case")]
enum ReasonCauseDto {
    Follows,
    Near,
    Named,
    Listed,
    Mutual,
    Everyone,
}

impl<'a> ReasonDto<'a> {
    pub(crate) fn from_reason(reason: &'a EntryReason) -> Self {
        let (because, target, person, score) = match &reason.because {
            AudienceMatch::Follows(target) => {
                (ReasonCauseDto::Follows, Some(target.as_str().into()), None, None)
            }
            AudienceMatch::Near => (ReasonCauseDto::Near, None, None, None),
            AudienceMatch::Named => (ReasonCauseDto::Named, None, None, None),
            AudienceMatch::Listed(score) => (ReasonCauseDto::Listed, None, None, Some(score.0)),
            AudienceMatch::Mutual(other) => (ReasonCauseDto::Mutual, None, Some(other.as_str().into()), None),
            AudienceMatch::Everyone => (ReasonCauseDto::Everyone, None, None, None),
        };
        Self { kind: reason.kind.as_str().into(), because, target, person, score }
    }

    pub(crate) fn model(&self) -> Result<EntryReason, DecodeError> {
        let because = match (self.because, &self.target, &self.person, self.score) {
            (ReasonCauseDto::Follows, Some(target), None, None) => {
                AudienceMatch::Follows(SubjectRef::new(target)?)
            }
            (ReasonCauseDto::Near, None, None, None) => AudienceMatch::Near,
            (ReasonCauseDto::Named, None, None, None) => AudienceMatch::Named,
            (ReasonCauseDto::Listed, None, None, Some(score)) => AudienceMatch::Listed(PersonScore(score)),
            (ReasonCauseDto::Mutual, None, Some(other), None) => AudienceMatch::Mutual(Person::new(other)?),
            (ReasonCauseDto::Everyone, None, None, None) => AudienceMatch::Everyone,
            (because, ..) => {
                let reason = format!("a reason {because:?} lacks a part or has one too many");
                return Err(DecodeError::new(reason));
            }
        };
        Ok(EntryReason { kind: Kind::new(&self.kind)?, because })
    }
}
