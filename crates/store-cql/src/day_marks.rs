//! Before which day all are closed, and before which dropped.
//!
//! The marks are rows that only grow. Who writes rows of a day has read them not longer than `FRESH` ago, at
//! every single try. Who closes days writes the mark, then waits until its own writes that began before have
//! come to their end, and until those of others must have: what they knew was at most `FRESH` old, and a
//! request takes at most its time-out. After that no row of a closed day is sent by anybody.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use model::Day;
use runtime::{clock::SteadyStopwatch, retry};
use store::StoreError;
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::{
    engine::CqlEngine,
    errors::{CqlError, CqlErrorSort},
    settings::Settings,
};

/// So long one relies on what one has read.
const FRESH: Duration = Duration::from_secs(1);

/// The step in which one waits for others: a fraction of a second.
const WAIT_TRIES: u32 = 2;

const CLOSED: &str = "closed";
const DROPPED: &str = "dropped";

pub(crate) struct DayMarks {
    seen: Mutex<DayMarksReading>,
    /// One asks, the others wait for what it finds.
    asking: tokio::sync::Mutex<()>,
    /// Held by writes; who closes a day waits for all that hold it.
    writing: RwLock<()>,
    /// Before this day nobody writes any more, as far as this process has waited for it.
    settled: tokio::sync::Mutex<Option<Day>>,
    /// How long the requests of others may still be under way; nothing where there are no others.
    others: Option<Duration>,
}

#[derive(Clone, Copy)]
struct DayMarksReading {
    before: ClosedDays,
    since: SteadyStopwatch,
}

/// The marks at a time.
#[derive(Clone, Copy, Default)]
pub(crate) struct ClosedDays {
    closed: Option<Day>,
    dropped: Option<Day>,
}

impl ClosedDays {
    pub(crate) fn is_closed(self, day: Day) -> bool {
        self.closed.max(self.dropped).is_some_and(|before| day < before)
    }

    pub(crate) fn is_dropped(self, day: Day) -> bool {
        self.dropped.is_some_and(|before| day < before)
    }
}

impl DayMarks {
    pub(crate) async fn open(engine: &CqlEngine, settings: &Settings) -> Result<Self, StoreError> {
        let since = SteadyStopwatch::start();
        let before = engine.run_with_retries("reading the marks of days", || read_marks(engine)).await?;
        Ok(Self {
            seen: Mutex::new(DayMarksReading { before, since }),
            asking: tokio::sync::Mutex::new(()),
            writing: RwLock::new(()),
            settled: tokio::sync::Mutex::new(None),
            others: (!settings.alone).then_some(FRESH + settings.timeout),
        })
    }

    /// To be held while one writes.
    pub(crate) async fn begin_write(&self) -> RwLockReadGuard<'_, ()> {
        self.writing.read().await
    }

    /// The marks, as fresh as they have to be.
    pub(crate) async fn fresh_marks(&self, engine: &CqlEngine) -> Result<ClosedDays, CqlError> {
        if let Some(before) = self.known_marks() {
            return Ok(before);
        }
        let _asking = self.asking.lock().await;
        if let Some(before) = self.known_marks() {
            return Ok(before);
        }
        let since = SteadyStopwatch::start();
        // Boxed, since every write has room for it and hardly one comes here.
        let before = Box::pin(read_marks(engine)).await?;
        self.remember_marks(before, Some(since));
        Ok(before)
    }

    /// Closes every day before this one, and drops it too if that is asked for. Returns what the marks were.
    pub(crate) async fn close_before(
        &self,
        engine: &CqlEngine,
        day: Day,
        drops: bool,
    ) -> Result<ClosedDays, StoreError> {
        let mut settled = self.settled.lock().await;
        let old = engine.run_with_retries("reading the marks of days", || read_marks(engine)).await?;
        let name = if drops { DROPPED } else { CLOSED };
        if (if drops { old.dropped } else { old.closed }) < Some(day) {
            engine.run_with_retries("marking days", || write_mark(engine, name, day)).await?;
        }
        let (closed, dropped) = if drops { (None, Some(day)) } else { (Some(day), None) };
        self.remember_marks(old, None);
        self.remember_marks(ClosedDays { closed, dropped }, None);
        if settled.is_none_or(|before| before < day) {
            drop(self.writing.write().await);
            if let Some(others) = self.others {
                let since = SteadyStopwatch::start();
                while since.elapsed() < others {
                    retry::pause_before_retry(WAIT_TRIES, 0).await;
                }
            }
            *settled = Some(day);
        }
        Ok(old)
    }

    fn known_marks(&self) -> Option<ClosedDays> {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (self.others.is_none() || seen.since.elapsed() < FRESH).then_some(seen.before)
    }

    /// Marks never fall back, whoever read them when.
    fn remember_marks(&self, before: ClosedDays, since: Option<SteadyStopwatch>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.before.closed = seen.before.closed.max(before.closed);
        seen.before.dropped = seen.before.dropped.max(before.dropped);
        seen.since = since.unwrap_or(seen.since);
    }
}

/// Takes no place in the window: whoever asks may hold one.
async fn read_marks(engine: &CqlEngine) -> Result<ClosedDays, CqlError> {
    let mut before = ClosedDays::default();
    for page in engine.read_pages(&engine.statements.marks, &()).await? {
        for row in page.rows::<(&str, i32)>()? {
            match row? {
                (CLOSED, day) => before.closed = Some(Day(day)),
                (DROPPED, day) => before.dropped = Some(Day(day)),
                (name, _) => {
                    let says = format!("a mark `{name}` of days that is unknown to this version");
                    return Err(CqlError { sort: CqlErrorSort::Hopeless, says });
                }
            }
        }
    }
    Ok(before)
}

/// The time stamp is the day itself, so the latest day stands whoever marks when.
async fn write_mark(engine: &CqlEngine, name: &str, day: Day) -> Result<(), CqlError> {
    let values = (name, day.0, i64::from(day.0));
    engine.session.execute_unpaged(&engine.statements.mark, values).await?;
    Ok(())
}
