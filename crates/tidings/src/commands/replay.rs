//! `tidings replay`: shows what would be replayed, has it done paced, and looks into the book of replays.

use std::fs;

use anyhow::Context as _;
use model::Millis;
use runtime::Clock;
use serde::de::DeserializeOwned;
use serde_json::Value;
use topic::Topics;
use wire::replay::{Replay, ReplayState};

use super::{
    Out,
    reach::{Reach, reach_all},
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    house::STAGES,
    replay::{
        self, BEHIND_MAX, Desk, Order, Plan, Step, Trouble, Wanted,
        range::{Place, Range},
    },
    say,
};

const SECOND_MS: i64 = 1_000;
/// Seconds for which it asks again where the house does not answer or cannot do it.
const TRIES_MAX: u32 = 10;

/// Who does what is asked for.
struct Asking {
    reach: Reach,
    desk: Desk,
    /// Whether a house is there that reads what is appended: this one, or one in other processes.
    is_read: bool,
}

pub fn run(config: &Config, asked: &cli::Replay, out: Out) -> Result<(), Failure> {
    let is_work = asked.execute || asked.resume.is_some() || asked.stop.is_some();
    let asking = Asking::new(reach_all(config)?, is_work)?;
    if asked.list {
        return list(&asking.ask::<Vec<Replay>>(&Order::List)?, out);
    }
    if let Some(id) = &asked.show {
        let all: Vec<Replay> = asking.ask(&Order::List)?;
        let found = all.iter().find(|replay| replay.id == *id);
        let found =
            found.ok_or_else(|| Failure::refused(format!("there is no replay `{}`", say::clean(id))))?;
        return show(found, out);
    }
    if let Some(id) = &asked.stop {
        let stopped: Replay = asking.ask(&Order::Stop { id: id.clone() })?;
        return ended(&stopped, &asking, out);
    }
    if let Some(id) = &asked.resume {
        asking.can_pace()?;
        let replay: Replay = asking.ask(&Order::Resume { id: id.clone() })?;
        return follow(&asking, &replay, out);
    }
    let (topic, range) = (asked.topic.clone().unwrap_or_default(), range(asked));
    if !asked.execute {
        return plan(&asking.ask(&Order::Plan { topic, range })?, out);
    }
    asking.can_pace()?;
    let (tells_missing, per_second) = (asked.tell_missing, asked.per_second);
    let wanted = Wanted { topic, range, by: by(), tells_missing, per_second };
    let replay: Replay = asking.ask(&Order::Begin(wanted))?;
    follow(&asking, &replay, out)
}

fn range(asked: &cli::Replay) -> Range {
    let from = asked.from.as_ref().or(asked.from_offset.as_ref()).or(asked.last.as_ref());
    let to = asked.to.as_ref().or(asked.to_offset.as_ref());
    Range { from: from.cloned().unwrap_or(Place::Start), to: to.cloned().unwrap_or(Place::End) }
}

/// Who asks, as far as this machine knows.
pub(super) fn by() -> String {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let named = |name: String| Some(say::clean(name.trim())).filter(|name| !name.is_empty());
    let user = user.and_then(named).unwrap_or_else(|| "somebody".to_owned());
    named(host).map_or(user.clone(), |host| format!("{user}@{host}"))
}

impl Asking {
    /// Who only looks need not know whether there is a house.
    fn new(reach: Reach, is_work: bool) -> Result<Self, Failure> {
        let is_read = match &reach {
            Reach::Running(_) => true,
            Reach::Files(_) if !is_work => false,
            Reach::Files(files) => files.runtime.block_on(has_house(&*files.topics))?,
        };
        Ok(Self { reach, desk: Desk::default(), is_read })
    }

    /// A house that reads is waited for where it is behind, and the catalogue says what it reads.
    fn can_pace(&self) -> Result<(), Failure> {
        match &self.reach {
            Reach::Files(files) if self.is_read && files.catalogue.is_none() => Err(Failure::refused(
                "a house runs on these engines and is waited for, so its catalogue is needed: \
                 TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml",
            )),
            Reach::Files(_) | Reach::Running(_) => Ok(()),
        }
    }

    fn ask<T: DeserializeOwned>(&self, order: &Order) -> Result<T, Failure> {
        let said: Value = match &self.reach {
            Reach::Running(client) => {
                let body = serde_json::to_string(order).context("write the order")?;
                client.post("/admin/replay", &body, None)?.good()?
            }
            Reach::Files(files) => {
                let now = Millis(files.clock.now());
                // Where nobody reads there is nobody to wait for.
                let house = files.catalogue.as_ref().filter(|_| self.is_read);
                let pace = house.map(|catalogue| (catalogue, BEHIND_MAX));
                let answer = replay::answer(&self.desk, &*files.topics, order.clone(), now, pace);
                files.runtime.block_on(answer).map_err(|trouble| match trouble {
                    Trouble::Refused(why) => Failure::refused(why),
                    Trouble::Failed(error) => Failure::Failed(error),
                })?
            }
        };
        Ok(serde_json::from_value(said).context("understand the answer")?)
    }
}

