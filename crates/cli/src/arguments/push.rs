//! For operators of pushes: a key.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub const PUSH: &str = "\
The key identifies the sender to the push services of browsers. Browsers get its public half when they \
subscribe, so after a new key each of them must subscribe again.

Example:
  tidings push key --file /run/secrets/vapid.pem";

#[derive(Debug, Args)]
pub struct PushArgs {
    #[command(subcommand)]
    pub what: PushCommand,
}

#[derive(Debug, Subcommand)]
pub enum PushCommand {
    /// Create a key for Web Push, and print where it belongs
    Key {
        /// The file to write
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "webpush.pem")]
        file: PathBuf,
    },
}
