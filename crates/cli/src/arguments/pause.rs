//! Pauses of plans, channels and tenants.

use clap::Subcommand;

pub const PAUSE: &str = "\
A pause holds at once, in every process: messages that were not handed over yet are given back, and windows stay \
open. What gathers meanwhile waits: what still holds is told when the pause ends.

Examples:
  tidings pause begin plan:daily --why 'the pictures are broken'
  tidings pause begin channel:push
  tidings pause list
  tidings pause end plan:daily";

#[derive(Debug, Subcommand)]
pub enum PauseCommand {
    /// List what is paused
    List,
    /// Pause a plan, a channel or a tenant
    Begin {
        /// plan:NAME, channel:NAME or tenant:NAME
        #[arg(value_name = "SCOPE")]
        scope: String,
        /// The reason, for others who operate the house
        #[arg(long, value_name = "TEXT", default_value = "")]
        why: String,
    },
    /// End a pause
    End {
        /// plan:NAME, channel:NAME or tenant:NAME
        #[arg(value_name = "SCOPE")]
        scope: String,
    },
}
