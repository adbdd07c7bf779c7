//! `tidings release`: closes windows of a plan now, for one person or for all, paced.

use anyhow::Context as _;
use model::{Person, PlanName, Tenant, UtcMillis};
use runtime::Clock;
use serde::Deserialize;
use serde_json::json;
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::{
    open_windows,
    release::{self, ReleaseCursor, ReleaseProgress, WindowRelease},
};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
};
use crate::arguments as cli;

const SECOND_MS: i64 = 1_000;

pub fn run(config: &Config, asked: &cli::ReleaseArgs, out: OutputStyle) -> Result<(), CommandError> {
    let plan = PlanName::new(&asked.plan).map_err(CommandError::from_refusal)?;
    let reach = reach_house(config)?;
    let released = match &asked.person {
        Some(person) => {
            let person = Person::new(person).map_err(CommandError::from_refusal)?;
            release_one(&reach, config, &plan, &person)?
        }
        None => release_all(&reach, config, &plan, asked.per_second)?,
    };
    let ReleaseAnswer { released, paused, .. } = released;
    if out.json {
        return Ok(terminal::print_json(&json!({"released": released, "paused": paused}))?);
    }
    terminal::print_talk(match (&asked.person, released) {
        (Some(person), 0) => format!("no window of `{plan}` is open for {}", terminal::clean_text(person)),
        (None, 0) => format!("no window of `{plan}` is open"),
        (_, n) => describe_released(n, paused, matches!(reach, HouseAccess::Running(_))),
    });
    Ok(())
}

/// What came of a release, or of a part of one.
#[derive(Default, Deserialize)]
struct ReleaseAnswer {
    released: usize,
    /// Where the next part begins.
    next: Option<String>,
    at: i64,
    /// Whether the plan is paused.
    paused: bool,
}

/// The result in words. Without a running house, the order to close the windows is only in the log.
fn describe_released(released: usize, paused: bool, by_house: bool) -> String {
    let windows = if released == 1 { "window" } else { "windows" };
    let when = match (paused, by_house) {
        (true, _) => "will be released when the pause ends",
        (false, true) => "released",
        (false, false) => "will be released when the house runs",
    };
    format!("{released} {windows} {when}")
}

fn release_one(
    reach: &HouseAccess,
    config: &Config,
    plan: &PlanName,
    person: &Person,
) -> Result<ReleaseAnswer, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let body = json!({"plan": plan.as_str(), "person": person.as_str()}).to_string();
            client.post("/admin/release", &body, None)?.into_value()
        }
        HouseAccess::Files(files) => {
            let release = build_release(&config.tenant, plan, UtcMillis(files.clock.now()));
            let released =
                files.runtime.block_on(release::release_person(&*files.topics, &release, person))?;
            let paused = is_paused(files, &release)?;
            Ok(ReleaseAnswer { released: usize::from(released), paused, ..ReleaseAnswer::default() })
        }
    }
}

fn is_paused(files: &DirectEngines, release: &WindowRelease) -> Result<bool, CommandError> {
    let plans = files.catalogue.as_ref().map(|catalogue| &catalogue.plans);
    let paused = files.runtime.block_on(open_windows::read_paused(&*files.topics, plans))?;
    Ok(paused.has(&release.tenant, &release.plan))
}

/// Releases all windows at a limited rate, so that the sender and the readers can keep up. If it is stopped midway,
/// some of the windows are released, and the rest close at their own time.
fn release_all(
    reach: &HouseAccess,
    config: &Config,
    plan: &PlanName,
    per_second: usize,
) -> Result<ReleaseAnswer, CommandError> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let clock = Clock::real(0);
    let by_house = matches!(reach, HouseAccess::Running(_));
    let (mut from, mut at, mut all) = (ReleaseCursor::default(), None, ReleaseAnswer::default());
    let mut progress = terminal::ProgressLine::start();
    loop {
        let began = clock.now();
        let part = release_part(reach, config, plan, (from, at), per_second)?;
        all.released += part.released;
        (all.paused, at) = (part.paused, Some(part.at));
        progress.show(describe_released(all.released, all.paused, by_house));
        let Some(next) = part.next else { break };
        from = next.parse().context("decode the answer")?;
        if part.released > 0 {
            pace.block_on(clock.sleep_until(began + SECOND_MS));
        }
    }
    terminal::progress_done();
    Ok(all)
}

fn release_part(
    reach: &HouseAccess,
    config: &Config,
    plan: &PlanName,
    (from, at): (ReleaseCursor, Option<i64>),
    most: usize,
) -> Result<ReleaseAnswer, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let body = json!({"plan": plan.as_str(), "from": from.to_string(), "most": most, "at": at});
            client.post("/admin/release", &body.to_string(), None)?.into_value()
        }
        HouseAccess::Files(files) => {
            let at = UtcMillis(at.unwrap_or_else(|| files.clock.now()));
            let release = build_release(&config.tenant, plan, at);
            let part = release::release_batch(&*files.topics, &release, from, most);
            let ReleaseProgress { released, next } = files.runtime.block_on(part)?;
            Ok(ReleaseAnswer { released, next, at: at.0, paused: is_paused(files, &release)? })
        }
    }
}

fn build_release(tenant: &Tenant, plan: &PlanName, at: UtcMillis) -> WindowRelease {
    WindowRelease { tenant: tenant.clone(), plan: plan.clone(), at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_the_house_is_not_said_to_be_done() {
        let check = |released: usize, paused: bool, by_house: bool, expect: &str| {
            assert_eq!(describe_released(released, paused, by_house), expect);
        };
        check(1, false, true, "1 window released");
        check(2, false, true, "2 windows released");
        check(1, false, false, "1 window will be released when the house runs");
        check(0, false, false, "0 windows will be released when the house runs");
        check(2, true, true, "2 windows will be released when the pause ends");
        check(1, true, false, "1 window will be released when the pause ends");
    }
}
