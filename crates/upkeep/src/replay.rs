//! Replays: records of a topic are appended once more, so that what went wrong the first time is repaired.
//!
//! Rows are a function of their event, so events that are there once more write the same rows into the same
//! days, and only what is missing is new. Unless it is to tell what is missing, a replay says so in the headers
//! of its copies (`wire::replay`), and nobody is told. What is kept of it on the topic `replays` says who had it
//! done and how far it is, and outlives both the command line, which asks for a part a second, and the house.
//!
//! [`range`] says which records, [`book`] keeps the topic, [`work`] appends a part. What can be asked for is an
//! [`ReplayOrder`]; [`answer_order`] is the same for the house over HTTP and for the command line on a house that rests.

use anyhow::Context as _;
use catalogue::Catalogue;
use model::UtcMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;
use topic::Topics;
use wire::{
    replay::{ReplayPart, ReplayRecord, ReplayState},
    topics,
};

mod book;
pub mod range;
mod work;

#[cfg(test)]
mod kafka;
#[cfg(test)]
mod law;
#[cfg(test)]
mod tests;

pub(crate) use book::ReplayBook;
use range::{ReplayPlace, ReplayRange};
use source_text::did_you_mean;

/// Records a second, unless something else is said: a house that does its usual work hardly notices.
pub const PER_SECOND: u32 = 200;
/// And at most.
pub const PER_SECOND_MAX: u32 = 5_000;
/// While the house is behind by more records than this, a replay waits for it.
pub const BEHIND_MAX: u64 = 10_000;

/// What can be asked for.
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayOrder {
    Plan {
        topic: String,
        range: ReplayRange,
    },
    Begin(ReplayRequest),
    /// Appends the next part.
    Part {
        id: String,
    },
    Resume {
        id: String,
    },
    Stop {
        id: String,
    },
    List,
}

/// A replay that is to begin.
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    pub topic: String,
    pub range: ReplayRange,
    pub by: String,
    pub tells_missing: bool,
    pub per_second: u32,
}

/// What would be replayed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReplayPlan {
    pub topic: String,
    /// Every partition, also those of which nothing would be.
    pub parts: Vec<ReplayPart>,
    pub records: u64,
}

/// What a part came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReplayStep {
    pub replay: ReplayRecord,
    /// It waits for the house, which is behind by so many records.
    pub waits: Option<u64>,
}

/// Why it was not done.
#[derive(Debug)]
pub enum ReplayError {
    /// What was asked for makes no sense, with the reason.
    Refused(String),
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for ReplayError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Where replays are ordered: what is known of them, one order at a time.
#[derive(Debug, Default)]
pub struct ReplayService(Mutex<ReplayBook>);

/// A house that runs, by its catalogue, and how far behind it may be before a part waits for it.
pub type ReplayPace<'a> = (&'a Catalogue, u64);

/// Does what is asked for. Without a pace nobody is waited for.
pub async fn answer_order(
    desk: &ReplayService,
    log: &dyn Topics,
    order: ReplayOrder,
    now: UtcMillis,
    pace: Option<ReplayPace<'_>>,
) -> Result<Value, ReplayError> {
    let mut book = desk.0.lock().await;
    book.update(log).await?;
    let said = match order {
        ReplayOrder::Plan { topic, range } => {
            serde_json::to_value(plan_replay(log, &topic, &range, now).await?)
        }
        ReplayOrder::Begin(wanted) => serde_json::to_value(begin_replay(&mut book, log, wanted, now).await?),
        ReplayOrder::Part { id } => serde_json::to_value(replay_part(&mut book, log, &id, now, pace).await?),
        ReplayOrder::Resume { id } => serde_json::to_value(resume_replay(&mut book, log, &id, now).await?),
        ReplayOrder::Stop { id } => serde_json::to_value(stop_replay(&mut book, log, &id, now).await?),
        ReplayOrder::List => serde_json::to_value(book.all()),
    };
    Ok(said?)
}

