//! Engines that lie: a store that keeps every promise but one. Each lie names the promises of [`crate::conformance`]
//! that must catch it; a promise that no lie breaks is not tested.

mod engine;
mod ports;

use std::sync::Arc;

use async_trait::async_trait;
use model::entry::DayKey;

pub use engine::LyingStore;

use crate::{
    conformance::{BrokenStorePromise, StoreHarness},
    port::Store,
};

macro_rules! lies {
    ($($(#[$doc:meta])* $lie:ident breaks $($promise:literal),+;)*) => {
        /// What is not true of the engine.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum StoreLie {
            $($(#[$doc])* $lie,)*
        }

        impl StoreLie {
            pub const ALL: &[Self] = &[$(Self::$lie,)*];

            /// The promises that it breaks, by name. It may break more.
            pub fn breaks(self) -> &'static [&'static str] {
                match self {
                    $(Self::$lie => &[$($promise),+],)*
                }
            }
        }
    };
}

lies! {
    /// The last write is acknowledged before it is anywhere but in memory.
    LosesLastWrite breaks "rows are durable", "states are durable", "enrolments are durable",
        "the journal is complete", "the first answer stands", "the last slip stands", "what a person follows is listed";
    /// Only the first half of a day's rows is written.
    WritesHalf breaks "rows come back as written";
    /// What is not text is written as text.
    EverythingIsText breaks "states come back as written";
    /// The rows of a write become visible in two pieces.
    WritesInHalves breaks "rows appear together";
    /// A row is returned twice.
    RowTwice breaks "a row is one row";
    /// All persons of a tenant share their days.
    PersonIgnored breaks "days are apart";
    /// All dates share their rows.
    DateIgnored breaks "days are apart";
    /// A read of several days answers in an order of its own.
    OwnOrder breaks "days come in the order asked for";
    /// Expired days are still read.
    ExpiredRead breaks "an expired day is empty";
    /// Expired days still take rows.
    ExpiredWritten breaks "an expired day takes no rows";
    /// Days are hidden when they are dropped, and are back after a crash.
    DropForgotten breaks "dropped days are gone";
    /// The day given is dropped too.
    DropsOneMore breaks "no other day is dropped";
    /// The day before the newest one is named.
    NewestIsOlder breaks "the newest day is known";
    /// Rows that come for a dropped day are read again.
    DroppedComesBack breaks "a dropped day never comes back";
    /// Which days are closed is forgotten in a crash.
    CloseForgotten breaks "a closed day takes no rows";
    /// The day given is closed too.
    ClosesOneMore breaks "a closed day takes no rows";
    /// What is in a closed day is not read any more.
    ClosedIsHidden breaks "a closed day is still read";
    /// A scan leaves the last person of a part out.
    ScanSkips breaks "a scan covers a day once";
    /// A scan tells the last person of a part twice.
    ScanRepeats breaks "a scan covers a day once";
    /// A scan shows nothing of closed days.
    ScanHidesClosed breaks "a closed day is still read";
    /// A part of a scan is twice as large as asked for.
    ScanTooLarge breaks "a part of a scan has its size";
    /// A scan cuts persons anywhere.
    ScanCuts breaks "a scan keeps persons whole";
    /// Less than the limit of a large day is read.
    StopsEarly breaks "a read stops at the limit";
    /// A read that failed is an empty answer.
    EmptyForError breaks "a failed read is an error";
    /// Whatever arrives last stands, whatever its version.
    OlderWins breaks "the newer cell wins", "the newer enrolment wins";
    /// A merge replaces the whole state.
    ReplacesState breaks "states merge by cell";
    /// What is shown is what was read first.
    ShowsFirst breaks "what is shown knows what was written here";
    /// Of two cells with one version the first to arrive stands.
    FirstOfEqual breaks "equal versions are settled by content";
    /// Removals and ends are deletes, which leave nothing behind.
    ForgetsNothing breaks "a removal can be forgotten";
    RemovalForgotten breaks "a removal is a value", "leaving is a row";
    /// Persons and subjects share their names.
    SubjectsArePersons breaks "subjects are not persons";
    /// Of two merges at the same time one is lost.
    MergesCollide breaks "merges at once lose nothing";
    /// Mutes are kept among the cells of the profile.
    MutesInProfile breaks "mutes and notes are no part of the profile";
    /// Notes are kept among the cells of the profile.
    NotesInProfile breaks "mutes and notes are no part of the profile";
    /// Each part of a crowd leaves one out at its end.
    PartSkips breaks "parts cover everybody once";
    /// A part begins with the last of the part before.
    PartRepeats breaks "parts cover everybody once";
    /// A part is twice as large as asked for.
    PartTooLarge breaks "a part has its size";
    /// The parts of a crowd have no end: whoever is behind it is named by each.
    PartsWithoutEnd breaks "a crowd is cut into parts";
    /// Everybody belongs to every crowd, if one asks for them by name.
    EverybodyBelongs breaks "both sides of a crowd agree";
    /// Whoever belongs has done so forever.
    SinceForgotten breaks "since when is known";
    /// Each part of what a person follows leaves one out at its end.
    FollowsSkip breaks "what a person follows is listed";
    /// What a person follows is listed under the version of an earlier word.
    FollowsOlder breaks "what a person follows is listed";
    /// All crowds of a tenant share their members.
    CrowdIgnored breaks "crowds are apart";
    /// Cells whose numbers differ only at their ends share their members.
    CellsCut breaks "crowds are apart";
    /// Everybody is told that the claim is theirs.
    ClaimGivenTwice breaks "the first claim stands", "one of many claimers wins";
    /// One's own claim is not recognised when it is repeated.
    OwnClaimTheirs breaks "a repeated claim is one's own";
    /// A claim is on the Ready, not on the attempt.
    AttemptIgnored breaks "attempts are apart";
    /// A later record overrides the first.
    LastRecordStands breaks "the first record stands";
    /// The journal comes in no particular order.
    JournalDisorder breaks "the journal is complete";
    /// A later answer overrides the first.
    LastAnswerStands breaks "the first answer stands", "one of many answers stands";
    /// Answers stand forever.
    AnswersForEver breaks "an answer is gone after a day", "an answer stands for its own time";
    /// An answer gives way to whoever has read any.
    AnswersGiveWay breaks "an answer gives way to nobody else", "one of many answers follows";
    /// The first answer stands, whoever has read it.
    AnswersStay breaks "an answer gives way to whoever has read it";
    /// Whoever speaks of an event is told what they said themselves.
    LastWordStands breaks "the first word stands", "first words come to stand";
    /// First words stand forever.
    WordsForEver breaks "a first word is gone when it has had its time";
    /// Whenever somebody asks, an event was heard just now.
    HeardJustNow breaks "when an event was heard is known";
    /// Events whose ids begin alike share a first word.
    WordsShared breaks "first words are apart";
    /// A later slip of the same Ready is not kept.
    FirstSlipStands breaks "the last slip stands";
    /// Slips are kept forever.
    SlipsForEver breaks "a slip is gone when it has had its time";
    /// Readys whose ids begin alike share a slip.
    SlipsShared breaks "slips are apart";
    /// Nothing is removed, and it is told that it was.
    EraseIsTold breaks "who is erased is gone";
    /// What the person follows is passed over.
    EraseLeavesCrowds breaks "who is erased is gone";
    /// What there was of it is not told of each place.
    EraseSaysLittle breaks "an erasure tells what went";
    /// Whoever only looks removes.
    LookRemoves breaks "a look removes nothing";
    /// That the person was erased is removed as well.
    EraseForgetsItself breaks "that somebody was erased stays";
    /// The person of the same name of another tenant goes too.
    EraseTakesNamesakes breaks "nobody else is erased";
    /// Nothing is kept of who was erased, for good.
    ErasedForEver breaks "who was erased may come back";
    /// Tenants share everything.
    TenantIgnored breaks "tenants are apart";
    /// Names are cut after 64 bytes.
    NamesCut breaks "days of any names are apart", "states of any names are apart", "crowds of any names are apart";
    /// Tenant and person are put together with a colon to make a key.
    NamesJoined breaks "days of any names are apart";
}

/// A harness whose stores all tell one lie.
pub struct LyingStoreHarness<H> {
    honest: H,
    lie: StoreLie,
    /// What is behind the lying store that was opened last.
    behind: Option<Arc<dyn Store>>,
}

impl<H: StoreHarness> LyingStoreHarness<H> {
    pub fn new(honest: H, lie: StoreLie) -> Self {
        Self { honest, lie, behind: None }
    }

    fn wrap(&mut self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        self.behind = Some(store.clone());
        Arc::new(LyingStore::new(store, self.lie))
    }
}

#[async_trait]
impl<H: StoreHarness> StoreHarness for LyingStoreHarness<H> {
    async fn open(&mut self) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        self.behind = None;
        let store = self.honest.open().await?;
        Ok(self.wrap(store))
    }

    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        // What only the lying store held in memory is lost here.
        drop(store);
        let behind = self.behind.take().ok_or_else(|| BrokenStorePromise("nothing is open".into()))?;
        let store = self.honest.crash(behind).await?;
        Ok(self.wrap(store))
    }

    async fn spoil(&mut self, _: &dyn Store, key: &DayKey) -> Result<bool, BrokenStorePromise> {
        let behind = self.behind.clone().ok_or_else(|| BrokenStorePromise("nothing is open".into()))?;
        self.honest.spoil(&*behind, key).await
    }
}