/// Whether somebody is at work in any of the house's groups.
async fn has_house(log: &dyn Topics) -> anyhow::Result<bool> {
    for stage in STAGES {
        if log.has_members(stage.group).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn plan(plan: &Plan, out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(plan)?);
    }
    if plan.records == 0 {
        say::talk("nothing to replay");
        return Ok(());
    }
    let mut rows = vec![["partition", "from", "to", "records"].map(str::to_owned)];
    rows.extend(plan.parts.iter().filter(|part| part.records() > 0).map(|part| {
        let (from, to) = (part.from.to_string(), part.to.to_string());
        [part.partition.to_string(), from, to, part.records().to_string()]
    }));
    for line in say::table(&rows) {
        say::data(line)?;
    }
    let topic = say::clean(&plan.topic);
    say::talk(format!("{} of `{topic}`; with --execute they are appended once more", records(plan.records)));
    Ok(())
}

/// Has part after part done, one a second, until nothing is left or somebody stops it.
fn follow(asking: &Asking, replay: &Replay, out: Out) -> Result<(), Failure> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let (clock, mut progress) = (Clock::real(0), say::Progress::start());
    let order = Order::Part { id: replay.id.clone() };
    say::talk(format!("replay {}", replay.id));
    let mut failed = 0;
    loop {
        let began = clock.now();
        match asking.ask::<Step>(&order) {
            Ok(Step { replay, .. }) if !replay.state.is_open() => {
                say::progress_done();
                return ended(&replay, asking, out);
            }
            Ok(Step { replay, waits }) => {
                failed = 0;
                progress.show(so_far(&replay, waits));
            }
            Err(failure @ (Failure::Failed(_) | Failure::Unreachable(_))) => {
                failed += 1;
                if failed == TRIES_MAX {
                    say::progress_done();
                    say::talk(format!(
                        "what is left of it is done by `tidings replay --resume {}`",
                        replay.id
                    ));
                    return Err(failure);
                }
            }
            Err(other) => return Err(other),
        }
        pace.block_on(clock.sleep_until(began + SECOND_MS));
    }
}

fn so_far(replay: &Replay, waits: Option<u64>) -> String {
    let all: u64 = replay.parts.iter().map(|part| part.records()).sum();
    let left: u64 = replay.parts.iter().map(|part| part.left()).sum();
    let far = format!("{} of {}", all - left.min(all), records(all));
    waits.map_or(far.clone(), |behind| format!("{far}; waiting for the house, which has {behind} to read"))
}

/// How a replay ended, or was stopped.
fn ended(replay: &Replay, asking: &Asking, out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(replay)?);
    }
    let later = if asking.is_read { "" } else { "; they are read when the house runs" };
    say::talk(format!("{}: {} appended{later}", state(replay), records(replay.appended)));
    for (count, why) in [(replay.passed, "copies or nothing readable"), (replay.expired, "of expired days")] {
        if count > 0 {
            say::talk(format!("{} passed over: {why}", records(count)));
        }
    }
    Ok(())
}

fn state(replay: &Replay) -> String {
    let state = replay::said(replay.state);
    match &replay.why {
        Some(why) if replay.state == ReplayState::Failed => format!("{state} ({})", say::clean(why)),
        _ => state.to_owned(),
    }
}

fn records(count: u64) -> String {
    format!("{count} {}", if count == 1 { "record" } else { "records" })
}

fn list(all: &[Replay], out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(&all)?);
    }
    if all.is_empty() {
        say::talk("nothing was replayed yet");
    }
    let row = |replay: &Replay| {
        let tells = if replay.tells_missing { "telling missing" } else { "quiet" };
        let (far, by) = (so_far(replay, None), say::clean(&replay.by));
        [replay.id.clone(), replay.topic.clone(), state(replay), far, tells.to_owned(), by]
    };
    for line in say::table(&all.iter().map(row).collect::<Vec<_>>()) {
        say::data(line)?;
    }
    Ok(())
}

fn show(replay: &Replay, out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(replay)?);
    }
    let mut rows = vec![
        ["replay".to_owned(), replay.id.clone()],
        ["of".to_owned(), format!("{}, {}", replay.topic, say::clean(&replay.asked))],
        ["by".to_owned(), say::clean(&replay.by)],
        ["began".to_owned(), replay.began.to_string()],
        ["state".to_owned(), format!("{}, at {}", state(replay), replay.at)],
        ["tells".to_owned(), if replay.tells_missing { "what is missing" } else { "nobody" }.to_owned()],
        ["a second".to_owned(), records(u64::from(replay.per_second))],
        ["looked at".to_owned(), so_far(replay, None)],
        ["appended".to_owned(), replay.appended.to_string()],
        ["passed over".to_owned(), replay.passed.to_string()],
        ["expired".to_owned(), replay.expired.to_string()],
    ];
    rows.extend(replay.parts.iter().filter(|part| part.records() > 0).map(|part| {
        let far = format!("{} to {}, is at {}", part.from, part.to, part.next);
        [format!("partition {}", part.partition), far]
    }));
    for line in say::table(&rows) {
        say::data(line)?;
    }
    Ok(())
}
