//! Backups of a house on Kafka and Cassandra or ScyllaDB.

use clap::Subcommand;

pub const BACKUP: &str = "\
Topics and tables are copied by the tools of their engines, while the house is stopped. `mark` writes the \
same instant to both, right before that; `check` says after a restore whether both are of the same mark, \
and whether either went on after it. `check` exits with 3 if they do not fit. docs/how-to/backup-and-restore.md \
has every step. An embedded house is one directory and needs no mark.

Examples:
  tidings backup mark
  tidings backup check --json";

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum BackupCommand {
    /// Write the same instant to topics and tables of a stopped house
    Mark,
    /// Say whether topics and tables are of the same backup
    Check,
}
