//! Reading events: consumed, decoded, and routed as the room of the fan-out does it, up to where it asks the
//! store; beside a bare loop that reads and decodes the same records.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, bail, ensure};
use catalogue::Catalogue;
use model::{Crowd, Event, EventKey, Millis, Person, State, SubjectRef, Value, partition::Partitions};
use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
};
use runtime::{Clock, clock::Stopwatch};
use tokio::task::spawn_blocking;
use topic::{Batch, Happening, Membership, Mode, Topics};
use wire::topics;

use crate::{
    clusters::{Clusters, Log, stoppable},
    raw,
    report::{Figure, Oracle, Report, machine},
    room::{self, CATALOGUE},
};

/// Pairs, after those that only warm up.
const ROUNDS: usize = 9;
const WARM_ROUNDS: usize = 1;
/// Records appended at once.
const AT_ONCE: usize = 5_000;
/// Authors, so that routes differ.
const AUTHORS: usize = 5_000;
/// At least so much of the bare loop's speed, on a cluster.
const RATIO_MIN: f64 = 0.8;
/// Without a record for so long a reader gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a reader saw: nothing may be missing, come twice, or be decoded or routed to something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    events: usize,
    decoded: u64,
    routed: u64,
}

impl Seen {
    fn decoded(&mut self, event: &Event) {
        let [a, b, c, d, e, f, g, h, ..] = event.key.0;
        self.events += 1;
        self.decoded = self.decoded.wrapping_add(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        self.decoded = self.decoded.wrapping_add(event.state.cells.len() as u64);
    }

    fn routed(&mut self, author: &SubjectRef) {
        let number = author.as_str().trim_start_matches("author:").parse::<u64>();
        self.routed = self.routed.wrapping_add(number.unwrap_or(u64::MAX));
    }
}

/// On the embedded engine, against its own library.
pub async fn embedded(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Report> {
    let dir = tempfile::tempdir()?;
    let topics: Arc<dyn Topics> =
        Arc::new(topic::embedded::Embedded::open(&dir.path().join("topics"), Clock::real(0))?);
    let expected = fill(&*topics, size, progress).await?;
    let values = (0..size).map(|number| Ok(wire::event::encode(&event(number)?)?));
    let raw = raw::Values::write(&dir.path().join("raw"), values)?;
    let bare = || async {
        let raw = raw.clone();
        spawn_blocking(move || {
            let (mut seen, watch) = (Seen::default(), Stopwatch::start());
            raw.each(|value| {
                seen.decoded(&wire::event::decode(value)?);
                Ok(())
            })?;
            Ok((watch.elapsed(), seen))
        })
        .await?
    };
    let (ours, bare, held) = pairs(size, &topics, expected, bare, progress).await?;
    let figure =
        Figure::rate("events read, decoded and routed, against the bare database", size, &ours, &bare);
    Ok(report("embedded".into(), figure, held))
}

/// On Kafka, against librdkafka alone.
pub async fn production(
    size: usize,
    clusters: &Clusters,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Report> {
    let log = Log::open(clusters).await?;
    let measured = stoppable(async {
        let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
        let expected = fill(&*topics, size, progress).await?;
        let bare = || async {
            let (settings, wire) = (log.settings.clone(), log.wire(topics::EVENTS));
            spawn_blocking(move || poll(&settings, &wire, size)).await?
        };
        pairs(size, &topics, expected, bare, progress).await
    })
    .await;
    let says = log.says.clone();
    let ended = log.end().await;
    let (ours, bare, held) = measured?;
    ended?;
    let name = "events read, decoded and routed, against a bare loop that polls and decodes";
    let figure = Figure::rate(name, size, &ours, &bare).ratio_at_least(RATIO_MIN);
    Ok(report(format!("{says}, partitions: {}", Partitions::USUAL.count()), figure, held))
}

fn report(engine: String, figure: Figure, held: bool) -> Report {
    let checked =
        "both saw every event once and decoded the same, and each was routed to its author's followers";
    Report {
        bench: "route".into(),
        engine,
        machine: machine(),
        figures: vec![figure],
        oracle: Oracle { checked: checked.into(), held },
    }
}

/// Writes all events once. Returns what a reader must see.
async fn fill(topics: &dyn Topics, size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Seen> {
    progress(&format!("route: {size} events are written"));
    room::declare(topics).await?;
    let mut seen = Seen::default();
    for first in (0..size).step_by(AT_ONCE) {
        let mut records = Vec::with_capacity(AT_ONCE);
        for number in first..size.min(first + AT_ONCE) {
            let event = event(number)?;
            seen.decoded(&event);
            seen.routed(&author(number)?);
            records.push(room::record(&event)?);
        }
        topics.append(records).await?;
    }
    Ok(seen)
}

/// An event as upstream services have them.
fn event(number: usize) -> anyhow::Result<Event> {
    let cells = [
        ("title", Value::text(&format!("An evening at the museum, part {number}"))),
        ("author", Value::Ref(author(number)?)),
        ("price", Value::Number(12.5)),
        ("open", Value::Flag(true)),
    ];
    let plain = room::event(number)?;
    Ok(Event {
        key: EventKey::of(&plain.tenant, "bench", &number.to_string()),
        actor: Some(Person::new(&format!("person-{number}"))?),
        state: State::at(1, cells.map(|(name, value)| (name, Some(value)))),
        ..plain
    })
}

fn author(number: usize) -> anyhow::Result<SubjectRef> {
    Ok(SubjectRef::new(&format!("author:{}", number % AUTHORS))?)
}

/// Our reading and the bare one in turn; how long each took, and whether each saw all there is.
async fn pairs<F: Future<Output = anyhow::Result<(Duration, Seen)>>>(
    size: usize,
    topics: &Arc<dyn Topics>,
    expected: Seen,
    bare: impl Fn() -> F,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Vec<Duration>, Vec<Duration>, bool)> {
    let catalogue = Arc::new(room::catalogue(CATALOGUE)?);
    let (mut ours, mut others, mut held) = (Vec::new(), Vec::new(), true);
    for round in 1..=WARM_ROUNDS + ROUNDS {
        progress(&format!("route: round {round} of {}", WARM_ROUNDS + ROUNDS));
        let (topics, catalogue, group) = (topics.clone(), catalogue.clone(), format!("route-{round}"));
        // On a thread of the runtime, as a room is.
        let read = tokio::spawn(async move { read(&*topics, &group, size, &catalogue).await });
        let (ours_took, seen) = read.await.context("our reader")??;
        held &= seen == expected;
        let (bare_took, seen) = bare().await?;
        held &= (seen.events, seen.decoded) == (expected.events, expected.decoded);
        if round > WARM_ROUNDS {
            ours.push(ours_took);
            others.push(bare_took);
        }
    }
    Ok((ours, others, held))
}

/// Reads all as the room does: a new member of a group, from the moment that it has its partitions.
async fn read(
    topics: &dyn Topics,
    group: &str,
    size: usize,
    catalogue: &Catalogue,
) -> anyhow::Result<(Duration, Seen)> {
    let (companions, state, mode) = (Vec::new(), None, Mode::Plain);
    let membership = Membership { group: group.into(), lead: topics::EVENTS.into(), companions, state, mode };
    let mut member = topics.join(membership).await?;
    let (mut seen, mut watch) = (Seen::default(), Stopwatch::start());
    while seen.events < size {
        let next = member.next(fanout::config::RECORDS_MAX);
        match tokio::time::timeout(PATIENCE, next).await.context("no record came")?? {
            Happening::Assigned(_) => watch = Stopwatch::start(),
            Happening::Revoked(partitions) => ensure!(partitions.is_empty(), "somebody else reads too"),
            Happening::Records(batch) => route(&batch, catalogue, &mut seen)?,
        }
    }
    Ok((watch.elapsed(), seen))
}

/// The room's own decision about a turn, up to where it asks the store.
fn route(batch: &Batch, catalogue: &Catalogue, seen: &mut Seen) -> anyhow::Result<()> {
    let (now, nothing) = (Millis(Clock::real(0).now()), State::default());
    let mut records = batch.records.iter();
    while !records.as_slice().is_empty() {
        let read = fanout::read::events(&mut records, now)?;
        ensure!(read.rejects.is_empty() && read.expired == 0, "an event could not be read");
        for heard in &read.told {
            seen.decoded(&heard.what);
            ensure!(fanout::reach::unstated(&heard.what, catalogue).is_none(), "an event states all");
            for slice in
                fanout::reach::reach(heard, &nothing, catalogue, fanout::config::INLINE_PERSONS_MAX).slices
            {
                for crowd in &slice.crowds {
                    if let Crowd::Followers(author) = crowd {
                        seen.routed(author);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The bare loop: librdkafka's consumer with what it fetches best with, and the decoder. Blocks.
fn poll(settings: &topic_kafka::Settings, wire: &str, size: usize) -> anyhow::Result<(Duration, Seen)> {
    let consumer: BaseConsumer = topic_kafka::client_config(settings)
        .set("group.id", format!("{}bare", settings.prefix))
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("fetch.queue.backoff.ms", "20")
        .create()
        .context("open a consumer")?;
    let mut places = TopicPartitionList::new();
    for partition in 0..i32::try_from(Partitions::USUAL.count())? {
        places.add_partition_offset(wire, partition, Offset::Beginning)?;
    }
    consumer.fetch_metadata(Some(wire), PATIENCE).context("ask for the topic")?;
    let (mut seen, watch) = (Seen::default(), Stopwatch::start());
    consumer.assign(&places)?;
    while seen.events < size {
        match consumer.poll(PATIENCE) {
            Some(Ok(message)) => seen.decoded(&wire::event::decode(message.payload().unwrap_or_default())?),
            Some(Err(error)) => return Err(error).context("the bare loop"),
            None => bail!("no record came"),
        }
    }
    Ok((watch.elapsed(), seen))
}
