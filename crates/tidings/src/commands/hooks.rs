//! The keys that receivers of hooks are told.

use catalogue::problem::one_of;
use model::{Tenant, hook::Hook};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::Out;
use crate::{
    cli::{Hooks, HooksWhat},
    config::Config,
    failure::Failure,
    say,
};

pub fn run(config: &Config, asked: &Hooks, out: Out) -> Result<(), Failure> {
    let HooksWhat::Secret { tenant, channel } = &asked.what;
    let tenant =
        Tenant::new(tenant).map_err(|why| Failure::refused(format!("`{tenant}` is no tenant: {why}")))?;
    let known = || one_of(Hook::ALL.map(Hook::name));
    let hook = Hook::parse(channel)
        .ok_or_else(|| Failure::refused(format!("`{channel}` is no hook; there is {}", known())))?;
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
