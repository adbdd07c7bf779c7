//! The digest beside Kafka Streams: both gather the same records of the same topic per person in windows of half
//! an hour and tell each person once. Ours also looks up each person, and reads their day at closing.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use model::partition::Partitions;
use store::{Store, embedded::Embedded};
use tokio::task::spawn_blocking;
use topic::{Retention, TopicSpec, Topics};
use topic_kafka::settings::Stamps;
use wire::topics;

use crate::{
    closings::News,
    clusters::{Clusters, Log, stoppable},
    peer::Peer,
    report::{Figure, Oracle, Report, machine},
};

/// So many times as quick as the peer.
const RATIO_MIN: f64 = 10.0;
/// Where the peer tells.
const PEER: &str = "peer";

pub async fn run(
    size: usize,
    clusters: &Clusters,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Report> {
    let peer = Peer::find(&|what| progress(what))?;
    let news = News::new(size)?;
    let (records, persons) = (news.records(), news.persons());
    // The peer moves time on by stamps of its own, which a broker's would write over.
    let kafka = topic_kafka::Settings { stamps: Stamps::Clock, ..clusters.kafka.clone() };
    let clusters = &Clusters { kafka, ..clusters.clone() };
    let log = Log::open(clusters).await?;
    let measured = stoppable(Box::pin(beside(&news, &log, peer, progress))).await;
    let says = log.says.clone();
    let ended = log.end().await;
    let (ours, theirs, held) = measured?;
    ended?;
    // Topics of its own, for both rooms read `pending`.
    let log = Log::open(clusters).await?;
    let packed = stoppable(Box::pin(packed(&news, &log, progress))).await;
    let ended = log.end().await;
    let (packed, held_packed) = packed?;
    ended?;
    let name = |how: &str| format!("announcements told, {how}, against Kafka Streams");
    Ok(Report {
        bench: "streams".into(),
        engine: format!(
            "{says}, partitions: {}; {persons} persons; days in the embedded store",
            Partitions::USUAL.count()
        ),
        machine: machine(),
        figures: vec![
            Figure::rate(&name("the same records"), records, &[ours], &[theirs]).ratio_at_least(RATIO_MIN),
            Figure::rate(&name("packed as the fan-out packs them"), records, &[packed], &[theirs]),
        ],
        oracle: Oracle {
            checked: "both told everybody once, and of every announcement".into(),
            held: held && held_packed,
        },
    })
}

/// Both on the same topic, ours first: the peer writes into what it reads, to move time on.
async fn beside(
    news: &News,
    log: &Log,
    peer: Peer,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Duration, Duration, bool)> {
    let (ours, held) = ours(news, log, false, progress).await?;
    progress("streams: Kafka Streams reads the same topic");
    let (brokers, from, to) = (log.settings.brokers.clone(), log.wire(topics::PENDING), log.wire(PEER));
    let size = (news.records(), news.persons());
    let ran = spawn_blocking(move || peer.run(&brokers, [&from, &to], size));
    let told = ran.await.context("the peer")??;
    progress(&format!("streams: it took {:?} and {} s of its processors", told.took(), told.cpu_seconds));
    Ok((ours, told.took(), held && told.is_all(size)))
}

async fn packed(
    news: &News,
    log: &Log,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Duration, bool)> {
    ours(news, log, true, progress).await
}

/// Our stage on topics that are made for it.
async fn ours(
    news: &News,
    log: &Log,
    packed: bool,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Duration, bool)> {
    let how = if packed { "packed" } else { "a person a record" };
    progress(&format!("streams: {} announcements are written, {how}", news.records()));
    let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
    topics.declare(&specs()).await?;
    let dir = tempfile::tempdir()?;
    let store = open(dir.path())?;
    news.fill(&*store).await?;
    news.announce(&*topics, packed).await?;
    progress("streams: the digest tells them");
    let took = news.tell(&topics, store).await?;
    Ok((took, news.all_told(&*topics).await?))
}

fn open(dir: &Path) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(Embedded::open(&dir.join("store"))?))
}

/// What the digest reads and writes, and where the peer tells.
fn specs() -> Vec<TopicSpec> {
    let many = Partitions::USUAL.count();
    let spec = |name: &str, partitions, retention| TopicSpec { name: name.into(), partitions, retention };
    let kept = |name, partitions| spec(name, partitions, Retention::Milliseconds(i64::MAX));
    let mut specs =
        [topics::PENDING, topics::INBOX, topics::READY, PEER].map(|name| kept(name, many)).to_vec();
    specs.extend([kept(topics::QUARANTINE, 1), spec(topics::WINDOWS, many, Retention::Compacted)]);
    specs
}
