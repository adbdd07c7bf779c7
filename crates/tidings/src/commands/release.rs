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
    match (&asked.person, released) {
        (Some(person), 0) => say::talk(format!("{} has no window of `{plan}` open", say::clean(person))),
        (None, 0) => say::talk(format!("nobody has a window of `{plan}` open")),
        (_, 1) => say::talk("1 window released"),
        (_, n) => say::talk(format!("{n} windows released")),
    }
    Ok(())
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
    let (mut from, mut at, mut released) = (Place::default(), None, 0);
    loop {
        let began = clock.now();
        let part = part(reach, config, plan, (from, &mut at), per_second)?;
        released += part.released;
        say::progress(format!("{released} windows released"));
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
