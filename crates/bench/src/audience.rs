//! One event to many followers: the real room reads it, resolves the audience, writes a row into each
//! person's day, announces all and commits, large audiences slice by slice. From the append of the event until
//! the last commit.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use catalogue::Catalogue;
use model::{
    Because, Crowd, Enrolment, Entry, Event, EventKey, Kind, Millis, Person, Reason, Row, State, SubjectRef,
    Tenant, Value, entry::DayKey, limits::SLICE_PERSONS_MAX, partition::Partitions,
};
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, metrics::Metrics};
use store::{DayRows, Store};
use topic::{NewRecord, Retention, TopicSpec, Topics};
use wire::topics;

use crate::{
    ROUNDS, raw,
    report::{Figure, Oracle, Report, machine},
    rows::ROW_BYTES,
};

/// One kind for the followers of an author, one mail a day.
pub(crate) const CATALOGUE: &str = r"
catalogue: bench
subjects:
  work: {title: text, author: ref author}
  author: {name: text}
kinds:
  news:
    on: work.added
    to: {followers_of: author}
    says: '{{ subject.title }}'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 7d
    from: Bench <bench@example.org>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: News, kinds: [news], most: 8, order: newest}
";

/// Give up on a round after this.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks: rarely enough not to be part of what is measured.
const LOOK_MS: i64 = 1;
/// A round of some milliseconds says little; many do.
const SHORT_ROUNDS: usize = 21;
/// So many followers are told within so many seconds, and at least at so much of the bare loop's speed.
const BAR_SIZE: usize = 12_000;
const SECONDS_MAX: f64 = 0.2;
const RATIO_MIN: f64 = 0.5;
/// What a follower costs in the largest audience, of what one costs in one that fills a slice.
const LINE_MIN: f64 = 0.5;
/// Rows read back at once.
const READ_AT_ONCE: usize = 1_000;
/// Audiences of the line: each ten times the one before; the place of the first that fills slices.
const FIRST_SIZE: usize = 10;
const SLICES_FROM: usize = 3;

/// One audience, several rounds, beside both loops.
pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Report> {
    let (mut ours, mut engine, mut database, mut held) = (Vec::new(), Vec::new(), Vec::new(), true);
    let rounds = if size <= BAR_SIZE { SHORT_ROUNDS } else { ROUNDS };
    for round in 1..=rounds {
        progress(&format!("fanout: round {round} of {rounds}, {size} followers"));
        let dir = tempfile::tempdir()?;
        database.push(raw::write(&dir.path().join("raw"), size, ROW_BYTES, SLICE_PERSONS_MAX)?);
        engine.push(bare(&dir.path().join("bare"), size).await?);
        let (took, all) = tell(dir.path(), size).await?;
        ours.push(took);
        held &= all;
    }
    let seconds = Figure::seconds("one event to all", &ours, &engine);
    Ok(Report {
        bench: "fanout".into(),
        engine: "embedded, rows and announcements synced to disk before the commit".into(),
        machine: machine(),
        figures: vec![
            if size <= BAR_SIZE { seconds.at_most(SECONDS_MAX) } else { seconds },
            Figure::rate("entries, against the store's own write of the same rows", size, &ours, &engine)
                .ratio_at_least(RATIO_MIN),
            Figure::rate("entries, against the bare database", size, &ours, &database),
        ],
        oracle: Oracle { checked: "every follower has the row once and was announced once".into(), held },
    })
}

