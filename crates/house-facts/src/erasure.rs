//! Erasing a person: every place that holds something of them, and the receipt of its removal.
//!
//! [`Holding`] is the one list of these places. A store names each of its own in every answer to an erasure, each topic
//! has one, and so do the files of a house: a new place is added here, and tests ask each of them how a person leaves
//! it.

use std::collections::BTreeMap;

use model::{
    id::{Person, Tenant},
    notes,
    time::UtcMillis,
    value::{Value, ValueCell, VersionedState},
};

/// Who keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldingKeeper {
    Store,
    Log,
    Courier,
    /// Nobody whom the house can ask.
    Others,
}

macro_rules! holdings {
    ($($(#[$doc:meta])* $holding:ident: $keeper:ident, $name:literal;)*) => {
        /// A place where something of a person may lie.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Holding {
            $($(#[$doc])* $holding,)*
        }

        impl Holding {
            pub const ALL: &[Self] = &[$(Self::$holding,)*];

            /// As it is called in receipts; of a topic the topic's own name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$holding => $name,)*
                }
            }

            pub fn keeper(self) -> HoldingKeeper {
                match self {
                    $(Self::$holding => HoldingKeeper::$keeper,)*
                }
            }
        }
    };
}

holdings! {
    /// The rows of the person's own days: entries and marks.
    Days: Store, "days";
    Profile: Store, "profile";
    Mutes: Store, "mutes";
    /// Copies of the entries that they saved.
    Saved: Store, "saved";
    /// Which processes have streams of their feed open.
    Streams: Store, "streams";
    /// What the house noted, but that the person was erased.
    Notes: Store, "notes";
    Crowds: Store, "crowds";
    /// What the person follows, by the person.
    Follows: Store, "follows";
    Slips: Store, "slips";
    /// Rows of the journal about the person's messages, as far as slips and marks name them.
    Journal: Store, "journal";
    /// Answers to requests lie by a hash of the client's key.
    Answers: Store, "answers";
    /// When each event was first heard of, by a hash of its source and id.
    FirstWords: Store, "first words";
    Changes: Log, "changes";
    Events: Log, "events";
    Slices: Log, "slices";
    Inbox: Log, "inbox";
    Pending: Log, "pending";
    Windows: Log, "windows";
    ReadyUrgent: Log, "ready-urgent";
    Ready: Log, "ready";
    Returns: Log, "returns";
    Quarantine: Log, "quarantine";
    Replays: Log, "replays";
    /// The house about itself: nobody is in it.
    House: Log, "house";
    Erasures: Log, "erasures";
    /// Messages, in files or queues of the house's own.
    Outbox: Courier, "outbox";
    /// Other persons' rows, where they name this one as the reason.
    OthersDays: Others, "days of others";
    /// What is said of subjects is not a person's, whatever it says.
    Subjects: Others, "subjects";
    /// Archives, and records that were exported: files, wherever somebody put them.
    Archives: Others, "archives";
    /// What upstream services say, on topics of theirs.
    Sources: Others, "topics of others";
    /// Messages that left the house.
    Messages: Others, "messages that were sent";
}

impl Holding {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }

    /// The places that one keeper has.
    pub fn kept_by(keeper: HoldingKeeper) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |one| one.keeper() == keeper)
    }
}

/// Whether somebody only wants to know, or means it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EraseMode {
    /// Counts what there is, and leaves it.
    Look,
    Remove,
}

/// Things found in each place, or removed from it. Who looked and found nothing says nought.
pub type HoldingCounts = BTreeMap<Holding, u64>;

/// Adds what was found later.
pub fn add_counts(counts: &mut HoldingCounts, more: HoldingCounts) {
    for (holding, count) in more {
        *counts.entry(holding).or_default() += count;
    }
}

/// How far an erasure is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErasureProgress {
    /// Asked for; the person is marked already.
    Asked,
    /// At work: what it does now, and what has been removed so far.
    Working {
        step: String,
        removed: HoldingCounts,
    },
    /// The person may come back: the mark was taken away.
    Lifted,
    Done(Receipt),
}

/// An erasure, as the topic `erasures` has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Erasure {
    pub tenant: Tenant,
    pub person: Person,
    /// When it was asked for.
    pub asked: UtcMillis,
    /// When this was so.
    pub at: UtcMillis,
    pub progress: ErasureProgress,
}

/// What was removed, and what was not. It names no address.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Receipt {
    pub lines: Vec<ReceiptLine>,
}

/// What became of one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptLine {
    pub holding: Holding,
    pub removed: u64,
    /// What stays, and why; nothing if nothing does.
    pub stays: Option<String>,
    /// When what stays ends by itself, at the latest.
    pub until: Option<UtcMillis>,
}

