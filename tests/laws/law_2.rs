//! Law 2: a mark names what it covers, so what arrives between reading a day and marking it is never lost.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Channel, DayRow, EntryKey, Fate, Mark, MarkAction,
    fold::{DayView, fold_rows},
};
use proptest::{collection::vec, prelude::*};
use store::{DayRows, DayStore as _};
use store_embedded::EmbeddedStore;

use crate::{
    names::{a_day, day_key, entry_key, entry_row, ready_id, reason},
    seeds::{LawDice, check_values, run_waiting_schedules},
};

/// What happens to a day.
#[derive(Clone, Debug)]
enum DayAct {
    /// A row of this event arrives, for one of its reasons.
    Arrives(usize, usize),
    /// Somebody reads the day for a closing.
    Reads,
    /// The closing that read first is marked: taken by its Ready.
    Marks,
    /// A Ready that was marked comes back.
    Returns(usize),
}

#[test]
fn law_2_a_mark_names_what_it_covers() {
    let act = prop_oneof![
        4 => (0..8_usize, 0..2_usize).prop_map(|(event, reason)| DayAct::Arrives(event, reason)),
        2 => Just(DayAct::Reads),
        2 => Just(DayAct::Marks),
        1 => (0..4_usize).prop_map(DayAct::Returns),
    ];
    check_values(400, vec(act, 1..24), |acts| {
        let (mut rows, mut told) = (BTreeSet::new(), DayExpectation::default());
        for act in &acts {
            rows.extend(told.apply_act(act, &fold_rows(&rows)));
            told.check_view(&fold_rows(&rows))?;
        }
        Ok(())
    });
    run_waiting_schedules(4, in_the_store);
}

/// The same with the rows in the store, one day after the other.
async fn in_the_store(mut dice: LawDice) {
    let dir = crate::engine_folder::temp_engine_dir();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    for case in 0..6 {
        let key = day_key("main", &format!("p{case}"), a_day());
        let mut told = DayExpectation::default();
        for _ in 0..16 {
            let rows = store.read(std::slice::from_ref(&key), a_day().start()).await.unwrap().remove(0);
            told.check_view(&fold_rows(&rows)).unwrap();
            let act = match dice.below(9) {
                0..4 => DayAct::Arrives(dice.below(8), dice.below(2)),
                4 | 5 => DayAct::Reads,
                6 | 7 => DayAct::Marks,
                _ => DayAct::Returns(dice.below(4)),
            };
            if let Some(row) = told.apply_act(&act, &fold_rows(&rows)) {
                store
                    .write(vec![DayRows { key: key.clone(), rows: vec![row] }], a_day().start())
                    .await
                    .unwrap();
            }
        }
    }
}

/// Follows a day through what happens to it, with a reader's memory of what each closing saw.
#[derive(Default)]
struct DayExpectation {
    arrived: BTreeSet<EntryKey>,
    /// What each closing saw waiting, until it is marked.
    seen: Vec<(u8, BTreeSet<EntryKey>)>,
    taken: BTreeMap<u8, BTreeSet<EntryKey>>,
    returned: BTreeSet<u8>,
    closings: u8,
}

impl DayExpectation {
    /// The row that an act adds, if it adds one.
    fn apply_act(&mut self, act: &DayAct, view: &DayView) -> Option<DayRow> {
        let day = a_day();
        match act {
            DayAct::Arrives(event, because) => {
                self.arrived.insert(entry_key(day, *event));
                Some(entry_row(day, *event, reason("made", *because)))
            }
            DayAct::Reads => {
                let waiting = view.entries().filter(|(_, entry)| entry.waits(Channel::Email));
                self.seen.push((self.closings, waiting.map(|(key, _)| key).collect()));
                self.closings += 1;
                None
            }
            DayAct::Marks if self.seen.is_empty() => None,
            DayAct::Marks => {
                let (id, keys) = self.seen.remove(0);
                let mark = mark_row(MarkAction::Taken(ready_id(id)), keys.iter().copied());
                self.taken.insert(id, keys);
                Some(mark)
            }
            DayAct::Returns(number) => {
                let id = *self.taken.keys().nth(*number)?;
                self.returned.insert(id);
                let keys = self.taken[&id].iter().copied();
                Some(mark_row(MarkAction::Returned { ready: ready_id(id), maybe: false }, keys))
            }
        }
    }

    /// An entry is told exactly when a Ready that was not returned took it.
    fn check_view(&self, view: &DayView) -> Result<(), TestCaseError> {
        for key in &self.arrived {
            let by = self.taken.iter().filter(|(id, _)| !self.returned.contains(id));
            let told = by.into_iter().any(|(_, keys)| keys.contains(key));
            let fate = view.get(*key).map(|entry| entry.fate(Channel::Email));
            let is_told = matches!(fate, Some(Fate::Told { .. }));
            let waits = matches!(fate, Some(Fate::Waiting { .. }));
            prop_assert!(is_told == told && waits != told, "{key:?} is {fate:?}, told: {told}");
        }
        Ok(())
    }
}

fn mark_row(what: MarkAction, covers: impl Iterator<Item = EntryKey>) -> DayRow {
    DayRow::Mark(Mark::new(Some(Channel::Email), what, covers.collect(), a_day().start()))
}
