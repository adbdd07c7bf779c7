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
    AudienceMatch, Crowd, CrowdEnrolment, Day, DayRow, Entry, EntryReason, Event, EventKey, Kind, Person,
    SubjectRef, Tenant, UtcMillis, Value, VersionedState, entry::DayKey, limits::SLICE_PERSONS_MAX,
    partition::PartitionCount,
};
use runtime::{Clock, ShutdownSignal, clock::SteadyStopwatch, metrics::Metrics};
use store::Store;
use tokio::task::JoinHandle;
use topic::{NewRecord, TopicRetention, TopicSpec, Topics};
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
pub fn catalogue_closing_after(length: &str, most: usize) -> String {
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
pub struct FanoutBench {
    topics: Arc<dyn Topics>,
    shutdown: ShutdownSignal,
    run: JoinHandle<anyhow::Result<()>>,
}

impl FanoutBench {
    /// Starts it, and returns when it has its partitions and waits.
    pub async fn start(
        topics: &Arc<dyn Topics>,
        store: &Arc<dyn Store>,
        catalogue: &str,
        crowd_parts: usize,
    ) -> anyhow::Result<Self> {
        let catalogue = Arc::new(self::parse_catalogue(catalogue)?);
        let room = room::Deps::for_one_room(topics.clone(), store.clone(), catalogue, Clock::real(0));
        let (shutdown, quiet) = (room.shutdown.clone(), room.quiet.clone());
        let ports = fanout::Deps { room, metrics: fanout::FanoutMetrics::declare(&Metrics::default())? };
        let mut run = tokio::spawn(fanout::run(
            ports,
            fanout::Config { records_max: 100, crowd_parts, ..fanout::Config::default() },
        ));
        let waits = async {
            loop {
                let (is_idle, changes) = quiet.idle_state();
                // Before it has begun nobody is at work either.
                if is_idle && changes > 0 {
                    return;
                }
                quiet.wait_for_change(changes).await;
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
        Ok(self.topics.append(vec![event_record(event)?]).await?)
    }

    /// Returns when the room has committed what was appended, and then every slice of it.
    pub async fn await_commit(&self) -> anyhow::Result<()> {
        await_fanout(&*self.topics).await
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.shutdown.start();
        (&mut self.run).await.context("fan-out")?
    }
}

impl Drop for FanoutBench {
    /// Also after a failure it must not go on with topics that are taken away.
    fn drop(&mut self) {
        self.shutdown.start();
    }
}

/// Returns when fan-out has committed what was appended, and then every slice of it.
pub async fn await_fanout(topics: &dyn Topics) -> anyhow::Result<()> {
    let (clock, watch) = (Clock::real(0), SteadyStopwatch::start());
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

/// Has a room tell one event, and returns how long that took.
pub async fn time_event(
    topics: &Arc<dyn Topics>,
    store: &Arc<dyn Store>,
    catalogue: &str,
    event: &Event,
) -> anyhow::Result<Duration> {
    let room = FanoutBench::start(topics, store, catalogue, 1).await?;
    let watch = SteadyStopwatch::start();
    room.append(event).await?;
    room.await_commit().await?;
    let took = watch.elapsed();
    room.stop().await?;
    Ok(took)
}

pub async fn declare_topics(topics: &dyn Topics) -> anyhow::Result<()> {
    let keep = TopicRetention::Milliseconds(i64::MAX);
    let many = PartitionCount::USUAL.count();
    let spec = |(name, partitions): (&str, u32)| TopicSpec { name: name.into(), partitions, retention: keep };
    let specs =
        [(topics::EVENTS, many), (topics::SLICES, many), (topics::PENDING, many), (topics::QUARANTINE, 1)];
    let specs = specs.map(spec);
    Ok(topics.declare(&specs).await?)
}

pub fn parse_catalogue(text: &str) -> anyhow::Result<Catalogue> {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(text, "bench.yaml", &template).map_err(|problems| anyhow::anyhow!("{problems}"))
}

/// The event of this number, of the author whom all persons follow.
pub fn numbered_event(number: usize) -> anyhow::Result<Event> {
    let (tenant, number) = (bench_tenant()?, number.to_string());
    Ok(Event {
        key: EventKey::from_source_id(&tenant, "bench", &number),
        tenant,
        what: "work.added".into(),
        subject: SubjectRef::new(&format!("work:{number}"))?,
        actor: None,
        occurred: UtcMillis(Clock::real(0).now()),
        persons: Vec::new(),
        state: VersionedState::from_values(1, [("author", Some(Value::Ref(author_ref()?)))]),
    })
}

pub fn bench_tenant() -> anyhow::Result<Tenant> {
    Ok(Tenant::new("bench")?)
}

fn author_ref() -> anyhow::Result<SubjectRef> {
    Ok(SubjectRef::new("author:1")?)
}

/// An event as it lies in its topic.
pub fn event_record(event: &Event) -> anyhow::Result<NewRecord> {
    Ok(room::records::event_record(event, Vec::new(), PartitionCount::USUAL)?)
}

pub fn numbered_persons(size: usize) -> anyhow::Result<Vec<Person>> {
    Ok((0..size).map(|n| Person::new(&format!("person-{n}"))).collect::<Result<_, _>>()?)
}

/// Makes them follow the author.
pub async fn enrol_followers(store: &dyn Store, persons: &[Person]) -> anyhow::Result<()> {
    let (tenant, crowd) = (bench_tenant()?, Crowd::Followers(author_ref()?));
    for some in persons.chunks(SLICE_PERSONS_MAX) {
        let enrolment = |person: &Person| CrowdEnrolment {
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
pub fn entry_row(event: &Event) -> anyhow::Result<DayRow> {
    let reason = EntryReason { kind: Kind::new("news")?, because: AudienceMatch::Follows(author_ref()?) };
    Ok(DayRow::Entry(Entry {
        key: event.entry_key(),
        reason,
        subject: event.subject.clone(),
        actor: None,
        kept: model::KeptFields::new(),
    }))
}

/// Whether every person has exactly one row of each of these events, and was announced once for each.
pub async fn is_everyone_told(
    topics: &dyn Topics,
    store: &dyn Store,
    events: &[Event],
    persons: &[Person],
) -> anyhow::Result<bool> {
    if !is_all_stored(store, &bench_tenant()?, events, persons).await? {
        return Ok(false);
    }
    let announced = count_announcements(topics).await?;
    Ok(announced.len() == persons.len() && announced.values().all(|times| *times == events.len()))
}

/// Whether every person of a tenant has exactly one row of each of these events.
pub async fn is_all_stored(
    store: &dyn Store,
    tenant: &Tenant,
    events: &[Event],
    persons: &[Person],
) -> anyhow::Result<bool> {
    let now = events.last().map_or(UtcMillis(0), |event| event.occurred);
    let wanted: Vec<DayRow> = events.iter().map(entry_row).collect::<Result<_, _>>()?;
    // Mostly one.
    let days: BTreeSet<Day> = events.iter().map(|event| event.entry_key().day()).collect();
    for some in persons.chunks(READ_AT_ONCE) {
        let key = |person: &Person, day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        let keys = some.iter().flat_map(|person| days.iter().map(move |day| (person, *day)));
        let keys: Vec<DayKey> = keys.map(|(person, day)| key(person, day)).collect();
        let read = store.read(&keys, now).await?;
        let is_all =
            |found: Vec<DayRow>| found.len() == wanted.len() && wanted.iter().all(|row| found.contains(row));
        if !read.chunks(days.len()).all(|found| is_all(found.concat())) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How often each person was announced.
async fn count_announcements(topics: &dyn Topics) -> anyhow::Result<BTreeMap<Person, usize>> {
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
