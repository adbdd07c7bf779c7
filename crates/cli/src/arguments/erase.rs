//! Erasing a person.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const ERASE: &str = "\
From the moment this is asked for nothing is heard of the person and nobody tells them anything. What they have is \
removed when what was in flight has landed, by the room `keeper`: their days, profile, mutes, follows, notes and crowds, slips \
and what the journal has of their messages, what is remembered of them between turns, messages in the outbox. The \
receipt says of every place how much was removed, what stays, and until when; each is kept for a year, whatever is asked \
for later. Asked for again it is done again. An erased id stays erased: what services say of it later is ignored. To use \
the id anew, welcome it when its erasure is done; nothing that was removed comes back, nor is anything told from before.

Examples:
  tidings erase ann --dry-run
  tidings erase ann
  tidings erase ann --yes --no-wait
  tidings erase ann --receipt --json
  tidings erase ann --archive archive-before-2026-11-13.avro
  tidings erase ann --welcome";

#[derive(Debug, Args)]
pub struct ErasePersonArgs {
    /// The person, by the id that services use for them
    #[arg(value_name = "PERSON")]
    pub person: String,
    /// Only count what would be removed
    #[arg(long, conflicts_with_all = ["receipt", "welcome", "archive", "no_wait"])]
    pub dry_run: bool,
    /// Only show how far it is, or what was removed, this time and before
    #[arg(long, conflicts_with_all = ["welcome", "archive", "no_wait"])]
    pub receipt: bool,
    /// Let the person come back: they are heard of and told again from now on
    #[arg(long, conflicts_with_all = ["archive", "no_wait"])]
    pub welcome: bool,
    /// Write this archive anew without the person, and nothing else; the old file is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "no_wait")]
    pub archive: Option<PathBuf>,
    /// Do not wait until it is done
    #[arg(long)]
    pub no_wait: bool,
    /// Erase without asking
    #[arg(long, conflicts_with_all = ["dry_run", "receipt", "welcome", "archive"])]
    pub yes: bool,
}
