//! Editions: catalogues in the order in which the house took them up. Processes are rolled out one after the other, so
//! for a while some have an older edition than others. A process that meets records of a newer edition waits until it
//! is replaced, instead of taking unknown names for removed ones.
//!
//! The wait has an end, for nobody may come: after it they go on by their own edition, and say so.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::time::UtcMillis;

/// How long somebody who says nothing about it waits for a newer edition.
pub const EDITION_WAIT_MS: i64 = 10 * 60_000;
/// A process that has not met the newer edition for this long stops waiting. It is longer than the pause between two
/// tries of a turn.
const MET_MS: i64 = 30_000;

/// A catalogue as the house took it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edition {
    /// Rises with each catalogue that is taken up, also with one that had been there before.
    pub number: u64,
    /// The catalogue's own.
    pub hash: u64,
}

impl Edition {
    /// Whether this one was taken up after the other, and says something else.
    fn is_newer_than(self, other: Self) -> bool {
        self.number > other.number && self.hash != other.hash
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edition {} of the catalogue ({:016x})", self.number, self.hash)
    }
}

/// What to do with something that an edition said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditionVerdict {
    /// Ours is as new.
    Known,
    /// It is newer: wait. `is_first` if nobody was told so of this edition before.
    Wait { edition: Edition, until: UtcMillis, is_first: bool },
    /// It is newer, and was waited for long enough: go on by our own.
    Passed { edition: Edition, is_first: bool },
}

/// Somebody waits here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AwaitedEdition {
    pub edition: Edition,
    pub until: UtcMillis,
    /// When it was met last.
    at: UtcMillis,
}

impl AwaitedEdition {
    /// What is met here and needed, for whoever runs the house.
    pub fn describe_wait(&self, own: Option<Edition>) -> String {
        let Self { edition, until, .. } = self;
        let own =
            own.map(|own| format!(" while this process has edition {} ({:016x})", own.number, own.hash));
        let own = own.unwrap_or_default();
        format!(
            "{edition} is in use{own}: this process waits until {until} to be replaced by one with that \
            catalogue; to go back to this catalogue, run `tidings migrate` with it"
        )
    }
}

/// What a process knows of editions; all its rooms share it. A default one knows none, and never waits.
#[derive(Clone, Default)]
pub struct EditionTracker(Arc<Mutex<EditionTrackerState>>);

#[derive(Default)]
struct EditionTrackerState {
    own: Option<Edition>,
    newest: Option<Edition>,
    wait_ms: i64,
    /// By number: one that is taken up again is waited for again.
    met: BTreeMap<u64, EditionSighting>,
    awaited: Option<AwaitedEdition>,
}

#[derive(Clone, Copy)]
struct EditionSighting {
    first: UtcMillis,
    is_passed: bool,
}

impl EditionTracker {
    pub fn new(own: Edition, newest: Edition, wait_ms: i64) -> Self {
        Self(Arc::new(Mutex::new(EditionTrackerState {
            own: Some(own),
            newest: Some(newest),
            wait_ms,
            ..EditionTrackerState::default()
        })))
    }

    /// What was found out since: an older catalogue may have been taken up again.
    pub fn learn(&self, own: Edition, newest: Edition) {
        let mut known = self.lock_state();
        (known.own, known.newest) = (Some(own), Some(newest));
    }

    pub fn own_edition(&self) -> Option<Edition> {
        self.lock_state().own
    }

    pub fn newest_edition(&self) -> Option<Edition> {
        self.lock_state().newest
    }

    /// What to do with a record of this edition; records from before editions have none.
    pub fn judge(&self, said: Option<Edition>, now: UtcMillis) -> EditionVerdict {
        let mut known = self.lock_state();
        let (Some(own), Some(edition)) = (known.own, said) else { return EditionVerdict::Known };
        if !edition.is_newer_than(own) {
            return EditionVerdict::Known;
        }
        let wait_ms = known.wait_ms;
        let mut is_first = !known.met.contains_key(&edition.number);
        let met = known.met.entry(edition.number).or_insert(EditionSighting { first: now, is_passed: false });
        let until = met.first.plus(wait_ms);
        if now < until {
            known.awaited = Some(AwaitedEdition { edition, until, at: now });
            return EditionVerdict::Wait { edition, until, is_first };
        }
        is_first = !std::mem::replace(&mut met.is_passed, true);
        EditionVerdict::Passed { edition, is_first }
    }

