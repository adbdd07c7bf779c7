//! The real room of the digest at work on announcements: windows of half an hour per person, from the first record
//! that it reads until the last window has been told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use digest::{config::GROUP, metrics::DigestMetrics};
use model::{
    Event, Kind, Person, Value, VersionedState, entry::DayKey, limits::SLICE_PERSONS_MAX,
    partition::PartitionCount, person::profile,
};
use runtime::{Clock, ShutdownSignal, clock::SteadyStopwatch, metrics::Metrics, retry};
use store::{DayRows, StateKey, Store};
use tokio::time::timeout;
use topic::{NewRecord, TopicError, Topics};
use wire::{AnnouncementBatch, DayAnnouncement, topics};

use crate::{fanout_room, timed_store::TimedStore};

/// Past the end of every window that is open.
const AHEAD_MS: i64 = 31 * 60_000;

/// Announcements of each person, each of an event of its own.
pub const EACH: usize = 20;
/// Persons come in an order in which neighbours are not, as they do; a prime.
const STEP: usize = 1_000_003;
/// Records or persons written and read at once.
const AT_ONCE: usize = 5_000;
/// Records of one round of the room. The house takes 500, since it is asked about persons within seconds; a
/// backlog is worked off in larger ones.
const RECORDS_MAX: usize = 20_000;
const LOOK_MS: i64 = 10;
const PATIENCE: Duration = Duration::from_secs(900);
const SHOWN: Duration = Duration::from_secs(10);

/// What is told: some events to everybody.
pub struct DigestLoad {
    persons: Vec<Person>,
    events: Vec<Event>,
}

impl DigestLoad {
    /// Of so many announcements, or some more.
    pub fn new(records: usize) -> anyhow::Result<Self> {
        let count = records.div_ceil(EACH);
        let mut persons = fanout_room::numbered_persons(count)?;
        persons.sort_by_cached_key(|person| {
            let number: usize = person.as_str().trim_start_matches("person-").parse().unwrap_or(0);
            number.wrapping_mul(STEP) % count
        });
        Ok(Self { persons, events: (0..EACH).map(fanout_room::numbered_event).collect::<Result<_, _>>()? })
    }

    pub fn persons(&self) -> usize {
        self.persons.len()
    }

    pub fn records(&self) -> usize {
        self.persons.len() * self.events.len()
    }

    /// Writes what the fan-out and the intake would have written: profiles, who follows, subjects and days.
    pub async fn fill(&self, store: &dyn Store) -> anyhow::Result<()> {
        let tenant = fanout_room::bench_tenant()?;
        fanout_room::enrol_followers(store, &self.persons).await?;
        let subject =
            |event: &Event| (StateKey::Subject(tenant.clone(), event.subject.clone()), event.state.clone());
        store.merge(self.events.iter().map(subject).collect()).await?;
        let rows = self.events.iter().map(fanout_room::entry_row).collect::<Result<Vec<_>, _>>()?;
        for some in self.persons.chunks(AT_ONCE / EACH) {
            let address = |person: &Person| {
                let email = Value::from_text(&format!("{person}@example.org"));
                (
                    StateKey::Person(tenant.clone(), person.clone()),
                    VersionedState::from_values(1, [(profile::EMAIL, Some(email))]),
                )
            };
            store.merge(some.iter().map(address).collect()).await?;
            let mut days: Vec<DayRows> = Vec::new();
            for person in some {
                for (event, row) in self.events.iter().zip(&rows) {
                    let day = event.entry_key().day();
                    let key = DayKey { tenant: tenant.clone(), person: person.clone(), day };
                    match days.last_mut() {
                        Some(last) if last.key == key => last.rows.push(row.clone()),
                        _ => days.push(DayRows { key, rows: vec![row.clone()] }),
                    }
                }
            }
            if let Some(event) = self.events.last() {
                store.write(days, event.occurred).await?;
            }
        }
        Ok(())
    }

    /// Announces everything: a person a record, with the person as its key; or many, as the fan-out does it.
    pub async fn announce(&self, topics: &dyn Topics, packed: bool) -> anyhow::Result<()> {
        let (tenant, kinds) = (fanout_room::bench_tenant()?, vec![Kind::new("news")?]);
        let record = |partition, key, announcements| {
            let value =
                Some(wire::pending::encode(&AnnouncementBatch { tenant: tenant.clone(), announcements })?);
            anyhow::Ok(NewRecord {
                topic: topics::PENDING.into(),
                partition,
                key,
                value,
                headers: Vec::new(),
            })
        };
        for event in &self.events {
            let day = event.entry_key().day();
            for slice in self.persons.chunks(SLICE_PERSONS_MAX) {
                let mut parts: BTreeMap<u32, Vec<DayAnnouncement>> = BTreeMap::new();
                for person in slice {
                    let partition = PartitionCount::USUAL.of_person(&tenant, person);
                    let (person, kinds, windows) = (person.clone(), kinds.clone(), Vec::new());
                    let one = DayAnnouncement { person, day, rows: 1, kinds, windows, full: false };
                    parts.entry(partition).or_default().push(one);
                }
                let mut records = Vec::new();
                for (partition, announcements) in parts {
                    if packed {
                        records.push(record(partition, wire::key::partition_key(partition), announcements)?);
                        continue;
                    }
                    for one in announcements {
                        let key = wire::key::person_key(&tenant, &one.person);
                        records.push(record(partition, key, vec![one])?);
                    }
                }
                topics.append(records).await?;
            }
        }
        Ok(())
    }

