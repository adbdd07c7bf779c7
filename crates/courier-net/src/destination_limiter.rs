//! How much of a destination is used: its pace, how many are on their way to it, and how many wait for that.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use courier::HandoverOutcome;
use model::ReadyId;
use runtime::{clock::SteadyStopwatch, retry};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::backoff::{BackoffWait, DestinationBackoff, DestinationSignal, WarmupRamp};

/// How many of anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimiterWidth {
    /// On their way at the same time.
    pub at_once: usize,
    /// Who waits for that, or for the rate. What comes then is told to come later, so that a slow destination holds nobody up.
    pub waiting: usize,
    /// How long each of them waits.
    pub wait: Duration,
    pub per_second: Option<f64>,
    pub ramp: Option<WarmupRamp>,
}

#[derive(Debug)]
pub(crate) struct DestinationLimiter {
    width: LimiterWidth,
    pace: Mutex<DestinationBackoff>,
    watch: SteadyStopwatch,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl DestinationLimiter {
    pub fn new(width: LimiterWidth) -> Arc<Self> {
        Arc::new(Self {
            width,
            pace: Mutex::new(DestinationBackoff::new(width.per_second, width.ramp)),
            watch: SteadyStopwatch::start(),
            permits: Arc::new(Semaphore::new(width.at_once)),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Waits where too many went out in this second; a pause is not waited for. An error says why one is not let in: the
    /// destination is away, or others go first. Nobody has been asked about its message.
    pub async fn enter(self: &Arc<Self>, spread: u64) -> Result<LimiterTicket, HandoverOutcome> {
        let (begun, mut waiting) = (self.watch.elapsed(), None);
        loop {
            let taken = self.lock_backoff().try_take(self.now_ms());
            match taken {
                Ok(()) => {
                    return Ok(LimiterTicket {
                        lane: self.clone(),
                        spread,
                        went: DestinationSignal::Nowhere,
                    });
                }
                Err(BackoffWait::Pause(ms)) => {
                    return Err(HandoverOutcome::Away(format!(
                        "it is left alone for {} s",
                        ms.div_ceil(1_000)
                    )));
                }
                Err(BackoffWait::Rate(ms)) => {
                    let wait = Duration::from_millis(ms);
                    if wait > self.width.wait {
                        return Err(HandoverOutcome::Away("its rate is used up".to_owned()));
                    }
                    if self.watch.elapsed() - begun + wait > self.width.wait {
                        return Err(HandoverOutcome::Busy("its rate is used up".to_owned()));
                    }
                    if waiting.is_none() {
                        let room = LimiterWaiter::begin(&self.waiting, self.width.waiting);
                        waiting = Some(
                            room.ok_or_else(|| HandoverOutcome::Busy("too many wait for it".to_owned()))?,
                        );
                    }
                    retry::wait_real_time(wait).await;
                }
            }
        }
    }

    /// The whole way in: a turn, and room as soon as there is any.
    pub async fn admit(
        self: &Arc<Self>,
        spread: u64,
    ) -> Result<(LimiterTicket, OwnedSemaphorePermit), HandoverOutcome> {
        let turn = self.enter(spread).await?;
        let room = turn.wait_for_room().await?;
        Ok((turn, room))
    }

    /// Whether it is left alone by now.
    pub fn is_resting(&self) -> bool {
        self.lock_backoff().is_resting(self.now_ms())
    }

    async fn wait_for_permit(&self) -> Option<OwnedSemaphorePermit> {
        let _waiting = LimiterWaiter::begin(&self.waiting, self.width.waiting)?;
        timeout(self.width.wait, self.permits.clone().acquire_owned()).await.ok()?.ok()
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.watch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What a panic left behind is still good: every change is one step.
    fn lock_backoff(&self) -> MutexGuard<'_, DestinationBackoff> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that was let in. Whatever becomes of it is noted, also if nobody waits for it any more.
#[derive(Debug)]
pub(crate) struct LimiterTicket {
    lane: Arc<DestinationLimiter>,
    spread: u64,
    went: DestinationSignal,
}

impl LimiterTicket {
    /// Room on the way, if there is any before long. Who had to wait for it looks again whether the destination wants to
    /// be left alone; who had not was let in a moment ago, maybe with others that belong to the same message.
    pub async fn wait_for_room(&self) -> Result<OwnedSemaphorePermit, HandoverOutcome> {
        if let Ok(permit) = self.lane.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let permit = self.lane.wait_for_permit().await;
        let permit = permit.ok_or_else(|| HandoverOutcome::Busy("too many wait for it".to_owned()))?;
        if self.lane.is_resting() {
            return Err(HandoverOutcome::Away("it is left alone since a moment ago".to_owned()));
        }
        Ok(permit)
    }

    pub fn record_signal(mut self, went: DestinationSignal) {
        self.went = went;
    }
}

impl Drop for LimiterTicket {
    fn drop(&mut self) {
        self.lane.lock_backoff().record_signal(self.lane.now_ms(), self.went, self.spread);
    }
}

/// The same message differs from others in the same way each time.
pub(crate) fn spread_of_ready(ready: ReadyId) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&ready.0[..8]);
    u64::from_le_bytes(bytes)
}

/// One of those that wait.
struct LimiterWaiter<'a>(&'a AtomicUsize);

impl<'a> LimiterWaiter<'a> {
    fn begin(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let waiting = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < most).then_some(waiting)
    }
}

impl Drop for LimiterWaiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: LimiterWidth = LimiterWidth {
        at_once: 1,
        waiting: 1,
        wait: Duration::from_millis(50),
        per_second: None,
        ramp: None,
    };

    #[tokio::test]
    async fn who_waited_for_nothing_hears_it_before_it_goes() {
        let lane = DestinationLimiter::new(NARROW);
        let (first, second) = (lane.enter(0).await.unwrap(), lane.enter(0).await.unwrap());
        let third = lane.enter(0).await.unwrap();
        let room = first.wait_for_room().await.unwrap();
        let (waited, turned_away) = tokio::join!(second.wait_for_room(), third.wait_for_room());
        let busy = || Some(HandoverOutcome::Busy("too many wait for it".to_owned()));
        assert_eq!(waited.err(), busy(), "it waited for as long as one waits");
        assert_eq!(turned_away.err(), busy());
        let found_out = async {
            first.record_signal(DestinationSignal::Slow(None));
            drop(room);
        };
        let (late, ()) = tokio::join!(second.wait_for_room(), found_out);
        assert_eq!(late.err(), Some(HandoverOutcome::Away("it is left alone since a moment ago".to_owned())));
        assert!(third.wait_for_room().await.is_ok(), "it was let in and need not wait");
        assert!(
            lane.enter(0)
                .await
                .is_err_and(|why| why == HandoverOutcome::Away("it is left alone for 2 s".to_owned()))
        );
    }

    #[tokio::test]
    async fn no_more_wait_than_may() {
        let lane =
            DestinationLimiter::new(LimiterWidth { waiting: 0, wait: Duration::from_secs(5), ..NARROW });
        let (first, second) = (lane.enter(0).await.unwrap(), lane.enter(0).await.unwrap());
        let _room = first.wait_for_room().await.unwrap();
        let watch = SteadyStopwatch::start();
        assert_eq!(
            second.wait_for_room().await.err(),
            Some(HandoverOutcome::Busy("too many wait for it".to_owned()))
        );
        assert!(watch.elapsed() < Duration::from_secs(4), "{:?}", watch.elapsed());
    }

    #[tokio::test]
    async fn who_waits_for_the_rate_waits_too() {
        let check = async |per_second: f64, waiting: usize, expected: [Option<HandoverOutcome>; 3]| {
            let wait = Duration::from_secs(5);
            let lane = DestinationLimiter::new(LimiterWidth {
                waiting,
                wait,
                per_second: Some(per_second),
                ..NARROW
            });
            assert!(lane.enter(0).await.is_ok(), "the first of a second");
            let entered = tokio::join!(lane.enter(1), lane.enter(2), lane.enter(3));
            let found = [entered.0.err(), entered.1.err(), entered.2.err()];
            assert_eq!(found, expected, "{per_second} {waiting}");
        };
        let busy = || Some(HandoverOutcome::Busy("too many wait for it".to_owned()));
        let away = || Some(HandoverOutcome::Away("its rate is used up".to_owned()));
        check(1.0, 2, [None, None, busy()]).await;
        check(1.0, 0, [busy(), busy(), busy()]).await;
        check(0.1, 3, [away(), away(), away()]).await;
    }
}
