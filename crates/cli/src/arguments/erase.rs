//! Erasing a person.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const ERASE: &str = "\
From the moment of this request everything about the person is ignored and nothing is sent to them. The room \
`keeper` removes their data once the work in flight has landed: their days, profile, mutes, follows, notes \
and crowds, trace records, the journal of their messages, their state between turns, and messages in the \
outbox. The receipt lists for each place how much was removed, what remains, and until when; receipts are \
kept for a year.

Repeating the command erases again. An erased id stays erased, and whatever services say about it later is \
ignored. To use the id again, run --welcome when its erasure is done: nothing that was removed comes back, \
and nothing from before is told.

Examples:
  tidings erase ann --dry-run
  tidings erase ann
  tidings erase ann --yes --no-wait
  tidings erase ann --receipt --json
  tidings erase ann --archive archive-before-2026-11-13.avro
  tidings erase ann --welcome";

#[derive(Debug, Args)]
pub struct ErasePersonArgs {
    /// The person's id, as services know it
    #[arg(value_name = "PERSON")]
    pub person: String,
    /// Only count what would be removed
    #[arg(long, conflicts_with_all = ["receipt", "welcome", "archive", "no_wait"])]
    pub dry_run: bool,
    /// Only show the progress, or what was removed now and before
    #[arg(long, conflicts_with_all = ["welcome", "archive", "no_wait"])]
    pub receipt: bool,
    /// Allow the id again: changes about it count from now on
    #[arg(long, conflicts_with_all = ["archive", "no_wait"])]
    pub welcome: bool,
    /// Only rewrite this archive without the person; the old file is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "no_wait")]
    pub archive: Option<PathBuf>,
    /// Do not wait for the erasure to finish
    #[arg(long)]
    pub no_wait: bool,
    /// Do not ask for confirmation
    #[arg(long, conflicts_with_all = ["dry_run", "receipt", "welcome", "archive"])]
    pub yes: bool,
}
