//! `tidings release`: closes windows of a plan now, for one person or for all, paced.

use anyhow::Context as _;
use model::{Millis, Person, PlanName, Tenant};
use runtime::Clock;
use serde_json::{Value, json};

use super::{
    Out,
    reach::{Reach, reach},
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    release::{self, Part, Place, Release},
    say,
};

const SECOND_MS: i64 = 1_000;

pub fn run(config: &Config, asked: &cli::Release, out: Out) -> Result<(), Failure> {
    let plan = PlanName::new(&asked.plan).map_err(Failure::refused)?;
    let reach = reach(config)?;
    let released = match &asked.person {
        Some(person) => {
            let person = Person::new(person).map_err(Failure::refused)?;
            usize::from(one(&reach, config, &plan, &person)?)
        }
        None => all(&reach, config, &plan, asked.per_second)?,
    };
    if out.json {
        return Ok(say::json(&json!({"released": released}))?);
    }
    say::talk(match (&asked.person, released) {
        (Some(person), 0) => format!("{} has no window of `{plan}` open", say::clean(person)),
        (None, 0) => format!("nobody has a window of `{plan}` open"),
        (_, n) => said(n, matches!(reach, Reach::Running(_))),
    });
    Ok(())
}

/// What became of so many windows. Without a house it only stands on the log that they are to be closed.
fn said(released: usize, by_house: bool) -> String {
    let windows = if released == 1 { "window" } else { "windows" };
    let when = if by_house { "released" } else { "will be released when the house runs" };
    format!("{released} {windows} {when}")
}

fn one(reach: &Reach, config: &Config, plan: &PlanName, person: &Person) -> Result<bool, Failure> {
    match reach {
        Reach::Running(client) => {
            let body = json!({"plan": plan.as_str(), "person": person.as_str()}).to_string();
            let said: Value = client.post("/admin/release", &body, None)?.good()?;
            Ok(said["released"].as_u64() == Some(1))
        }
        Reach::Files(files) => {
            let release = release(&config.tenant, plan, Millis(files.clock.now()));
            Ok(files.runtime.block_on(release::one(&*files.topics, &release, person))?)
        }
    }
}

/// All windows, so many a second: the sender and whoever reads the mails have to keep up. Who stops it in the
/// middle has released a part; the rest close in their own time.
fn all(reach: &Reach, config: &Config, plan: &PlanName, per_second: usize) -> Result<usize, Failure> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let clock = Clock::real(0);
    let by_house = matches!(reach, Reach::Running(_));
    let (mut from, mut at, mut released) = (Place::default(), None, 0);
    let mut progress = say::Progress::start();
    loop {
        let began = clock.now();
        let part = part(reach, config, plan, (from, &mut at), per_second)?;
        released += part.released;
        progress.show(said(released, by_house));
        let Some(next) = part.next else { break };
        from = next.parse().context("understand the answer")?;
        if part.released > 0 {
            pace.block_on(clock.sleep_until(began + SECOND_MS));
        }
    }
    say::progress_done();
    Ok(released)
}

fn part(
    reach: &Reach,
    config: &Config,
    plan: &PlanName,
    (from, at): (Place, &mut Option<i64>),
    most: usize,
) -> Result<Part, Failure> {
    match reach {
        Reach::Running(client) => {
            let body = json!({"plan": plan.as_str(), "from": from.to_string(), "most": most, "at": at});
            let said: Value = client.post("/admin/release", &body.to_string(), None)?.good()?;
            *at = said["at"].as_i64();
            Ok(serde_json::from_value(said).context("understand the answer")?)
        }
        Reach::Files(files) => {
            let at = Millis(*at.get_or_insert_with(|| files.clock.now()));
            let release = release(&config.tenant, plan, at);
            Ok(files.runtime.block_on(release::some(&*files.topics, &release, from, most))?)
        }
    }
}

fn release(tenant: &Tenant, plan: &PlanName, at: Millis) -> Release {
    Release { tenant: tenant.clone(), plan: plan.clone(), at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_the_house_is_not_said_to_be_done() {
        let check = |released: usize, by_house: bool, expect: &str| {
            assert_eq!(said(released, by_house), expect);
        };
        check(1, true, "1 window released");
        check(2, true, "2 windows released");
        check(1, false, "1 window will be released when the house runs");
        check(0, false, "0 windows will be released when the house runs");
    }
}
