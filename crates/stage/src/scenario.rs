//! What a scenario is, once it has been read.

use house_facts::pause::PauseScope;
use ipnetwork::IpNetwork;
use model::{Channel, Day, GeoPoint, Kind, Person, PlanName, SubjectRef, Tenant, UtcMillis};
use serde_json::{Map, Value};

use crate::{calendar::ScenarioCalendar, mail_visitor::MailVisitor};

/// A whole file.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub file: String,
    /// The behaviour that it proves: its first line.
    pub proves: String,
    /// The folder of its catalogue, as it is written.
    pub catalogue: String,
    pub calendar: ScenarioCalendar,
    /// Where the addresses of networks are; those of others are nowhere.
    pub networks: Vec<(IpNetwork, GeoPoint)>,
    pub lines: Vec<ScenarioLine>,
}

/// One thing that is done or expected.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenarioLine {
    /// Counts from 1.
    pub number: usize,
    /// Where its verb stands, counting from 1.
    pub column: usize,
    /// What is written after the time, without its comment.
    pub text: String,
    /// Nothing may have come before this instant that was not expected; the same as `until` unless a
    /// stretch of time is written.
    pub from: UtcMillis,
    /// When it happens.
    pub until: UtcMillis,
    /// Whose persons and subjects it means.
    pub tenant: Tenant,
    pub what: ScenarioStep,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ScenarioStep {
    Do(ScenarioAct),
    Expect(ScenarioExpectation),
}

/// What comes back of a mail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScenarioReturn {
    /// The address is dead.
    Hard,
    /// It cannot take the mail.
    Soft,
    /// Its reader calls it spam.
    Complaint,
    /// Its reader's machine answers that they are away.
    Away,
}

/// What a mail server takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MailServerState {
    #[default]
    All,
    Nothing,
    /// One mail in so many minutes; for the others it is as if it were away.
    OneIn(i64),
}

/// Something that is done to the house.
#[derive(Clone, PartialEq, Debug)]
pub enum ScenarioAct {
    /// Fields of a person's profile.
    Profile {
        person: Person,
        fields: Map<String, Value>,
    },
    Follow {
        person: Person,
        target: SubjectRef,
        on: bool,
    },
    Mute {
        person: Person,
        muted: ScenarioMute,
        on: bool,
    },
    /// How a person wants to be told.
    Prefer {
        person: Person,
        choice: &'static str,
        /// The fields that say of what, and on which channel, as a fact has them; in order.
        of: Vec<(&'static str, String)>,
    },
    Event(Box<ScenarioEvent>),
    /// The last event once more, byte for byte.
    Again,
    /// A service takes something back.
    Revoke(ScenarioRevocation),
    /// The person did something to all these entries.
    Feedback {
        person: Person,
        about: ScenarioFeedbackTarget,
        did: FeedbackVerb,
    },
    /// The last mail to a person comes back.
    Returned {
        back: ScenarioReturn,
        person: Person,
    },
    /// Lifts the suppressions of a person, or of one stream alone.
    Lift {
        person: Person,
        stream: Option<String>,
    },
    /// The person is erased, or may come back.
    Erase {
        person: Person,
        welcomes: bool,
    },
    /// Whether the person's app has a live connection.
    App {
        person: Person,
        connected: bool,
    },
    /// A push can reach the person there from now on; on no platform, not any more.
    Device {
        person: Person,
        device: String,
        platform: String,
    },
    /// The person is on a surface.
    Seen {
        person: Person,
        surface: String,
    },
    /// Raw bytes of an upstream service.
    Upstream(Vec<u8>),
    /// A request, and what must come back.
    Post {
        path: String,
        body: String,
        status: u16,
        has: Vec<String>,
    },
    Restart(RestartMode),
    /// The house goes down and stays down.
    Stop,
    /// It comes up again, perhaps with another catalogue.
    Start {
        catalogue: Option<String>,
    },
    /// What the other side takes of our mail.
    MailServer {
        takes: MailServerState,
    },
    /// An operator stops something, or lets it go on.
    Pause {
        scope: PauseScope,
        is_paused: bool,
    },
    /// What waits under a plan is told now: one person's, or everybody's.
    Release {
        plan: PlanName,
        person: Option<Person>,
    },
    /// Cancels a window of a person under a plan; of several windows, the one with this key.
    Discard {
        plan: PlanName,
        person: Person,
        key: Option<String>,
    },
    /// Replays the records of a topic since an instant.
    Replay {
        topic: String,
        from: UtcMillis,
        tells_missing: bool,
    },
    /// The days before this one are written to a file and dropped.
    Archive {
        before: Day,
    },
}

/// What is taken back.
#[derive(Clone, PartialEq, Debug)]
pub enum ScenarioRevocation {
    /// All there is about a subject.
    Subject(SubjectRef),
    /// The event of this id; of an event about several subjects, the one about this.
    Event { id: String, about: Option<SubjectRef> },
}

/// What a person does not want to hear of any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScenarioMute {
    Kind(Kind),
    Actor(Person),
    Subject(SubjectRef),
    Thread(SubjectRef),
}

