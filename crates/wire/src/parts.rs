//! What several records have in common, as serde sees it. The Rust names are ours, the serde names are
//! those of the schemas: Avro writes under a wrong name and then cannot read what it wrote.

use std::borrow::Cow;

use model::{
    Because, Channel, EntryKey, EventKey, Kind, Person, ReadyId, Reason, Score, SubjectRef, Why, hook::Hook,
};
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

/// A channel; which hook it is stands beside it, so that one more of them is no other schema.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "channel", rename_all = "snake_case")]
pub(crate) enum ChannelDto {
    Email,
    Push,
    Hook,
}

/// The name of a hook, where there is one.
pub(crate) type HookDto = Option<Text<'static>>;

pub(crate) fn channel(channel: Channel) -> (ChannelDto, HookDto) {
    match channel {
        Channel::Email => (ChannelDto::Email, None),
        Channel::Push => (ChannelDto::Push, None),
        Channel::Hook(hook) => (ChannelDto::Hook, Some(hook.name().into())),
    }
}

pub(crate) fn to_channel(channel: ChannelDto, hook: Option<&str>) -> Result<Channel, Undecodable> {
    match (channel, hook) {
        (ChannelDto::Email, None) => Ok(Channel::Email),
        (ChannelDto::Push, None) => Ok(Channel::Push),
        (ChannelDto::Hook, Some(name)) => {
            let hook =
                Hook::parse(name).ok_or_else(|| Undecodable::new(format!("no hook is called {name:?}")));
            hook.map(Channel::Hook)
        }
        (channel, _) => Err(Undecodable::new(format!("a channel {channel:?} lacks a name or has one"))),
    }
}

twins!(WhyDto = Why as "why": NoLongerTrue, Unfollowed, KindGone, PlanGone, Unsubscribed, NoAddress, Erased,
    Expired, MaybeSent, Refused, SeenBefore, ToldElsewhere, Muted, MovedAway, ToldBefore,
    TooFew, QuietHours, SeesItself, OverCap, Cancelled, Bounced, BouncedSoftly, Complained);

#[derive(Serialize, Deserialize)]
#[serde(rename = "reason")]
pub(crate) struct ReasonDto<'a> {
    kind: Text<'a>,
    because: BecauseDto,
    target: Option<Text<'a>>,
    person: Option<Text<'a>>,
    score: Option<i64>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "because", rename_all = "snake_case")]
enum BecauseDto {
    Follows,
    Near,
    Named,
    Listed,
    Mutual,
    Everyone,
}

impl<'a> ReasonDto<'a> {
    pub(crate) fn of(reason: &'a Reason) -> Self {
        let (because, target, person, score) = match &reason.because {
            Because::Follows(target) => (BecauseDto::Follows, Some(target.as_str().into()), None, None),
            Because::Near => (BecauseDto::Near, None, None, None),
            Because::Named => (BecauseDto::Named, None, None, None),
            Because::Listed(score) => (BecauseDto::Listed, None, None, Some(score.0)),
            Because::Mutual(other) => (BecauseDto::Mutual, None, Some(other.as_str().into()), None),
            Because::Everyone => (BecauseDto::Everyone, None, None, None),
        };
        Self { kind: reason.kind.as_str().into(), because, target, person, score }
    }

    pub(crate) fn model(&self) -> Result<Reason, Undecodable> {
        let because = match (self.because, &self.target, &self.person, self.score) {
            (BecauseDto::Follows, Some(target), None, None) => Because::Follows(SubjectRef::new(target)?),
            (BecauseDto::Near, None, None, None) => Because::Near,
            (BecauseDto::Named, None, None, None) => Because::Named,
            (BecauseDto::Listed, None, None, Some(score)) => Because::Listed(Score(score)),
            (BecauseDto::Mutual, None, Some(other), None) => Because::Mutual(Person::new(other)?),
            (BecauseDto::Everyone, None, None, None) => Because::Everyone,
            (because, ..) => {
                let reason = format!("a reason {because:?} lacks a part or has one too many");
                return Err(Undecodable::new(reason));
            }
        };
        Ok(Reason { kind: Kind::new(&self.kind)?, because })
    }
}
