//! What operators of mail ask for: keys, and whether a mail arrives.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub const DKIM: &str = "\
Keys lie in a folder (--folder, else `mail.dkim`), each in a file with the name of its record. Mails of a domain are \
signed with its newest key of each kind that is in use. To change keys: make one with --from some days ahead, put \
its record into the DNS, and take the old record and file away a week after that day.

Examples:
  tidings dkim new example.com --folder keys
  tidings dkim new example.com --kind ed25519 --selector e2027 --from 2027-01-01
  tidings dkim list --folder keys";

pub const SEND_TEST: &str = "\
The mail goes the way that mails of the house go, by `mail.ways`, signed with the keys of `mail.dkim`. Nothing need \
run for it, and no journal knows of it.

Example:
  tidings send-test ann@example.com --from \"News <news@example.org>\"";

#[derive(Debug, Args)]
pub struct DkimArgs {
    #[command(subcommand)]
    pub what: DkimCommand,
}

#[derive(Debug, Subcommand)]
pub enum DkimCommand {
    /// Make a key for a domain
    New(NewDkimKeyArgs),
    /// Show the keys, their records, and which are in use
    List {
        /// The folder of the keys [default: `mail.dkim`]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct NewDkimKeyArgs {
    /// The domain of the senders' addresses, or one above it
    #[arg(value_name = "DOMAIN")]
    pub domain: String,
    /// `rsa`, which every receiver can check, or `ed25519`, beside it
    #[arg(long, value_name = "KIND", default_value = "rsa", value_parser = ["rsa", "ed25519"])]
    pub kind: String,
    /// What tells this key from the domain's others [default: its kind and the date, as rsa-20261201]
    #[arg(long, value_name = "NAME")]
    pub selector: Option<String>,
    /// Use it from this date on (UTC) [default: at once]
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// The folder of the keys [default: `mail.dkim`]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SendTestArgs {
    /// Who gets it
    #[arg(value_name = "ADDRESS")]
    pub to: String,
    /// Who it is from
    #[arg(long, value_name = "MAILBOX")]
    pub from: String,
}