impl ScenarioMute {
    /// The word for its sort and its name, as a fact has them.
    pub(crate) fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Kind(kind) => ("kind", kind.as_str()),
            Self::Actor(actor) => ("actor", actor.as_str()),
            Self::Subject(subject) => ("subject", subject.as_str()),
            Self::Thread(of) => ("thread", of.as_str()),
        }
    }
}

/// Something that an upstream service says happened.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenarioEvent {
    pub id: String,
    pub source: String,
    pub what: String,
    pub subject: SubjectRef,
    /// What else it is about.
    pub subjects: Vec<SubjectRef>,
    /// Whom it lists, with how well it suits them.
    pub persons: Vec<(Person, Option<f64>)>,
    /// The source's own time.
    pub at: UtcMillis,
    /// Who did it. Of an event that happens several times they take turns, and so do their names.
    pub actors: Vec<String>,
    pub actor_names: Vec<String>,
    pub actor_kind: Option<String>,
    /// How often it happens, a millisecond after each other.
    pub times: u32,
    pub version: Option<i64>,
    pub fields: Map<String, Value>,
    pub via: EventRoute,
}

/// The way by which an event comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventRoute {
    Http,
    Topic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeedbackVerb {
    Read,
    Clear,
    View,
    Unread,
    Restore,
    Save,
    Unsave,
    Unsnooze,
    /// Until then.
    Snooze(UtcMillis),
}

impl FeedbackVerb {
    /// Those that a line needs nothing else for, as lines have them, each with its word in the type of the CloudEvent.
    pub(crate) const PLAIN: [(&str, Self, &str); 8] = [
        ("read", Self::Read, "read"),
        ("clear", Self::Clear, "cleared"),
        ("view", Self::View, "viewed"),
        ("unread", Self::Unread, "unread"),
        ("restore", Self::Restore, "restored"),
        ("save", Self::Save, "saved"),
        ("unsave", Self::Unsave, "unsaved"),
        ("unsnooze", Self::Unsnooze, "unsnoozed"),
    ];

    pub(crate) fn event_word(self) -> &'static str {
        let plain = Self::PLAIN.into_iter().find(|(_, verb, _)| *verb == self);
        plain.map_or("snoozed", |(.., word)| word)
    }
}

/// How the house goes down before it comes up again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestartMode {
    /// Every room finishes what it has in hand.
    Orderly,
    /// Every room ends where it stands.
    Crash,
}

/// Something that must be so.
#[derive(Clone, PartialEq, Debug)]
pub enum ScenarioExpectation {
    Mail(ExpectedMail),
    /// No mail, and nothing put aside.
    Nothing,
    /// What became of the entries about a subject, oldest first; none at all if empty.
    Fates {
        person: Person,
        subject: SubjectRef,
        fates: Vec<String>,
    },
    /// The explanation of why a person was told of a subject, or not, has each of these in it.
    Why {
        person: Person,
        subject: SubjectRef,
        has: Vec<String>,
    },
    /// The line before was refused, with a reason that has this in it.
    Rejected {
        reason: String,
    },
    /// A record was put aside, with a reason that has this in it.
    Quarantine {
        reason: String,
    },
    /// So many windows of a person are open.
    Open {
        person: Person,
        windows: usize,
    },
    /// The bundles of a person's feed, the newest first; none at all if empty.
    Feed {
        person: Person,
        /// A page of so many.
        first: Option<usize>,
        bundles: Vec<String>,
        /// There are more behind that page.
        has_more: bool,
    },
    /// How many of them are new, and how many unread; of all, or of one category.
    Count {
        person: Person,
        category: Option<String>,
        new: String,
        unread: String,
    },
    /// A person's last mail is opened, and this stands at its slots.
    Slots {
        person: Person,
        by: MailVisitor,
        things: Vec<String>,
    },
    /// The person clicks on a slot of their last mail, and comes to this.
    Click {
        person: Person,
        place: usize,
        leads: String,
    },
}

