//! Marks: records in a day that say what became of entries. A mark names the keys it covers, so what
//! arrives between reading a day and marking it is never lost. Marks are immutable too.

use std::fmt;

use crate::{entry::EntryKey, hook::Hook, id::ReadyId, key_list::KeyListId, profile, time::UtcMillis};

/// A way to reach a person.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Channel {
    Email,
    Push,
    /// A request to an address.
    Hook(Hook),
}

impl Channel {
    pub const ALL: [Self; 2 + Hook::ALL.len()] = {
        let mut all = [Self::Email; 2 + Hook::ALL.len()];
        all[1] = Self::Push;
        let mut at = 0;
        while at < Hook::ALL.len() {
            all[2 + at] = Self::Hook(Hook::ALL[at]);
            at += 1;
        }
        all
    };

    pub const fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Push => "push",
            Self::Hook(hook) => hook.name(),
        }
    }

    /// The profile's flag: nothing on this channel, please.
    pub fn off(self) -> &'static str {
        match self {
            Self::Email => profile::EMAIL_OFF,
            Self::Push => profile::PUSH_OFF,
            Self::Hook(hook) => hook.off(),
        }
    }

    /// The profile's field of the plan by which the person wants it, of those that a kind offers.
    pub fn plan(self) -> &'static str {
        match self {
            Self::Email => profile::EMAIL_PLAN,
            Self::Push => profile::PUSH_PLAN,
            Self::Hook(hook) => hook.plan(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.name() == text)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an entry ended without being told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndReason {
    /// The kind's `while` condition does not hold any more.
    NoLongerTrue,
    /// The person does not follow any of the reasons' subjects any more.
    Unfollowed,
    /// The kind is not in the catalogue any more.
    KindGone,
    /// The plan is not in the catalogue any more.
    PlanGone,
    /// The person asked not to be told on this channel.
    Unsubscribed,
    /// The person has no address on this channel.
    NoAddress,
    /// The person was erased.
    Erased,
    /// Its Ready outlived the instant after which it is not sent.
    Expired,
    /// It may have been sent already, twice; a third time would be a nuisance.
    MaybeSent,
    /// The channel refused it for good.
    Refused,
    /// The person read or cleared it while it was on its way.
    SeenBefore,
    /// Another Ready told it.
    ToldElsewhere,
    /// The person turned it off: its kind, category, actor, subject or thread, or everything. Or the catalogue tells it only to
    /// those who choose it.
    Muted,
    /// The person is not near any more.
    MovedAway,
    /// An earlier message told the same subject.
    ToldBefore,
    /// There were too few for a message.
    TooFew,
    /// It came in hours in which the plan tells nothing.
    QuietHours,
    /// The person was here and saw it for themselves.
    SeesItself,
    /// There were as many messages as there may be until it expired.
    OverCap,
    /// Somebody cancelled its window by hand.
    Cancelled,
    /// A mail to this address came back: it is dead.
    Bounced,
    /// Mails to this address came back on several days; it is left alone for a while.
    BouncedSoftly,
    /// The person complained about mails of this stream.
    Complained,
    /// What it told of was revoked.
    Withdrawn,
    /// The person put it off while it was on its way.
    PutOff,
}

impl EndReason {
    pub const ALL: [Self; 25] = [
        Self::NoLongerTrue,
        Self::Unfollowed,
        Self::KindGone,
        Self::PlanGone,
        Self::Unsubscribed,
        Self::NoAddress,
        Self::Erased,
        Self::Expired,
        Self::MaybeSent,
        Self::Refused,
        Self::SeenBefore,
        Self::ToldElsewhere,
        Self::Muted,
        Self::MovedAway,
        Self::ToldBefore,
        Self::TooFew,
        Self::QuietHours,
        Self::SeesItself,
        Self::OverCap,
        Self::Cancelled,
        Self::Bounced,
        Self::BouncedSoftly,
        Self::Complained,
        Self::Withdrawn,
        Self::PutOff,
    ];

    /// Whether the channel did not reach the person, so that whatever follows need not wait for them to come.
    pub fn is_unreached(self) -> bool {
        matches!(
            self,
            Self::NoAddress
                | Self::Unsubscribed
                | Self::Refused
                | Self::Bounced
                | Self::BouncedSoftly
                | Self::Complained
        )
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::NoLongerTrue => "no longer true",
            Self::Unfollowed => "unfollowed",
            Self::KindGone => "kind is gone",
            Self::PlanGone => "plan is gone",
            Self::Unsubscribed => "unsubscribed",
            Self::NoAddress => "no address",
            Self::Erased => "erased",
            Self::Expired => "expired",
            Self::MaybeSent => "may have been sent",
            Self::Refused => "refused by the channel",
            Self::SeenBefore => "seen before",
            Self::ToldElsewhere => "told elsewhere",
            Self::Muted => "muted",
            Self::MovedAway => "no longer near",
            Self::ToldBefore => "told before",
            Self::TooFew => "too few for a message",
            Self::QuietHours => "quiet hours",
            Self::SeesItself => "was online",
            Self::OverCap => "over a cap",
            Self::Cancelled => "cancelled by hand",
            Self::Bounced => "suppressed (hard bounce)",
            Self::BouncedSoftly => "suppressed (soft bounces)",
            Self::Complained => "suppressed (complaint)",
            Self::Withdrawn => "withdrawn",
            Self::PutOff => "put off",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.text() == text)
    }
}

/// What a mark says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MarkAction {
    /// A Ready took the entries.
    Taken(ReadyId),
    /// That Ready did not tell them: they wait again. `maybe` if nobody can say whether it was sent.
    Returned {
        ready: ReadyId,
        maybe: bool,
    },
    /// That Ready went out without them, for this reason.
    Left {
        ready: ReadyId,
        why: EndReason,
    },
    /// They ended untold on this channel.
    Ended(EndReason),
    /// They were over a section's budget and wait for the next digest.
    Carried(ReadyId),
    /// The person read them.
    Read,
    /// The person cleared them.
    Cleared,
    /// A visit showed them to the person, which is not to say that they read them.
    Seen,
    /// They are unread again.
    Unread,
    /// They are back after the person cleared them.
    Restored,
    Saved,
    Unsaved,
    /// The person put them off until then: they come back as news.
    Snoozed(UtcMillis),
    /// What they tell of was revoked, or is not there any more.
    Withdrawn,
}

impl MarkAction {
    /// Whether it says what the person did, or what holds on every channel.
    pub fn is_on_all_channels(self) -> bool {
        !matches!(
            self,
            Self::Taken(_) | Self::Returned { .. } | Self::Left { .. } | Self::Ended(_) | Self::Carried(_)
        )
    }
}

/// One immutable mark. `channel` is `None` for what the person did: that counts everywhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark {
    pub channel: Option<Channel>,
    pub what: MarkAction,
    /// Sorted, without doubles, all of one day.
    pub covers: Vec<EntryKey>,
    /// A list of its day with all that it covers, where those are many: then it names none itself.
    pub list: Option<KeyListId>,
    pub at: UtcMillis,
}

impl Mark {
    /// Sorts the keys, so that equal marks are equal rows.
    pub fn new(channel: Option<Channel>, what: MarkAction, mut covers: Vec<EntryKey>, at: UtcMillis) -> Self {
        covers.sort_unstable();
        covers.dedup();
        Self { channel, what, covers, list: None, at }
    }
}