/// Replays all that a topic took in since an instant, as fast as it goes: for scenarios.
pub async fn replay_at_once(
    log: &dyn Topics,
    topic: &str,
    from: UtcMillis,
    tells_missing: bool,
    now: UtcMillis,
) -> anyhow::Result<()> {
    let (desk, range) =
        (ReplayService::default(), ReplayRange { from: ReplayPlace::At(from.0), to: ReplayPlace::End });
    let (topic, by) = (topic.to_owned(), "scenario".to_owned());
    let wanted = ReplayRequest { topic, range, by, tells_missing, per_second: PER_SECOND_MAX };
    let order = async |order| {
        answer_order(&desk, log, order, now, None).await.map_err(|trouble| match trouble {
            ReplayError::Refused(why) => anyhow::anyhow!(why),
            ReplayError::Failed(error) => error,
        })
    };
    let begun: ReplayRecord = serde_json::from_value(order(ReplayOrder::Begin(wanted)).await?)?;
    loop {
        let step: ReplayStep =
            serde_json::from_value(order(ReplayOrder::Part { id: begun.id.clone() }).await?)?;
        if !step.replay.state.is_open() {
            return Ok(());
        }
    }
}

async fn plan_replay(
    log: &dyn Topics,
    topic: &str,
    range: &ReplayRange,
    now: UtcMillis,
) -> Result<ReplayPlan, ReplayError> {
    check_replayable(topic)?;
    let parts = range.parts(log, topic, now).await?;
    let records = parts.iter().map(|part| part.record_count()).sum();
    Ok(ReplayPlan { topic: topic.to_owned(), parts, records })
}

async fn begin_replay(
    book: &mut ReplayBook,
    log: &dyn Topics,
    wanted: ReplayRequest,
    now: UtcMillis,
) -> Result<ReplayRecord, ReplayError> {
    let ReplayRequest { topic, range, by, tells_missing, per_second } = wanted;
    let ReplayPlan { parts, records, .. } = plan_replay(log, &topic, &range, now).await?;
    if records == 0 {
        return refuse_order("nothing to replay");
    }
    if !(1..=PER_SECOND_MAX).contains(&per_second) {
        return refuse_order(format!("the rate must be 1 to {PER_SECOND_MAX} records a second"));
    }
    if let Some(other) = book.holder(&topic) {
        return refuse_order(explain_holder(other));
    }
    let mut replay = ReplayRecord {
        id: new_id(now)?,
        by,
        began: now,
        topic,
        asked: range.to_string(),
        tells_missing,
        per_second,
        state: ReplayState::Planned,
        why: None,
        parts,
        appended: 0,
        passed: 0,
        expired: 0,
        at: now,
    };
    book.write(log, &replay).await?;
    // Another process may have begun one at the same time: who stands first in the log has the topic.
    book.update(log).await?;
    let first = book.holder(&replay.topic).filter(|first| first.id != replay.id).map(explain_holder);
    replay.state = ReplayState::Running;
    if let Some(why) = &first {
        (replay.state, replay.why) = (ReplayState::Failed, Some(why.clone()));
    }
    book.write(log, &replay).await?;
    first.map_or(Ok(replay), refuse_order)
}

async fn replay_part(
    book: &mut ReplayBook,
    log: &dyn Topics,
    id: &str,
    now: UtcMillis,
    pace: Option<ReplayPace<'_>>,
) -> Result<ReplayStep, ReplayError> {
    let mut replay = book.find(id)?;
    if !replay.state.is_open() {
        return Ok(ReplayStep { replay, waits: None });
    }
    let behind = match pace {
        Some((catalogue, most)) => {
            Some(work::count_behind(log, catalogue).await?).filter(|behind| *behind > most)
        }
        None => None,
    };
    if behind.is_none() {
        let life = pace.map(|(catalogue, _)| catalogue.day_life).unwrap_or_default();
        work::append_part(log, &mut replay, life, now).await?;
        replay.at = now;
        replay.state = match replay.parts.iter().any(|part| part.remaining() > 0) {
            true => ReplayState::Running,
            false => ReplayState::Done,
        };
        book.write(log, &replay).await?;
    }
    Ok(ReplayStep { replay, waits: behind })
}

