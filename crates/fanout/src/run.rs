//! The room at work: reads a turn, asks the store, writes rows, and then announces them. Two loops side by
//! side: one for events, one for the slices of large audiences.

use std::{collections::BTreeMap, pin::pin, sync::Arc};

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use catalogue::Catalogue;
use futures::{StreamExt as _, future, stream, stream::FuturesUnordered};
use model::{
    Crowd, Event, Millis, Person, Slice, State, Tenant,
    edition::{Edition, Editions},
    fault::{self, Fault},
    partition::Partitions,
    person::profile,
    place,
};
use runtime::{Clock, Quiet, Shutdown, crash, retry};
use store::{DayRows, StateKey, Store, StoreError};
use tokio::task::spawn_blocking;
use topic::{
    Batch, Membership, Mode, NewRecord, Topics,
    drive::{Drive, Work, drive},
};
use wire::{replay::Again, topics};

use crate::{
    config::{
        BUSY_TRIES_MAX, Config, EVENTS_AT_ONCE, FAR_MS, GROUP, PARTS_OF_SLICE, PROFILES_AT_ONCE,
        SHEET_ROWS_MAX, SLICES_GROUP, Sizes,
    },
    metrics::FanoutMetrics,
    newer, reach,
    read::{self, Heard},
    records::{pending_records, slice_record},
    search::Search,
    sheet::{Resolved, Sheet},
    whereabouts::{self, Whereabouts},
};

/// What the room works with.
#[derive(Clone)]
pub struct Ports {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    /// Which edition that is.
    pub editions: Editions,
    pub partitions: Partitions,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: FanoutMetrics,
}

/// Runs the room until the shutdown, or until an engine cannot go on.
pub async fn run(ports: Ports, config: Config) -> anyhow::Result<()> {
    run_with(ports, config, Sizes::default()).await
}

/// Runs the room with other sizes than usual.
pub async fn run_with(ports: Ports, config: Config, sizes: Sizes) -> anyhow::Result<()> {
    let events = ports.drive(GROUP, topics::EVENTS, Mode::Plain, config.records_max);
    // One slice a turn, and atomic: a crash can tell a slice again, but never makes two walks of one.
    let slices = ports.drive(SLICES_GROUP, topics::SLICES, Mode::Atomic, 1);
    let fanout = Fanout { ports, sizes };
    let (mut of_events, mut of_slices) = (Events(fanout.clone()), Slices(fanout));
    future::try_join(drive(events, &mut of_events), drive(slices, &mut of_slices)).await?;
    Ok(())
}

impl Ports {
    fn drive(&self, group: &str, lead: &str, mode: Mode, records_max: usize) -> Drive {
        let (companions, state) = (Vec::new(), None);
        Drive {
            topics: self.topics.clone(),
            membership: Membership { group: group.into(), lead: lead.into(), companions, state, mode },
            clock: self.clock.clone(),
            quiet: self.quiet.clone(),
            shutdown: self.shutdown.clone(),
            records_max,
        }
    }
}

/// The loop of events.
struct Events(Fanout);

#[async_trait]
impl Work for Events {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = self.0.believed(batch).await?;
        let (mut records, mut of_turn) = (batch.records.iter(), self.0.aside(batch)?);
        while !records.as_slice().is_empty() {
            let read = read::events(&mut records, now)?;
            self.0.ports.metrics.events(&read);
            of_turn.extend(self.0.tell_events(&read.told, now).await?);
            of_turn.extend(read.rejects);
        }
        Ok(of_turn)
    }
}

/// The loop of slices.
struct Slices(Fanout);

#[async_trait]
impl Work for Slices {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = self.0.believed(batch).await?;
        let mut of_turn = self.0.aside(batch)?;
        let read = read::slices(&batch.records, now)?;
        self.0.ports.metrics.slices(&read);
        of_turn.extend(read.rejects);
        for slice in read.told {
            of_turn.extend(self.0.tell_slice(slice, now).await?);
        }
        Ok(of_turn)
    }
}

/// What both loops do.
#[derive(Clone)]
struct Fanout {
    ports: Ports,
    sizes: Sizes,
}

impl Fanout {
    /// What a slice is written with.
    fn of_house(&self) -> (Partitions, Option<Edition>) {
        (self.ports.partitions, self.ports.editions.own())
    }

    /// What is put aside of a batch because a newer edition wrote it; fails while that one is waited for.
    fn aside(&self, batch: &Batch) -> anyhow::Result<Vec<NewRecord>> {
        let now = Millis(self.ports.clock.now());
        let aside = newer::aside(&batch.records, &self.ports.editions, now)?;
        self.ports.metrics.older(aside.len());
        Ok(aside)
    }

