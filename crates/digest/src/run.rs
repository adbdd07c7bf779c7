//! The digest in the loop: loads facts, lets [`crate::decide`] decide, hands the turn over, and writes the
//! marks it owes once the turn is committed.

pub mod forecast;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::Context as _;
use async_trait::async_trait;
use catalogue::{Catalogue, truth};
use live::{LiveConnections, PERSONS_AT_ONCE};
use model::{
    Day, DayRow, Person, PlanName, Tenant, UtcMillis, VersionedState, WorldSnapshot,
    civil_time::ZoneRules,
    delivery::{Delivery, DeliveryOutcome},
    edition::EditionTracker,
    entry::DayKey,
    fault::{self, PlantedFault},
    limits::{TURN_CLOSINGS_MAX, TURN_ROWS_MAX},
    partition::PartitionCount,
    person::{OwedMark, PersonRecord, Window, notes},
    plan::PlanSet,
    ready::Ready,
};
use runtime::{Clock, ShutdownSignal, WorkTracker, crash_point};
use store::{
    DayRows, StateKey, Store, StoreError,
    world::{self, WorldQuery},
};
use topic::{
    GroupMembership, NewRecord, RecordBatch, TopicRecord, Topics, TurnGuarantee,
    drive::{DriveDeps, RoomWork, run_room},
};
use wire::{InboxItem, topics};

use crate::{
    config::{Config, GROUP},
    decide::{DigestDecider, DigestDecision},
    facts::{DigestFacts, DigestPersonStates, day_key, days_to_read},
    memory::{PartitionMemory, PersonKey, PersonRecords},
    metrics::DigestMetrics,
    newer_edition, profile_need,
    read::{self, PersonNews},
};

/// What the digest is given.
#[derive(Clone)]
pub struct Deps {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    /// Who knows whether somebody is connected.
    pub live: Arc<dyn LiveConnections>,
    pub catalogue: Arc<Catalogue>,
    /// Which edition that is.
    pub editions: EditionTracker,
    pub zones: ZoneRules,
    pub partitions: PartitionCount,
    pub clock: Clock,
    pub quiet: WorkTracker,
    pub shutdown: ShutdownSignal,
    pub metrics: DigestMetrics,
}

/// The topics the digest reads: who owns a partition of `pending` owns the same of the others.
pub fn membership() -> GroupMembership {
    GroupMembership {
        group: GROUP.into(),
        lead: topics::PENDING.into(),
        companions: vec![topics::INBOX.into()],
        state: Some(topics::WINDOWS.into()),
        mode: TurnGuarantee::Atomic,
    }
}

/// Runs the digest until the shutdown.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let drive_with = DriveDeps {
        topics: deps.topics.clone(),
        membership: membership(),
        clock: deps.clock.clone(),
        quiet: deps.quiet.clone(),
        shutdown: deps.shutdown.clone(),
        records_max: config.records_max,
    };
    let mut digest = DigestWork { deps, partitions: BTreeMap::new(), decided: BTreeMap::new() };
    run_room(drive_with, &mut digest).await
}

struct DigestWork {
    deps: Deps,
    partitions: BTreeMap<u32, PartitionMemory>,
    /// Decided but not yet committed.
    decided: BTreeMap<u32, DigestDecision>,
}

#[async_trait]
impl RoomWork for DigestWork {
    fn restore(&mut self, partition: u32, state: Vec<TopicRecord>) -> anyhow::Result<()> {
        let mut memory = PartitionMemory::with_room(state.len());
        for record in state {
            let Some(value) = record.value else { continue };
            // State that cannot be read stops the partition; it is never skipped.
            let (tenant, person, record) = wire::window::decode(&value)
                .with_context(|| format!("{}[{partition}] at offset {}", topics::WINDOWS, record.offset))?;
            let key = (tenant, person);
            memory.unwritten.extend(record.owed.iter().map(|owed| (key.clone(), owed.clone())));
            remember_record(&mut memory, &key, Some(&record), &self.deps.catalogue.plans)?;
        }
        self.partitions.insert(partition, memory);
        self.set_gauges(partition);
        Ok(())
    }

    fn forget(&mut self, partition: u32) {
        self.partitions.remove(&partition);
        self.decided.remove(&partition);
        self.set_gauges(partition);
    }

    fn due(&self, partition: u32) -> Option<i64> {
        self.partitions.get(&partition).and_then(PartitionMemory::next_due).map(|at| at.0)
    }

