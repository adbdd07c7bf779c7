//! `tidings release`: closes windows of a plan now, for one person or for all, paced.

use anyhow::Context as _;
use model::{Person, PlanName, Tenant, UtcMillis};
use runtime::Clock;
use serde_json::{Value, json};
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::release::{self, ReleaseCursor, ReleaseProgress, WindowRelease};

use super::{
    OutputStyle,
    access::{HouseAccess, reach_house},
};
use crate::arguments as cli;

const SECOND_MS: i64 = 1_000;

pub fn run(config: &Config, asked: &cli::ReleaseArgs, out: OutputStyle) -> Result<(), CommandError> {
    let plan = PlanName::new(&asked.plan).map_err(CommandError::from_refusal)?;
    let reach = reach_house(config)?;
    let released = match &asked.person {
        Some(person) => {
            let person = Person::new(person).map_err(CommandError::from_refusal)?;
            usize::from(release_one(&reach, config, &plan, &person)?)
        }
        None => release_all(&reach, config, &plan, asked.per_second)?,
    };
    if out.json {
        return Ok(terminal::print_json(&json!({"released": released}))?);
    }
    terminal::print_talk(match (&asked.person, released) {
        (Some(person), 0) => format!("no window of `{plan}` is open for {}", terminal::clean_text(person)),
        (None, 0) => format!("no window of `{plan}` is open"),
        (_, n) => describe_released(n, matches!(reach, HouseAccess::Running(_))),
    });
    Ok(())
}

/// The result in words. Without a running house, the order to close the windows is only in the log.
fn describe_released(released: usize, by_house: bool) -> String {
    let windows = if released == 1 { "window" } else { "windows" };
    let when = if by_house { "released" } else { "will be released when the house runs" };
    format!("{released} {windows} {when}")
}

fn release_one(
    reach: &HouseAccess,
    config: &Config,
    plan: &PlanName,
    person: &Person,
) -> Result<bool, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let body = json!({"plan": plan.as_str(), "person": person.as_str()}).to_string();
            let said: Value = client.post("/admin/release", &body, None)?.into_value()?;
            Ok(said["released"].as_u64() == Some(1))
        }
        HouseAccess::Files(files) => {
            let release = build_release(&config.tenant, plan, UtcMillis(files.clock.now()));
            Ok(files.runtime.block_on(release::release_person(&*files.topics, &release, person))?)
        }
    }
}

/// Releases all windows at a limited rate, so that the sender and the readers can keep up. If it is stopped midway,
/// some of the windows are released, and the rest close at their own time.
fn release_all(
    reach: &HouseAccess,
    config: &Config,
    plan: &PlanName,
    per_second: usize,
) -> Result<usize, CommandError> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let clock = Clock::real(0);
    let by_house = matches!(reach, HouseAccess::Running(_));
    let (mut from, mut at, mut released) = (ReleaseCursor::default(), None, 0);
    let mut progress = terminal::ProgressLine::start();
    loop {
        let began = clock.now();
        let part = release_part(reach, config, plan, (from, &mut at), per_second)?;
        released += part.released;
        progress.show(describe_released(released, by_house));
        let Some(next) = part.next else { break };
        from = next.parse().context("decode the answer")?;
        if part.released > 0 {
            pace.block_on(clock.sleep_until(began + SECOND_MS));
        }
    }
    terminal::progress_done();
    Ok(released)
}

fn release_part(
    reach: &HouseAccess,
    config: &Config,
    plan: &PlanName,
    (from, at): (ReleaseCursor, &mut Option<i64>),
    most: usize,
) -> Result<ReleaseProgress, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let body = json!({"plan": plan.as_str(), "from": from.to_string(), "most": most, "at": at});
            let said: Value = client.post("/admin/release", &body.to_string(), None)?.into_value()?;
            *at = said["at"].as_i64();
            Ok(serde_json::from_value(said).context("decode the answer")?)
        }
        HouseAccess::Files(files) => {
            let at = UtcMillis(*at.get_or_insert_with(|| files.clock.now()));
            let release = build_release(&config.tenant, plan, at);
            Ok(files.runtime.block_on(release::release_batch(&*files.topics, &release, from, most))?)
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
        let check = |released: usize, by_house: bool, expect: &str| {
            assert_eq!(describe_released(released, by_house), expect);
        };
        check(1, true, "1 window released");
        check(2, true, "2 windows released");
        check(1, false, "1 window will be released when the house runs");
        check(0, false, "0 windows will be released when the house runs");
    }
}