/// The decision on a request to erase or welcome a person.
#[derive(Clone, PartialEq, Debug)]
pub enum ErasureDecision {
    Taken {
        /// What is noted of the person.
        notes: VersionedState,
        /// What is written down: when it was asked for, and what was. Nothing if nothing is different now.
        told: Option<(UtcMillis, ErasureProgress)>,
    },
    /// Something later was said before.
    Late,
    /// Nobody is welcome before all of them is gone: what were said meanwhile would go as well.
    Running,
}

/// Hears that somebody is to be erased, or is welcome again, beside what is noted of them. Said again an erasure is done
/// again; only a mark that is there is lifted.
pub fn decide_erasure(
    known: &VersionedState,
    (welcomes, version): (bool, i64),
    now: UtcMillis,
) -> ErasureDecision {
    let mark = ValueCell { version, value: Some(Value::Flag(!welcomes)) };
    let is_late =
        known.cells.get(notes::ERASED).is_some_and(|held| held.value != mark.value && held.wins_over(&mark));
    if is_late {
        return ErasureDecision::Late;
    }
    if welcomes && notes::is_being_erased(known) {
        return ErasureDecision::Running;
    }
    // Two are told apart by when they were asked for, whatever clocks say.
    let asked = notes::last_erased(known).map_or(now, |last| now.max(last.plus(1)));
    let mut said = VersionedState::default();
    said.set(notes::ERASED, mark);
    if welcomes {
        let told = known.flag(notes::ERASED).then_some((asked, ErasureProgress::Lifted));
        return ErasureDecision::Taken { notes: said, told };
    }
    said.merge(&notes::note_erasure_asked(asked));
    ErasureDecision::Taken { notes: said, told: Some((asked, ErasureProgress::Asked)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words on one person, each an hour after the one before; `done` is the keeper's.
    #[test]
    fn who_is_welcome_was_erased_to_the_end_and_what_comes_late_changes_nothing() {
        check_words(&[("erase 1", "asked")], true);
        check_words(&[("erase 1", "asked"), ("erase 1", "asked"), ("done", "done")], true);
        check_words(&[("welcome 1", "nothing")], false);
        check_words(&[("erase 1", "asked"), ("welcome 2", "running")], true);
        check_words(&[("erase 1", "asked"), ("done", "done"), ("welcome 2", "lifted")], false);
        check_words(
            &[("erase 1", "asked"), ("done", "done"), ("welcome 2", "lifted"), ("welcome 2", "nothing")],
            false,
        );
        // What came by a slow way, or is told again by a replay.
        check_words(
            &[("erase 5", "asked"), ("done", "done"), ("welcome 4", "late"), ("welcome 5", "late")],
            true,
        );
        check_words(&[("erase 5", "asked"), ("welcome 4", "late")], true);
        check_words(&[("welcome 5", "nothing"), ("erase 4", "late"), ("erase 6", "asked")], true);
        // Erased once more, she is welcome once more when that is done.
        let twice = [("erase 1", "asked"), ("done", "done"), ("welcome 2", "lifted"), ("erase 3", "asked")];
        check_words(&[&twice[..], &[("welcome 4", "running")]].concat(), true);
        check_words(&[&twice[..], &[("done", "done"), ("welcome 4", "lifted")]].concat(), false);
    }

    fn check_words(words: &[(&str, &str)], is_marked: bool) {
        let (mut known, mut now) = (VersionedState::default(), UtcMillis(0));
        for (word, expected) in words {
            now = now.plus(3_600_000);
            let said = match word.split_once(' ') {
                Some((what, version)) => {
                    match decide_erasure(&known, (what == "welcome", version.parse().unwrap()), now) {
                        ErasureDecision::Taken { notes, told } => {
                            known.merge(&notes);
                            match told {
                                Some((_, ErasureProgress::Asked)) => "asked",
                                Some((_, ErasureProgress::Lifted)) => "lifted",
                                _ => "nothing",
                            }
                        }
                        ErasureDecision::Late => "late",
                        ErasureDecision::Running => "running",
                    }
                }
                None => {
                    known.merge(&notes::note_erasure_done(notes::last_erased(&known).unwrap()));
                    "done"
                }
            };
            assert_eq!(said, *expected, "{word} of {words:?}");
        }
        assert_eq!(known.flag(notes::ERASED), is_marked, "{words:?}");
    }

    /// A mark of an earlier release has no instant.
    #[test]
    fn a_mark_alone_is_lifted() {
        let known = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
        let heard = decide_erasure(&known, (true, 2), UtcMillis(7));
        assert!(
            matches!(
                heard,
                ErasureDecision::Taken { told: Some((UtcMillis(7), ErasureProgress::Lifted)), .. }
            ),
            "{heard:?}"
        );
    }

    #[test]
    fn holdings_are_found_by_their_names() {
        for holding in Holding::ALL {
            assert_eq!(Holding::parse(holding.name()), Some(*holding));
        }
    }
}
