//! The keeper: drops the days that have expired, as whole pieces, once each UTC day.

use std::sync::Arc;

use model::{
    Day, Millis,
    limits::{DAY_LIFE_MS, DAY_MS},
};
use runtime::{Clock, Quiet, Shutdown, retry};
use store::Store;

/// What the keeper works with.
pub struct Ports {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
}

/// Runs until the shutdown. A store that cannot drop a day now is asked again; the rows are unreadable
/// after their day's end either way, so nothing but room on the disk depends on it.
pub async fn run(ports: Ports) -> anyhow::Result<()> {
    let Ports { store, clock, quiet, shutdown } = ports;
    let mut worker = quiet.worker();
    let mut tries = 0;
    loop {
        let today = Day::of(Millis(clock.now()));
        match store.drop_before(first_kept(today)).await {
            Ok(dropped) => {
                tries = 0;
                if dropped > 0 {
                    tracing::info!(dropped, "expired days were dropped");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "expired days could not be dropped; they are tried again");
                tokio::select! {
                    () = retry::pause(tries, 0) => {}
                    () = shutdown.wait() => return Ok(()),
                }
                tries = tries.saturating_add(1);
                continue;
            }
        }
        worker.set(false);
        tokio::select! {
            asleep = clock.wake_at(today.plus(1).start().0) => {
                // At work before it stops being a sleeper, as in the loop of the rooms.
                worker.set(true);
                drop(asleep);
            }
            () = shutdown.wait() => return Ok(()),
        }
    }
}

/// The oldest day that still has life in it today.
fn first_kept(today: Day) -> Day {
    let life = i32::try_from(DAY_LIFE_MS / DAY_MS).unwrap_or(i32::MAX);
    today.plus(1 - life)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_kept_until_it_expires() {
        let today = Day::parse("2026-11-21").unwrap();
        let first = first_kept(today);
        assert!(first.expires() > today.start());
        assert!(first.plus(-1).expires() <= today.start());
    }
}