async fn resume_replay(
    book: &mut ReplayBook,
    log: &dyn Topics,
    id: &str,
    now: UtcMillis,
) -> Result<ReplayRecord, ReplayError> {
    let mut replay = book.find(id)?;
    match replay.state {
        ReplayState::Done => {
            return refuse_order(format!("the replay {id} is done; there is nothing to resume"));
        }
        ReplayState::Failed => return refuse_order(format!("the replay {id} never ran; begin a new one")),
        ReplayState::Planned | ReplayState::Running | ReplayState::Stopped => {}
    }
    if let Some(other) = book.holder(&replay.topic).filter(|other| other.id != replay.id) {
        return refuse_order(explain_holder(other));
    }
    // Of a topic that was made anew since, the offsets name other records.
    let (planned, found) = (replay.parts.len(), log.bounds(&replay.topic).await?.len());
    if found != planned {
        return refuse_order(format!(
            "the replay {id} was planned for {planned} partitions, and `{}` has {found} now: begin a new one",
            replay.topic
        ));
    }
    (replay.state, replay.at) = (ReplayState::Running, now);
    book.write(log, &replay).await?;
    Ok(replay)
}

async fn stop_replay(
    book: &mut ReplayBook,
    log: &dyn Topics,
    id: &str,
    now: UtcMillis,
) -> Result<ReplayRecord, ReplayError> {
    let mut replay = book.find(id)?;
    if !replay.state.is_open() {
        return refuse_order(format!(
            "the replay {id} is not running: it is {}",
            describe_state(replay.state)
        ));
    }
    (replay.state, replay.at) = (ReplayState::Stopped, now);
    book.write(log, &replay).await?;
    Ok(replay)
}

/// Refuses topics that cannot be replayed: those behind `events` and `changes` follow from them, and would be told
/// twice.
fn check_replayable(topic: &str) -> Result<(), ReplayError> {
    let why = match topic {
        topics::EVENTS | topics::CHANGES => return Ok(()),
        topics::QUARANTINE => "put its records back with `tidings quarantine retry`",
        topics::READY_URGENT | topics::READY | topics::INBOX | topics::WINDOWS => {
            "it holds decisions, and deciding again would tell again"
        }
        topics::SLICES | topics::PENDING => "it follows from `events`; replay those",
        topics::RETURNS => "it reports returned mails to other services; the house knew of them before",
        topics::REPLAYS => "it is the record of replays",
        other => {
            let near = did_you_mean(other, [topics::EVENTS, topics::CHANGES]);
            return refuse_order(format!(
                "there is no topic `{other}` to replay: {}",
                near.unwrap_or_else(|| "replay `events` or `changes`".to_owned())
            ));
        }
    };
    refuse_order(format!("`{topic}` cannot be replayed: {why}"))
}

/// Sorts by time, and can be typed.
fn new_id(now: UtcMillis) -> anyhow::Result<String> {
    let time = now.to_string();
    let (date, time) = time.split_once('T').context("an instant has a date")?;
    let time: String = time.chars().filter(char::is_ascii_digit).take(6).collect();
    Ok(format!("{date}-{time}-{}", shell::datadir::random_hex(2)?))
}

fn explain_holder(by: &ReplayRecord) -> String {
    let ReplayRecord { id, topic, by, .. } = by;
    format!(
        "the replay {id} of `{topic}`, by {by}, is not done: resume it with --resume or end it with \
        --stop first"
    )
}

/// What a replay is doing, for people.
pub fn describe_state(state: ReplayState) -> &'static str {
    match state {
        ReplayState::Planned => "planned",
        ReplayState::Running => "running",
        ReplayState::Stopped => "stopped",
        ReplayState::Failed => "failed",
        ReplayState::Done => "done",
    }
}

fn refuse_order<T>(why: impl Into<String>) -> Result<T, ReplayError> {
    Err(ReplayError::Refused(why.into()))
}
