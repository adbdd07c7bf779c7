//! The contract of a courier. A courier knows nothing of digests and journals: it is given a rendered
//! message and a gate, and asks the gate once, as late as its protocol allows.

use std::{collections::BTreeSet, fmt};

use async_trait::async_trait;
use house_facts::erasure::EraseMode;
use model::{
    Channel, Kind, Person, PlanName, ReadyId, SubjectRef, Tenant, UtcMillis, device::PushDevice, hook::Hook,
    returns::ReturnSort,
};

/// One rendered message. From the same facts the same bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    pub tenant: Tenant,
    pub ready: ReadyId,
    /// Derived from the Ready, so that a repeated message is the same message to whoever receives it.
    pub message_id: String,
    /// The mail's subject line, or what a push or a call is called.
    pub headline: String,
    /// In plain words: of a mail its text part, of a push or a call what it says.
    pub text: String,
    /// The mail's date: when it was due, or when it was made if that was much later.
    pub date: UtcMillis,
    pub way: MessagePayload,
}

/// How a message goes, and what it has beside its words.
#[derive(Clone, PartialEq, Eq)]
pub enum MessagePayload {
    Mail(MailPayload),
    Push(PushPayload),
    Call(CallPayload),
}

/// What a mail has.
#[derive(Clone, PartialEq, Eq)]
pub struct MailPayload {
    pub from: String,
    pub to: String,
    /// The line that a mail client shows beside the headline.
    pub preheader: String,
    pub html: String,
    /// The address that servers send it back to; the sender's own without it.
    pub return_path: Option<String>,
    /// More headers, names and values; checked against line breaks.
    pub headers: Vec<(String, String)>,
}

/// Where a push or a call leads, beside what it is about. Whoever has such an address may do what it is for.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct MessageLinks {
    /// A POST there says that the person read what the message tells.
    pub read: Option<MessageLink>,
    /// The page on which the person chooses what they are told.
    pub settings: Option<MessageLink>,
}

/// An address, and what a button says that leads there, in the reader's language.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageLink {
    pub address: String,
    pub title: String,
}

impl MessageLinks {
    /// The two, with the names by which programs know them.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, &MessageLink)> {
        [("read", &self.read), ("settings", &self.settings)]
            .into_iter()
            .filter_map(|(name, link)| Some((name, link.as_ref()?)))
    }
}

/// What a push has; it goes to every device.
#[derive(Clone, PartialEq, Eq)]
pub struct PushPayload {
    pub devices: Vec<PushDevice>,
    /// More words, for devices that have room for them.
    pub longer: String,
    /// The address of a picture.
    pub image: Option<String>,
    /// The address of what it opens.
    pub opens: Option<String>,
    pub links: MessageLinks,
    /// Without a sound.
    pub silent: bool,
    /// The number on the app's icon, where it has one.
    pub badge: Option<u32>,
    /// It says nothing and shows nothing: there is only the number, and what is taken away.
    pub wordless: bool,
    /// The same push was shown before, in other words: a part of what it told was revoked.
    pub replaces: bool,
    /// Pushes before it, by the ids of their Readys, of which all that they told was revoked. An app takes them off its screen
    /// with one that is wordless, a browser with any.
    pub withdrawn: Vec<ReadyId>,
    /// From here on nobody wants it any more.
    pub expires: UtcMillis,
}

/// What the call of a hook has.
#[derive(Clone, PartialEq, Eq)]
pub struct CallPayload {
    pub hook: Hook,
    /// Where it goes.
    pub address: String,
    pub person: Person,
    pub plan: PlanName,
    /// More words, where there is room for them; empty: those it has.
    pub longer: String,
    /// The address of a picture.
    pub image: Option<String>,
    /// The address of what it opens.
    pub opens: Option<String>,
    pub links: MessageLinks,
    /// Nobody is to be disturbed by it.
    pub silent: bool,
    /// What it tells, for programs.
    pub told: Vec<CallItem>,
    /// From here on nobody wants it any more.
    pub expires: UtcMillis,
}