/// What somebody read or cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScenarioFeedbackTarget {
    Subject(SubjectRef),
    Kind(Kind),
    All,
}

/// One message. What is not said is not looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpectedMail {
    pub channel: Channel,
    pub person: Person,
    /// Without a sound.
    pub silent: bool,
    /// The address.
    pub to: Option<String>,
    pub headline: Option<String>,
    /// `title: item, item`, all of them in order; empty if not said.
    pub sections: Vec<String>,
    pub has: Vec<String>,
    pub lacks: Vec<String>,
}

impl ExpectedMail {
    /// A message of which nothing is said yet.
    pub(crate) fn new(channel: Channel, person: Person) -> Self {
        let (sections, has, lacks) = (Vec::new(), Vec::new(), Vec::new());
        Self { channel, person, silent: false, to: None, headline: None, sections, has, lacks }
    }
}

impl ScenarioLine {
    /// Whom it is about.
    pub(crate) fn persons(&self) -> Vec<&Person> {
        match &self.what {
            ScenarioStep::Do(
                ScenarioAct::Profile { person, .. }
                | ScenarioAct::Follow { person, .. }
                | ScenarioAct::Mute { person, .. }
                | ScenarioAct::Prefer { person, .. }
                | ScenarioAct::Feedback { person, .. }
                | ScenarioAct::Seen { person, .. }
                | ScenarioAct::Erase { person, .. }
                | ScenarioAct::Device { person, .. }
                | ScenarioAct::Returned { person, .. }
                | ScenarioAct::Lift { person, .. }
                | ScenarioAct::Discard { person, .. }
                | ScenarioAct::App { person, .. },
            )
            | ScenarioStep::Expect(
                ScenarioExpectation::Fates { person, .. }
                | ScenarioExpectation::Why { person, .. }
                | ScenarioExpectation::Open { person, .. }
                | ScenarioExpectation::Feed { person, .. }
                | ScenarioExpectation::Count { person, .. }
                | ScenarioExpectation::Slots { person, .. }
                | ScenarioExpectation::Click { person, .. },
            ) => vec![person],
            ScenarioStep::Expect(ScenarioExpectation::Mail(mail)) => vec![&mail.person],
            ScenarioStep::Do(ScenarioAct::Event(event)) => {
                event.persons.iter().map(|(person, _)| person).collect()
            }
            ScenarioStep::Do(ScenarioAct::Release { person, .. }) => person.iter().collect(),
            ScenarioStep::Do(
                ScenarioAct::Again
                | ScenarioAct::Revoke(_)
                | ScenarioAct::Upstream(_)
                | ScenarioAct::Post { .. }
                | ScenarioAct::Restart(_)
                | ScenarioAct::Stop
                | ScenarioAct::Start { .. }
                | ScenarioAct::MailServer { .. }
                | ScenarioAct::Pause { .. }
                | ScenarioAct::Replay { .. }
                | ScenarioAct::Archive { .. },
            )
            | ScenarioStep::Expect(
                ScenarioExpectation::Nothing
                | ScenarioExpectation::Rejected { .. }
                | ScenarioExpectation::Quarantine { .. },
            ) => Vec::new(),
        }
    }
}

impl ScenarioReturn {
    pub const ALL: [Self; 4] = [Self::Hard, Self::Soft, Self::Complaint, Self::Away];

    /// As a scenario writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
            Self::Complaint => "complaint",
            Self::Away => "away",
        }
    }
}

impl ScenarioAct {
    /// Whether the house answers it.
    pub(crate) fn is_answered(&self) -> bool {
        match self {
            Self::Event(event) => event.via == EventRoute::Http,
            Self::Profile { .. }
            | Self::Follow { .. }
            | Self::Mute { .. }
            | Self::Prefer { .. }
            | Self::Again
            | Self::Revoke(_)
            | Self::Feedback { .. }
            | Self::Seen { .. }
            | Self::Erase { .. }
            | Self::Device { .. } => true,
            Self::App { .. }
            | Self::Returned { .. }
            | Self::Lift { .. }
            | Self::Upstream(_)
            | Self::Post { .. }
            | Self::Restart(_)
            | Self::Stop
            | Self::Start { .. }
            | Self::MailServer { .. }
            | Self::Pause { .. }
            | Self::Release { .. }
            | Self::Discard { .. }
            | Self::Replay { .. }
            | Self::Archive { .. } => false,
        }
    }
}
