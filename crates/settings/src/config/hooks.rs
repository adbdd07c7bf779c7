//! The keys of hooks: which are called, and what they are signed with.

use std::path::PathBuf;

use courier_net::hooks::HookSecrets;
use model::hook::Hook;
use source_text::list_choices;

use super::{
    keys::{HOOKS_CA, HOOKS_CHANNELS, HOOKS_HOSTS, HOOKS_PER_SECOND, HOOKS_SECRET},
    merge::ConfigMerge,
    parse::{parse_path, parse_rate},
};

/// Which hooks are enabled; messages of the others stay in the outbox.
#[derive(Clone, Debug, Default)]
pub struct HooksConfig {
    pub channels: Vec<Hook>,
    pub keys: HookSecrets,
    pub ca: Option<PathBuf>,
    pub hosts: Vec<String>,
    /// Calls to each host.
    pub per_second: Option<f64>,
}

/// Parses them. A secret may be set without an enabled hook, so that keys can be given out in advance.
pub fn resolve_hooks(merge: &mut ConfigMerge<'_>) -> HooksConfig {
    let channels = merge.take(HOOKS_CHANNELS, parse_hook_channels).unwrap_or_default();
    if channels.is_empty() {
        [HOOKS_CA, HOOKS_HOSTS, HOOKS_PER_SECOND]
            .into_iter()
            .for_each(|name| merge.refuse_without(name, HOOKS_CHANNELS));
    }
    let mut keys = HookSecrets::default();
    if let Some((lines, source)) = merge.secrets.get(HOOKS_SECRET).cloned() {
        match HookSecrets::read(&lines) {
            Ok(read) => keys = read,
            Err(why) => merge.refuse(&source, format!("`{HOOKS_SECRET}`: {why}")),
        }
    }
    let (ca, hosts) = (merge.take(HOOKS_CA, parse_path), merge.take_list(HOOKS_HOSTS));
    HooksConfig { channels, keys, ca, hosts, per_second: merge.take(HOOKS_PER_SECOND, parse_rate) }
}

fn parse_hook_channels(text: &str) -> Result<Vec<Hook>, String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let known = || list_choices(Hook::ALL.map(Hook::name));
    names
        .map(|name| Hook::parse(name).ok_or_else(|| format!("has a hook that is not one of {}", known())))
        .collect()
}