    fn urgently_due(&self, partition: u32) -> Option<i64> {
        self.partitions.get(&partition).and_then(|memory| memory.ahead.first()).map(|at| at.0)
    }

    fn reads_first(&self) -> bool {
        !fault::is_planted(PlantedFault::ClosesUnread)
    }

    async fn turn(&mut self, batch: &RecordBatch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = UtcMillis(self.deps.clock.now());
        self.write_owed(batch.partition).await?;
        // Before anything that may fail: what is due and cannot be told is what one wants to see.
        self.set_due_gauge(batch.partition, now);
        let memory = self.partitions.entry(batch.partition).or_default();
        let read = read::read_batch(&batch.records, self.deps.catalogue.plans.have_badges(), now)?;
        if newer_edition::announces_unknown(&read.of, &self.deps.catalogue) {
            newer_edition::check_newer_edition(&batch.records, &self.deps.editions, now)?;
        }
        self.deps.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(read.rejects.len() as u64);
        let due = closing.map(|at| memory.due_at(UtcMillis(at), TURN_CLOSINGS_MAX)).transpose()?;
        let mut due = due.unwrap_or_default();
        let closing = closing.map_or(now, UtcMillis);
        let facts = load_facts(&self.deps, memory, &read.of, &mut due, (now, closing)).await?;
        let (catalogue, zones) = (&*self.deps.catalogue, &self.deps.zones);
        let acknowledged = &memory.acknowledged;
        let deciding = DigestDecider { facts: &facts, acknowledged, catalogue, zones, now, closing };
        let decided = deciding.decide(&read.of, &due);
        if newer_edition::ends_unknown(&decided, &facts.records, catalogue) {
            newer_edition::check_newer_edition(&batch.records, &self.deps.editions, now)?;
        }
        note_full_days(&self.deps, &decided).await?;
        write_marks(&self.deps, &decided.marks).await?;
        let mut records = read.rejects;
        for (key, record) in decided.records.iter().filter(|(key, _)| !decided.hints.contains(*key)) {
            records.push(window_record(key, record, self.deps.partitions, now)?);
        }
        for ready in &decided.ready {
            records.extend(ready_records(ready, self.deps.partitions, now)?);
        }
        self.decided.insert(batch.partition, decided);
        Ok(records)
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        crash_point::point(crash_point::COMMITTED);
        let now = UtcMillis(self.deps.clock.now());
        let Some(decided) = self.decided.remove(&partition) else { return Ok(()) };
        self.count_decision(&decided, now);
        let memory = self.partitions.entry(partition).or_default();
        memory.acknowledged.clear();
        let plans = &self.deps.catalogue.plans;
        for (key, plan) in &decided.idle {
            let before = if decided.records.contains_key(key) { None } else { memory.get(key)? };
            let next = decided.records.get(key).or(before.as_ref()).and_then(PersonRecord::next_due);
            if memory.ahead.note_idle_closing(key, next, now) {
                note_idle(&self.deps.metrics, key, plan);
                if let Some(record) = &before {
                    remember_record(memory, key, Some(record), plans)?;
                }
            }
        }
        for (key, record) in decided.records {
            // What was owed when the turn began is acknowledged in it, so all of this is new.
            memory.unwritten.extend(record.owed.iter().map(|owed| (key.clone(), owed.clone())));
            if !decided.idle.contains_key(&key) {
                memory.ahead.release(&key);
            }
            remember_record(memory, &key, (!record.is_spent(now)).then_some(&record), plans)?;
        }
        self.set_gauges(partition);
        self.write_owed(partition).await
    }

    fn after_abort(&mut self, partition: u32) {
        self.decided.remove(&partition);
    }
}

impl DigestWork {
    /// Writes the marks that committed turns named; they stay on the list until the store has them.
    async fn write_owed(&mut self, partition: u32) -> anyhow::Result<()> {
        let memory = self.partitions.entry(partition).or_default();
        write_marks(&self.deps, &memory.unwritten).await?;
        memory.acknowledged.append(&mut memory.unwritten);
        Ok(())
    }

