//! Reading events: consumed, decoded, and routed as the room of the fan-out does it, up to where it asks the
//! store; beside a bare loop that reads and decodes the same records.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, bail, ensure};
use catalogue::Catalogue;
use model::{
    Crowd, Event, EventKey, Person, SubjectRef, UtcMillis, Value, VersionedState, partition::PartitionCount,
};
use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
};
use runtime::{Clock, clock::SteadyStopwatch};
use tokio::task::spawn_blocking;
use topic::{GroupMembership, MemberEvent, RecordBatch, Topics, TurnGuarantee};
use wire::topics;

use crate::{
    clusters::{BenchClusters, run_on_log},
    fanout_room::{self, CATALOGUE},
    raw_loop,
    report::{BenchFigure, BenchReport},
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
struct RouteChecksum {
    events: usize,
    decoded: u64,
    routed: u64,
}

impl RouteChecksum {
    fn add_decoded(&mut self, event: &Event) {
        let [a, b, c, d, e, f, g, h, ..] = event.key.0;
        self.events += 1;
        self.decoded = self.decoded.wrapping_add(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        self.decoded = self.decoded.wrapping_add(event.state.cells.len() as u64);
    }

    fn add_routed(&mut self, author: &SubjectRef) {
        let number = author.as_str().trim_start_matches("author:").parse::<u64>();
        self.routed = self.routed.wrapping_add(number.unwrap_or(u64::MAX));
    }
}

/// On the embedded engine, against its own library.
pub async fn run_embedded(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let dir = tempfile::tempdir()?;
    let topics: Arc<dyn Topics> =
        Arc::new(topic::embedded::EmbeddedTopics::open(&dir.path().join("topics"), Clock::real(0))?);
    let expected = write_events(&*topics, size, progress).await?;
    let values = (0..size).map(|number| Ok(wire::event::encode(&upstream_event(number)?)?));
    let raw = raw_loop::RawKeyspace::write(&dir.path().join("raw"), values)?;
    let bare = || async {
        let raw = raw.clone();
        spawn_blocking(move || {
            let (mut seen, watch) = (RouteChecksum::default(), SteadyStopwatch::start());
            raw.for_each_value(|value| {
                seen.add_decoded(&wire::event::decode(value)?);
                Ok(())
            })?;
            Ok((watch.elapsed(), seen))
        })
        .await?
    };
    let (ours, bare, held) = run_pairs(size, &topics, expected, bare, progress).await?;
    let figure =
        BenchFigure::rate("events read, decoded and routed, against the bare database", size, &ours, &bare);
    Ok(build_report("embedded".into(), figure, held))
}

/// On Kafka, against librdkafka alone.
pub async fn run_on_clusters(
    size: usize,
    clusters: &BenchClusters,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let (says, (ours, bare, held)) = run_on_log(clusters, async |log| {
        let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
        let expected = write_events(&*topics, size, progress).await?;
        let bare = || async {
            let (settings, wire) = (log.settings.clone(), log.wire_name(topics::EVENTS));
            spawn_blocking(move || poll_bare(&settings, &wire, size)).await?
        };
        Ok((log.says.clone(), run_pairs(size, &topics, expected, bare, progress).await?))
    })
    .await?;
    let name = "events read, decoded and routed, against a bare loop that polls and decodes";
    let figure = BenchFigure::rate(name, size, &ours, &bare).ratio_at_least(RATIO_MIN);
    Ok(build_report(format!("{says}, partitions: {}", PartitionCount::USUAL.count()), figure, held))
}

fn build_report(engine: String, figure: BenchFigure, held: bool) -> BenchReport {
    let checked =
        "both saw every event once and decoded the same, and each was routed to its author's followers";
    BenchReport::new("route", engine, vec![figure], (checked, held))
}

/// Writes all events once. Returns what a reader must see.
async fn write_events(
    topics: &dyn Topics,
    size: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<RouteChecksum> {
    progress(&format!("route: {size} events are written"));
    fanout_room::declare_topics(topics).await?;
    let mut seen = RouteChecksum::default();
    for first in (0..size).step_by(AT_ONCE) {
        let mut records = Vec::with_capacity(AT_ONCE);
        for number in first..size.min(first + AT_ONCE) {
            let event = upstream_event(number)?;
            seen.add_decoded(&event);
            seen.add_routed(&author_ref(number)?);
            records.push(fanout_room::event_record(&event)?);
        }
        topics.append(records).await?;
    }
    Ok(seen)
}

/// An event as upstream services have them.
fn upstream_event(number: usize) -> anyhow::Result<Event> {
    let cells = [
        ("title", Value::from_text(&format!("An evening at the museum, part {number}"))),
        ("author", Value::Ref(author_ref(number)?)),
        ("price", Value::Number(12.5)),
        ("open", Value::Flag(true)),
    ];
    let plain = fanout_room::numbered_event(number)?;
    Ok(Event {
        key: EventKey::from_source_id(&plain.tenant, "bench", &number.to_string()),
        actor: Some(Person::new(&format!("person-{number}"))?.into()),
        state: VersionedState::from_values(1, cells.map(|(name, value)| (name, Some(value)))),
        ..plain
    })
}

fn author_ref(number: usize) -> anyhow::Result<SubjectRef> {
    Ok(SubjectRef::new(&format!("author:{}", number % AUTHORS))?)
}

/// Our reading and the bare one in turn; how long each took, and whether each saw all there is.
async fn run_pairs<F: Future<Output = anyhow::Result<(Duration, RouteChecksum)>>>(
    size: usize,
    topics: &Arc<dyn Topics>,
    expected: RouteChecksum,
    bare: impl Fn() -> F,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Vec<Duration>, Vec<Duration>, bool)> {
    let catalogue = Arc::new(fanout_room::parse_catalogue(CATALOGUE)?);
    let (mut ours, mut others, mut held) = (Vec::new(), Vec::new(), true);
    for round in 1..=WARM_ROUNDS + ROUNDS {
        progress(&format!("route: round {round} of {}", WARM_ROUNDS + ROUNDS));
        let (topics, catalogue, group) = (topics.clone(), catalogue.clone(), format!("route-{round}"));
        // On a thread of the runtime, as a room is.
        let read = tokio::spawn(async move { read_events(&*topics, &group, size, &catalogue).await });
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
async fn read_events(
    topics: &dyn Topics,
    group: &str,
    size: usize,
    catalogue: &Catalogue,
) -> anyhow::Result<(Duration, RouteChecksum)> {
    let (companions, state, mode) = (Vec::new(), None, TurnGuarantee::Plain);
    let membership =
        GroupMembership { group: group.into(), lead: topics::EVENTS.into(), companions, state, mode };
    let mut member = topics.join(membership).await?;
    let (mut seen, mut watch) = (RouteChecksum::default(), SteadyStopwatch::start());
    while seen.events < size {
        let next = member.next(fanout::config::RECORDS_MAX);
        match tokio::time::timeout(PATIENCE, next).await.context("no record came")?? {
            MemberEvent::Assigned(_) => watch = SteadyStopwatch::start(),
            MemberEvent::Revoked(partitions) => ensure!(partitions.is_empty(), "somebody else reads too"),
            MemberEvent::Records(batch) => route_batch(&batch, catalogue, &mut seen)?,
        }
    }
    Ok((watch.elapsed(), seen))
}

/// The room's own decision about a turn, up to where it asks the store.
fn route_batch(batch: &RecordBatch, catalogue: &Catalogue, seen: &mut RouteChecksum) -> anyhow::Result<()> {
    let (now, nothing) = (UtcMillis(Clock::real(0).now()), VersionedState::default());
    let mut records = batch.records.iter();
    while !records.as_slice().is_empty() {
        let read = fanout::read::read_events(&mut records, catalogue.day_life, now)?;
        ensure!(read.rejects.is_empty() && read.expired == 0, "an event could not be read");
        for heard in &read.told {
            seen.add_decoded(&heard.what);
            ensure!(fanout::facts::unstated_subject(&heard.what, catalogue).is_none(), "an event states all");
            for slice in
                fanout::decide::find_reach(heard, &nothing, catalogue, fanout::config::INLINE_PERSONS_MAX)
                    .slices
            {
                for crowd in &slice.crowds {
                    if let Crowd::Followers(author) = crowd {
                        seen.add_routed(author);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The bare loop: librdkafka's consumer with what it fetches best with, and the decoder. Blocks.
fn poll_bare(
    settings: &topic_kafka::Settings,
    wire: &str,
    size: usize,
) -> anyhow::Result<(Duration, RouteChecksum)> {
    let consumer: BaseConsumer = topic_kafka::client_config(settings)
        .set("group.id", format!("{}bare", settings.prefix))
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("fetch.queue.backoff.ms", "20")
        .create()
        .context("open a consumer")?;
    let mut places = TopicPartitionList::new();
    for partition in 0..i32::try_from(PartitionCount::USUAL.count())? {
        places.add_partition_offset(wire, partition, Offset::Beginning)?;
    }
    consumer.fetch_metadata(Some(wire), PATIENCE).context("ask for the topic")?;
    let (mut seen, watch) = (RouteChecksum::default(), SteadyStopwatch::start());
    consumer.assign(&places)?;
    while seen.events < size {
        match consumer.poll(PATIENCE) {
            Some(Ok(message)) => {
                seen.add_decoded(&wire::event::decode(message.payload().unwrap_or_default())?);
            }
            Some(Err(error)) => return Err(error).context("the bare loop"),
            None => bail!("no record came"),
        }
    }
    Ok((watch.elapsed(), seen))
}
