//! The digest beside Kafka Streams: both gather the same records of the same topic per person in windows of half
//! an hour and tell each person once. Ours also looks up each person, and reads their day at closing.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use model::partition::PartitionCount;
use store::Store;
use store_embedded::EmbeddedStore;
use tokio::task::spawn_blocking;
use topic::{TopicRetention, TopicSpec, Topics};
use topic_kafka::settings::StampSource;
use wire::topics;

use crate::{
    clusters::{BenchClusters, ClusterLog, run_on_log},
    digest_room::DigestLoad,
    report::{BenchFigure, BenchReport},
    streams_peer::StreamsPeer,
};

/// So many times as quick as the peer.
const RATIO_MIN: f64 = 10.0;
/// Where the peer tells.
const PEER: &str = "peer";

pub async fn run(
    size: usize,
    clusters: &BenchClusters,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let peer = StreamsPeer::find_or_build(&|what| progress(what))?;
    let news = DigestLoad::new(size)?;
    let (records, persons) = (news.records(), news.persons());
    // The peer moves time on by stamps of its own, which a broker's would write over.
    let kafka = topic_kafka::Settings { stamps: StampSource::Clock, ..clusters.kafka.clone() };
    let clusters = &BenchClusters { kafka, ..clusters.clone() };
    let (says, (ours, theirs, held)) = run_on_log(clusters, async |log| {
        Ok((log.says.clone(), measure_beside(&news, log, peer, progress).await?))
    })
    .await?;
    // Topics of its own, for both rooms read `pending`.
    let (packed, held_packed) =
        run_on_log(clusters, async |log| measure_packed(&news, log, progress).await).await?;
    let name = |how: &str| format!("announcements told, {how}, against Kafka Streams");
    let engine = format!(
        "{says}, partitions: {}; {persons} persons; days in the embedded store",
        PartitionCount::USUAL.count()
    );
    let figures = vec![
        BenchFigure::rate(&name("the same records"), records, &[ours], &[theirs]).ratio_at_least(RATIO_MIN),
        BenchFigure::rate(&name("packed as the fan-out packs them"), records, &[packed], &[theirs]),
    ];
    let checked = "both told everybody once, and of every announcement";
    Ok(BenchReport::new("streams", engine, figures, (checked, held && held_packed)))
}

/// Both on the same topic, ours first: the peer writes into what it reads, to move time on.
async fn measure_beside(
    news: &DigestLoad,
    log: &ClusterLog,
    peer: StreamsPeer,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Duration, Duration, bool)> {
    let (ours, held) = measure_digest(news, log, false, progress).await?;
    progress("streams: Kafka Streams reads the same topic");
    let (brokers, from, to) =
        (log.settings.brokers.clone(), log.wire_name(topics::PENDING), log.wire_name(PEER));
    let size = (news.records(), news.persons());
    let ran = spawn_blocking(move || peer.run(&brokers, [&from, &to], size));
    let told = ran.await.context("the peer")??;
    progress(&format!(
        "streams: it took {:?} and {} s of its processors",
        told.elapsed_time(),
        told.cpu_seconds
    ));
    Ok((ours, told.elapsed_time(), held && told.is_complete(size)))
}

async fn measure_packed(
    news: &DigestLoad,
    log: &ClusterLog,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Duration, bool)> {
    measure_digest(news, log, true, progress).await
}

/// Our stage on topics that are made for it.
async fn measure_digest(
    news: &DigestLoad,
    log: &ClusterLog,
    packed: bool,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Duration, bool)> {
    let how = if packed { "packed" } else { "a person a record" };
    progress(&format!("streams: {} announcements are written, {how}", news.records()));
    let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
    topics.declare(&topic_specs()).await?;
    let dir = tempfile::tempdir()?;
    let store = open_store(dir.path())?;
    news.fill(&*store).await?;
    news.announce(&*topics, packed).await?;
    progress("streams: the digest tells them");
    let took = news.time_digest(&topics, store).await?;
    Ok((took, news.is_all_told(&*topics).await?))
}

fn open_store(dir: &Path) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(EmbeddedStore::open(&dir.join("store"))?))
}

/// What the digest reads and writes, and where the peer tells.
fn topic_specs() -> Vec<TopicSpec> {
    let many = PartitionCount::USUAL.count();
    let spec = |name: &str, partitions, retention| TopicSpec { name: name.into(), partitions, retention };
    let kept = |name, partitions| spec(name, partitions, TopicRetention::Milliseconds(i64::MAX));
    let mut specs =
        [topics::PENDING, topics::INBOX, topics::READY, PEER].map(|name| kept(name, many)).to_vec();
    specs.extend([kept(topics::QUARANTINE, 1), spec(topics::WINDOWS, many, TopicRetention::Compacted)]);
    specs
}
