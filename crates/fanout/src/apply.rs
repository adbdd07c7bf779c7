//! What the fan-out writes: rows, then their announcements, and the ends of what persons left.

use std::pin::pin;

use anyhow::Context as _;
use futures::{StreamExt as _, stream::FuturesUnordered};
use model::{CrowdEnrolment, UtcMillis, VersionedState, entry::DayKey};
use room::day_index;
use store::{DayRows, StateKey};
use topic::NewRecord;

use crate::deps::Deps;

pub(crate) async fn write_rows(deps: &Deps, rows: Vec<DayRows>, now: UtcMillis) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let late = list_late_days(&rows, now);
    if !late.is_empty() {
        deps.room.store.merge(late).await.context("days of late entries")?;
    }
    deps.room.store.write(rows, now).await.context("rows")
}

/// Days that somebody may have noted to have no entries, as of persons: whoever reads all days has to look at them from now on.
fn list_late_days(rows: &[DayRows], now: UtcMillis) -> Vec<(StateKey, VersionedState)> {
    let late = rows.iter().map(|rows| &rows.key).filter(|key| day_index::is_late(key.day, now));
    let note = |key: &DayKey| {
        let whose = StateKey::Notes(key.tenant.clone(), key.person.clone());
        (whose, day_index::note_late_day(key.day, now))
    };
    late.map(note).collect()
}

pub(crate) async fn announce(deps: &Deps, announcements: Vec<NewRecord>) -> anyhow::Result<()> {
    if announcements.is_empty() {
        return Ok(());
    }
    deps.room.topics.append(announcements).await.context("announcements")
}

/// Takes out of their crowds those who left them.
pub(crate) async fn end_enrolments(deps: &Deps, left: Vec<CrowdEnrolment>) -> anyhow::Result<()> {
    if left.is_empty() { Ok(()) } else { Ok(deps.room.store.enrol(left).await?) }
}

/// Does something while writes go on; the first that fails ends it.
pub(crate) async fn while_writing<T>(
    work: impl Future<Output = anyhow::Result<T>>,
    writes: &mut FuturesUnordered<impl Future<Output = anyhow::Result<()>>>,
) -> anyhow::Result<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            Some(written) = writes.next() => written?,
            done = &mut work => return done,
        }
    }
}
