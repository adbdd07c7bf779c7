//! The contract of the store: small ports, each about one noun.
//!
//! Drawn for CQL as much as for the embedded engine (docs/adapters.md, "The tables"): rows are written
//! whole and never changed; what can change carries its source's version and the newer wins; only the
//! journal, the answers and the first words are first-writer-wins, and an answer may give way to another one. A write is durable when it returns. A read that fails is
//! an error and never an empty answer.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use house_facts::erasure::{EraseMode, HoldingCounts};
use model::{
    Crowd, CrowdEnrolment, Day, DayLife, DayRow, EndReason, EntryKey, EventKey, Person, PlanName, ReadyId,
    SubjectRef, Tenant, UtcMillis, VersionedState, entry::DayKey, event::FirstWord, limits::DAY_MS,
    returns::Slip,
};

/// Why an operation failed; each asks for something else.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Try again. A write may or may not have happened; writing the same again is harmless.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// There is no room on the disk, or no file can be opened: it goes away by itself.
    #[error("the store has no room: {0}")]
    Full(String),
    /// The settings do not fit the store as it was set up.
    #[error("{0}")]
    Refused(String),
    /// The engine cannot go on.
    #[error("the store is broken: {0}")]
    Broken(String),
}

/// The rows of one day of one person.
#[derive(Clone, Debug, PartialEq)]
pub struct DayRows {
    pub key: DayKey,
    pub rows: Vec<DayRow>,
}

/// A part of a day: rows of persons of all tenants.
#[derive(Clone, Debug, PartialEq)]
pub struct DayPart {
    /// In the engine's order, each person once.
    pub rows: Vec<DayRows>,
    /// Where the next part begins; `None` after the last. Only this engine understands it.
    pub next: Option<Vec<u8>>,
}

/// What was chosen when the store was set up, and stands.
pub trait StoreSetup {
    /// How long each day lives.
    fn day_life(&self) -> DayLife;
}

/// Days: insert-only partitions of immutable rows.
#[async_trait]
pub trait DayStore: Send + Sync {
    /// Writes rows. The rows of one day of one person become visible together; a row that is there
    /// already is not changed. A day that has expired at `now` takes no rows, and neither does a closed
    /// one; that is no error.
    async fn write(&self, rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError>;

    /// The rows of each day, in the order of the keys given; expired days are empty. Stops at
    /// `model::limits::DAY_ROWS_READ_MAX` rows a day.
    async fn read(&self, keys: &[DayKey], now: UtcMillis) -> Result<Vec<Vec<DayRow>>, StoreError>;

    /// A part of all that is stored of one day, whether or not it has expired, from a place that an earlier
    /// part named: at most `most` rows, and never more than `model::limits::DAY_ROWS_READ_MAX`. Rows of
    /// one person come in one part unless they are more than that.
    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError>;

    /// The newest day that somebody wrote to, if one is there.
    async fn newest(&self) -> Result<Option<Day>, StoreError>;

    /// Closes every day before this one: from the moment this returns they take no more rows, for good,
    /// and what is there can still be read.
    async fn close_before(&self, day: Day) -> Result<(), StoreError>;

    /// Closes every day before this one and drops it, as whole pieces; returns how many days went.
    async fn drop_before(&self, day: Day) -> Result<u64, StoreError>;
}

/// Whose state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKey {
    Subject(Tenant, SubjectRef),
    /// The profile, as it comes from outside.
    Person(Tenant, Person),
    /// What the person wants to be told of, named by the crate `preferences`.
    Preferences(Tenant, Person),
    /// What the house itself notes, named by `model::person::notes`. Nearly always empty and asked for
    /// everybody, so an engine makes that cheap.
    Notes(Tenant, Person),
    /// Copies of the entries that the person saved, for when their days are over, as `room::saved` has them.
    Saved(Tenant, Person),
    /// Which processes have streams of the person's feed open, as `room::open_streams` has it.
    Streams(Tenant, Person),
}

impl StateKey {
    /// Each sort of state that is a person's.
    pub const OF_PERSONS: [fn(Tenant, Person) -> Self; 5] =
        [Self::Person, Self::Preferences, Self::Notes, Self::Saved, Self::Streams];

    /// The letter of its sort in the keys of every engine, whose it is, and of what or whom.
    pub fn parts(&self) -> (char, &Tenant, &str) {
        match self {
            Self::Subject(tenant, subject) => ('s', tenant, subject.as_str()),
            Self::Person(tenant, person) => ('p', tenant, person.as_str()),
            Self::Preferences(tenant, person) => ('m', tenant, person.as_str()),
            Self::Notes(tenant, person) => ('n', tenant, person.as_str()),
            Self::Saved(tenant, person) => ('v', tenant, person.as_str()),
            Self::Streams(tenant, person) => ('w', tenant, person.as_str()),
        }
    }
}

/// A cell that was removed, with the version that did so.
pub type RemovedCell = (Arc<str>, i64);