/// One thing that a call tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallItem {
    /// The section's title.
    pub section: String,
    pub kind: Kind,
    pub subject: SubjectRef,
    /// It may have been told before.
    pub maybe: bool,
    /// How many entries it stands for.
    pub count: usize,
}

// An address never reaches a log by accident.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}

impl Message {
    /// The same message with another mail, if it is one.
    #[must_use]
    pub fn with_mail(mut self, change: impl FnOnce(&mut MailPayload)) -> Self {
        if let MessagePayload::Mail(mail) = &mut self.way {
            change(mail);
        }
        self
    }

    /// What it has as a mail, if it is one.
    pub fn mail(&self) -> Option<&MailPayload> {
        match &self.way {
            MessagePayload::Mail(mail) => Some(mail),
            MessagePayload::Push(_) | MessagePayload::Call(_) => None,
        }
    }

    /// By which channel it goes.
    pub fn channel(&self) -> Channel {
        match &self.way {
            MessagePayload::Mail(_) => Channel::Email,
            MessagePayload::Push(_) => Channel::Push,
            MessagePayload::Call(call) => Channel::Hook(call.hook),
        }
    }
}

/// The last question before the point of no return, and whom to tell what came to light behind it.
#[async_trait]
pub trait HandoverGate: Send + Sync {
    /// Whether the message may go now. Asked at most once a message.
    async fn may_go(&self) -> bool;

    /// The token of a device reaches nobody any more, and never will. Said each time it is found out, before the
    /// hand-over ends.
    async fn note_dead_device(&self, _device: &PushDevice) {}

    /// Nobody is behind the address of this call any more, and nobody will be. Said as the other.
    async fn note_dead_address(&self, _call: &CallPayload) {}

    /// The receiver's server said at once what else would have come back later. Said as the others.
    async fn note_return(&self, _what: ReturnSort, _code: &str) {}
}

/// What became of a hand-over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HandoverOutcome {
    Accepted,
    /// The gate said no; nothing was sent.
    Stopped,
    /// Whoever it is for was asked about this very message and said: not now. It did not go out.
    NotNow(String),
    /// Nobody takes any message now: the other side is away, is left alone for a while, or wants less of us. It did not go
    /// out, and that says nothing about this message.
    Away(String),
    /// So many go that way that this one had no turn. It did not go out, and may be handed over again at once.
    Busy(String),
    /// Never; it did not go out.
    Refused(String),
    /// It may have gone out.
    Unknown(String),
}

impl HandoverOutcome {
    /// In a word, without what others said of it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Stopped => "stopped",
            Self::NotNow(_) => "not_now",
            Self::Away(_) => "away",
            Self::Busy(_) => "busy",
            Self::Refused(_) => "refused",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// Why the courier could not even say so.
#[derive(Debug, thiserror::Error)]
pub enum CourierError {
    #[error("the courier is broken: {0}")]
    Broken(String),
}

/// Whose messages are to go: what they are of, and the addresses that they went to.
#[derive(Clone, Default)]
pub struct CourierEraseRequest {
    pub readys: BTreeSet<ReadyId>,
    pub addresses: Vec<String>,
}

// An address never reaches a log by accident.
impl fmt::Debug for CourierEraseRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CourierEraseRequest").field("readys", &self.readys).finish_non_exhaustive()
    }
}

/// Takes messages to people.
#[async_trait]
pub trait Courier: Send + Sync + fmt::Debug {
    /// Hands a message over. `Accepted` means that the other side has it for good.
    async fn hand(&self, message: &Message, gate: &dyn HandoverGate)
    -> Result<HandoverOutcome, CourierError>;

    /// Whether a message that was handed over earlier was sent, by its channel and its id; `None` if nobody can tell.
    async fn was_sent(&self, channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError>;

    /// Removes what it still has of somebody's messages, or counts it; `None` from a courier that keeps none once they
    /// are handed over. What was removed is not in the courier's hands any more: its outcome may be told as not sent.
    async fn erase(
        &self,
        _whose: &CourierEraseRequest,
        _how: EraseMode,
    ) -> Result<Option<u64>, CourierError> {
        Ok(None)
    }
}
