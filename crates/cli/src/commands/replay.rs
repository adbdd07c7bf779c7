//! `tidings replay`: shows what would be replayed, has it done paced, and looks into the book of replays.

use std::fs;

use anyhow::Context as _;
use house::STAGES;
use model::UtcMillis;
use runtime::Clock;
use serde::de::DeserializeOwned;
use serde_json::Value;
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use topic::Topics;
use upkeep::replay::{
    self, BEHIND_MAX, ReplayError, ReplayOrder, ReplayPlan, ReplayRequest, ReplayService, ReplayStep,
    range::{ReplayPlace, ReplayRange},
};
use wire::replay::{ReplayRecord, ReplayState};

use super::{
    OutputStyle,
    access::{HouseAccess, reach_any_house},
};
use crate::arguments as cli;

const SECOND_MS: i64 = 1_000;
/// Seconds for which it asks again where the house does not answer or cannot do it.
const TRIES_MAX: u32 = 10;

/// The executor of the orders: the house, or this process on the engines.
struct ReplayAccess {
    reach: HouseAccess,
    desk: ReplayService,
    /// Whether a house is there that reads what is appended: this one, or one in other processes.
    is_read: bool,
}

pub fn run(config: &Config, asked: &cli::ReplayArgs, out: OutputStyle) -> Result<(), CommandError> {
    let is_work = asked.execute || asked.resume.is_some() || asked.stop.is_some();
    let asking = ReplayAccess::new(reach_any_house(config)?, is_work)?;
    if asked.list {
        return print_replays(&asking.send_order::<Vec<ReplayRecord>>(&ReplayOrder::List)?, out);
    }
    if let Some(id) = &asked.show {
        let all: Vec<ReplayRecord> = asking.send_order(&ReplayOrder::List)?;
        let found = all.iter().find(|replay| replay.id == *id);
        let found = found.ok_or_else(|| {
            CommandError::from_refusal(format!("there is no replay `{}`", terminal::clean_text(id)))
        })?;
        return print_replay(found, out);
    }
    if let Some(id) = &asked.stop {
        let stopped: ReplayRecord = asking.send_order(&ReplayOrder::Stop { id: id.clone() })?;
        return print_outcome(&stopped, &asking, out);
    }
    if let Some(id) = &asked.resume {
        asking.check_pacing()?;
        let replay: ReplayRecord = asking.send_order(&ReplayOrder::Resume { id: id.clone() })?;
        return follow_replay(&asking, &replay, out);
    }
    let (topic, range) = (asked.topic.clone().unwrap_or_default(), range_from_args(asked));
    if !asked.execute {
        return print_plan(&asking.send_order(&ReplayOrder::Plan { topic, range })?, out);
    }
    asking.check_pacing()?;
    let (tells_missing, per_second) = (asked.tell_missing, asked.per_second);
    let wanted = ReplayRequest { topic, range, by: operator_name(), tells_missing, per_second };
    let replay: ReplayRecord = asking.send_order(&ReplayOrder::Begin(wanted))?;
    follow_replay(&asking, &replay, out)
}

fn range_from_args(asked: &cli::ReplayArgs) -> ReplayRange {
    let from = asked.from.as_ref().or(asked.from_offset.as_ref()).or(asked.last.as_ref());
    let to = asked.to.as_ref().or(asked.to_offset.as_ref());
    ReplayRange {
        from: from.cloned().unwrap_or(ReplayPlace::Start),
        to: to.cloned().unwrap_or(ReplayPlace::End),
    }
}

/// The name of the operator, as far as this machine knows.
pub(super) fn operator_name() -> String {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let named = |name: String| Some(terminal::clean_text(name.trim())).filter(|name| !name.is_empty());
    let user = user.and_then(named).unwrap_or_else(|| "somebody".to_owned());
    named(host).map_or(user.clone(), |host| format!("{user}@{host}"))
}

