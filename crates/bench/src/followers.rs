//! One event to many followers on clusters: the real room tells it on Kafka and CQL. Its stage of writing is
//! beside a bare loop of the same driver that writes the same rows, the two in turn.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use fanout::config::{CROWD_PARTS_MAX, PARTS_OF_SLICE};
use futures::{StreamExt as _, TryStreamExt as _, future::try_join_all};
use house_facts::day_ring::DayRing;
use model::{DayLife, Event, Person, Tenant, entry::DayKey, limits::SLICE_PERSONS_MAX};
use runtime::clock::SteadyStopwatch;
use scylla::{client::session::Session, statement::prepared::PreparedStatement};
use store::{DayRows, Store, StoreError, rows::push_row};
use topic::Topics;

use crate::{
    clusters::{BenchClusters, ClusterLog, ClusterTables, run_on_both},
    fanout_room::{self, CATALOGUE, FanoutBench},
    report::{BenchFigure, BenchReport},
    timed_store::TimedStore,
};

/// Pairs, after those that only warm up.
const ROUNDS: usize = 11;
const WARM_ROUNDS: usize = 3;
/// The bare loop is tried with so many requests under way, and keeps what is quickest here.
const IN_FLIGHT: [usize; 5] = [64, 128, 256, 512, 1_024];
const TRIES: usize = 3;
/// So many followers are told within so many seconds, and the rows stored at so much of the bare loop's speed.
const BAR_SIZE: usize = 12_000;
const SECONDS_MAX: f64 = 1.0;
const RATIO_MIN: f64 = 0.85;
/// Whose rows the bare loop writes: the same partitions would not be the same work.
const BARE_TENANT: &str = "plain";
const STAGE_TENANT: &str = "stage";

pub async fn run(
    size: usize,
    clusters: &BenchClusters,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    run_on_both(clusters, async |log, tables| measure_fanout(size, log, tables, progress).await).await
}

async fn measure_fanout(
    size: usize,
    log: &ClusterLog,
    tables: &ClusterTables,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    progress(&format!("fanout: topics and tables are made, {size} persons follow"));
    let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
    fanout_room::declare_topics(&*topics).await?;
    let engine: Arc<dyn Store> = Arc::new(tables.engine().await?);
    let timed = Arc::new(TimedStore::new(engine.clone()));
    let store: Arc<dyn Store> = timed.clone();
    let persons = fanout_room::numbered_persons(size)?;
    fanout_room::enrol_followers(&*store, &persons).await?;
    let room = FanoutBench::start(&topics, &store, CATALOGUE, CROWD_PARTS_MAX).await?;
    let mut bare = BareDriverLoop::new(tables, &persons);
    bare.choose_in_flight(progress).await?;
    let (mut whole, mut beside, mut stage, mut raw) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut events, own) = (Vec::new(), Tenant::new(STAGE_TENANT)?);
    for round in 1..=WARM_ROUNDS + ROUNDS {
        progress(&format!("fanout: round {round} of {}, {size} followers", WARM_ROUNDS + ROUNDS));
        let event = fanout_room::numbered_event(round)?;
        // Each as often first: whatever else the machine does hits all alike.
        let (written, alone) = if round % 2 == 0 {
            let written = bare.write(&event).await?;
            (written, time_day_writes(&engine, &own, &event, &persons).await?)
        } else {
            let alone = time_day_writes(&engine, &own, &event, &persons).await?;
            (bare.write(&event).await?, alone)
        };
        let watch = SteadyStopwatch::start();
        room.append(&event).await?;
        let wrote = timed.await_rows(size).await;
        room.await_commit().await?;
        if round > WARM_ROUNDS {
            whole.push(watch.elapsed());
            beside.push(wrote);
            stage.push(alone);
            raw.push(written);
        }
        events.push(event);
    }
    room.stop().await?;
    progress("fanout: rows and announcements are read back");
    let held = fanout_room::is_everyone_told(&*topics, &*store, &events, &persons).await?
        && fanout_room::is_all_stored(&*store, &own, &events, &persons).await?;
    let seconds = BenchFigure::seconds("one event to all, until committed", &whole, &raw);
    let bare = format!("a bare loop of the driver, {} at once", bare.in_flight);
    let figures = vec![
        if size <= BAR_SIZE { seconds.at_most(SECONDS_MAX) } else { seconds },
        BenchFigure::rate(&format!("rows of the stage of writing, against {bare}"), size, &stage, &raw)
            .ratio_at_least(RATIO_MIN),
        BenchFigure::rate("rows in the room while it also reads, against the same", size, &beside, &raw),
        BenchFigure::rate("rows of the whole fan-out, against the same", size, &whole, &raw),
    ];
    let checked = "every follower has one row of each event, by the room and by the stage alone, and was announced once \
                   for each";
    Ok(BenchReport::new("fanout", format!("{}; {}", log.says, tables.says), figures, (checked, held)))
}

