//! The real room of the fan-out at work on any engines: one event at a time, from its append until the last
//! commit; what the event is, whom it is for, and whether all of them were told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use catalogue::Catalogue;
use model::{
    Because, Crowd, Day, Enrolment, Entry, Event, EventKey, Kind, Millis, Person, Reason, Row, State,
    SubjectRef, Tenant, Value, entry::DayKey, limits::SLICE_PERSONS_MAX, partition::Partitions,
};
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, metrics::Metrics};
use store::Store;
use tokio::task::JoinHandle;
use topic::{NewRecord, Retention, TopicSpec, Topics};
use wire::topics;

/// One kind for the followers of an author, one mail a day.
pub const CATALOGUE: &str = r"
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

/// The plan of it.
pub const PLAN: &str = "daily";

/// The same, but its windows close so long after they opened and tell so many.
pub fn closing_after(length: &str, most: usize) -> String {
    let close = CATALOGUE.replace("{daily: '09:00', zone: person}", &format!("{{after: {length}}}"));
    close.replace("most: 8", &format!("most: {most}"))
}

/// Give up on an event after this.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks: rarely enough not to be part of what is measured.
const LOOK_MS: i64 = 1;
/// Days and records read back at once.
const READ_AT_ONCE: usize = 1_000;

/// A room that runs.
pub struct Room {
    topics: Arc<dyn Topics>,
    shutdown: Shutdown,
    run: JoinHandle<anyhow::Result<()>>,
}

impl Room {
    /// Starts it, and returns when it has its partitions and waits.
    pub async fn start(
        topics: &Arc<dyn Topics>,
        store: &Arc<dyn Store>,
        catalogue: &str,
    ) -> anyhow::Result<Self> {
        let (shutdown, quiet) = (Shutdown::default(), Quiet::default());
        let ports = fanout::Ports {
            partitions: Partitions::USUAL,
            editions: model::edition::Editions::default(),
            topics: topics.clone(),
            store: store.clone(),
            catalogue: Arc::new(self::catalogue(catalogue)?),
            clock: Clock::real(0),
            quiet: quiet.clone(),
            shutdown: shutdown.clone(),
            metrics: fanout::FanoutMetrics::declare(&Metrics::default())?,
        };
        let mut run = tokio::spawn(fanout::run(ports, fanout::Config { records_max: 100 }));
        let waits = async {
            loop {
                let (is_idle, changes) = quiet.now();
                // Before it has begun nobody is at work either.
                if is_idle && changes > 0 {
                    return;
                }
                quiet.changed(changes).await;
            }
        };
        tokio::select! {
            () = waits => {}
            ended = &mut run => {
                ended.context("fan-out")?.context("fan-out")?;
                bail!("the room ended before it began");
            }
        }
        Ok(Self { topics: topics.clone(), shutdown, run })
    }

    pub async fn append(&self, event: &Event) -> anyhow::Result<()> {
        Ok(self.topics.append(vec![record(event)?]).await?)
    }

    /// Returns when the room has committed what was appended, and then every slice of it.
    pub async fn committed(&self) -> anyhow::Result<()> {
        let (clock, watch) = (Clock::real(0), Stopwatch::start());
        let reads = [(fanout::config::GROUP, topics::EVENTS), (fanout::config::SLICES_GROUP, topics::SLICES)];
        // In this order: once the event is committed its first slice is there, and each commits with the next.
        for (group, topic) in reads {
            while !self.topics.standing(group, topic).await?.iter().all(|one| one.committed == one.end) {
                if watch.elapsed() > PATIENCE {
                    bail!("the room did not commit within {} s", PATIENCE.as_secs());
                }
                clock.sleep_until(clock.now() + LOOK_MS).await;
            }
        }
        Ok(())
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.shutdown.start();
        (&mut self.run).await.context("fan-out")?
    }
}

impl Drop for Room {
    /// Also after a failure it must not go on with topics that are taken away.
    fn drop(&mut self) {
        self.shutdown.start();
    }
}

/// Has a room tell one event, and returns how long that took.
pub async fn through(
    topics: &Arc<dyn Topics>,
    store: &Arc<dyn Store>,
    catalogue: &str,
    event: &Event,
) -> anyhow::Result<Duration> {
    let room = Room::start(topics, store, catalogue).await?;
    let watch = Stopwatch::start();
    room.append(event).await?;
    room.committed().await?;
    let took = watch.elapsed();
    room.stop().await?;
    Ok(took)
}

pub async fn declare(topics: &dyn Topics) -> anyhow::Result<()> {
    let keep = Retention::Milliseconds(i64::MAX);
    let many = Partitions::USUAL.count();
    let spec = |(name, partitions): (&str, u32)| TopicSpec { name: name.into(), partitions, retention: keep };
    let specs =
        [(topics::EVENTS, many), (topics::SLICES, many), (topics::PENDING, many), (topics::QUARANTINE, 1)];
    Ok(topics.declare(&specs.map(spec)).await?)
}

