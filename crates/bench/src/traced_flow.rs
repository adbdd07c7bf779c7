//! What traces cost: the same changes through two houses of rooms in turn, one that traces nothing and one that traces one
//! event in a hundred, to a receiver that takes everything. It is the processor time that is compared, since nobody ever
//! waits for a span.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use digest::metrics::DigestMetrics;
use model::{
    Crowd, CrowdEnrolment, Person, SubjectRef, Value, VersionedState, partition::PartitionCount,
    person::profile,
};
use otlp::{Settings, SpanExporter, exporter::WAITING_MAX};
use runtime::{Clock, ShutdownSignal, clock::SteadyStopwatch, metrics::Metrics};
use share_ratio::ShareRatio;
use store::{StateKey, Store};
use store_embedded::EmbeddedStore;
use tempfile::TempDir;
use tokio::task::JoinSet;
use topic::{NewRecord, Topics};
use traces::{
    Tracer,
    metrics::{FULL, SENT, TraceMetrics},
};
use wire::topics;

use crate::{
    fanout_room,
    report::{BenchFigure, BenchReport, median_of},
    startup,
};

/// Of all events.
const SHARE: ShareRatio = ShareRatio::from_percent(1);
/// What tracing them may cost.
const COST_MAX: f64 = 1.02;
/// Rounds of each house; the two take turns.
const ROUNDS: usize = 11;
/// Persons who follow one author, and events of that author in a round: so many a message tells.
const FOLLOWERS: usize = 10;
const EACH: usize = 10;
/// Past the end of every window that is open.
const AHEAD_MS: i64 = 31 * 60_000;
const LOOK_MS: i64 = 5;
const PATIENCE: Duration = Duration::from_secs(600);
/// Of a second, in which the kernel counts processor time for everybody to read.
const TICKS: f64 = 100.0;

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let authors = size.div_ceil(EACH).max(1);
    let receiver = start_receiver()?;
    let (mut plain, mut traced) =
        (TracedRooms::open(authors, None).await?, TracedRooms::open(authors, Some(receiver)).await?);
    // Once each, so that both are warm.
    plain.run_round(0).await?;
    traced.run_round(0).await?;
    let (mut off, mut on, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        // Whoever is first has the cooler machine, so they take turns in that too.
        let (without, with) = if round % 2 == 0 {
            let without = plain.run_round(round).await?;
            (without, traced.run_round(round).await?)
        } else {
            let with = traced.run_round(round).await?;
            (plain.run_round(round).await?, with)
        };
        ratios.push(with / without);
        off.push(without);
        on.push(with);
        progress(&format!("traces: round {round} of {ROUNDS}, {with:.2} s against {without:.2} s"));
    }
    let told = plain.count_told() == plain.count_owed() && traced.count_told() == traced.count_owed();
    let (sent, full) = (traced.count_spans(SENT), traced.count_spans(FULL));
    plain.stop().await?;
    traced.stop().await?;
    let (with, without) = (median_of(on), median_of(off));
    let engine = "embedded, synced; ingest from the topic, fan-out and digest, and the sending of spans";
    let of_round = "processor time of a round, 1 % traced against none";
    let figures = vec![
        BenchFigure::compared_with(of_round, with, "seconds", without),
        BenchFigure::bound("the median of the pairs", median_of(ratios), "times", COST_MAX),
    ];
    let checked = format!(
        "each of {} persons was told once a round in both houses; {sent} spans arrived, and none was dropped",
        authors * FOLLOWERS
    );
    Ok(BenchReport::new("traces", engine, figures, (checked, told && sent > 0.0 && full == 0.0)))
}

/// The rooms from the topic of changes to the Readys, on engines of their own.
struct TracedRooms {
    _dir: TempDir,
    clock: Clock,
    topics: Arc<dyn Topics>,
    metrics: Metrics,
    authors: usize,
    shutdown: ShutdownSignal,
    rooms: JoinSet<anyhow::Result<()>>,
    tracer: Tracer,
    rounds: usize,
}

impl TracedRooms {
    async fn open(authors: usize, receiver: Option<String>) -> anyhow::Result<Self> {
        let (dir, clock, metrics) = (tempfile::tempdir()?, Clock::real(0), Metrics::default());
        let topics: Arc<dyn Topics> = Arc::new(startup::open_log(&dir.path().join("topics")).await?);
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&dir.path().join("store"))?);
        fill(&*store, authors).await?;
        let tracer = match receiver {
            None => Tracer::default(),
            Some(endpoint) => {
                let counts = TraceMetrics::declare(&metrics)?;
                let (tracer, queue) = Tracer::new(clock.clone(), SHARE, WAITING_MAX, counts.clone());
                let settings = Settings { endpoint, headers: Vec::new(), ca: None, service: "bench".into() };
                drop(SpanExporter::start(&settings, queue, counts)?);
                tracer
            }
        };
        let text = fanout_room::catalogue_closing_after("30m", 60);
        let catalogue = Arc::new(fanout_room::parse_catalogue(&text)?);
        let shutdown = ShutdownSignal::default();
        let room = room::Deps {
            shutdown: shutdown.clone(),
            tracer: tracer.clone(),
            ..room::Deps::for_one_room(topics.clone(), store, catalogue, clock.clone())
        };
        let rooms = spawn_rooms(&room, &metrics)?;
        Ok(Self { _dir: dir, clock, topics, metrics, authors, shutdown, rooms, tracer, rounds: 0 })
    }

    /// One round, and the processor time that it took.
    async fn run_round(&mut self, round: usize) -> anyhow::Result<f64> {
        let records = (0..self.authors * EACH).map(|n| change_record(round, n, self.authors)).collect();
        let (before, watch) = (processor_seconds()?, SteadyStopwatch::start());
        self.topics.append(records).await?;
        let reads = [
            (ingest::config::GROUP, topics::CHANGES),
            (fanout::config::GROUP, topics::EVENTS),
            (digest::config::GROUP, topics::PENDING),
        ];
        for (group, topic) in reads {
            wait_until(&watch, async || {
                let standings = self.topics.standing(group, topic).await?;
                Ok(standings.iter().all(|one| one.lag() == 0))
            })
            .await?;
        }
        self.clock.advance(AHEAD_MS);
        self.rounds += 1;
        wait_until(&watch, async || Ok(self.count_told() >= self.count_owed())).await?;
        Ok(processor_seconds()? - before)
    }

    fn count_told(&self) -> f64 {
        self.metrics.sum_values("tidings_digest_readys_total", None)
    }

    /// How many messages there must be: each person is told once a round.
    #[allow(clippy::cast_precision_loss, reason = "some thousands")]
    fn count_owed(&self) -> f64 {
        (self.rounds * self.authors * FOLLOWERS) as f64
    }

    fn count_spans(&self, outcome: &str) -> f64 {
        self.metrics.sum_values("tidings_traces_spans_total", Some(("outcome", outcome)))
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        self.shutdown.start();
        while let Some(ended) = self.rooms.join_next().await {
            ended.context("a room")??;
        }
        self.tracer.close();
        Ok(())
    }
}

