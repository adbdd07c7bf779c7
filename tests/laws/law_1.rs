//! Law 1: a day is insert-only. One row per entry and reason; folding is a union; written again changes
//! nothing; all rows of a day expire at one instant.

use std::collections::BTreeSet;

use model::{DayRow, fold::fold_rows};
use proptest::{collection::vec, prelude::*};
use store::{DayRows, DayStore as _, StoreSetup as _};
use store_embedded::EmbeddedStore;

use crate::{
    names::{a_day, any_row, day_key},
    seeds::{LawDice, check_values, draw_value, run_waiting_schedules},
};

#[test]
fn law_1_a_day_is_insert_only() {
    check_values(300, (vec(any_row(a_day()), 0..24), any::<u64>()), |(rows, order)| {
        folds_alike(&rows, order)
    });
    run_waiting_schedules(6, written_again_changes_nothing);
}

/// Rows in any order, some of them several times, fold to the same; and every reason is there.
fn folds_alike(rows: &[DayRow], order: u64) -> Result<(), TestCaseError> {
    let mut dice = LawDice::new(order);
    let once: BTreeSet<DayRow> = rows.iter().cloned().collect();
    let mut doubled = rows.to_vec();
    for _ in 0..rows.len() {
        doubled.push(dice.pick(rows));
    }
    dice.shuffle(&mut doubled);
    let view = fold_rows(&once);
    prop_assert_eq!(&fold_rows(&doubled), &view);
    // In parts as well: what is known grows, it is never taken back.
    let (first, second) = doubled.split_at(dice.below(doubled.len() + 1));
    let mut grown = fold_rows(first);
    second.iter().for_each(|row| grown.add(row));
    prop_assert_eq!(&grown, &view);
    for row in &once {
        if let DayRow::Entry(entry) = row {
            let seen = view.get(entry.key).ok_or_else(|| TestCaseError::fail("an entry is not seen"))?;
            prop_assert!(seen.reasons.contains(&entry.reason), "{entry:?} is not among {:?}", seen.reasons);
            prop_assert_eq!(seen.subject(), Some(&entry.subject));
        }
    }
    Ok(())
}

/// The engine: rows in parts, in any order, again and again, are the set of the rows, until the one instant
/// at which all of them are gone.
async fn written_again_changes_nothing(mut dice: LawDice) {
    let dir = crate::engine_folder::temp_engine_dir();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    for case in 0..8 {
        let day = a_day().plus(i32::try_from(dice.below(4)).unwrap());
        let key = day_key("main", &format!("p{case}"), day);
        let rows: Vec<DayRow> = draw_value(&mut dice, vec(any_row(day), 6..14));
        let mut written = BTreeSet::new();
        for _ in 0..5 {
            let some: Vec<DayRow> = (0..4).map(|_| dice.pick(&rows)).collect();
            let now = day.start().plus(dice.ms(0, store.day_life().expiry(day).since(day.start())));
            store.write(vec![DayRows { key: key.clone(), rows: some.clone() }], now).await.unwrap();
            written.extend(some);
        }
        let read = |now| {
            let (store, key) = (&store, key.clone());
            async move { store.read(&[key], now).await.unwrap().remove(0) }
        };
        let found = read(store.day_life().expiry(day).plus(-1)).await;
        assert_eq!(found.len(), written.len(), "a row stands there twice");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), written);
        // Whenever they were written, they all go at once, and nothing is written after that.
        assert_eq!(read(store.day_life().expiry(day)).await, []);
        store
            .write(vec![DayRows { key: key.clone(), rows: rows.clone() }], store.day_life().expiry(day))
            .await
            .unwrap();
        assert_eq!(
            read(store.day_life().expiry(day).plus(-1)).await.into_iter().collect::<BTreeSet<_>>(),
            written
        );
    }
}
