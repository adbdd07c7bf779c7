//! What operators of hooks ask for: the keys that receivers are told, and whether a call arrives.

use clap::{Args, Subcommand};

pub const HOOKS: &str = "\
Each tenant has a key of its own for each hook that is signed, made of `hooks.secret`; it is kept nowhere and is always \
the same. To change it: put a new secret before the old one, tell the receivers their new keys, and take the old secret \
away when all of them have it. Until then each call is signed by both.

Examples:
  tidings hooks secret main
  tidings hooks test https://hooks.example.org/ann
  tidings hooks test https://chat.example.org/services/T0/B0/x --channel chat";

#[derive(Debug, Args)]
pub struct HooksArgs {
    #[command(subcommand)]
    pub what: HooksCommand,
}

#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// Show the key by which a tenant's receivers see who calls; the newest first
    Secret {
        /// Whose calls
        #[arg(value_name = "TENANT")]
        tenant: String,
        /// The hook
        #[arg(long, value_name = "NAME", default_value = "webhook")]
        channel: String,
    },
    /// Call an address once, and say what became of it
    Test {
        /// Where
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// The hook
        #[arg(long, value_name = "NAME", default_value = "webhook")]
        channel: String,
    },
}
