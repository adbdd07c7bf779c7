//! The room at work: reads a turn, asks the store, writes rows, and then announces them. Two loops side by
//! side: one for events, one for the slices of large audiences.

use std::{collections::BTreeMap, pin::pin, sync::Arc};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use catalogue::Catalogue;
use futures::{StreamExt as _, future, stream, stream::FuturesUnordered};
use model::{
    Event, Slice, UtcMillis, VersionedState,
    edition::{Edition, EditionTracker},
    fault::{self, PlantedFault},
    partition::PartitionCount,
};
use runtime::{Clock, ShutdownSignal, WorkTracker, crash_point, retry};
use store::{DayRows, StateKey, Store, StoreError};
use tokio::task::spawn_blocking;
use topic::{
    GroupMembership, NewRecord, RecordBatch, Topics, TurnGuarantee,
    drive::{DriveDeps, RoomWork, run_room},
};
use wire::topics;

use crate::{
    config::{
        BUSY_TRIES_MAX, Config, EVENTS_AT_ONCE, FAR_MS, FanoutSizes, GROUP, PARTS_OF_SLICE, SHEET_ROWS_MAX,
        SLICES_GROUP,
    },
    metrics::FanoutMetrics,
    newer_edition, reach,
    read::{self, FanoutItem},
    recipient_sheet::{RecipientSheet, ResolvedSheet},
    records::{pending_records, slice_record},
    search::CrowdSearch,
};

/// What the room works with.
#[derive(Clone)]
pub struct Deps {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    /// Which edition that is.
    pub editions: EditionTracker,
    pub partitions: PartitionCount,
    pub clock: Clock,
    pub quiet: WorkTracker,
    pub shutdown: ShutdownSignal,
    pub metrics: FanoutMetrics,
}

/// Runs the room until the shutdown, or until an engine cannot go on.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    run_with(deps, config, FanoutSizes::default()).await
}

/// Runs the room with other sizes than usual.
pub async fn run_with(deps: Deps, config: Config, sizes: FanoutSizes) -> anyhow::Result<()> {
    let events = deps.drive_loop(GROUP, topics::EVENTS, TurnGuarantee::Plain, config.records_max);
    // One slice a turn, and atomic: a crash can tell a slice again, but never makes two walks of one.
    let slices = deps.drive_loop(SLICES_GROUP, topics::SLICES, TurnGuarantee::Atomic, 1);
    let fanout = FanoutWork { deps, sizes };
    let (mut of_events, mut of_slices) = (EventWork(fanout.clone()), SliceWork(fanout));
    future::try_join(run_room(events, &mut of_events), run_room(slices, &mut of_slices)).await?;
    Ok(())
}

impl Deps {
    fn drive_loop(&self, group: &str, lead: &str, mode: TurnGuarantee, records_max: usize) -> DriveDeps {
        let (companions, state) = (Vec::new(), None);
        DriveDeps {
            topics: self.topics.clone(),
            membership: GroupMembership { group: group.into(), lead: lead.into(), companions, state, mode },
            clock: self.clock.clone(),
            quiet: self.quiet.clone(),
            shutdown: self.shutdown.clone(),
            records_max,
        }
    }
}

/// The loop of events.
struct EventWork(FanoutWork);

#[async_trait]
impl RoomWork for EventWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = self.0.trusted_now(batch).await?;
        let (mut records, mut of_turn) = (batch.records.iter(), self.0.quarantine_newer(batch)?);
        while !records.as_slice().is_empty() {
            let read = read::read_events(&mut records, now)?;
            self.0.deps.metrics.count_events(&read);
            of_turn.extend(self.0.tell_events(&read.told, now).await?);
            of_turn.extend(read.rejects);
        }
        Ok(of_turn)
    }
}

/// The loop of slices.
struct SliceWork(FanoutWork);

#[async_trait]
impl RoomWork for SliceWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = self.0.trusted_now(batch).await?;
        let mut of_turn = self.0.quarantine_newer(batch)?;
        let read = read::read_slices(&batch.records, now)?;
        self.0.deps.metrics.count_slices(&read);
        of_turn.extend(read.rejects);
        for slice in read.told {
            of_turn.extend(self.0.tell_slice(slice, now).await?);
        }
        Ok(of_turn)
    }
}

/// What both loops do.
#[derive(Clone)]
pub(crate) struct FanoutWork {
    pub(crate) deps: Deps,
    sizes: FanoutSizes,
}

impl FanoutWork {
    /// What a slice is written with.
    fn slice_stamp(&self) -> (PartitionCount, Option<Edition>) {
        (self.deps.partitions, self.deps.editions.own_edition())
    }

