//! Returned mails, and what they mean for later mails.
//!
//! A mail leaves a [`Slip`], by which a bounce or a complaint finds the person again. What came back is cells among the
//! house's notes of them, one for each sort: the closing of a window and the sending of a mail have loaded these
//! already. They name a hash of the address and never the address, so a person who gives another one is free again. A
//! cell's version is the instant at which the mail left: the same told twice changes nothing, and what is lifted stays
//! so, however late more comes of the mails before.
//!
//! | what came back | ends mails to the address | for how long |
//! | --- | --- | --- |
//! | a hard bounce | of every stream | until it is lifted |
//! | a complaint | of its own stream | until it is lifted |
//! | soft bounces of [`SOFT_DAYS`] days within [`SOFT_WITHIN_MS`] | of every stream | [`SOFT_REST_MS`] |

use std::{fmt, sync::Arc};

use crate::{
    id::{Person, PlanName, Tenant, hash_parts, write_hex},
    limits::DAY_MS,
    mark::{Channel, EndReason},
    time::{Day, UtcMillis},
    value::{Value, ValueCell, VersionedState},
};

/// So many days with soft bounces are too many.
pub const SOFT_DAYS: usize = 3;
/// Counted over so long.
pub const SOFT_WITHIN_MS: i64 = 14 * DAY_MS;
/// For so long after the last of them nothing is sent.
pub const SOFT_REST_MS: i64 = 7 * DAY_MS;
/// Days whose soft bounces have a cell each, used again in a ring: an address that fails forever has no more.
const SOFT_SLOTS: i32 = 16;
/// Characters of a code that are kept.
pub const CODE_CHARS_MAX: usize = 32;
/// Days for which what comes back is traced: servers try for five, and people complain within some weeks.
pub const SLIP_LIFE_MS: i64 = 40 * DAY_MS;

/// The names of cells begin so.
const PREFIX: &str = "returned";

const _: () = assert!(SOFT_SLOTS as i64 * DAY_MS > SOFT_WITHIN_MS);
const _: () = assert!(SOFT_REST_MS < SOFT_WITHIN_MS);

/// An address of a person, as far as anybody needs to know it who does not write to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressHash(pub [u8; 16]);

impl AddressHash {
    /// The person goes into the hash, too, so that a shared address does not link two persons.
    pub fn from_address(tenant: &Tenant, person: &Person, address: &str) -> Self {
        // An address that differs in its case alone is the same one to nearly every server.
        let address = address.trim().to_lowercase();
        Self(hash_parts(&[
            b"address",
            tenant.as_str().as_bytes(),
            person.as_str().as_bytes(),
            address.as_bytes(),
        ]))
    }
}

impl fmt::Display for AddressHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for AddressHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the house keeps of a message that left, by its Ready: whose it was, and which address it went to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slip {
    pub tenant: Tenant,
    pub person: Person,
    pub plan: PlanName,
    pub stream: Arc<str>,
    pub channel: Channel,
    pub address: AddressHash,
    /// When it left.
    pub at: UtcMillis,
}

/// What came back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReturnSort {
    /// The address is dead.
    Hard,
    /// Not now; later it may be well again.
    Soft,
    /// The reader says that this is spam.
    Complaint,
}

impl ReturnSort {
    pub const ALL: [Self; 3] = [Self::Hard, Self::Soft, Self::Complaint];

    pub fn name(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
            Self::Complaint => "complaint",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.name() == text)
    }

    /// Why nothing is told because of it.
    pub fn end_reason(self) -> EndReason {
        match self {
            Self::Hard => EndReason::Bounced,
            Self::Soft => EndReason::BouncedSoftly,
            Self::Complaint => EndReason::Complained,
        }
    }
}

/// What is kept of what others say, such as `5.1.1` or `abuse`: a word without an address in it.
pub fn extract_code(said: &str) -> String {
    let good = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
    said.trim().chars().take_while(good).take(CODE_CHARS_MAX).collect::<String>().to_ascii_lowercase()
}

