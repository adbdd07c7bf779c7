//! What a scenario is, once it has been read.

use model::{Millis, Person, SubjectRef, Tenant};
use serde_json::{Map, Value};

use crate::calendar::Calendar;

/// A whole file.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub file: String,
    /// The behaviour that it proves: its first line.
    pub proves: String,
    /// The folder of its catalogue, as it is written.
    pub catalogue: String,
    pub calendar: Calendar,
    pub lines: Vec<Line>,
}

/// One thing that is done or expected.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Counts from 1.
    pub number: usize,
    /// Where its verb stands, counting from 1.
    pub column: usize,
    /// What is written after the time, without its comment.
    pub text: String,
    /// Nothing may have come before this instant that was not expected; the same as `until` unless a
    /// stretch of time is written.
    pub from: Millis,
    /// When it happens.
    pub until: Millis,
    /// Whose persons and subjects it means.
    pub tenant: Tenant,
    pub what: What,
}

#[derive(Clone, PartialEq, Debug)]
pub enum What {
    Do(Act),
    Expect(Expected),
}

/// Something that is done to the house.
#[derive(Clone, PartialEq, Debug)]
pub enum Act {
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
    Event(Event),
    /// The last event once more, byte for byte.
    Again,
    /// The person did something to all entries about a subject.
    Feedback {
        person: Person,
        subject: SubjectRef,
        did: Did,
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
    Restart(Restart),
    /// The house goes down and stays down.
    Stop,
    /// It comes up again, perhaps with another catalogue.
    Start {
        catalogue: Option<String>,
    },
    /// Whether the other side takes mail.
    MailServer {
        up: bool,
    },
}

/// Something that an upstream service says happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    pub id: String,
    pub source: String,
    pub what: String,
    pub subject: SubjectRef,
    /// The source's own time.
    pub at: Millis,
    pub actor: Option<String>,
    pub version: Option<i64>,
    pub fields: Map<String, Value>,
    pub via: Via,
}

/// The way by which an event comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    Http,
    Topic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Did {
    Read,
    Clear,
}

/// How the house goes down before it comes up again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// Every room finishes what it has in hand.
    Orderly,
    /// Every room ends where it stands.
    Crash,
}

/// Something that must be so.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    Mail(ExpectedMail),
    /// No mail, and nothing put aside.
    Nothing,
    /// What became of the entries about a subject, oldest first; none at all if empty.
    Fates {
        person: Person,
        subject: SubjectRef,
        fates: Vec<String>,
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
}

/// One mail. What is not said is not looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpectedMail {
    pub person: Person,
    /// The address.
    pub to: Option<String>,
    pub headline: Option<String>,
    /// `title: item, item`, all of them in order; empty if not said.
    pub sections: Vec<String>,
    pub has: Vec<String>,
    pub lacks: Vec<String>,
}

impl Line {
    /// Whom it is about.
    pub(crate) fn person(&self) -> Option<&Person> {
        match &self.what {
            What::Do(
                Act::Profile { person, .. } | Act::Follow { person, .. } | Act::Feedback { person, .. },
            )
            | What::Expect(Expected::Fates { person, .. } | Expected::Open { person, .. }) => Some(person),
            What::Expect(Expected::Mail(mail)) => Some(&mail.person),
            What::Do(
                Act::Event(_)
                | Act::Again
                | Act::Upstream(_)
                | Act::Post { .. }
                | Act::Restart(_)
                | Act::Stop
                | Act::Start { .. }
                | Act::MailServer { .. },
            )
            | What::Expect(Expected::Nothing | Expected::Rejected { .. } | Expected::Quarantine { .. }) => {
                None
            }
        }
    }
}

impl Act {
    /// Whether the house answers it.
    pub(crate) fn is_answered(&self) -> bool {
        match self {
            Self::Event(event) => event.via == Via::Http,
            Self::Profile { .. } | Self::Follow { .. } | Self::Again | Self::Feedback { .. } => true,
            Self::Upstream(_)
            | Self::Post { .. }
            | Self::Restart(_)
            | Self::Stop
            | Self::Start { .. }
            | Self::MailServer { .. } => false,
        }
    }
}