    /// What to do with a kind or a plan that our catalogue does not have. It is gone if ours is the newest.
    pub fn judge_unknown(&self, said: Option<Edition>, now: UtcMillis) -> EditionVerdict {
        let newest = self.newest_edition().into_iter().chain(said).max_by_key(|edition| edition.number);
        self.judge(newest, now)
    }

    /// Which edition somebody waits for here, if anybody does.
    pub fn awaited_edition(&self, now: UtcMillis) -> Option<AwaitedEdition> {
        let known = self.lock_state();
        let (own, awaited) = (known.own?, known.awaited?);
        let stands = awaited.edition.is_newer_than(own) && now < awaited.until;
        (stands && now.since(awaited.at) < MET_MS).then_some(awaited)
    }

    fn lock_state(&self) -> MutexGuard<'_, EditionTrackerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for EditionTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.lock_state();
        f.debug_struct("EditionTracker")
            .field("own", &known.own)
            .field("newest", &known.newest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn edition(number: u64, hash: u64) -> Edition {
        Edition { number, hash }
    }

    /// Ours, then what is met and when; what to do with it.
    #[test]
    fn who_is_older_waits_and_then_goes_on() {
        let check = |own: Edition, met: &[(Edition, i64, &str)]| {
            let editions = EditionTracker::new(own, own, 1_000);
            for (edition, at, expected) in met {
                let verdict = match editions.judge(Some(*edition), UtcMillis(*at)) {
                    EditionVerdict::Known => "known".to_owned(),
                    EditionVerdict::Wait { until, is_first, .. } => {
                        format!("wait until {}{}", until.0, if is_first { ", first" } else { "" })
                    }
                    EditionVerdict::Passed { is_first, .. } => {
                        format!("passed{}", if is_first { ", first" } else { "" })
                    }
                };
                assert_eq!(verdict, *expected, "{own} meets {edition} at {at}");
            }
        };
        check(edition(2, 7), &[(edition(1, 5), 0, "known"), (edition(2, 7), 0, "known")]);
        // The same catalogue, taken up by another process at the same moment.
        check(edition(2, 7), &[(edition(3, 7), 0, "known")]);
        let newer = edition(3, 9);
        let waits = [
            (newer, 100, "wait until 1100, first"),
            (newer, 1_099, "wait until 1100"),
            (newer, 1_100, "passed, first"),
            (newer, 1_200, "passed"),
            // Taken up once more: waited for once more.
            (edition(5, 9), 1_300, "wait until 2300, first"),
        ];
        check(edition(2, 7), &waits);
    }

    #[test]
    fn who_has_the_newest_knows_what_is_gone() {
        let (older, newer) = (edition(1, 5), edition(2, 7));
        let editions = EditionTracker::new(older, newer, 1_000);
        assert!(matches!(editions.judge_unknown(None, UtcMillis(0)), EditionVerdict::Wait { .. }));
        assert_eq!(editions.awaited_edition(UtcMillis(1)).unwrap().edition, newer);
        assert_eq!(editions.awaited_edition(UtcMillis(1_000)), None, "it was waited for long enough");
        // The older catalogue is taken up again.
        editions.learn(edition(3, 5), edition(3, 5));
        assert_eq!(editions.judge_unknown(None, UtcMillis(2)), EditionVerdict::Known);
        assert_eq!(editions.judge(Some(newer), UtcMillis(2)), EditionVerdict::Known);
        assert_eq!(editions.awaited_edition(UtcMillis(2)), None);
    }

    #[test]
    fn who_knows_no_editions_waits_for_none() {
        let editions = EditionTracker::default();
        assert_eq!(editions.judge(Some(edition(9, 9)), UtcMillis(0)), EditionVerdict::Known);
        assert_eq!(editions.judge_unknown(None, UtcMillis(0)), EditionVerdict::Known);
    }
}
