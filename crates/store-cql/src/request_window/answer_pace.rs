//! Which answers come late: those that take far longer than the quickest of their sort.

use std::{collections::BTreeMap, time::Duration};

/// Whoever answers within so long is never late.
const SOON: Duration = Duration::from_millis(20);
/// Late is what takes so many times as long as its sort takes where nothing waits.
const TIMES: u32 = 4;
/// The quickest answer of a sort counts for less with each other one, a millionth part: a cluster may become slower for good.
const FADES: u32 = 1_000_000;

/// How long the quickest answer of each sort of request took.
#[derive(Debug, Default)]
pub(super) struct AnswerPace(BTreeMap<&'static str, Duration>);

impl AnswerPace {
    /// Whether this one was late.
    pub fn note_answer(&mut self, what: &'static str, took: Duration) -> bool {
        let quickest = self.0.entry(what).or_insert(took);
        *quickest = took.min(*quickest + *quickest / FADES);
        took > SOON && took > *quickest * TIMES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_takes_far_longer_than_its_sort_does() {
        let mut pace = AnswerPace::default();
        let mut note = |what, ms| pace.note_answer(what, Duration::from_millis(ms));
        assert!(!note("far", 60));
        assert!(!note("far", 200));
        assert!(note("far", 260));
        assert!(!note("near", 2));
        assert!(!note("near", 20), "soon enough, whatever the quickest took");
        assert!(note("near", 21));
        assert!(!note("near", 1));
        assert!(note("near", 21));
    }

    #[test]
    fn a_cluster_that_is_slower_for_good_is_not_late_for_ever() {
        let mut pace = AnswerPace::default();
        pace.note_answer("reading", Duration::from_millis(10));
        let slower = Duration::from_millis(50);
        assert!(pace.note_answer("reading", slower));
        let after = (1..).find(|_| !pace.note_answer("reading", slower)).unwrap();
        assert!((200_000..300_000).contains(&after), "{after}");
    }
}