    /// What is put aside of a batch because a newer edition wrote it; fails while that one is waited for.
    fn quarantine_newer(&self, batch: &RecordBatch) -> anyhow::Result<Vec<NewRecord>> {
        let now = UtcMillis(self.deps.clock.now());
        let aside = newer_edition::quarantine_newer(&batch.records, &self.deps.editions, now)?;
        self.deps.metrics.count_older(aside.len());
        Ok(aside)
    }

    /// The time. A clock that has run ahead would have living days expire, so one that is far from what it reads is
    /// believed only if the log goes on to about there; else the newest record in hand says what time it is. Where the
    /// house was away for so long, an expired event is then told to days that nobody reads any more.
    async fn trusted_now(&self, batch: &RecordBatch) -> anyhow::Result<UtcMillis> {
        let now = self.deps.clock.now();
        let newest = batch.records.iter().map(|record| record.appended).max().unwrap_or(now);
        if now - newest < FAR_MS {
            return Ok(UtcMillis(now));
        }
        let since = self.deps.topics.since(topics::EVENTS, now - FAR_MS).await.context("the log's time")?;
        let bounds = self.deps.topics.bounds(topics::EVENTS).await.context("the log's ends")?;
        if since.iter().zip(&bounds).any(|(since, (_, end))| since < end) {
            return Ok(UtcMillis(now));
        }
        let (clock, newest) = (UtcMillis(now), UtcMillis(newest));
        tracing::warn!(%clock, %newest, "nothing in the log is near this machine's clock: the log's time is taken");
        Ok(newest)
    }

    /// Tells each event to whom it names and to the first of its crowds, a sheet at a time. Returns the
    /// announcements of the last sheet, and the slices that tell the others.
    async fn tell_events(
        &self,
        events: &[FanoutItem<Event>],
        now: UtcMillis,
    ) -> anyhow::Result<Vec<NewRecord>> {
        let mut unstated: Vec<StateKey> = events
            .iter()
            .filter_map(|heard| reach::unstated_subject(&heard.what, &self.deps.catalogue))
            .collect();
        unstated.sort_unstable();
        unstated.dedup();
        let states = self.load_states(&unstated).await.context("states of subjects")?;
        let known: BTreeMap<StateKey, VersionedState> = unstated.into_iter().zip(states).collect();
        let mut begun = Vec::with_capacity(events.len());
        for event in events {
            begun.push(self.begin_event(event, &known));
        }
        let mut begun = stream::iter(begun).buffered(EVENTS_AT_ONCE);
        let (mut sheet, mut slices) = (RecipientSheet::default(), Vec::new());
        let mut heard = events.iter();
        while let Some(next) = begun.next().await {
            let again = heard.next().and_then(|heard| heard.again.clone());
            let (found, left) = next?;
            slices.extend(left.into_iter().map(|slice| (slice, again.clone())));
            if !sheet.is_empty() && sheet.rows() + found.rows() > SHEET_ROWS_MAX {
                let announcements = self.tell_sheet(std::mem::take(&mut sheet), now).await?;
                self.announce(announcements).await?;
                if self.deps.shutdown.is_started() {
                    // A large turn is not waited for: what was told is told again, harmlessly.
                    bail!("stopped within a turn");
                }
            }
            sheet.append(found);
        }
        // Most turns have one sheet: it is announced with the turn's own records, and synced once.
        let mut of_turn = self.tell_sheet(sheet, now).await?;
        self.deps.metrics.count_begun_slices(slices.len());
        for (slice, again) in &slices {
            of_turn.push(slice_record(slice, again.as_ref(), self.slice_stamp())?);
        }
        Ok(of_turn)
    }

    /// Whom an event names, and the first of its crowds; and what is left of these.
    async fn begin_event(
        &self,
        heard: &FanoutItem<Event>,
        known: &BTreeMap<StateKey, VersionedState>,
    ) -> anyhow::Result<(RecipientSheet, Vec<Slice>)> {
        let FanoutItem { what: event, again } = heard;
        let subject = StateKey::Subject(event.tenant.clone(), event.subject.clone());
        let nothing = VersionedState::default();
        let known = known.get(&subject).unwrap_or(&nothing);
        let reach::EventReach { named: mut sheet, slices, listed } =
            reach::find_reach(heard, known, &self.deps.catalogue, self.sizes.inline);
        let (mut room, mut left) = (self.sizes.inline, Vec::from_iter(listed));
        for slice in slices {
            let (mut search, mut few) = (CrowdSearch::new(slice.clone()), RecipientSheet::default());
            // A crowd that is not done with one part may go on for very long, also if nearly everybody left it.
            let found = self
                .find_members(&mut search, again.as_ref(), room, &mut few, CrowdSearch::is_within)
                .await?;
            // A small audience is told at once, and a large one by its slices alone: less is written and synced.
            if search.rest().is_some() {
                left.push(slice);
            } else {
                room = room.saturating_sub(found);
                sheet.append(few);
            }
        }
        Ok((sheet, left))
    }

