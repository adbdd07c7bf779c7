//! The work: appends the next records of a replay once more, each to the partition in which it lies.

use anyhow::Context as _;
use catalogue::Catalogue;
use futures::future::try_join_all;
use house::list_readings;
use model::{DayLife, UtcMillis};
use topic::{NewRecord, TopicRecord, Topics, port::GroupStanding};
use wire::{
    replay::{ReplayRecord, ReplayStamp},
    topics,
};

/// Records read at once.
const PAGE: usize = 500;
/// Bytes that one call appends, about: it answers soon enough, whatever lies there.
const PART_BYTES_MAX: usize = 8 << 20;

/// What becomes of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CopyDecision {
    Append,
    /// A copy: its original is replayed where it lies. Or it is nothing that could be told.
    Pass,
    Expired,
}

/// Looks at as many records as a second may see, appends what is due of them, and moves the replay on behind them.
pub async fn append_part(
    log: &dyn Topics,
    replay: &mut ReplayRecord,
    life: DayLife,
    now: UtcMillis,
) -> anyhow::Result<()> {
    let again = ReplayStamp { replay: replay.id.as_str().into(), is_quiet: !replay.tells_missing };
    let bounds = log.bounds(&replay.topic).await?;
    let (mut room, mut bytes) = (replay.per_second as usize, 0);
    for part in &mut replay.parts {
        // Records may have grown too old since the replay was planned.
        let (first, end) = bounds.get(part.partition as usize).copied().unwrap_or((part.to, part.to));
        part.next = part.next.max(first).min(part.to);
        while part.next < part.to && room > 0 && bytes < PART_BYTES_MAX {
            let most = PAGE.min(room).min(usize::try_from(part.remaining()).unwrap_or(PAGE));
            let records = log.read(&replay.topic, part.partition, part.next, most).await;
            let records = records.with_context(|| format!("read {}[{}]", replay.topic, part.partition))?;
            let next = match records.last() {
                Some(last) => (last.offset + 1).min(part.to),
                // Not every offset has a record.
                None if end >= part.to => part.to,
                // A log that has just changed its leader may not know all of it yet. It is looked at again.
                None => break,
            };
            room -= records.len().min(room);
            let mut copies = Vec::new();
            for record in records.into_iter().filter(|record| record.offset < part.to) {
                match judge_record(&record, life, now) {
                    CopyDecision::Append => {
                        bytes += record.key.len() + record.value.as_ref().map_or(0, Vec::len);
                        copies.push(copy_record(record, &again));
                    }
                    CopyDecision::Pass => replay.passed += 1,
                    CopyDecision::Expired => replay.expired += 1,
                }
            }
            replay.appended += copies.len() as u64;
            if !copies.is_empty() {
                log.append(copies).await.with_context(|| format!("append to {}", replay.topic))?;
            }
            part.next = next;
        }
    }
    Ok(())
}

/// How many records the house has not read yet, those of its sources too.
pub async fn count_behind(log: &dyn Topics, catalogue: &Catalogue) -> anyhow::Result<u64> {
    let readings = list_readings(catalogue);
    let standings = try_join_all(readings.iter().map(|reading| reading.standing(log))).await?;
    Ok(standings.iter().flatten().map(GroupStanding::lag).sum())
}

fn judge_record(record: &TopicRecord, life: DayLife, now: UtcMillis) -> CopyDecision {
    if ReplayStamp::from_headers(&record.headers).is_some() {
        return CopyDecision::Pass;
    }
    if &*record.topic != topics::EVENTS {
        return CopyDecision::Append;
    }
    // What cannot be read lies in the quarantine already.
    match record.value.as_deref().map(wire::event::decode) {
        Some(Ok(event)) if life.is_over(event.entry_key().day(), now) => CopyDecision::Expired,
        Some(Ok(_)) => CopyDecision::Append,
        Some(Err(_)) | None => CopyDecision::Pass,
    }
}

/// The record as it was, and that it is there once more.
fn copy_record(record: TopicRecord, again: &ReplayStamp) -> NewRecord {
    let TopicRecord { topic, partition, appended, key, value, headers, .. } = record;
    NewRecord { topic, partition, key, value, headers: again.stamp_headers(headers, UtcMillis(appended)) }
}