impl ReplayAccess {
    /// Only an order that appends needs to know whether a house is running.
    fn new(reach: HouseAccess, is_work: bool) -> Result<Self, CommandError> {
        let is_read = match &reach {
            HouseAccess::Running(_) => true,
            HouseAccess::Files(_) if !is_work => false,
            HouseAccess::Files(files) => files.runtime.block_on(is_house_running(&*files.topics))?,
        };
        Ok(Self { reach, desk: ReplayService::default(), is_read })
    }

    /// Refuses to pace a replay without a catalogue: a running house is waited for when it lags, and the catalogue says
    /// which topics it reads.
    fn check_pacing(&self) -> Result<(), CommandError> {
        match &self.reach {
            HouseAccess::Files(files) if self.is_read && files.catalogue.is_none() => {
                Err(CommandError::from_refusal(
                    "a house runs on these engines, and a replay waits for it, so its catalogue is needed: \
                    set \
                 TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml",
                ))
            }
            HouseAccess::Files(_) | HouseAccess::Running(_) => Ok(()),
        }
    }

    fn send_order<T: DeserializeOwned>(&self, order: &ReplayOrder) -> Result<T, CommandError> {
        let said: Value = match &self.reach {
            HouseAccess::Running(client) => {
                let body = serde_json::to_string(order).context("encode the order")?;
                client.post("/admin/replay", &body, None)?.into_value()?
            }
            HouseAccess::Files(files) => {
                let now = UtcMillis(files.clock.now());
                // Where nobody reads there is nobody to wait for.
                let house = files.catalogue.as_ref().filter(|_| self.is_read);
                let pace = house.map(|catalogue| (catalogue, BEHIND_MAX));
                let answer = replay::answer_order(&self.desk, &*files.topics, order.clone(), now, pace);
                files.runtime.block_on(answer).map_err(|trouble| match trouble {
                    ReplayError::Refused(why) => CommandError::from_refusal(why),
                    ReplayError::Failed(error) => CommandError::Failed(error),
                })?
            }
        };
        Ok(serde_json::from_value(said).context("decode the answer")?)
    }
}

/// Whether somebody is at work in any of the house's groups.
async fn is_house_running(log: &dyn Topics) -> anyhow::Result<bool> {
    for stage in STAGES {
        if log.has_members(stage.group).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn print_plan(plan: &ReplayPlan, out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(plan)?);
    }
    if plan.records == 0 {
        terminal::print_talk("nothing to replay");
        return Ok(());
    }
    let mut rows = vec![["partition", "from", "to", "records"].map(str::to_owned)];
    rows.extend(plan.parts.iter().filter(|part| part.record_count() > 0).map(|part| {
        let (from, to) = (part.from.to_string(), part.to.to_string());
        [part.partition.to_string(), from, to, part.record_count().to_string()]
    }));
    for line in terminal::format_table(&rows) {
        terminal::print_data(line)?;
    }
    let topic = terminal::clean_text(&plan.topic);
    terminal::print_talk(format!(
        "{} of `{topic}`; --execute appends them again, but for copies that a replay made",
        count_records(plan.records)
    ));
    Ok(())
}

/// Has part after part done, one a second, until nothing is left or somebody stops it.
fn follow_replay(asking: &ReplayAccess, replay: &ReplayRecord, out: OutputStyle) -> Result<(), CommandError> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let (clock, mut progress) = (Clock::real(0), terminal::ProgressLine::start());
    let order = ReplayOrder::Part { id: replay.id.clone() };
    let id = &replay.id;
    terminal::print_talk(format!(
        "replay {id}; if it is interrupted, `tidings replay --resume {id}` continues it"
    ));
    let mut failed = 0;
    loop {
        let began = clock.now();
        match asking.send_order::<ReplayStep>(&order) {
            Ok(ReplayStep { replay, .. }) if !replay.state.is_open() => {
                terminal::progress_done();
                return print_outcome(&replay, asking, out);
            }
            Ok(ReplayStep { replay, waits }) => {
                failed = 0;
                progress.show(progress_text(&replay, waits));
            }
            Err(failure @ (CommandError::Failed(_) | CommandError::Unreachable(_))) => {
                failed += 1;
                if failed == TRIES_MAX {
                    terminal::progress_done();
                    terminal::print_talk(format!("to continue, run `tidings replay --resume {}`", replay.id));
                    return Err(failure);
                }
            }
            Err(other) => return Err(other),
        }
        pace.block_on(clock.sleep_until(began + SECOND_MS));
    }
}