pub fn catalogue(text: &str) -> anyhow::Result<Catalogue> {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(text, "bench.yaml", &template).map_err(|problems| anyhow::anyhow!("{problems}"))
}

/// The event of this number, of the author whom all persons follow.
pub fn event(number: usize) -> anyhow::Result<Event> {
    let (tenant, number) = (tenant()?, number.to_string());
    Ok(Event {
        key: EventKey::of(&tenant, "bench", &number),
        tenant,
        what: "work.added".into(),
        subject: SubjectRef::new(&format!("work:{number}"))?,
        actor: None,
        occurred: Millis(Clock::real(0).now()),
        persons: Vec::new(),
        state: State::at(1, [("author", Some(Value::Ref(author()?)))]),
    })
}

pub fn tenant() -> anyhow::Result<Tenant> {
    Ok(Tenant::new("bench")?)
}

fn author() -> anyhow::Result<SubjectRef> {
    Ok(SubjectRef::new("author:1")?)
}

/// An event as it lies in its topic.
pub fn record(event: &Event) -> anyhow::Result<NewRecord> {
    Ok(NewRecord {
        topic: topics::EVENTS.into(),
        partition: Partitions::USUAL.of_subject(&event.tenant, &event.subject),
        key: wire::key::subject(&event.tenant, &event.subject),
        value: Some(wire::event::encode(event)?),
        headers: Vec::new(),
    })
}

pub fn persons(size: usize) -> anyhow::Result<Vec<Person>> {
    Ok((0..size).map(|n| Person::new(&format!("person-{n}"))).collect::<Result<_, _>>()?)
}

/// Makes them follow the author.
pub async fn enrol(store: &dyn Store, persons: &[Person]) -> anyhow::Result<()> {
    let (tenant, crowd) = (tenant()?, Crowd::Followers(author()?));
    for some in persons.chunks(SLICE_PERSONS_MAX) {
        let enrolment = |person: &Person| Enrolment {
            tenant: tenant.clone(),
            person: person.clone(),
            crowd: crowd.clone(),
            version: 1,
            on: true,
        };
        store.enrol(some.iter().map(enrolment).collect()).await?;
    }
    Ok(())
}

/// The row that everybody gets of an event.
pub fn row(event: &Event) -> anyhow::Result<Row> {
    let reason = Reason { kind: Kind::new("news")?, because: Because::Follows(author()?) };
    Ok(Row::Entry(Entry { key: event.entry_key(), reason, subject: event.subject.clone(), actor: None }))
}

/// Whether every person has exactly one row of each of these events, and was announced once for each.
pub async fn all_told(
    topics: &dyn Topics,
    store: &dyn Store,
    events: &[Event],
    persons: &[Person],
) -> anyhow::Result<bool> {
    if !all_stored(store, &tenant()?, events, persons).await? {
        return Ok(false);
    }
    let announced = announced(topics).await?;
    Ok(announced.len() == persons.len() && announced.values().all(|times| *times == events.len()))
}

/// Whether every person of a tenant has exactly one row of each of these events.
pub async fn all_stored(
    store: &dyn Store,
    tenant: &Tenant,
    events: &[Event],
    persons: &[Person],
) -> anyhow::Result<bool> {
    let now = events.last().map_or(Millis(0), |event| event.occurred);
    let wanted: Vec<Row> = events.iter().map(row).collect::<Result<_, _>>()?;
    // Mostly one.
    let days: BTreeSet<Day> = events.iter().map(|event| event.entry_key().day()).collect();
    for some in persons.chunks(READ_AT_ONCE) {
        let key = |person: &Person, day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        let keys = some.iter().flat_map(|person| days.iter().map(move |day| (person, *day)));
        let keys: Vec<DayKey> = keys.map(|(person, day)| key(person, day)).collect();
        let read = store.read(&keys, now).await?;
        let is_all =
            |found: Vec<Row>| found.len() == wanted.len() && wanted.iter().all(|row| found.contains(row));
        if !read.chunks(days.len()).all(|found| is_all(found.concat())) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How often each person was announced.
async fn announced(topics: &dyn Topics) -> anyhow::Result<BTreeMap<Person, usize>> {
    let mut announced = BTreeMap::new();
    for (partition, (mut from, end)) in (0..).zip(topics.bounds(topics::PENDING).await?) {
        while from < end {
            let records = topics.read(topics::PENDING, partition, from, READ_AT_ONCE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in &records {
                for one in wire::pending::decode(record.value.as_deref().unwrap_or_default())?.announcements {
                    *announced.entry(one.person).or_default() += 1;
                }
            }
        }
    }
    Ok(announced)
}