/// States of subjects and persons: cells with versions, the newer wins.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// Merges each state into what is there, cell by cell.
    async fn merge(&self, states: Vec<(StateKey, VersionedState)>) -> Result<(), StoreError>;

    /// Forgets removals, each unless something newer stands in its cell. For whoever knows that nothing older comes any more:
    /// it would be taken as new.
    async fn forget_removed(&self, key: &StateKey, removed: &[RemovedCell]) -> Result<(), StoreError>;

    /// The states, in the order of the keys; an unknown one is empty.
    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError>;

    /// The same for whoever only shows them: what was written by this store is there, what another process wrote may be missing
    /// for [`LATELY`]. For engines that are far away.
    async fn states_lately(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        self.states(keys).await
    }
}

/// For so long what another process wrote may be missing in what is only shown.
pub const LATELY: Duration = Duration::from_secs(1);

/// A part of a crowd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrowdMembers {
    /// In the engine's order, without doubles.
    pub persons: Vec<Person>,
    /// Where the next part begins; `None` after the last. Only this engine understands it.
    pub next: Option<Vec<u8>>,
}

/// A part of what a person follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedSubjects {
    /// In the order of their bytes, each with the version by which it is followed.
    pub subjects: Vec<(SubjectRef, i64)>,
    /// The last one that was looked at; `None` if there is nothing behind it.
    pub next: Option<SubjectRef>,
}

/// How the rest of a crowd is cut.
#[derive(Clone, Copy, Debug)]
pub struct CrowdCut<'a> {
    /// The place that `members` named last.
    pub from: &'a [u8],
    /// Persons that were found on the way there.
    pub found: usize,
    /// A part is worth while if it is likely to have so many persons.
    pub share: usize,
    /// Parts at most.
    pub most: usize,
}

/// Crowds: rows with versions, the newer wins; that somebody left is a row too.
#[async_trait]
pub trait CrowdStore: Send + Sync {
    /// When it returns, a follow is found from both sides: by the subject and by the person.
    async fn enrol(&self, enrolments: Vec<CrowdEnrolment>) -> Result<(), StoreError>;

    /// At most `most` of those who belong to a crowd, from a place that an earlier part named.
    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<CrowdMembers, StoreError>;

    /// Cuts what is left of a crowd into parts that may be read at the same time. Returns where each begins, for
    /// `members`: it ends where the next one begins. Of those parts only the last one may be cut again.
    async fn cut_crowd(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        cut: CrowdCut<'_>,
    ) -> Result<Vec<Vec<u8>>, StoreError>;

    /// The follows of a person after the subject that an earlier part named: of the next `most` subjects, at most
    /// `model::limits::FOLLOWS_PART_MAX`, those that they still follow.
    async fn list_followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<FollowedSubjects, StoreError>;

    /// For each of these persons who belongs to the crowd beside it, the version by which they do; `None` for who
    /// does not.
    async fn enrolled_since(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError>;

    /// Whether each of these persons belongs to the crowd beside it.
    async fn belongs(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<bool>, StoreError> {
        Ok(self.enrolled_since(of).await?.iter().map(Option::is_some).collect())
    }
}

/// The right to send one attempt of one Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalClaim {
    pub ready: ReadyId,
    pub attempt: u16,
    /// The claimer's own; how it recognises its claim after a lost answer.
    pub token: [u8; 16],
    pub at: UtcMillis,
    /// When the claimer gives up. Past it and without a record the outcome is unknown.
    pub deadline: UtcMillis,
    /// The entries that are in the message.
    pub told: Vec<EntryKey>,
    /// The plan in whose words they are told, where those may be put right later: of a push.
    pub plan: Option<PlanName>,
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalClaimOutcome {
    Yours,
    /// Somebody's earlier claim stands.
    Theirs(JournalClaim),
}

/// The outcome of an attempt: written once, never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord {
    pub ready: ReadyId,
    pub attempt: u16,
    pub at: UtcMillis,
    pub what: JournalOutcome,
    /// Entries that were left out, and why.
    pub left: Vec<(EntryKey, EndReason)>,
}

/// The definite answers, and the one that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JournalOutcome {
    Sent,
    /// Nothing was left to tell, so nothing was sent.
    Nothing,
    /// Refused for good.
    Refused,
    /// It definitely did not go out at this attempt; another may follow.
    NotSent,
    /// It did not go out at this attempt, for nobody took any message. That says nothing about this one, so it is not
    /// counted; another attempt follows.
    Away,
    /// It did not go out and will not: its entries come back.
    Returned,
    /// Nobody can say, and it ends.
    Unknown,
    /// Nobody can say, and another attempt follows all the same: who gets it would rather have it twice.
    Unsure,
}

/// All that the journal has on one Ready.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JournalRows {
    pub claims: Vec<JournalClaim>,
    pub records: Vec<JournalRecord>,
}

