//! The keys of hooks: which are called, and what they are signed with.

use std::path::PathBuf;

use catalogue::problem::one_of;
use courier_net::hooks::Keys;
use model::hook::Hook;

use super::{
    keys::{HOOKS_CA, HOOKS_CHANNELS, HOOKS_HOSTS, HOOKS_PER_SECOND, HOOKS_SECRET},
    merge::Merge,
    parse::rate,
    push::{list, refuse_without},
    settle::path,
};

/// Which hooks are called; messages of the others stay in the outbox.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    pub channels: Vec<Hook>,
    pub keys: Keys,
    pub ca: Option<PathBuf>,
    pub hosts: Vec<String>,
    /// Calls to each host.
    pub per_second: Option<f64>,
}

/// Understands them. A secret may be there without a hook that is called: then keys can be given out ahead.
pub fn settle(merge: &mut Merge<'_>) -> Hooks {
    let channels = merge.take(HOOKS_CHANNELS, channels).unwrap_or_default();
    if channels.is_empty() {
        [HOOKS_CA, HOOKS_HOSTS, HOOKS_PER_SECOND]
            .into_iter()
            .for_each(|name| refuse_without(merge, name, HOOKS_CHANNELS));
    }
    let mut keys = Keys::default();
    if let Some((lines, source)) = merge.secrets.get(HOOKS_SECRET).cloned() {
        match Keys::read(&lines) {
            Ok(read) => keys = read,
            Err(why) => merge.refuse(&source, format!("`{HOOKS_SECRET}`: {why}")),
        }
    }
    let (ca, hosts) = (merge.take(HOOKS_CA, path), list(merge, HOOKS_HOSTS));
    Hooks { channels, keys, ca, hosts, per_second: merge.take(HOOKS_PER_SECOND, rate) }
}

fn channels(text: &str) -> Result<Vec<Hook>, String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let known = || one_of(Hook::ALL.map(Hook::name));
    names
        .map(|name| Hook::parse(name).ok_or_else(|| format!("names a hook that is none of {}", known())))
        .collect()
}
