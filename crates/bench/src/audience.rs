//! One event to many followers: the real room reads it, resolves the audience, writes a row into each
//! person's day, announces all and commits. From the append of the event until the commit.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use catalogue::Catalogue;
use model::{
    Event, EventKey, Follow, Millis, Person, State, SubjectRef, Tenant, Value, entry::DayKey, partition,
};
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, metrics::Metrics};
use store::Store;
use topic::{NewRecord, Retention, TopicSpec, Topics};
use wire::topics;

use crate::{
    ROUNDS, raw,
    report::{Figure, Oracle, Report, machine},
    rows::ROW_BYTES,
};

const CATALOGUE: &str = r"
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

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Report> {
    let (mut ours, mut others, mut held) = (Vec::new(), Vec::new(), true);
    for round in 1..=ROUNDS {
        progress(&format!("fanout: round {round} of {ROUNDS}, {size} followers"));
        let dir = tempfile::tempdir()?;
        others.push(raw::write(&dir.path().join("raw"), size, ROW_BYTES, model::limits::SLICE_PERSONS_MAX)?);
        let (took, all) = tell(dir.path(), size).await?;
        ours.push(took);
        held &= all;
    }
    Ok(Report {
        bench: "fanout".into(),
        engine: "embedded, rows and announcements synced to disk before the commit".into(),
        machine: machine(),
        figures: vec![
            Figure::seconds("one event to all followers", &ours, &others),
            Figure::rate("entries", size, &ours, &others),
        ],
        oracle: Oracle { checked: "every follower has the row once and was announced once".into(), held },
    })
}

async fn tell(dir: &std::path::Path, size: usize) -> anyhow::Result<(Duration, bool)> {
    let clock = Clock::real(0);
    let topics: Arc<dyn Topics> =
        Arc::new(topic::embedded::Embedded::open(&dir.join("topics"), clock.clone())?);
    let store: Arc<dyn Store> = Arc::new(store::embedded::Embedded::open(&dir.join("store"))?);
    let keep = Retention::Milliseconds(i64::MAX);
    let specs = [(topics::EVENTS, 64), (topics::PENDING, 64), (topics::QUARANTINE, 1)]
        .map(|(name, partitions)| TopicSpec { name: name.into(), partitions, retention: keep });
    topics.declare(&specs).await?;
    let (tenant, author) = (Tenant::new("bench")?, SubjectRef::new("author:1")?);
    let persons: Vec<Person> =
        (0..size).map(|n| Person::new(&format!("person-{n}"))).collect::<Result<_, _>>()?;
    for some in persons.chunks(1_000) {
        let follow = |person: &Person| Follow {
            tenant: tenant.clone(),
            person: person.clone(),
            target: author.clone(),
            version: 1,
            on: true,
        };
        store.follow(some.iter().map(follow).collect()).await?;
    }
    let shutdown = Shutdown::default();
    let ports = fanout::Ports {
        topics: topics.clone(),
        store: store.clone(),
        catalogue: Arc::new(bench_catalogue()?),
        clock: clock.clone(),
        quiet: Quiet::default(),
        shutdown: shutdown.clone(),
        metrics: fanout::FanoutMetrics::declare(&Metrics::default())?,
    };
    let room = tokio::spawn(fanout::run(ports, fanout::Config { records_max: 100 }));
    let event = event(&tenant, &author, Millis(clock.now()))?;
    let watch = Stopwatch::start();
    append(&*topics, &event).await?;
    committed(&*topics).await?;
    let took = watch.elapsed();
    shutdown.start();
    room.await.context("fan-out")??;
    Ok((took, check(&*topics, &*store, &event, &persons).await?))
}

fn bench_catalogue() -> anyhow::Result<Catalogue> {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(CATALOGUE, "bench.yaml", &template).map_err(|problems| anyhow::anyhow!("{problems}"))
}

fn event(tenant: &Tenant, author: &SubjectRef, occurred: Millis) -> anyhow::Result<Event> {
    Ok(Event {
        tenant: tenant.clone(),
        key: EventKey::of(tenant, "bench", "1"),
        what: "work.added".into(),
        subject: SubjectRef::new("work:1")?,
        actor: None,
        occurred,
        state: State::at(1, [("author", Some(Value::Ref(author.clone())))]),
    })
}

async fn append(topics: &dyn Topics, event: &Event) -> anyhow::Result<()> {
    let record = NewRecord {
        topic: topics::EVENTS.into(),
        partition: partition::of_subject(&event.tenant, &event.subject),
        key: wire::key::subject(&event.tenant, &event.subject),
        value: Some(wire::event::encode(event)?),
    };
    Ok(topics.append(vec![record]).await?)
}

/// Returns when the room has committed the event.
async fn committed(topics: &dyn Topics) -> anyhow::Result<()> {
    let watch = Stopwatch::start();
    while watch.elapsed() < PATIENCE {
        let standing = topics.standing(fanout::config::GROUP, topics::EVENTS).await?;
        if standing.iter().all(|one| one.committed == one.end) {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    bail!("the room did not commit within {} s", PATIENCE.as_secs())
}

async fn check(
    topics: &dyn Topics,
    store: &dyn Store,
    event: &Event,
    persons: &[Person],
) -> anyhow::Result<bool> {
    let day = event.entry_key().day();
    let key = |person: &Person| DayKey { tenant: event.tenant.clone(), person: person.clone(), day };
    for some in persons.chunks(1_000) {
        let keys: Vec<DayKey> = some.iter().map(key).collect();
        if store.read(&keys, event.occurred).await?.iter().any(|rows| rows.len() != 1) {
            return Ok(false);
        }
    }
    let mut announced = std::collections::BTreeMap::new();
    for (partition, (_, end)) in (0..).zip(topics.bounds(topics::PENDING).await?) {
        let most = usize::try_from(end)?;
        for record in topics.read(topics::PENDING, partition, 0, most.max(1)).await? {
            for one in wire::pending::decode(record.value.as_deref().unwrap_or_default())?.announcements {
                *announced.entry(one.person).or_insert(0_u32) += 1;
            }
        }
    }
    Ok(announced.len() == persons.len() && announced.values().all(|times| *times == 1))
}