    /// The time. A clock that has run ahead would have living days expire, so one that is far from what it reads is
    /// believed only if the log goes on to about there; else the newest record in hand says what time it is. Where the
    /// house was away for so long, an expired event is then told to days that nobody reads any more.
    async fn believed(&self, batch: &Batch) -> anyhow::Result<Millis> {
        let now = self.ports.clock.now();
        let newest = batch.records.iter().map(|record| record.appended).max().unwrap_or(now);
        if now - newest < FAR_MS {
            return Ok(Millis(now));
        }
        let since = self.ports.topics.since(topics::EVENTS, now - FAR_MS).await.context("the log's time")?;
        let bounds = self.ports.topics.bounds(topics::EVENTS).await.context("the log's ends")?;
        if since.iter().zip(&bounds).any(|(since, (_, end))| since < end) {
            return Ok(Millis(now));
        }
        let (clock, newest) = (Millis(now), Millis(newest));
        tracing::warn!(%clock, %newest, "nothing in the log is near this machine's clock: the log's time is taken");
        Ok(newest)
    }

    /// Tells each event to whom it names and to the first of its crowds, a sheet at a time. Returns the
    /// announcements of the last sheet, and the slices that tell the others.
    async fn tell_events(&self, events: &[Heard<Event>], now: Millis) -> anyhow::Result<Vec<NewRecord>> {
        let mut unstated: Vec<StateKey> =
            events.iter().filter_map(|heard| reach::unstated(&heard.what, &self.ports.catalogue)).collect();
        unstated.sort_unstable();
        unstated.dedup();
        let states = self.states(&unstated).await.context("states of subjects")?;
        let known: BTreeMap<StateKey, State> = unstated.into_iter().zip(states).collect();
        let mut begun = Vec::with_capacity(events.len());
        for event in events {
            begun.push(self.begin(event, &known));
        }
        let mut begun = stream::iter(begun).buffered(EVENTS_AT_ONCE);
        let (mut sheet, mut slices) = (Sheet::default(), Vec::new());
        let mut heard = events.iter();
        while let Some(next) = begun.next().await {
            let again = heard.next().and_then(|heard| heard.again.clone());
            let (found, left) = next?;
            slices.extend(left.into_iter().map(|slice| (slice, again.clone())));
            if !sheet.is_empty() && sheet.rows() + found.rows() > SHEET_ROWS_MAX {
                let announcements = self.tell_sheet(std::mem::take(&mut sheet), now).await?;
                self.announce(announcements).await?;
                if self.ports.shutdown.started() {
                    // A large turn is not waited for: what was told is told again, harmlessly.
                    bail!("stopped within a turn");
                }
            }
            sheet.append(found);
        }
        // Most turns have one sheet: it is announced with the turn's own records, and synced once.
        let mut of_turn = self.tell_sheet(sheet, now).await?;
        self.ports.metrics.begun(slices.len());
        for (slice, again) in &slices {
            of_turn.push(slice_record(slice, again.as_ref(), self.of_house())?);
        }
        Ok(of_turn)
    }