    fn count_decision(&self, decided: &DigestDecision, now: UtcMillis) {
        let metrics = &self.deps.metrics;
        metrics.windows_closed_total.with_label_values::<&str>(&[]).inc_by(decided.closed as u64);
        for ready in decided.ready.iter().filter(|ready| !ready.is_recalled()) {
            metrics.readys_total.with_label_values(&[ready.plan.as_str()]).inc();
            #[allow(clippy::cast_precision_loss, reason = "a lateness for people to read")]
            let late = now.since(ready.due).max(0) as f64 / 1_000.0;
            metrics.lateness_seconds.with_label_values::<&str>(&[]).observe(late);
        }
    }

    fn set_gauges(&mut self, partition: u32) {
        let (windows, persons) = self.partitions.get(&partition).map_or((0, 0), |m| (m.windows(), m.len()));
        let label = partition.to_string();
        let metrics = &self.deps.metrics;
        metrics
            .windows_open
            .with_label_values(&[label.as_str()])
            .set(i64::try_from(windows).unwrap_or(i64::MAX));
        metrics
            .persons_remembered
            .with_label_values(&[label.as_str()])
            .set(i64::try_from(persons).unwrap_or(i64::MAX));
        self.set_due_gauge(partition, UtcMillis(self.deps.clock.now()));
    }

    fn set_due_gauge(&mut self, partition: u32, now: UtcMillis) {
        let due = self.partitions.get_mut(&partition).map_or(Some(0), |memory| memory.count_due(now));
        if let Some(due) = due {
            let gauge = self.deps.metrics.windows_due.with_label_values(&[partition.to_string()]);
            gauge.set(i64::try_from(due).unwrap_or(i64::MAX));
        }
    }
}

/// Puts a record in memory, and knows when something urgent is due for its person.
fn remember_record(
    memory: &mut PartitionMemory,
    key: &PersonKey,
    record: Option<&PersonRecord>,
    plans: &PlanSet,
) -> anyhow::Result<()> {
    let is_urgent = |window: &&Window| plans.by_name.get(&window.plan).is_some_and(|plan| plan.urgent);
    let windows = record.map_or(&[][..], |record| &record.windows);
    memory.ahead.set_urgent(key, windows.iter().filter(is_urgent).map(|window| window.due).min());
    memory.put(key, record)
}

/// A rule that opens what is due at once, again and again, is a fault of ours: nobody else may feel it.
fn note_idle(metrics: &DigestMetrics, (tenant, person): &PersonKey, plan: &PlanName) {
    metrics.idle_closings_total.with_label_values(&[plan.as_str()]).inc();
    // Ids of people are not for the log; who looks for one can make the same of theirs.
    let person = wire::key::person_print(tenant, person);
    tracing::warn!(%plan, person, "a window closes again and again and tells nothing; it waits up to a minute now");
}

async fn write_marks(deps: &Deps, marks: &[(PersonKey, OwedMark)]) -> anyhow::Result<()> {
    if marks.is_empty() {
        return Ok(());
    }
    let mut days: BTreeMap<(&PersonKey, Day), Vec<DayRow>> = BTreeMap::new();
    for (key, OwedMark { day, mark }) in marks {
        days.entry((key, *day)).or_default().push(DayRow::Mark(mark.clone()));
    }
    let rows = days.into_iter().map(|((key, day), rows)| DayRows { key: day_key(key, day), rows }).collect();
    deps.store.write(rows, UtcMillis(deps.clock.now())).await.context("marks")
}

/// Loads what the decision looks at, and leaves as many due as a turn has room for. A read that fails fails
/// the turn: it never counts as empty.
async fn load_facts(
    deps: &Deps,
    memory: &PartitionMemory,
    news: &BTreeMap<PersonKey, Vec<PersonNews>>,
    due: &mut Vec<PersonKey>,
    (now, closing): (UtcMillis, UtcMillis),
) -> anyhow::Result<DigestFacts> {
    let acknowledged = memory.acknowledged.iter().map(|(key, _)| key);
    let records = memory.records(news.keys().chain(&*due).chain(acknowledged))?;
    let place = (&*deps.store, &*deps.catalogue);
    let days = read_days(place, &records, due, (now, closing)).await.context("days")?;
    let asked = news
        .iter()
        .filter(|(key, news)| profile_need::needs_profile(news, records.get(*key), &deps.catalogue));
    let persons: BTreeSet<&PersonKey> = asked.map(|(key, _)| key).chain(&*due).collect();
    let known = load_person_states(place.0, &persons, due).await.context("persons")?;
    let world = load_world(place, &records, &days, due, closing).await.context("the world of the days")?;
    let live = load_connections(deps, &records, due, (now, closing)).await;
    Ok(DigestFacts { records, known, days, world, live })
}

