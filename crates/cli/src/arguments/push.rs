//! What operators of pushes ask for: a key.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub const PUSH: &str = "\
The key says to the push services of browsers who sends. Browsers are given its public half when they subscribe, so \
another key means that each has to subscribe anew.

Example:
  tidings push key --file /run/secrets/vapid.pem";

#[derive(Debug, Args)]
pub struct PushArgs {
    #[command(subcommand)]
    pub what: PushCommand,
}

#[derive(Debug, Subcommand)]
pub enum PushCommand {
    /// Make a key for Web Push, and say where it belongs
    Key {
        /// Where it is written
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "webpush.pem")]
        file: PathBuf,
    },
}
