//! What comes back of mails: which mail it is of, what the house notes of it, and what it tells others.
//!
//! Whoever says that a mail came back has to say the mail's own word, which only we can make: a provider's key, or that
//! a mail reached us, opens the door and nothing more. So nobody can have mails to somebody ended by a letter of theirs,
//! and a key of one tenant is good for all: whose mail it was the word says.

use courier::back::{Came, Letter};
use model::{
    Millis, ReadyId, State,
    returns::{Slip, Sort},
};
use store::StateKey;
use topic::NewRecord;
use wire::{Returned, WireError, token::Secret, topics, verp};

/// The box to which reports of complaints may be sent, where a mailbox provider knows one address for all.
const COMPLAINTS: &str = "complaints";

/// Where mails come back to, and what their words are signed with.
#[derive(Clone, Debug)]
pub struct Paths {
    domain: String,
    secret: Secret,
}

/// Something that came back of a mail of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Back {
    pub ready: ReadyId,
    pub what: Sort,
    pub code: String,
}

/// What a mail to a return path comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    Back(Back),
    /// A delay, a delivery, an answer of somebody who is away.
    Nothing(&'static str),
}

impl Paths {
    pub fn new(domain: &str, secret: Secret) -> Self {
        Self { domain: domain.to_owned(), secret }
    }

    /// Whether mail to this address is read here; all other is refused before it is sent.
    pub fn takes(&self, to: &str) -> bool {
        self.is_complaints(to) || self.ready_at(to).is_some()
    }

    /// What stands before the @, of an address of ours.
    fn local<'a>(&self, to: &'a str) -> Option<&'a str> {
        let (local, domain) = to.rsplit_once('@')?;
        domain.trim_end_matches('.').eq_ignore_ascii_case(&self.domain).then_some(local)
    }

    fn is_complaints(&self, to: &str) -> bool {
        self.local(to).is_some_and(|local| local.eq_ignore_ascii_case(COMPLAINTS))
    }

    /// The mail whose return path this is.
    fn ready_at(&self, to: &str) -> Option<ReadyId> {
        verp::read(self.local(to)?, &self.secret)
    }

    /// What a mail to an address of ours says.
    pub fn heard(&self, to: &str, letter: &Letter) -> Heard {
        let came = match letter {
            Letter::Came(came) => came.clone(),
            Letter::Nothing => return Heard::Nothing("nothing"),
            Letter::NoReport => return Heard::Nothing("no_report"),
        };
        // A box for all has no word of its own: there the words inside have to say it.
        let back = match self.ready_at(to) {
            Some(ready) => Some(Back { ready, what: came.what, code: came.code }),
            None if self.is_complaints(to) => self.back(came),
            None => None,
        };
        back.map_or(Heard::Nothing("unknown"), Heard::Back)
    }

    /// Which mail it is of, if any of its words is one of ours.
    pub fn back(&self, came: Came) -> Option<Back> {
        let Came { what, code, words } = came;
        let ready = words.iter().find_map(|word| verp::read(word, &self.secret))?;
        Some(Back { ready, what, code })
    }
}

/// What is written, then announced.
#[derive(Debug, Default, PartialEq)]
pub struct Noted {
    pub states: Vec<(StateKey, State)>,
    pub records: Vec<NewRecord>,
}

/// Where the notes of a slip's person are.
pub fn notes_of(slip: &Slip) -> StateKey {
    StateKey::Notes(slip.tenant.clone(), slip.person.clone())
}

/// What follows from what came back.
pub fn noted<'a>(
    of: impl IntoIterator<Item = (&'a Back, &'a Slip)>,
    now: Millis,
) -> Result<Noted, WireError> {
    let mut noted = Noted::default();
    for (Back { ready, what, code }, slip) in of {
        noted.states.push((notes_of(slip), slip.notes(*what, code)));
        let value = wire::returned::encode(&Returned::of(slip, *ready, (*what, code), now))?;
        noted.records.push(NewRecord {
            topic: topics::RETURNS.into(),
            partition: 0,
            key: wire::key::person(&slip.tenant, &slip.person),
            value: Some(value),
            headers: Vec::new(),
        });
    }
    Ok(noted)
}