/// What those days speak of that are told; a day that is only looked back on tells nothing.
async fn load_world(
    (store, catalogue): (&dyn Store, &Catalogue),
    records: &PersonRecords,
    days: &BTreeMap<DayKey, Vec<DayRow>>,
    due: &[PersonKey],
    closing: UtcMillis,
) -> Result<WorldSnapshot, StoreError> {
    let told = due.iter().flat_map(|key| {
        let days = closing_windows(records, key, closing, &catalogue.plans).flat_map(|window| &window.days);
        days.map(|day| day_key(key, *day))
    });
    let told: BTreeSet<DayKey> = told.collect();
    let refers_to = |state: &VersionedState| catalogue.related_refs(state);
    let wanted = collect_wanted(days.iter().filter(|(key, _)| told.contains(*key)));
    world::load_world(store, wanted, &refers_to).await
}

/// Asks about those to whom it matters. Nobody's answer is waited for longer than the port waits, and none is none.
async fn load_connections(
    deps: &Deps,
    records: &PersonRecords,
    due: &[PersonKey],
    (now, closing): (UtcMillis, UtcMillis),
) -> BTreeMap<PersonKey, bool> {
    let plans = &deps.catalogue.plans;
    let matters = |key: &&PersonKey| {
        records
            .get(*key)
            .is_some_and(|record| crate::connection_need::connection_matters(record, plans, closing, now))
    };
    let mut of: BTreeMap<&Tenant, Vec<Person>> = BTreeMap::new();
    for (tenant, person) in due.iter().filter(matters) {
        of.entry(tenant).or_default().push(person.clone());
    }
    let mut live = BTreeMap::new();
    for (tenant, persons) in of {
        for some in persons.chunks(PERSONS_AT_ONCE) {
            match deps.live.find_connected(tenant, some).await {
                Ok(connected) => live
                    .extend(some.iter().map(|one| ((tenant.clone(), one.clone()), connected.contains(one)))),
                Err(error) => tracing::debug!(error = format!("{error:#}"), "nobody says who is connected"),
            }
        }
    }
    live
}

/// The windows of a person that close, and those that are told with them.
fn closing_windows<'a>(
    records: &'a PersonRecords,
    key: &PersonKey,
    closing: UtcMillis,
    plans: &'a PlanSet,
) -> impl Iterator<Item = &'a Window> {
    let windows = records.get(key).map_or(&[][..], |record| &record.windows);
    let is_due = move |window: &Window| window.due <= closing;
    let with = move |window: &Window| {
        plans.by_name.get(&window.plan).is_some_and(|plan| plan.together)
            && windows.iter().any(|due| due.plan == window.plan && is_due(due))
    };
    windows.iter().filter(move |window| is_due(window) || with(window))
}

/// Days that are asked of the store at once, or all those of one person.
const DAYS_AT_ONCE: usize = 64;

/// Reads the days of those who are due, the longest overdue first, until a turn holds as many rows as it may.
/// Who is taken off the list is still due in memory, and the loop comes again at once.
async fn read_days(
    (store, catalogue): (&dyn Store, &Catalogue),
    records: &PersonRecords,
    due: &mut Vec<PersonKey>,
    (now, closing): (UtcMillis, UtcMillis),
) -> Result<BTreeMap<DayKey, Vec<DayRow>>, StoreError> {
    let mut days = BTreeMap::new();
    let (mut persons, mut held) = (0, 0);
    while persons < due.len() && held < TURN_ROWS_MAX {
        let mut keys: Vec<DayKey> = Vec::new();
        for key in &due[persons..] {
            if keys.len() >= DAYS_AT_ONCE {
                break;
            }
            let windows = closing_windows(records, key, closing, &catalogue.plans);
            let own: BTreeSet<Day> =
                windows.flat_map(|window| days_to_read(window, &catalogue.plans, now)).collect();
            keys.extend(own.into_iter().map(|day| day_key(key, day)));
            persons += 1;
        }
        let rows = store.read(&keys, now).await?;
        held += rows.iter().map(Vec::len).sum::<usize>();
        days.extend(keys.into_iter().zip(rows));
    }
    due.truncate(persons);
    Ok(days)
}

