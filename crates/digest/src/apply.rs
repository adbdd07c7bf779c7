//! What a turn writes beside its records: marks, and notes on days that are full.

use std::collections::BTreeMap;

use anyhow::Context as _;
use model::{
    Day, DayRow,
    person::{OwedMark, notes},
};
use runtime::crash_point;
use store::{DayRows, StateKey};

use crate::{
    decide::DigestDecision,
    deps::Deps,
    facts::day_key,
    memory::{PartitionMemory, PersonKey},
};

/// Writes the marks that committed turns named; they stay on the list until the store has them.
pub(crate) async fn write_owed(deps: &Deps, memory: &mut PartitionMemory) -> anyhow::Result<()> {
    write_marks(deps, &memory.unwritten).await?;
    memory.acknowledged.append(&mut memory.unwritten);
    Ok(())
}

/// Writes what may be repeated, before the turn is committed: lists that it names, what is full, and marks that repeat a
/// report.
pub(crate) async fn apply_decision(deps: &Deps, decided: &DigestDecision) -> anyhow::Result<()> {
    write_lists(deps, decided).await?;
    note_full_days(deps, decided).await?;
    write_marks(deps, &decided.marks).await
}

async fn write_lists(deps: &Deps, decided: &DigestDecision) -> anyhow::Result<()> {
    if decided.lists.is_empty() {
        return Ok(());
    }
    let rows = decided.lists.iter().map(|((key, named), list)| DayRows {
        key: day_key(key, named.day),
        rows: vec![DayRow::List(list.clone())],
    });
    deps.room.store.write(rows.collect(), deps.room.now()).await.context("lists of entries")?;
    crash_point::point(crash_point::LISTED);
    Ok(())
}

async fn write_marks(deps: &Deps, marks: &[(PersonKey, OwedMark)]) -> anyhow::Result<()> {
    if marks.is_empty() {
        return Ok(());
    }
    let mut days: BTreeMap<(&PersonKey, Day), Vec<DayRow>> = BTreeMap::new();
    for (key, OwedMark { day, mark }) in marks {
        days.entry((key, *day)).or_default().push(DayRow::Mark(mark.clone()));
    }
    let rows = days.into_iter().map(|((key, day), rows)| DayRows { key: day_key(key, day), rows }).collect();
    deps.room.store.write(rows, deps.room.now()).await.context("marks")
}

/// Tells fan-out, in the house's notes of the person, that a day takes no more rows.
async fn note_full_days(deps: &Deps, decided: &DigestDecision) -> anyhow::Result<()> {
    if decided.full.is_empty() && decided.shut.is_empty() {
        return Ok(());
    }
    let full = decided.full.iter().map(|(key, day)| (key, notes::note_full_day(*day)));
    let shut = decided.shut.iter().map(|(key, day)| (key, notes::note_shut_day(*day)));
    let states = full.chain(shut);
    let states =
        states.map(|((tenant, person), state)| (StateKey::Notes(tenant.clone(), person.clone()), state));
    deps.room.store.merge(states.collect()).await.context("full days")
}
