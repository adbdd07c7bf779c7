//! Keeps a process informed of what the house notes of itself ([`HouseBook`]): its rooms of what is paused and which
//! catalogue is the newest, and whoever watches of both.

use std::{sync::Arc, time::Duration};

use catalogue::Catalogue;
use house_facts::{
    edition::{Edition, EditionTracker},
    format::FORMATS_READ,
    pause::PausedPlans,
};
use model::UtcMillis;
use room::pause_board::PauseBoard;
use runtime::{
    Clock, ShutdownSignal,
    metrics::{Gauges, Metrics},
    periodic::PeriodicTimer,
    retry,
};
use tokio::sync::Mutex;
use topic::Topics;

use crate::{
    book::{HouseBook, TakeUpPolicy},
    is_transient_error,
    metrics::{EditionMetrics, declare_pauses},
};

/// How often a log is asked that is busy, before whoever starts a house begins anew.
const BUSY_TRIES: u32 = 8;
/// How often a process looks whether something was noted elsewhere.
const LOOK: Duration = Duration::from_secs(2);

/// Reads the book of a house as long as a process runs. Cheap to clone.
#[derive(Clone)]
pub struct BookWatch {
    book: Arc<Mutex<HouseBook>>,
    log: Arc<dyn Topics>,
    catalogue: Arc<Catalogue>,
    clock: Clock,
    pub editions: EditionTracker,
    pub board: PauseBoard,
    metrics: EditionMetrics,
    pauses: Gauges,
}

impl BookWatch {
    /// Takes the catalogue of this process up, or finds that it was, and knows what is paused.
    pub async fn open(
        (log, catalogue): (Arc<dyn Topics>, Arc<Catalogue>),
        (how, wait): (TakeUpPolicy, Duration),
        clock: Clock,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let mut book = HouseBook::default();
        let now = UtcMillis(clock.now());
        let own = take_up_patiently(&mut book, &*log, &catalogue, (how, now)).await?;
        let newest = book.newest_edition().unwrap_or(own);
        if newest != own {
            tracing::warn!(
                %own, %newest,
                "a newer catalogue is in use; records that only it knows wait here (to go back, run `tidings migrate` with this one)"
            );
        }
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let watch = Self {
            book: Arc::new(Mutex::new(book)),
            log,
            catalogue,
            clock,
            editions: EditionTracker::new(own, newest, wait_ms),
            board: PauseBoard::default(),
            metrics: EditionMetrics::declare(metrics)?,
            pauses: declare_pauses(metrics)?,
        };
        watch.refresh().await?;
        Ok(watch)
    }

    /// Looks once.
    pub async fn refresh(&self) -> anyhow::Result<()> {
        let mut book = self.book.lock().await;
        let format = book.format().cloned();
        let read = book.update(&*self.log).await;
        if format.as_ref() != book.format() {
            warn_of_format(&book);
        }
        self.update_editions(&book);
        self.update_pauses(&book);
        read
    }

    /// Whether the rooms of this process have heard of all pauses that were read.
    pub fn is_taken(&self) -> bool {
        self.board.is_taken()
    }

    /// Looks until the shutdown. A log that does not answer is asked again.
    pub async fn run(self, shutdown: ShutdownSignal) -> anyhow::Result<()> {
        let mut timer = PeriodicTimer::new(LOOK, shutdown);
        while timer.wait().await {
            if let Some(Err(error)) = timer.run(self.refresh()).await {
                tracing::debug!(error = format!("{error:#}"), "the topic `house` cannot be read now");
            }
        }
        Ok(())
    }

    fn update_pauses(&self, book: &HouseBook) {
        self.board.set(PausedPlans::new(book.pauses(), self.catalogue.plans_of_arms()));
        self.pauses.reset();
        for scope in book.pauses().values().filter(|note| note.is_paused).map(|note| &note.scope) {
            self.pauses.with_label_values(&[scope.sort(), scope.name()]).set(1);
        }
    }

    fn update_editions(&self, book: &HouseBook) {
        let Some(own) = self.editions.own_edition().and_then(|own| book.edition(own.hash)) else {
            return;
        };
        let newest = book.newest_edition().unwrap_or(own);
        if self.editions.newest_edition() != Some(newest) {
            tracing::info!(%own, %newest, "switched to another catalogue");
        }
        self.editions.learn(own, newest);
        self.update_edition_gauges(own, newest);
    }

    fn update_edition_gauges(&self, own: Edition, newest: Edition) {
        let EditionMetrics { info, behind, awaited, canary } = &self.metrics;
        let share = self.catalogue.canary.as_ref().map_or(0.0, |canary| canary.share.ratio());
        canary.with_label_values::<&str>(&[]).set(share);
        info.reset();
        let (hash, number) = (format!("{:016x}", own.hash), own.number.to_string());
        info.with_label_values(&[self.catalogue.name.as_str(), &hash, &number]).set(1);
        let editions_behind =
            if newest.hash == own.hash { 0 } else { newest.number.saturating_sub(own.number) };
        behind.with_label_values::<&str>(&[]).set(i64::try_from(editions_behind).unwrap_or(i64::MAX));
        let now = UtcMillis(self.clock.now());
        let number = self.editions.awaited_edition(now).map_or(0, |awaited| awaited.edition.number);
        awaited.with_label_values::<&str>(&[]).set(i64::try_from(number).unwrap_or(i64::MAX));
    }
}

/// Says that the house was raised to a format that only newer programs read.
fn warn_of_format(book: &HouseBook) {
    if let Some(format) = book.format().filter(|format| !FORMATS_READ.contains(&format.number)) {
        tracing::warn!(
            %format,
            "the house has a format now that this program cannot read: replace it; its partitions stand still where they meet it"
        );
    }
}

/// Takes a catalogue up at a log that may be busy for a moment.
async fn take_up_patiently(
    book: &mut HouseBook,
    log: &dyn Topics,
    catalogue: &Catalogue,
    (how, now): (TakeUpPolicy, UtcMillis),
) -> anyhow::Result<Edition> {
    for tries in 0..BUSY_TRIES {
        match book.take_up(log, catalogue, how, now).await {
            Err(error) if is_transient_error(&error) => retry::pause_before_retry(tries, 0).await,
            taken => return taken,
        }
    }
    book.take_up(log, catalogue, how, now).await
}
