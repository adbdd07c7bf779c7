//! For operators of hooks: the keys that receivers verify calls with, and test calls.

use clap::{Args, Subcommand};

pub const HOOKS: &str = "\
Each tenant has its own key for each signed hook, derived from `hooks.secret`; it is stored nowhere and \
never changes by itself. To rotate: put a new secret in front of the old one, give the receivers their new \
keys, and remove the old secret when all of them have changed. Until then each call carries both signatures.

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
    /// Show the signing keys of a tenant, the newest first
    Secret {
        /// The tenant
        #[arg(value_name = "TENANT")]
        tenant: String,
        /// The hook
        #[arg(long, value_name = "NAME", default_value = "webhook")]
        channel: String,
    },
    /// Call an address once and report the outcome
    Test {
        /// The address
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// The hook
        #[arg(long, value_name = "NAME", default_value = "webhook")]
        channel: String,
    },
}