/// What is known of persons, in one batch: of all of these their profiles, and of those who are due the rest too.
async fn load_person_states(
    store: &dyn Store,
    persons: &BTreeSet<&PersonKey>,
    due: &[PersonKey],
) -> Result<BTreeMap<PersonKey, DigestPersonStates>, StoreError> {
    let profiles = persons.iter().map(|key| StateKey::Person(key.0.clone(), key.1.clone()));
    let mutes = due.iter().map(|key| StateKey::Mutes(key.0.clone(), key.1.clone()));
    let notes = due.iter().map(|key| StateKey::Notes(key.0.clone(), key.1.clone()));
    let keys: Vec<StateKey> = profiles.chain(mutes).chain(notes).collect();
    let states = store.states(&keys).await?;
    let mut known: BTreeMap<PersonKey, DigestPersonStates> = BTreeMap::new();
    for (key, state) in keys.into_iter().zip(states) {
        match key {
            StateKey::Person(tenant, person) => known.entry((tenant, person)).or_default().profile = state,
            StateKey::Mutes(tenant, person) => known.entry((tenant, person)).or_default().mutes = state,
            StateKey::Notes(tenant, person) => known.entry((tenant, person)).or_default().notes = state,
            StateKey::Subject(..) => {}
        }
    }
    Ok(known)
}

/// What the rows of days speak of, each thing once however many persons are told of it.
fn collect_wanted<'a>(days: impl Iterator<Item = (&'a DayKey, &'a Vec<DayRow>)>) -> WorldQuery {
    let mut wanted = WorldQuery::default();
    for (key, rows) in days {
        for row in rows {
            let DayRow::Entry(entry) = row else { continue };
            wanted.subjects.insert((key.tenant.clone(), entry.subject.clone()));
            let (follows, _) = truth::list_needs([&entry.reason]);
            for target in follows {
                wanted.follows.insert((key.tenant.clone(), key.person.clone(), target));
            }
        }
    }
    wanted
}

/// Tells fan-out, in the house's notes of the person, that a day takes no more rows.
async fn note_full_days(deps: &Deps, decided: &DigestDecision) -> anyhow::Result<()> {
    if decided.full.is_empty() && decided.shut.is_empty() {
        return Ok(());
    }
    let full = decided.full.iter().map(|(key, day)| (key, notes::note_full_day(*day)));
    let shut = decided.shut.iter().map(|(key, day)| (key, notes::note_shut_day(*day)));
    let states = full.chain(shut);
    let states =
        states.map(|((tenant, person), state)| (StateKey::Notes(tenant.clone(), person.clone()), state));
    deps.store.merge(states.collect()).await.context("full days")
}

fn window_record(
    key: &PersonKey,
    record: &PersonRecord,
    partitions: PartitionCount,
    now: UtcMillis,
) -> anyhow::Result<NewRecord> {
    let value = if record.is_spent(now) { None } else { Some(wire::window::encode(&key.0, &key.1, record)?) };
    Ok(NewRecord {
        topic: topics::WINDOWS.into(),
        partition: partitions.of_person(&key.0, &key.1),
        key: wire::key::person_key(&key.0, &key.1),
        value,
        headers: Vec::new(),
    })
}

/// A Ready on its way. One that cannot be written would stop its partition: it is refused in the sender's stead, and put
/// aside, so that its entries have a fate and a person looks.
fn ready_records(
    ready: &Ready,
    partitions: PartitionCount,
    now: UtcMillis,
) -> anyhow::Result<Vec<NewRecord>> {
    let (partition, key) = (
        partitions.of_person(&ready.tenant, &ready.person),
        wire::key::person_key(&ready.tenant, &ready.person),
    );
    let record = |topic: &str, value| NewRecord {
        topic: topic.into(),
        partition,
        key: key.clone(),
        value: Some(value),
        headers: Vec::new(),
    };
    let error = match wire::ready::encode(ready) {
        Ok(value) => return Ok(vec![record(topics::READY, value)]),
        Err(error) => error,
    };
    tracing::error!(ready = %ready.id, plan = %ready.plan, %error, "a Ready cannot be written; its entries end as refused");
    let refused = Delivery::from_ready(ready, now, DeliveryOutcome::Refused { left: Vec::new() });
    let refused = InboxItem::Delivery(Box::new(refused));
    let reason =
        format!("{} of `{}` cannot be written, its entries end as refused: {error}", ready.id, ready.plan);
    let aside = read::quarantine_unwritten_ready(partition, &key, &reason, now)?;
    Ok(vec![record(topics::INBOX, wire::inbox::encode(&refused)?), aside])
}
