//! What comes back of mails: which mail it is of, what the house notes of it, and what it tells others.
//!
//! A report has to contain the signed word of the mail, which only we can make; a provider's key, or a mail that
//! reaches us, is not enough. So nobody can end another person's mails with a forged bounce, and a key of one tenant is
//! good for all: whose mail it was the word says.

use courier::mail_returns::{ReturnPathMail, ReturnedMail};
use model::{
    ReadyId, UtcMillis, VersionedState,
    returns::{ReturnSort, Slip},
};
use room::records::returned_record;
use store::StateKey;
use topic::NewRecord;
use wire::{ReturnNotice, WireError, return_path, token::LinkSecret};

/// The box to which reports of complaints may be sent, where a mailbox provider knows one address for all.
const COMPLAINTS: &str = "complaints";

/// Where mails come back to, and what their words are signed with.
#[derive(Clone, Debug)]
pub struct ReturnPaths {
    domain: String,
    secret: LinkSecret,
}

/// Something that came back of a mail of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MailReturn {
    pub ready: ReadyId,
    pub what: ReturnSort,
    pub code: String,
}

/// What a mail to a return path comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReturnReading {
    Back(MailReturn),
    /// A delay, a delivery, an answer of somebody who is away.
    Nothing(&'static str),
}

impl ReturnPaths {
    pub fn new(domain: &str, secret: LinkSecret) -> Self {
        Self { domain: domain.to_owned(), secret }
    }

    /// Whether mail to this address is read here; all other is refused before it is sent.
    pub fn takes(&self, to: &str) -> bool {
        self.is_complaints(to) || self.ready_at(to).is_some()
    }

    /// What stands before the @, of an address of ours.
    fn local_part<'a>(&self, to: &'a str) -> Option<&'a str> {
        let (local, domain) = to.rsplit_once('@')?;
        domain.trim_end_matches('.').eq_ignore_ascii_case(&self.domain).then_some(local)
    }

    fn is_complaints(&self, to: &str) -> bool {
        self.local_part(to).is_some_and(|local| local.eq_ignore_ascii_case(COMPLAINTS))
    }

    /// The mail whose return path this is.
    fn ready_at(&self, to: &str) -> Option<ReadyId> {
        return_path::read_return_path(self.local_part(to)?, &self.secret)
    }

    /// What a mail to an address of ours says.
    pub fn read_letter(&self, to: &str, letter: &ReturnPathMail) -> ReturnReading {
        let came = match letter {
            ReturnPathMail::Came(came) => came.clone(),
            ReturnPathMail::Nothing => return ReturnReading::Nothing("nothing"),
            ReturnPathMail::NoReport => return ReturnReading::Nothing("no_report"),
        };
        // A box for all has no word of its own: there the words inside have to say it.
        let back = match self.ready_at(to) {
            Some(ready) => Some(MailReturn { ready, what: came.what, code: came.code }),
            None if self.is_complaints(to) => self.match_return(came),
            None => None,
        };
        back.map_or(ReturnReading::Nothing("unknown"), ReturnReading::Back)
    }

    /// Which mail it is of, if any of its words is one of ours.
    pub fn match_return(&self, came: ReturnedMail) -> Option<MailReturn> {
        let ReturnedMail { what, code, words } = came;
        let ready = words.iter().find_map(|word| return_path::read_return_path(word, &self.secret))?;
        Some(MailReturn { ready, what, code })
    }
}

/// What is written, then announced.
#[derive(Debug, Default, PartialEq)]
pub struct ReturnEffects {
    pub states: Vec<(StateKey, VersionedState)>,
    pub records: Vec<NewRecord>,
}

/// Where the notes of a slip's person are.
pub fn notes_key(slip: &Slip) -> StateKey {
    StateKey::Notes(slip.tenant.clone(), slip.person.clone())
}

/// The consequences of a returned mail.
pub fn decide_returns<'a>(
    of: impl IntoIterator<Item = (&'a MailReturn, &'a Slip)>,
    now: UtcMillis,
) -> Result<ReturnEffects, WireError> {
    let mut noted = ReturnEffects::default();
    for (MailReturn { ready, what, code }, slip) in of {
        noted.states.push((notes_key(slip), slip.notes(*what, code)));
        let returned = ReturnNotice::from_slip(slip, *ready, (*what, code), now);
        noted.records.push(returned_record(&returned)?);
    }
    Ok(noted)
}
