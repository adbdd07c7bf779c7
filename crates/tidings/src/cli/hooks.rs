//! What operators of hooks ask for: the keys that receivers are told.

use clap::{Args, Subcommand};

pub const HOOKS: &str = "\
Each tenant has a key of its own for each hook that is signed, made of `hooks.secret`; it is kept nowhere and is always \
the same. To change it: put a new secret before the old one, tell the receivers their new keys, and take the old secret \
away when all of them have it. Until then each call is signed by both.

Example:
  tidings hooks secret main";

#[derive(Debug, Args)]
pub struct Hooks {
    #[command(subcommand)]
    pub what: HooksWhat,
}

#[derive(Debug, Subcommand)]
pub enum HooksWhat {
    /// Show the key by which a tenant's receivers see who calls; the newest first
    Secret {
        /// Whose calls
        #[arg(value_name = "TENANT")]
        tenant: String,
        /// The hook
        #[arg(long, value_name = "NAME", default_value = "webhook")]
        channel: String,
    },
}
