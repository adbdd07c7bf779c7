//! The command line of repartitions.

use clap::{Args, value_parser};
use model::limits::PARTITIONS_MAX;

pub const REPARTITION: &str = "\
Gives every topic that is keyed by person or subject N partitions. Without --execute it only prints the \
plan. State of people (open windows, what was told, messages waiting for another attempt) is moved, and \
counted before and after; changes, quarantine and the store stay as they are. Events, announcements and \
messages that were already read are not kept: afterwards replay and explain reach back only to the \
repartition.

No house may run, nothing may be left to read, and the quarantine must hold no records of these topics: run \
the house without intake until no stage lags, then stop it. If it was interrupted, run the same command \
again; no house starts until then. As long as nothing has been removed, running it with the old count undoes \
it. Afterwards set `partitions` in the configuration to the new count.

Examples:
  tidings repartition --to 128
  tidings repartition --to 128 --execute";

#[derive(Debug, Args)]
pub struct RepartitionArgs {
    /// The new number of partitions
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(PARTITIONS_MAX)))]
    pub to: u32,
    /// Carry it out; otherwise the plan is printed
    #[arg(long)]
    pub execute: bool,
}
