//! For operators: the keys of services.

use clap::{Args, Subcommand};
use house_facts::KeyScope;

pub const KEY: &str = "\
The key is shown once and kept nowhere: give it to the service. The item goes into `api_keys` of the settings, \
where it counts after a reload; it has only the key's hash, from which nobody finds the key.

Example:
  tidings key new --tenant main --scope read";

#[derive(Debug, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    pub what: KeyCommand,
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a random API key of `tenant`, and print the item of the settings with its hash
    New(NewApiKeyArgs),
}

#[derive(Debug, Args)]
pub struct NewApiKeyArgs {
    /// What it is for: `changes`, `facts`, `feedback`, `returns` or `read`; can be repeated [default: everything]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<KeyScope>,
}