    /// Whom an event names, and the first of its crowds; and what is left of these.
    async fn begin(
        &self,
        heard: &Heard<Event>,
        known: &BTreeMap<StateKey, State>,
    ) -> anyhow::Result<(Sheet, Vec<Slice>)> {
        let Heard { what: event, again } = heard;
        let subject = StateKey::Subject(event.tenant.clone(), event.subject.clone());
        let nothing = State::default();
        let known = known.get(&subject).unwrap_or(&nothing);
        let reach::Reach { named: mut sheet, slices, listed } =
            reach::reach(heard, known, &self.ports.catalogue, self.sizes.inline);
        let (mut room, mut left) = (self.sizes.inline, Vec::from_iter(listed));
        for slice in slices {
            let (mut search, mut few) = (Search::new(slice.clone()), Sheet::default());
            // A crowd that is not done with one part may go on for very long, also if nearly everybody left it.
            let found = self.find(&mut search, again.as_ref(), room, &mut few, Search::is_within).await?;
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
    async fn tell_sheet(&self, sheet: Sheet, now: Millis) -> anyhow::Result<Vec<NewRecord>> {
        if sheet.is_empty() {
            return Ok(Vec::new());
        }
        let Resolved { rows, announced, counts } = self.resolve(sheet).await?;
        let mut announcements = pending_records(announced, self.ports.editions.own())?;
        if fault::planted(Fault::AnnouncedFirst) {
            self.announce(std::mem::take(&mut announcements)).await?;
        }
        self.write(rows, now).await?;
        crash::point(crash::STORED);
        self.ports.metrics.told(counts);
        Ok(announcements)
    }

    /// Law 13: tells one slice, and returns what belongs to its turn: the announcements, and the slice that
    /// comes next. While parts are written the next ones are made.
    async fn tell_slice(&self, slice: Heard<Slice>, now: Millis) -> anyhow::Result<Vec<NewRecord>> {
        let Heard { what: slice, again } = slice;
        let mut sheet = reach::listed(&slice, again.as_ref(), &self.ports.catalogue);
        let (mut search, mut all, mut writes) = (Search::new(slice), Vec::new(), FuturesUnordered::new());
        let (mut room, a_part) = (self.sizes.slice, self.sizes.slice.div_ceil(PARTS_OF_SLICE));
        // One part alone first, so that something is written while the others are read.
        let mut most = a_part;
        loop {
            for part in sheet.parts(a_part) {
                let Resolved { rows, announced, counts } = beside(self.resolve(part), &mut writes).await?;
                all.extend(announced);
                writes.push(async move {
                    let written = self.write(rows, now).await;
                    self.ports.metrics.told(counts);
                    if fault::planted(Fault::SliceSkipped) { Ok(()) } else { written }
                });
            }
            if room == 0 {
                break;
            }
            sheet = Sheet::default();
            let finding = self.find(&mut search, again.as_ref(), most, &mut sheet, |_| false);
            let found = beside(finding, &mut writes).await?;
            if found == 0 {
                break;
            }
            room = room.saturating_sub(found);
            most = room;
        }
        // On a thread of its own: this one starts what is still to be written.
        let edition = self.ports.editions.own();
        let encoding = spawn_blocking(move || pending_records(all, edition));
        let announcements =
            beside(async { encoding.await.context("encode announcements")? }, &mut writes).await;
        while let Some(written) = writes.next().await {
            written?;
        }
        crash::point(crash::STORED);
        let mut of_turn = announcements?;
        match search.rest() {
            Some(next) => of_turn.push(slice_record(&next, again.as_ref(), self.of_house())?),
            None => self.ports.metrics.ended(),
        }
        Ok(of_turn)
    }

    /// Finds more of a slice, for at most so many rows. Returns for how many there was somebody.
    async fn find(
        &self,
        search: &mut Search,
        again: Option<&Again>,
        most: usize,
        sheet: &mut Sheet,
        enough: impl Fn(&Search) -> bool + Send + Sync,
    ) -> anyhow::Result<usize> {
        let mut found = 0;
        while found < most
            && !enough(search)
            && let Some(ask) = search.ask(most - found)
        {
            let (store, tenant, share) = (&self.ports.store, &search.slice().event.tenant, ask.share);
            let mut asked = Vec::with_capacity(ask.crowds.len());
            for crowd in ask.crowds {
                asked.push(patiently(|| store.members(tenant, crowd, ask.from, share)));
            }
            let answers = future::try_join_all(asked).await.context("crowds")?;
            for (crowd, persons) in search.take(answers, share) {
                found += persons.len() * search.rows_each();
                self.add(search.slice(), again, &crowd, persons, sheet).await?;
            }
        }
        Ok(found)
    }

    /// Puts those members of a crowd on the sheet who are told under a slice's kinds.
    async fn add(
        &self,
        slice: &Slice,
        again: Option<&Again>,
        crowd: &Crowd,
        mut persons: Vec<Person>,
        sheet: &mut Sheet,
    ) -> anyhow::Result<()> {
        if again.is_some() {
            persons = self.of_then(&slice.event, crowd, persons).await.context("who was there then")?;
        }
        let places = match crowd {
            Crowd::Cell(cell) => {
                let tenant = &slice.event.tenant;
                let places = self.places(tenant, &persons).await.context("places of persons")?;
                self.leave(tenant, *cell, &persons, &places).await.context("who left a cell")?;
                places.iter().map(Whereabouts::place).collect()
            }
            Crowd::Followers(_) | Crowd::Everyone => Vec::new(),
        };
        for kind in slice.kinds.iter().filter_map(|kind| self.ports.catalogue.kinds.get(kind)) {
            let Some((because, circle)) = reach::why(kind, crowd, &slice.event) else { continue };
            let way = reach::way(&slice.event, again, kind, because, &self.ports.catalogue);
            let Some(circle) = circle else {
                sheet.add(way, persons.iter().cloned());
                continue;
            };
            let there = persons.iter().zip(&places).filter(|(_, place)| circle.holds(**place));
            let there: Vec<Person> = there.map(|(person, _)| person.clone()).collect();
            self.ports.metrics.elsewhere(persons.len() - there.len());
            sheet.add(way, there);
        }
        Ok(())
    }

    /// Where these persons are now.
    async fn places(&self, tenant: &Tenant, persons: &[Person]) -> anyhow::Result<Vec<Whereabouts>> {
        self.profiles(tenant, persons, Whereabouts::of).await
    }

    /// Takes those out of a cell who moved away from it and did not leave it: their intake died in between, or
    /// two moves met. They would be asked for at each event.
    async fn leave(
        &self,
        tenant: &Tenant,
        cell: place::Cell,
        persons: &[Person],
        places: &[Whereabouts],
    ) -> anyhow::Result<()> {
        let gone: Vec<(Person, &Whereabouts)> = whereabouts::elsewhere(cell, persons, places).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let names: Vec<Person> = gone.iter().map(|(person, _)| person.clone()).collect();
        let since = self.enrolled(tenant, &Crowd::Cell(cell), &names).await?;
        let left = whereabouts::left(tenant, cell, gone.into_iter().zip(since));
        if left.is_empty() { Ok(()) } else { Ok(self.ports.store.enrol(left).await?) }
    }

    /// Something of the profiles of these persons.
    async fn profiles<T>(
        &self,
        tenant: &Tenant,
        persons: &[Person],
        of: impl Fn(&State) -> T + Send + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let mut all = Vec::with_capacity(persons.len());
        for some in persons.chunks(PROFILES_AT_ONCE) {
            let key = |person: &Person| StateKey::Person(tenant.clone(), person.clone());
            let keys: Vec<StateKey> = some.iter().map(key).collect();
            all.extend(self.states(&keys).await?.iter().map(&of));
        }
        Ok(all)
    }

    /// Those of a crowd who were in it when an event occurred that is there once more: who came later is not
    /// told old news.
    async fn of_then(
        &self,
        event: &Event,
        crowd: &Crowd,
        persons: Vec<Person>,
    ) -> anyhow::Result<Vec<Person>> {
        let since = match crowd {
            Crowd::Followers(_) => self.enrolled(&event.tenant, crowd, &persons).await?,
            Crowd::Cell(_) => {
                let moved = |profile: &State| Some(profile.cells.get(profile::PLACE)?.version);
                self.profiles(&event.tenant, &persons, moved).await?
            }
            // Each new word of a profile enrols anew; the oldest one that still stands is when they were there.
            Crowd::Everyone => {
                let first = |profile: &State| profile.cells.values().map(|cell| cell.version).min();
                self.profiles(&event.tenant, &persons, first).await?
            }
        };
        let all = persons.len();
        let was = |since: Option<i64>| since.is_some_and(|since| since <= event.occurred.0);
        let of_then: Vec<Person> = persons
            .into_iter()
            .zip(since)
            .filter(|(_, since)| was(*since))
            .map(|(person, _)| person)
            .collect();
        self.ports.metrics.later(all - of_then.len());
        Ok(of_then)
    }

    /// By which versions these persons are in a crowd.
    async fn enrolled(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        persons: &[Person],
    ) -> anyhow::Result<Vec<Option<i64>>> {
        let of: Vec<_> =
            persons.iter().map(|person| (tenant.clone(), person.clone(), crowd.clone())).collect();
        let since = self.ports.store.enrolled(&of).await?;
        ensure!(since.len() == of.len(), "{} answers came back of {}", since.len(), of.len());
        Ok(since)
    }

    async fn resolve(&self, mut sheet: Sheet) -> anyhow::Result<Resolved> {
        let notes = self.states(&sheet.notes()).await.context("notes of persons")?;
        Ok(sheet.resolve(&notes, self.ports.partitions))
    }

    /// The states of all of these: if one were missing, somebody would be taken for somebody else.
    async fn states(&self, keys: &[StateKey]) -> anyhow::Result<Vec<State>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let states = self.ports.store.states(keys).await?;
        ensure!(states.len() == keys.len(), "{} states came back of {}", states.len(), keys.len());
        Ok(states)
    }

    async fn write(&self, rows: Vec<DayRows>, now: Millis) -> anyhow::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.ports.store.write(rows, now).await.context("rows")
    }

    async fn announce(&self, announcements: Vec<NewRecord>) -> anyhow::Result<()> {
        if announcements.is_empty() {
            return Ok(());
        }
        self.ports.topics.append(announcements).await.context("announcements")
    }
}

/// Does something while writes go on; the first that fails ends it.
async fn beside<T>(
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
async fn patiently<T, F: Future<Output = Result<T, StoreError>>>(
    ask: impl Fn() -> F,
) -> Result<T, StoreError> {
    for tries in 0..BUSY_TRIES_MAX {
        match ask().await {
            Err(StoreError::Busy(_)) => retry::pause(tries, 0).await,
            answered => return answered,
        }
    }
    ask().await
}
