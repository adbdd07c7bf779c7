//! The keys that receivers of hooks are told, and one call to see whether it arrives.

use anyhow::Context as _;
use catalogue::problem::one_of;
use courier::{Call, Courier as _, Message, Way};
use model::{Kind, Millis, Person, PlanName, SubjectRef, Tenant, hook::Hook};
use runtime::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::{
    Out,
    mail::{Open, by_chance, ended},
};
use crate::{
    cli::{Hooks, HooksWhat},
    config::{self, Config},
    failure::Failure,
    post, say,
};

/// For how long a call to see whether it arrives is worth anything.
const WORTH_MS: i64 = 600_000;

pub fn run(config: &Config, asked: &Hooks, out: Out) -> Result<(), Failure> {
    match &asked.what {
        HooksWhat::Secret { tenant, channel } => secret(config, tenant, hook(channel)?, out),
        HooksWhat::Test { address, channel } => test(config, address, hook(channel)?, out),
    }
}

fn hook(name: &str) -> Result<Hook, Failure> {
    let known = || one_of(Hook::ALL.map(Hook::name));
    Hook::parse(name).ok_or_else(|| Failure::refused(format!("`{name}` is no hook; there is {}", known())))
}

fn secret(config: &Config, tenant: &str, hook: Hook, out: Out) -> Result<(), Failure> {
    let tenant =
        Tenant::new(tenant).map_err(|why| Failure::refused(format!("`{tenant}` is no tenant: {why}")))?;
    if config.hooks.keys.is_empty() {
        return Err(Failure::refused("there is no key: set `hooks.secret`, of which it is made"));
    }
    let keys = config.hooks.keys.shown(hook, &tenant);
    let keys: Vec<&str> = keys.iter().map(SecretString::expose_secret).collect();
    if out.json {
        return Ok(say::json(&json!({"tenant": tenant.as_str(), "channel": hook.name(), "keys": keys}))?);
    }
    keys.into_iter().try_for_each(say::data)?;
    Ok(())
}

/// Calls once, whether or not messages of the house go there.
fn test(config: &Config, address: &str, hook: Hook, out: Out) -> Result<(), Failure> {
    let hooks = config::Hooks { channels: vec![hook], ..config.hooks.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let _within = runtime.enter();
    let caller = post::caller(&hooks, config.limits.hand_over).map_err(Failure::Refused)?;
    let caller = caller.context("no hook is called")?;
    let message = message(config, address, hook)?;
    let handed = runtime.block_on(caller.hand(&message, &Open)).context("call")?;
    ended(handed, &message, out)
}

fn message(config: &Config, address: &str, hook: Hook) -> anyhow::Result<Message> {
    let (ready, now) = (by_chance(), Millis(Clock::real(0).now()));
    let text = "This call was made to see whether calls of this house arrive. If you read it, they do.";
    Ok(Message {
        tenant: config.tenant.clone(),
        ready,
        message_id: format!("{ready}@localhost"),
        headline: "Calls of this house arrive".to_owned(),
        text: text.to_owned(),
        date: now,
        way: Way::Call(Call {
            hook,
            address: address.to_owned(),
            person: Person::new("test")?,
            plan: PlanName::new("test")?,
            longer: String::new(),
            image: None,
            opens: None,
            silent: true,
            told: vec![courier::Told {
                section: "Test".to_owned(),
                kind: Kind::new("test")?,
                subject: SubjectRef::new("test:1")?,
                maybe: false,
            }],
            expires: now.plus(WORTH_MS),
        }),
    })
}
