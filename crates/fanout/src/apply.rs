//! What the fan-out writes: rows, then their announcements, and the ends of what persons left.

use std::pin::pin;

use anyhow::Context as _;
use futures::{StreamExt as _, stream::FuturesUnordered};
use model::{CrowdEnrolment, UtcMillis};
use store::DayRows;
use topic::NewRecord;

use crate::deps::Deps;

pub(crate) async fn write_rows(deps: &Deps, rows: Vec<DayRows>, now: UtcMillis) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    deps.room.store.write(rows, now).await.context("rows")
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