/// The stage of writing by itself: the rows slice after slice, and of a slice the parts at once, as the room has
/// them written.
async fn time_day_writes(
    store: &Arc<dyn Store>,
    tenant: &Tenant,
    event: &Event,
    persons: &[Person],
) -> anyhow::Result<Duration> {
    let (day, row) = (event.entry_key().day(), fanout_room::entry_row(event)?);
    let of = |person: &Person| DayRows {
        key: DayKey { tenant: tenant.clone(), person: person.clone(), day },
        rows: vec![row.clone()],
    };
    let part = SLICE_PERSONS_MAX.div_ceil(PARTS_OF_SLICE);
    let parts = |slice: &[Person]| slice.chunks(part).map(|part| part.iter().map(of).collect()).collect();
    let slices: Vec<Vec<Vec<DayRows>>> = persons.chunks(SLICE_PERSONS_MAX).map(parts).collect();
    let (store, now) = (store.clone(), event.occurred);
    // On a thread of the runtime, as the room is.
    let took = tokio::spawn(async move {
        let watch = SteadyStopwatch::start();
        for slice in slices {
            try_join_all(slice.into_iter().map(|part| store.write(part, now))).await?;
        }
        Ok::<_, StoreError>(watch.elapsed())
    });
    Ok(took.await.context("the stage of writing")??)
}

/// The bare loop: so many requests under way, and nothing of ours.
struct BareDriverLoop {
    session: Arc<Session>,
    keyspace: String,
    persons: Vec<String>,
    in_flight: usize,
}

/// A row as the driver takes it.
type DriverRow = (String, String, i32, Vec<u8>, Vec<u8>, i32);

impl BareDriverLoop {
    fn new(tables: &ClusterTables, persons: &[Person]) -> Self {
        let persons = persons.iter().map(|person| person.as_str().to_owned()).collect();
        let (session, keyspace) = (tables.session.clone(), tables.settings.keyspace.clone());
        Self { session, keyspace, persons, in_flight: IN_FLIGHT[0] }
    }

    /// Finds how many requests under way are quickest here.
    async fn choose_in_flight(&mut self, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<()> {
        let mut quickest = Duration::MAX;
        // Round about, so that none has all of a slow moment. The numbers of their events are nobody else's.
        for attempt in 0..TRIES {
            for in_flight in IN_FLIGHT {
                progress(&format!("fanout: the bare loop with {in_flight} at once"));
                let event = fanout_room::numbered_event(1_000_000 + attempt * IN_FLIGHT.len() + in_flight)?;
                let took = self.write_with(&event, in_flight).await?;
                if took < quickest {
                    (quickest, self.in_flight) = (took, in_flight);
                }
            }
        }
        Ok(())
    }

    async fn write(&self, event: &Event) -> anyhow::Result<Duration> {
        self.write_with(event, self.in_flight).await
    }

    async fn write_with(&self, event: &Event, in_flight: usize) -> anyhow::Result<Duration> {
        let (insert, rows) = (self.insert(event).await?, self.rows(event)?);
        let session = self.session.clone();
        // On a thread of the runtime, as the room is.
        let took = tokio::spawn(async move {
            let watch = SteadyStopwatch::start();
            let (session, insert) = (&*session, &insert);
            let inserts =
                rows.into_iter().map(|values| async move { session.execute_unpaged(insert, values).await });
            let inserts = futures::stream::iter(inserts).buffer_unordered(in_flight);
            inserts.try_for_each(async |_| Ok(())).await.map(|()| watch.elapsed())
        });
        Ok(took.await.context("the bare loop")??)
    }

    async fn insert(&self, event: &Event) -> anyhow::Result<PreparedStatement> {
        let table = format!(
            "{}.days_{:02}",
            self.keyspace,
            DayRing::new(DayLife::default()).table(event.entry_key().day())
        );
        let cql = format!(
            "INSERT INTO {table} (tenant, person, day, row, body) VALUES (?, ?, ?, ?, ?) USING TTL ?"
        );
        let mut insert = self.session.prepare(cql).await?;
        insert.set_is_idempotent(true);
        Ok(insert)
    }

    fn rows(&self, event: &Event) -> anyhow::Result<Vec<DriverRow>> {
        let (day, row) = (event.entry_key().day(), fanout_room::entry_row(event)?);
        let left = DayLife::default().expiry(day).since(event.occurred) / 1_000;
        let ttl = i32::try_from(left).context("a day's life")?;
        let values = |person: &String| {
            let (mut key, mut body) = (Vec::new(), Vec::new());
            push_row(&mut key, &mut body, &row)?;
            Ok((BARE_TENANT.to_owned(), person.clone(), day.0, key, body, ttl))
        };
        self.persons.iter().map(values).collect()
    }
}