    /// Has the room tell all of it, and says how long that took: from its first turn until its last commit. Its
    /// clock is moved past the windows as soon as everything has been read.
    pub async fn time_digest(
        &self,
        topics: &Arc<dyn Topics>,
        store: Arc<dyn Store>,
    ) -> anyhow::Result<Duration> {
        let (clock, metrics) = (Clock::real(0), DigestMetrics::declare(&Metrics::default())?);
        let (store, stop) = (Arc::new(TimedStore::new(store)), DigestStopGuard(ShutdownSignal::default()));
        let text = fanout_room::catalogue_closing_after("30m", 60);
        let catalogue = Arc::new(fanout_room::parse_catalogue(&text)?);
        let room = room::Deps {
            shutdown: stop.0.clone(),
            ..room::Deps::for_one_room(topics.clone(), store.clone(), catalogue, clock.clone())
        };
        let ports = digest::Deps { room, live: Arc::new(live::UnknownConnections), metrics: metrics.clone() };
        let mut run = tokio::spawn(digest::run(
            ports,
            digest::Config { records_max: RECORDS_MAX, shares: Arc::default() },
        ));
        let readys = metrics.readys_total.with_label_values(&[fanout_room::PLAN]);
        let wall = Clock::real(0);
        let told = async {
            while !has_caught_up(&**topics).await? {
                wall.sleep_until(wall.now() + LOOK_MS).await;
            }
            clock.advance(AHEAD_MS);
            while readys.get() < self.persons.len() as u64 {
                wall.sleep_until(wall.now() + LOOK_MS).await;
            }
            store.first_state_read().context("the room asked for nobody")
        };
        let took = tokio::select! {
            told = timeout(PATIENCE, told) => told.context("not everybody was told")??.elapsed(),
            ended = &mut run => {
                ended.context("the digest")?.context("the digest")?;
                bail!("the digest ended by itself");
            }
        };
        stop.0.start();
        run.await.context("the digest")?.context("the digest")?;
        Ok(took)
    }

    /// Whether everybody was told once, and of every event. What a log has committed it shows a moment later.
    pub async fn is_all_told(&self, topics: &dyn Topics) -> anyhow::Result<bool> {
        let watch = SteadyStopwatch::start();
        loop {
            let told = self.read_told_share(topics).await?;
            if told != Some(ToldShare::Some) || watch.elapsed() > SHOWN {
                return Ok(told == Some(ToldShare::All));
            }
            retry::wait_real_time(Duration::from_millis(100)).await;
        }
    }

    /// Who was told so far; `None` if somebody was told twice, or not of everything.
    async fn read_told_share(&self, topics: &dyn Topics) -> anyhow::Result<Option<ToldShare>> {
        let wanted: BTreeSet<_> = self.events.iter().map(Event::entry_key).collect();
        let mut told = BTreeSet::new();
        for (partition, (mut from, end)) in (0..).zip(topics.bounds(topics::READY).await?) {
            while from < end {
                let records = topics.read(topics::READY, partition, from, AT_ONCE).await?;
                let Some(last) = records.last() else { break };
                from = last.offset + 1;
                for record in &records {
                    let ready = wire::ready::decode(record.value.as_deref().unwrap_or_default())?;
                    let entries: BTreeSet<_> = ready.entries.iter().map(|entry| entry.key).collect();
                    if entries != wanted || !told.insert(ready.person) {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(if told.len() == self.persons.len() { ToldShare::All } else { ToldShare::Some }))
    }
}

#[derive(PartialEq, Eq)]
enum ToldShare {
    All,
    Some,
}

/// Whether the room has committed all that was announced. A group that is only being made has nobody to ask yet.
async fn has_caught_up(topics: &dyn Topics) -> Result<bool, TopicError> {
    match topics.standing(GROUP, topics::PENDING).await {
        Ok(standings) => Ok(standings.iter().all(|one| one.lag() == 0)),
        Err(TopicError::Busy(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A room that is stopped also after a failure: it must not go on with topics that are taken away.
struct DigestStopGuard(ShutdownSignal);

impl Drop for DigestStopGuard {
    fn drop(&mut self) {
        self.0.start();
    }
}