    /// Law 4: stored, then announced; acknowledged when the turn is committed. Returns the announcements.
    async fn tell_sheet(&self, sheet: RecipientSheet, now: UtcMillis) -> anyhow::Result<Vec<NewRecord>> {
        if sheet.is_empty() {
            return Ok(Vec::new());
        }
        let ResolvedSheet { rows, announced, counts } = self.resolve_sheet(sheet).await?;
        let mut announcements = pending_records(announced, self.deps.editions.own_edition())?;
        if fault::is_planted(PlantedFault::AnnouncedFirst) {
            self.announce(std::mem::take(&mut announcements)).await?;
        }
        self.write_rows(rows, now).await?;
        crash_point::point(crash_point::STORED);
        self.deps.metrics.count_rows(counts);
        Ok(announcements)
    }

    /// Law 13: tells one slice, and returns what belongs to its turn: the announcements, and the slice that
    /// comes next. While parts are written the next ones are made.
    async fn tell_slice(&self, slice: FanoutItem<Slice>, now: UtcMillis) -> anyhow::Result<Vec<NewRecord>> {
        let FanoutItem { what: slice, again } = slice;
        let mut sheet = reach::listed_sheet(&slice, again.as_ref(), &self.deps.catalogue);
        let (mut search, mut all, mut writes) =
            (CrowdSearch::new(slice), Vec::new(), FuturesUnordered::new());
        let (mut room, a_part) = (self.sizes.slice, self.sizes.slice.div_ceil(PARTS_OF_SLICE));
        // One part alone first, so that something is written while the others are read.
        let mut most = a_part;
        loop {
            for part in sheet.parts(a_part) {
                let ResolvedSheet { rows, announced, counts } =
                    while_writing(self.resolve_sheet(part), &mut writes).await?;
                all.extend(announced);
                writes.push(async move {
                    let written = self.write_rows(rows, now).await;
                    self.deps.metrics.count_rows(counts);
                    if fault::is_planted(PlantedFault::SliceSkipped) { Ok(()) } else { written }
                });
            }
            if room == 0 {
                break;
            }
            sheet = RecipientSheet::default();
            let finding = self.find_members(&mut search, again.as_ref(), most, &mut sheet, |_| false);
            let found = while_writing(finding, &mut writes).await?;
            if found == 0 {
                break;
            }
            room = room.saturating_sub(found);
            most = room;
        }
        // On a thread of its own: this one starts what is still to be written.
        let edition = self.deps.editions.own_edition();
        let encoding = spawn_blocking(move || pending_records(all, edition));
        let announcements =
            while_writing(async { encoding.await.context("encode announcements")? }, &mut writes).await;
        while let Some(written) = writes.next().await {
            written?;
        }
        crash_point::point(crash_point::STORED);
        let mut of_turn = announcements?;
        match search.rest() {
            Some(next) => of_turn.push(slice_record(&next, again.as_ref(), self.slice_stamp())?),
            None => self.deps.metrics.count_ended_slice(),
        }
        Ok(of_turn)
    }

    async fn resolve_sheet(&self, mut sheet: RecipientSheet) -> anyhow::Result<ResolvedSheet> {
        let notes = self.load_states(&sheet.notes()).await.context("notes of persons")?;
        Ok(sheet.resolve(&notes, self.deps.partitions))
    }

    async fn write_rows(&self, rows: Vec<DayRows>, now: UtcMillis) -> anyhow::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.deps.store.write(rows, now).await.context("rows")
    }

    async fn announce(&self, announcements: Vec<NewRecord>) -> anyhow::Result<()> {
        if announcements.is_empty() {
            return Ok(());
        }
        self.deps.topics.append(announcements).await.context("announcements")
    }
}

/// Does something while writes go on; the first that fails ends it.
async fn while_writing<T>(
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

/// Asks again for a while where the store is busy: a search asks hundreds of crowds, and would hardly ever come
/// through if one busy answer began it anew.
pub(crate) async fn retry_while_busy<T, F: Future<Output = Result<T, StoreError>>>(
    ask: impl Fn() -> F,
) -> Result<T, StoreError> {
    for tries in 0..BUSY_TRIES_MAX {
        match ask().await {
            Err(StoreError::Busy(_)) => retry::pause_before_retry(tries, 0).await,
            answered => return answered,
        }
    }
    ask().await
}
