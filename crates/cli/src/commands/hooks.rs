//! The keys that receivers of hooks are told, and one call to see whether it arrives.

use adapters::courier_setup;
use anyhow::Context as _;

use courier::{CallPayload, Courier as _, Message, MessagePayload};
use model::{Kind, Person, PlanName, SubjectRef, Tenant, UtcMillis, hook::Hook};
use runtime::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use settings::config::{self, Config};
use shell::{failure::CommandError, terminal};
use source_text::list_choices;

use super::{
    OutputStyle,
    mail::{TestSendGate, random_ready_id, report_handed},
};
use crate::arguments::{HooksArgs, HooksCommand};

/// For how long a call to see whether it arrives is worth anything.
const WORTH_MS: i64 = 600_000;

pub fn run(config: &Config, asked: &HooksArgs, out: OutputStyle) -> Result<(), CommandError> {
    match &asked.what {
        HooksCommand::Secret { tenant, channel } => {
            print_hook_keys(config, tenant, parse_hook(channel)?, out)
        }
        HooksCommand::Test { address, channel } => send_test_call(config, address, parse_hook(channel)?, out),
    }
}

fn parse_hook(name: &str) -> Result<Hook, CommandError> {
    let known = || list_choices(Hook::ALL.map(Hook::name));
    Hook::parse(name)
        .ok_or_else(|| CommandError::from_refusal(format!("`{name}` is not a hook; use {}", known())))
}

fn print_hook_keys(config: &Config, tenant: &str, hook: Hook, out: OutputStyle) -> Result<(), CommandError> {
    let tenant = Tenant::new(tenant)
        .map_err(|why| CommandError::from_refusal(format!("`{tenant}` is not a tenant: {why}")))?;
    if config.hooks.keys.is_empty() {
        return Err(CommandError::from_refusal(
            "there is no key: set `hooks.secret`, from which keys are derived",
        ));
    }
    let keys = config.hooks.keys.receiver_keys(hook, &tenant);
    let keys: Vec<&str> = keys.iter().map(SecretString::expose_secret).collect();
    if out.json {
        return Ok(terminal::print_json(
            &json!({"tenant": tenant.as_str(), "channel": hook.name(), "keys": keys}),
        )?);
    }
    keys.into_iter().try_for_each(terminal::print_data)?;
    Ok(())
}

/// Calls once, whether or not messages of the house go there.
fn send_test_call(config: &Config, address: &str, hook: Hook, out: OutputStyle) -> Result<(), CommandError> {
    let hooks = config::HooksConfig { channels: vec![hook], ..config.hooks.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let _within = runtime.enter();
    let caller =
        courier_setup::build_caller(&hooks, config.limits.hand_over).map_err(CommandError::Refused)?;
    let caller = caller.context("hooks are not enabled")?;
    let message = test_call(config, address, hook)?;
    let handed = runtime.block_on(caller.hand(&message, &TestSendGate)).context("call")?;
    report_handed(handed, &message, out)
}

fn test_call(config: &Config, address: &str, hook: Hook) -> anyhow::Result<Message> {
    let (ready, now) = (random_ready_id(), UtcMillis(Clock::real(0).now()));
    let text = "This call was made to see whether calls of this house arrive. If you read it, they do.";
    Ok(Message {
        tenant: config.tenant.clone(),
        ready,
        message_id: format!("{ready}@localhost"),
        headline: "Calls of this house arrive".to_owned(),
        text: text.to_owned(),
        date: now,
        way: MessagePayload::Call(CallPayload {
            hook,
            address: address.to_owned(),
            person: Person::new("test")?,
            plan: PlanName::new("test")?,
            longer: String::new(),
            image: None,
            opens: None,
            links: courier::MessageLinks::default(),
            silent: true,
            told: vec![courier::CallItem {
                section: "Test".to_owned(),
                kind: Kind::new("test")?,
                subject: SubjectRef::new("test:1")?,
                maybe: false,
                count: 1,
            }],
            expires: now.plus(WORTH_MS),
        }),
    })
}
