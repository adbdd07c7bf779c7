//! The book of replays: what the topic `replays` holds. It is read once, and then what came since.

use std::collections::BTreeMap;

use anyhow::Context as _;
use source_text::did_you_mean;

use topic::{NewRecord, Topics};
use wire::{
    replay::{ReplayRecord, ReplayState},
    topics,
};

use super::{ReplayError, refuse_order};

/// Records read at once.
const PAGE: usize = 1_000;

/// Every replay there is.
#[derive(Debug, Default)]
pub struct ReplayBook {
    /// Read up to here.
    next: u64,
    replays: BTreeMap<String, KnownReplay>,
}

/// A replay, and where the log first spoke of it, as far as was read.
#[derive(Debug)]
struct KnownReplay {
    first: u64,
    replay: ReplayRecord,
}

impl ReplayBook {
    /// Reads the records of all processes since the last call. The end is read after each page: a record that was
    /// compacted away meanwhile has a later one behind the end that was known.
    pub async fn update(&mut self, log: &dyn Topics) -> anyhow::Result<()> {
        loop {
            let bounds = log.bounds(topics::REPLAYS).await.context("read the topic `replays`")?;
            let (first, end) = bounds.first().copied().unwrap_or_default();
            self.next = self.next.max(first);
            if self.next >= end {
                return Ok(());
            }
            let records =
                log.read(topics::REPLAYS, 0, self.next, PAGE).await.context("read the topic `replays`")?;
            // Compaction may leave nothing up to the end.
            self.next = records.last().map_or(end, |last| last.offset + 1);
            for record in records {
                let Some(value) = &record.value else { continue };
                let replay = wire::replay::decode(value)
                    .with_context(|| format!("{} at offset {}", topics::REPLAYS, record.offset))?;
                let first = self.replays.get(&replay.id).map_or(record.offset, |known| known.first);
                self.replays.insert(replay.id.clone(), KnownReplay { first, replay });
            }
        }
    }

    pub async fn write(&self, log: &dyn Topics, replay: &ReplayRecord) -> anyhow::Result<()> {
        let record = NewRecord {
            topic: topics::REPLAYS.into(),
            partition: 0,
            key: replay.id.as_bytes().to_vec(),
            value: Some(wire::replay::encode(replay)?),
            headers: Vec::new(),
        };
        log.append(vec![record]).await.context("record the progress of the replay")
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> Vec<&ReplayRecord> {
        self.replays.values().map(|known| &known.replay).collect()
    }

    pub fn find(&self, id: &str) -> Result<ReplayRecord, ReplayError> {
        if let Some(known) = self.replays.get(id) {
            return Ok(known.replay.clone());
        }
        let near = did_you_mean(id, self.replays.keys().map(String::as_str));
        refuse_order(format!(
            "there is no replay `{id}`: {}",
            near.unwrap_or_else(|| "list them with `tidings replay --list`".to_owned())
        ))
    }

    /// The replay that holds a topic: the running one, else the first of the planned ones in the log. The first record
    /// of a running one may be gone, because the log keeps the latest.
    pub fn holder(&self, topic: &str) -> Option<&ReplayRecord> {
        let open =
            self.replays.values().filter(|known| known.replay.topic == topic && known.replay.state.is_open());
        let rank = |known: &&KnownReplay| (known.replay.state == ReplayState::Planned, known.first);
        open.min_by_key(rank).map(|known| &known.replay)
    }
}