/// The journal: what decides whether a Ready is sent. Claims are first-writer-wins on (Ready, attempt).
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// Claims an attempt. After a lost answer the claim is read back, so a claim is never mistaken for
    /// somebody else's because it was repeated.
    async fn claim(&self, tenant: &Tenant, claim: JournalClaim) -> Result<JournalClaimOutcome, StoreError>;

    /// Records an attempt's outcome; the first record of an attempt stands.
    async fn record(&self, tenant: &Tenant, record: JournalRecord) -> Result<(), StoreError>;

    /// What is there, for each Ready, attempts in order.
    async fn read_journal(&self, tenant: &Tenant, readys: &[ReadyId])
    -> Result<Vec<JournalRows>, StoreError>;
}

/// An answer, and until when it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingAnswer {
    pub body: Vec<u8>,
    /// From this instant on there is none.
    pub until: UtcMillis,
}

impl StandingAnswer {
    /// An answer to a request that may be repeated: a client that has not tried again within a day does not.
    pub fn for_a_day(body: Vec<u8>, now: UtcMillis) -> Self {
        Self { body, until: now.plus(DAY_MS) }
    }

    pub fn stands(&self, now: UtcMillis) -> bool {
        now < self.until
    }
}

/// Answers to requests that several may give at once: the first one stands, until its time is over or somebody who read it puts
/// another one in its place.
#[async_trait]
pub trait AnswerStore: Send + Sync {
    /// Keeps the answer if none stands for this key, or the one that does is `before`; returns the one that stands. Where that is
    /// not the one given, somebody else was first. Asked again, as after a lost answer, it says the same.
    async fn put_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        before: Option<&StandingAnswer>,
        answer: StandingAnswer,
        now: UtcMillis,
    ) -> Result<StandingAnswer, StoreError>;

    /// Keeps the first answer for a day; returns the one that stands.
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: UtcMillis,
    ) -> Result<Vec<u8>, StoreError> {
        let answer = StandingAnswer::for_a_day(answer, now);
        Ok(self.put_answer(tenant, key, None, answer, now).await?.body)
    }

    /// The answer that stands for this key. One that `put_answer` gave to anybody is found, unless it has given way.
    async fn find_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        now: UtcMillis,
    ) -> Result<Option<StandingAnswer>, StoreError>;
}

/// First words: what was said first of each event. Its id is the whole key: it is a hash over the tenant.
#[async_trait]
pub trait FirstWordStore: Send + Sync {
    /// Keeps what is said of each event unless something stands there; returns what stands, in the order given.
    /// It stands for [`DayLife::first_word_ms`] from `now` on. Whoever comes when one has returned is told
    /// the same. Two who speak at the same moment are both told the earlier one, but where an engine would need a
    /// transaction for it each may be told its own.
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: UtcMillis,
    ) -> Result<Vec<FirstWord>, StoreError>;

    /// When the word was said that stands of an event: by the clock of whoever kept it, so right before the event was
    /// announced. `None` if none stands.
    async fn heard_at(&self, event: EventKey, now: UtcMillis) -> Result<Option<UtcMillis>, StoreError>;
}

/// Slips: what is kept of messages that left, so that what comes back of one finds its person.
#[async_trait]
pub trait SlipStore: Send + Sync {
    /// Keeps the slip of a Ready; the last one stands. The id alone is the key: it is a hash over the tenant.
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError>;

    /// The slip of a Ready, if it is younger than [`model::returns::SLIP_LIFE_MS`].
    async fn slip(&self, ready: ReadyId, now: UtcMillis) -> Result<Option<Slip>, StoreError>;
}

/// Erasure: the one way in which something leaves before its time.
#[async_trait]
pub trait ErasureStore: Send + Sync {
    /// Takes a person out of every table, as far as the tables name them; what is there of somebody else stays. The
    /// note that the person was erased stays as well. Whatever is written later is kept as if nothing had been there:
    /// a version that is newer than what was removed stands. Returns how much went from each
    /// [`Holding`](house_facts::erasure::Holding) of the store, all of them named; repeated, it finds nothing. To `Look` is to
    /// count and to leave everything.
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: EraseMode,
        now: UtcMillis,
    ) -> Result<HoldingCounts, StoreError>;

    /// Sees to it that what was removed is in no file any more. `None` if that is so when this returns, or else what
    /// an operator should know about it.
    async fn scrub(&self) -> Result<Option<&'static str>, StoreError>;
}

/// A whole store.
pub trait Store:
    DayStore
    + StateStore
    + CrowdStore
    + JournalStore
    + AnswerStore
    + FirstWordStore
    + SlipStore
    + ErasureStore
    + StoreSetup
    + fmt::Debug
{
}

impl<
    T: DayStore
        + StateStore
        + CrowdStore
        + JournalStore
        + AnswerStore
        + FirstWordStore
        + SlipStore
        + ErasureStore
        + StoreSetup
        + fmt::Debug,
> Store for T
{
}