fn progress_text(replay: &ReplayRecord, waits: Option<u64>) -> String {
    let all: u64 = replay.parts.iter().map(|part| part.record_count()).sum();
    let left: u64 = replay.parts.iter().map(|part| part.remaining()).sum();
    let far = format!("{} of {}", all - left.min(all), count_records(all));
    waits.map_or(far.clone(), |behind| format!("{far}; waiting for the house, which has {behind} to read"))
}

/// How a replay ended, or was stopped.
fn print_outcome(replay: &ReplayRecord, asking: &ReplayAccess, out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(replay)?);
    }
    let later = if asking.is_read { "" } else { "; they are read when the house runs" };
    terminal::print_talk(format!(
        "{}: {} appended{later}",
        state_text(replay),
        count_records(replay.appended)
    ));
    for (count, why) in
        [(replay.passed, "copies, or unreadable"), (replay.expired, "their days have expired")]
    {
        if count > 0 {
            terminal::print_talk(format!("{} skipped: {why}", count_records(count)));
        }
    }
    Ok(())
}

fn state_text(replay: &ReplayRecord) -> String {
    let state = replay::describe_state(replay.state);
    match &replay.why {
        Some(why) if replay.state == ReplayState::Failed => {
            format!("{state} ({})", terminal::clean_text(why))
        }
        _ => state.to_owned(),
    }
}

fn count_records(count: u64) -> String {
    format!("{count} {}", if count == 1 { "record" } else { "records" })
}

fn print_replays(all: &[ReplayRecord], out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(&all)?);
    }
    if all.is_empty() {
        terminal::print_talk("there are no replays yet");
    }
    let row = |replay: &ReplayRecord| {
        let tells = if replay.tells_missing { "telling missing" } else { "quiet" };
        let (far, by) = (progress_text(replay, None), terminal::clean_text(&replay.by));
        [replay.id.clone(), replay.topic.clone(), state_text(replay), far, tells.to_owned(), by]
    };
    for line in terminal::format_table(&all.iter().map(row).collect::<Vec<_>>()) {
        terminal::print_data(line)?;
    }
    Ok(())
}

fn print_replay(replay: &ReplayRecord, out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(replay)?);
    }
    let mut rows = vec![
        ["replay".to_owned(), replay.id.clone()],
        ["of".to_owned(), format!("{}, {}", replay.topic, terminal::clean_text(&replay.asked))],
        ["by".to_owned(), terminal::clean_text(&replay.by)],
        ["began".to_owned(), replay.began.to_string()],
        ["state".to_owned(), format!("{}, at {}", state_text(replay), replay.at)],
        ["tells".to_owned(), if replay.tells_missing { "missing entries" } else { "nobody" }.to_owned()],
        ["a second".to_owned(), count_records(u64::from(replay.per_second))],
        ["processed".to_owned(), progress_text(replay, None)],
        ["appended".to_owned(), replay.appended.to_string()],
        ["skipped".to_owned(), replay.passed.to_string()],
        ["expired".to_owned(), replay.expired.to_string()],
    ];
    rows.extend(replay.parts.iter().filter(|part| part.record_count() > 0).map(|part| {
        let far = format!("{} to {}, is at {}", part.from, part.to, part.next);
        [format!("partition {}", part.partition), far]
    }));
    for line in terminal::format_table(&rows) {
        terminal::print_data(line)?;
    }
    Ok(())
}