/// Audiences from ten up to a size, each ten times the one before: what a follower costs must not grow.
pub async fn line(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Report> {
    let sizes = std::iter::successors(Some(FIRST_SIZE), |size| Some(size * 10))
        .take_while(|of| *of <= size.max(FIRST_SIZE));
    let (mut figures, mut held) = (Vec::new(), true);
    for size in sizes {
        let (mut ours, mut engine) = (Vec::new(), Vec::new());
        // A large one is its own average.
        for round in 1..=if size < 100_000 { ROUNDS } else { 1 } {
            progress(&format!("line: {size} followers, round {round}"));
            let dir = tempfile::tempdir()?;
            engine.push(bare(&dir.path().join("bare"), size).await?);
            let (took, all) = tell(dir.path(), size).await?;
            ours.push(took);
            held &= all;
        }
        figures.push(Figure::rate(&format!("entries, {size} followers"), size, &ours, &engine));
    }
    // From one that fills slices on: what is started once for each event weighs more in the small ones.
    if let (Some(small), Some(large)) =
        (figures.get(SLICES_FROM), figures.last().filter(|_| figures.len() > SLICES_FROM))
    {
        let name = "entries of the largest audience, against those of one with 10000";
        let figure = Figure::beside(name, large.value, "per second", small.value).ratio_at_least(LINE_MIN);
        figures.push(figure);
    }
    Ok(Report {
        bench: "line".into(),
        engine:
            "embedded, rows and announcements synced to disk before the commit; against the store's own write"
                .into(),
        machine: machine(),
        figures,
        oracle: Oracle { checked: "every follower has the row once and was announced once".into(), held },
    })
}

/// The bare loop: the same rows straight into the same store engine, a slice's worth at a time.
async fn bare(dir: &Path, size: usize) -> anyhow::Result<Duration> {
    let store = store::embedded::Embedded::open(dir)?;
    let (tenant, author) = (Tenant::new("bench")?, SubjectRef::new("author:1")?);
    let event = event(&tenant, &author, Millis(Clock::real(0).now()))?;
    let reason = Reason { kind: Kind::new("news")?, because: Because::Follows(author) };
    let (key, subject) = (event.entry_key(), event.subject.clone());
    let row = |person: Person| {
        let entry = Entry { key, reason: reason.clone(), subject: subject.clone(), actor: None };
        DayRows {
            key: DayKey { tenant: tenant.clone(), person, day: key.day() },
            rows: vec![Row::Entry(entry)],
        }
    };
    let mut took = Duration::ZERO;
    for some in persons(size)?.chunks(SLICE_PERSONS_MAX) {
        let rows: Vec<DayRows> = some.iter().cloned().map(row).collect();
        let watch = Stopwatch::start();
        store::Days::write(&store, rows, event.occurred).await?;
        took += watch.elapsed();
    }
    Ok(took)
}

fn persons(size: usize) -> anyhow::Result<Vec<Person>> {
    Ok((0..size).map(|n| Person::new(&format!("person-{n}"))).collect::<Result<_, _>>()?)
}

async fn tell(dir: &Path, size: usize) -> anyhow::Result<(Duration, bool)> {
    let clock = Clock::real(0);
    let topics: Arc<dyn Topics> =
        Arc::new(topic::embedded::Embedded::open(&dir.join("topics"), clock.clone())?);
    let store: Arc<dyn Store> = Arc::new(store::embedded::Embedded::open(&dir.join("store"))?);
    declare(&*topics).await?;
    let (tenant, author) = (Tenant::new("bench")?, SubjectRef::new("author:1")?);
    let persons = persons(size)?;
    for some in persons.chunks(SLICE_PERSONS_MAX) {
        let enrolment = |person: &Person| Enrolment {
            tenant: tenant.clone(),
            person: person.clone(),
            crowd: Crowd::Followers(author.clone()),
            version: 1,
            on: true,
        };
        store.enrol(some.iter().map(enrolment).collect()).await?;
    }
    let event = event(&tenant, &author, Millis(clock.now()))?;
    let took = through_the_room(&topics, &store, CATALOGUE, &event).await?;
    Ok((took, check(&*topics, &*store, &event, &persons).await?))
}

pub(crate) async fn declare(topics: &dyn Topics) -> anyhow::Result<()> {
    let keep = Retention::Milliseconds(i64::MAX);
    let spec = |(name, partitions): (&str, u32)| TopicSpec { name: name.into(), partitions, retention: keep };
    let specs = [(topics::EVENTS, 64), (topics::SLICES, 64), (topics::PENDING, 64), (topics::QUARANTINE, 1)];
    Ok(topics.declare(&specs.map(spec)).await?)
}

/// Has the real room tell one event, and returns how long that took.
pub(crate) async fn through_the_room(
    topics: &Arc<dyn Topics>,
    store: &Arc<dyn Store>,
    catalogue: &str,
    event: &Event,
) -> anyhow::Result<Duration> {
    let shutdown = Shutdown::default();
    let ports = fanout::Ports {
        partitions: Partitions::USUAL,
        topics: topics.clone(),
        store: store.clone(),
        catalogue: Arc::new(bench_catalogue(catalogue)?),
        clock: Clock::real(0),
        quiet: Quiet::default(),
        shutdown: shutdown.clone(),
        metrics: fanout::FanoutMetrics::declare(&Metrics::default())?,
    };
    let room = tokio::spawn(fanout::run(ports, fanout::Config { records_max: 100 }));
    let watch = Stopwatch::start();
    append(&**topics, event).await?;
    committed(&**topics).await?;
    let took = watch.elapsed();
    shutdown.start();
    room.await.context("fan-out")??;
    Ok(took)
}

fn bench_catalogue(text: &str) -> anyhow::Result<Catalogue> {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(text, "bench.yaml", &template).map_err(|problems| anyhow::anyhow!("{problems}"))
}

fn event(tenant: &Tenant, author: &SubjectRef, occurred: Millis) -> anyhow::Result<Event> {
    Ok(Event {
        tenant: tenant.clone(),
        key: EventKey::of(tenant, "bench", "1"),
        what: "work.added".into(),
        subject: SubjectRef::new("work:1")?,
        actor: None,
        occurred,
        persons: Vec::new(),
        state: State::at(1, [("author", Some(Value::Ref(author.clone())))]),
    })
}

async fn append(topics: &dyn Topics, event: &Event) -> anyhow::Result<()> {
    let record = NewRecord {
        topic: topics::EVENTS.into(),
        partition: Partitions::USUAL.of_subject(&event.tenant, &event.subject),
        key: wire::key::subject(&event.tenant, &event.subject),
        value: Some(wire::event::encode(event)?),
        headers: Vec::new(),
    };
    Ok(topics.append(vec![record]).await?)
}

/// Returns when the room has committed the event, and then every slice of it.
pub(crate) async fn committed(topics: &dyn Topics) -> anyhow::Result<()> {
    let clock = Clock::real(0);
    let watch = Stopwatch::start();
    let reads = [(fanout::config::GROUP, topics::EVENTS), (fanout::config::SLICES_GROUP, topics::SLICES)];
    // In this order: once the event is committed its first slice is there, and each commits with the next.
    for (group, topic) in reads {
        while !topics.standing(group, topic).await?.iter().all(|one| one.committed == one.end) {
            if watch.elapsed() > PATIENCE {
                bail!("the room did not commit within {} s", PATIENCE.as_secs());
            }
            clock.sleep_until(clock.now() + LOOK_MS).await;
        }
    }
    Ok(())
}

async fn check(
    topics: &dyn Topics,
    store: &dyn Store,
    event: &Event,
    persons: &[Person],
) -> anyhow::Result<bool> {
    let day = event.entry_key().day();
    let key = |person: &Person| DayKey { tenant: event.tenant.clone(), person: person.clone(), day };
    for some in persons.chunks(READ_AT_ONCE) {
        let keys: Vec<DayKey> = some.iter().map(key).collect();
        if store.read(&keys, event.occurred).await?.iter().any(|rows| rows.len() != 1) {
            return Ok(false);
        }
    }
    let mut announced = BTreeMap::new();
    for (partition, (mut from, end)) in (0..).zip(topics.bounds(topics::PENDING).await?) {
        while from < end {
            let records = topics.read(topics::PENDING, partition, from, READ_AT_ONCE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in &records {
                for one in wire::pending::decode(record.value.as_deref().unwrap_or_default())?.announcements {
                    *announced.entry(one.person).or_insert(0_u32) += 1;
                }
            }
        }
    }
    Ok(announced.len() == persons.len() && announced.values().all(|times| *times == 1))
}
