//! For operators of mail: keys, and whether a mail arrives.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub const DKIM: &str = "\
Keys are kept in a folder (--folder, or `mail.dkim`), one file each, named after its DNS record. Mail from a \
domain is signed with the newest key of each kind that is in use. To rotate: create a key with --from a few \
days ahead, publish its DNS record, and remove the old record and file a week after that day.

Examples:
  tidings dkim new example.com --folder keys
  tidings dkim new example.com --kind ed25519 --selector e2027 --from 2027-01-01
  tidings dkim list --folder keys";

pub const SEND_TEST: &str = "\
The mail is sent as the house sends all mail: through `mail.ways`, signed with the keys in `mail.dkim`. No \
house needs to be running, and the journal does not record it.

Example:
  tidings send-test ann@example.com --from \"News <news@example.org>\"";

#[derive(Debug, Args)]
pub struct DkimArgs {
    #[command(subcommand)]
    pub what: DkimCommand,
}

#[derive(Debug, Subcommand)]
pub enum DkimCommand {
    /// Create a key for a domain
    New(NewDkimKeyArgs),
    /// Show the keys, their DNS records, and which are in use
    List {
        /// The folder of the keys [default: `mail.dkim`]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct NewDkimKeyArgs {
    /// The domain of the sender addresses, or a parent of it
    #[arg(value_name = "DOMAIN")]
    pub domain: String,
    /// `rsa`, which every receiver can verify, or `ed25519` in addition
    #[arg(long, value_name = "KIND", default_value = "rsa", value_parser = ["rsa", "ed25519"])]
    pub kind: String,
    /// The selector [default: kind and date, such as rsa-20261201]
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
    /// The recipient
    #[arg(value_name = "ADDRESS")]
    pub to: String,
    /// The sender
    #[arg(long, value_name = "MAILBOX")]
    pub from: String,
}