async fn wait_until(
    watch: &SteadyStopwatch,
    is_so: impl AsyncFn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let wall = Clock::real(0);
    while !is_so().await? {
        ensure!(watch.elapsed() < PATIENCE, "the rooms do not get through a round");
        wall.sleep_until(wall.now() + LOOK_MS).await;
    }
    Ok(())
}

fn spawn_rooms(room: &room::Deps, metrics: &Metrics) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let mut rooms = JoinSet::new();
    let ports = ingest::Deps {
        room: room.clone(),
        secret: wire::token::LinkSecret::new([0; wire::token::SECRET_BYTES]),
        schemas: Arc::new(wire::NoSchemaSource),
        places: geoip::AddressPlaces::default(),
        metrics: ingest::IngestMetrics::declare(metrics)?,
    };
    let config = ingest::Config {
        records_max: ingest::config::RECORDS_MAX,
        tenant: fanout_room::bench_tenant()?,
        lag_records_max: u64::MAX,
        listed_rows_a_minute: ingest::config::LISTED_ROWS_A_MINUTE,
        requests_max: ingest::config::REQUESTS_MAX,
        returns: None,
    };
    rooms.spawn(ingest::run(ports, config));
    let ports = fanout::Deps { room: room.clone(), metrics: fanout::FanoutMetrics::declare(metrics)? };
    rooms.spawn(fanout::run(ports, fanout::Config::default()));
    let live = Arc::new(live::UnknownConnections);
    let ports = digest::Deps { room: room.clone(), live, metrics: DigestMetrics::declare(metrics)? };
    rooms.spawn(digest::run(ports, digest::Config { records_max: 500, shares: Arc::default() }));
    Ok(rooms)
}

/// Persons with an address, some of them following each author.
async fn fill(store: &dyn Store, authors: usize) -> anyhow::Result<()> {
    let tenant = fanout_room::bench_tenant()?;
    let persons = fanout_room::numbered_persons(authors * FOLLOWERS)?;
    for (author, some) in persons.chunks(FOLLOWERS).enumerate() {
        let target = SubjectRef::new(&format!("author:{author}"))?;
        let enrol = |person: &Person| CrowdEnrolment {
            tenant: tenant.clone(),
            person: person.clone(),
            crowd: Crowd::Followers(target.clone()),
            version: 1,
            on: true,
        };
        store.enrol(some.iter().map(enrol).collect()).await?;
        let address = |person: &Person| {
            let email = Value::from_text(&format!("{person}@example.org"));
            let state = VersionedState::from_values(1, [(profile::EMAIL, Some(email))]);
            (StateKey::Person(tenant.clone(), person.clone()), state)
        };
        store.merge(some.iter().map(address).collect()).await?;
    }
    Ok(())
}

fn change_record(round: usize, number: usize, authors: usize) -> NewRecord {
    let author = number % authors;
    let value = format!(
        r#"{{"specversion":"1.0","id":"{round}-{number}","source":"bench","type":"work.added","subject":"work:{round}-{number}","data":{{"title":"Work {number}","author":"author:{author}"}}}}"#
    );
    let partition = u32::try_from(number).unwrap_or(0) % PartitionCount::USUAL.count();
    NewRecord {
        topic: topics::CHANGES.into(),
        partition,
        key: b"k".to_vec(),
        value: Some(value.into_bytes()),
        headers: Vec::new(),
    }
}

/// Processor time of this process, and of nobody else.
fn processor_seconds() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
    // A name may have blanks; behind its bracket the fields begin with the third.
    let (_, fields) = stat.rsplit_once(')').context("read /proc/self/stat")?;
    let ticks = |at: usize| fields.split_whitespace().nth(at).and_then(|ticks| ticks.parse::<f64>().ok());
    match (ticks(11), ticks(12)) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS),
        _ => bail!("/proc/self/stat has no processor time"),
    }
}

/// A receiver that takes everything and looks at nothing.
fn start_receiver() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever breaks off is not answered.
            drop(answer_request(stream));
        }
    });
    Ok(address)
}

fn answer_request(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut reader, mut length) = (BufReader::new(stream.try_clone()?), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        length = lower.strip_prefix("content-length:").map_or(length, |n| n.trim().parse().unwrap_or(0));
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}
