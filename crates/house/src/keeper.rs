//! The keeper: drops the days that have expired, as whole pieces, once each UTC day. Beside it, in the same room,
//! persons are erased ([`crate::erase::work`]).
//!
//! What is dropped is gone, so its clock alone is not enough: a day is dropped when it has expired as seen from the
//! newest day that has rows. A house in which nothing happens keeps its last days a little longer.

use model::{Day, DayLife, UtcMillis};
use runtime::retry;
use store::{Store, StoreError};

use crate::metrics::KeeperMetrics;

/// Days without an event that are no reason to doubt the clock.
const QUIET_DAYS: i32 = 2;

/// What the keeper works with.
pub struct Deps {
    pub room: room::Deps,
    pub metrics: KeeperMetrics,
}

/// Runs until the shutdown. A store that cannot drop a day now is asked again; the rows are unreadable
/// after their day's end either way, so nothing but room on the disk depends on it.
pub async fn run(ports: Deps) -> anyhow::Result<()> {
    let Deps { room, metrics } = ports;
    let room::Deps { store, clock, quiet, shutdown, .. } = room;
    let mut worker = quiet.begin_work();
    let mut tries = 0;
    loop {
        let today = Day::from_instant(UtcMillis(clock.now()));
        match drop_expired(&*store, today).await {
            Ok(dropped) => {
                tries = 0;
                metrics.dropped.with_label_values::<&str>(&[]).inc_by(dropped);
                metrics.succeeded.with_label_values::<&str>(&[]).set(clock.now() / 1_000);
                if dropped > 0 {
                    tracing::info!(dropped, "expired days were dropped");
                }
            }
            Err(error) => {
                metrics.failures.with_label_values::<&str>(&[]).inc();
                tracing::warn!(%error, "expired days could not be dropped; retrying");
                tokio::select! {
                    () = retry::pause_before_retry(tries, 0) => {}
                    () = shutdown.wait() => return Ok(()),
                }
                tries = tries.saturating_add(1);
                continue;
            }
        }
        worker.set_busy(false);
        tokio::select! {
            asleep = clock.wake_at(today.plus(1).start().0) => {
                // At work before it stops being a sleeper, as in the loop of the rooms.
                worker.set_busy(true);
                drop(asleep);
            }
            () = shutdown.wait() => return Ok(()),
        }
    }
}

/// Drops the days that have expired; how many.
async fn drop_expired(store: &dyn Store, today: Day) -> Result<u64, StoreError> {
    // Nothing lives that could be dropped by mistake.
    let Some(newest) = store.newest().await? else { return Ok(0) };
    let believed = believed_today(today, newest);
    if believed < today {
        tracing::warn!(%today, %newest, "the newest rows are days old; days are dropped as of that date");
    }
    store.drop_before(first_kept_day(believed, store.day_life())).await
}

/// Which day it is, if the newest rows are of that one.
fn believed_today(today: Day, newest: Day) -> Day {
    today.min(newest.plus(QUIET_DAYS))
}

/// The oldest day that still has life in it today.
fn first_kept_day(today: Day, life: DayLife) -> Day {
    life.oldest_day(today.start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_clock_far_ahead_drops_nothing_that_lives() {
        let today = Day::parse("2026-11-21").unwrap();
        let check = async |ahead: i32, rows: &[i32], dropped: u64| {
            let dir = tempfile::tempdir().unwrap();
            let store = store_embedded::EmbeddedStore::open_for(dir.path(), DayLife::LEAST).unwrap();
            for before in rows {
                write_row(&store, today.plus(-before)).await;
            }
            let found = drop_expired(&store, today.plus(ahead)).await.unwrap();
            assert_eq!(found, dropped, "{ahead} days ahead, rows {rows:?} days ago");
        };
        check(0, &[0, 1, 20], 0).await;
        check(0, &[0, 1, 21, 22], 2).await;
        for ahead in [1, 3, 10, 20, 25, 400] {
            check(ahead, &[0, 1, 18], 0).await;
        }
        // A house in which nothing happened for a week.
        check(0, &[7, 24, 29], 1).await;
        check(0, &[30, 40], 0).await;
    }

    async fn write_row(store: &store_embedded::EmbeddedStore, day: Day) {
        let at = day.start();
        let mark = model::Mark::new(None, model::MarkAction::Read, Vec::new(), at);
        let key = model::entry::DayKey {
            tenant: model::Tenant::new("main").unwrap(),
            person: model::Person::new("ann").unwrap(),
            day,
        };
        let rows = store::DayRows { key, rows: vec![model::DayRow::Mark(mark)] };
        store::DayStore::write(store, vec![rows], at).await.unwrap();
    }

    #[test]
    fn a_day_is_kept_until_it_expires() {
        let today = Day::parse("2026-11-21").unwrap();
        for life in [DayLife::LEAST, DayLife::default()] {
            let first = first_kept_day(today, life);
            assert!(!life.is_over(first, today.start()));
            assert!(life.is_over(first.plus(-1), today.start()));
        }
    }
}