impl Slip {
    /// What the house notes of what came back of it.
    pub fn notes(&self, sort: ReturnSort, code: &str) -> VersionedState {
        let Self { address, stream, at, .. } = self;
        let name = match sort {
            ReturnSort::Hard => format!("{PREFIX} hard {address}"),
            ReturnSort::Complaint => format!("{PREFIX} complaint {address} {stream}"),
            ReturnSort::Soft => {
                format!("{PREFIX} soft {address} {}", Day::from_instant(*at).0.rem_euclid(SOFT_SLOTS))
            }
        };
        let mut state = VersionedState::default();
        state.set(&name, ValueCell { version: at.0, value: Some(Value::from_text(code)) });
        state
    }
}

/// One cell of what came back.
struct ReturnNote<'a> {
    name: &'a Arc<str>,
    sort: ReturnSort,
    address: &'a str,
    /// Of a complaint its stream.
    behind: &'a str,
    code: &'a str,
    at: UtcMillis,
}

/// All that came back and was not lifted.
fn read_return_notes(notes: &VersionedState) -> impl Iterator<Item = ReturnNote<'_>> {
    notes.cells.iter().filter_map(|(name, cell)| {
        let rest = name.strip_prefix(PREFIX)?.strip_prefix(' ')?;
        let (sort, rest) = rest.split_once(' ')?;
        let (address, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        let code = cell.value.as_ref()?.as_text()?;
        Some(ReturnNote {
            name,
            sort: ReturnSort::parse(sort)?,
            address,
            behind,
            code,
            at: UtcMillis(cell.version),
        })
    })
}

/// Why nothing is sent to an address.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Suppression {
    pub sort: ReturnSort,
    /// The only stream that it holds for.
    pub stream: Option<Arc<str>>,
    /// The hash of the address, in digits.
    pub address: String,
    pub code: String,
    /// When the mail left of which it came back.
    pub since: UtcMillis,
    /// It ends by itself then.
    pub until: Option<UtcMillis>,
}

impl Suppression {
    fn holds_for(&self, stream: &str) -> bool {
        self.stream.as_deref().is_none_or(|own| own == stream)
    }
}

/// Everything that keeps mails from a person's addresses at an instant.
pub fn list_suppressions(notes: &VersionedState, now: UtcMillis) -> Vec<Suppression> {
    let mut found = Vec::new();
    let mut soft: Vec<ReturnNote<'_>> = Vec::new();
    for one in read_return_notes(notes) {
        let stream = match one.sort {
            ReturnSort::Hard => None,
            ReturnSort::Complaint => Some(one.behind.into()),
            ReturnSort::Soft => {
                soft.push(one);
                continue;
            }
        };
        found.push(one.suppression(stream, None));
    }
    soft.sort_by(|one, other| (one.address, one.at).cmp(&(other.address, other.at)));
    for of_address in soft.chunk_by(|one, other| one.address == other.address) {
        let Some(last) = of_address.last() else { continue };
        // One cell is one day.
        let days = of_address.iter().filter(|one| last.at.since(one.at) < SOFT_WITHIN_MS).count();
        if days >= SOFT_DAYS {
            found.push(last.suppression(None, Some(last.at.plus(SOFT_REST_MS))));
        }
    }
    found.retain(|one| one.until.is_none_or(|until| now < until));
    found.sort();
    found
}

impl ReturnNote<'_> {
    fn suppression(&self, stream: Option<Arc<str>>, until: Option<UtcMillis>) -> Suppression {
        let (address, code) = (self.address.to_owned(), self.code.to_owned());
        Suppression { sort: self.sort, stream, address, code, since: self.at, until }
    }
}

/// Why a mail of a stream may not go to an address, if it may not: what holds for every stream first.
pub fn find_suppression(
    notes: &VersionedState,
    address: AddressHash,
    stream: &str,
    now: UtcMillis,
) -> Option<ReturnSort> {
    // Of nearly nobody anything came back.
    read_return_notes(notes).next()?;
    let address = address.to_string();
    let mut found = list_suppressions(notes, now).into_iter();
    found.find(|one| one.address == address && one.holds_for(stream)).map(|one| one.sort)
}

/// What lifts everything that came back, or complaints about one stream; nothing if there is none.
pub fn lift_returns(notes: &VersionedState, stream: Option<&str>, now: UtcMillis) -> VersionedState {
    let mut state = VersionedState::default();
    for one in read_return_notes(notes) {
        if stream.is_none_or(|stream| one.sort == ReturnSort::Complaint && one.behind == stream) {
            let version = now.0.max(one.at.0.saturating_add(1));
            state.set(one.name, ValueCell { version, value: None });
        }
    }
    state
}
