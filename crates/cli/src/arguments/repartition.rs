//! The command line of repartitions.

use clap::{Args, value_parser};
use model::limits::PARTITIONS_MAX;

pub const REPARTITION: &str = "\
Everything that lies by person or subject gets N partitions instead of those it has. Without --execute it is only \
said what that would do. What is remembered of people (open windows, what was told, messages that wait for another \
attempt) moves along and is counted before and after; changes, quarantine and the store stay as they are. Events, \
announcements and messages that were read are not kept: replay and explain reach back to the repartition only.

No house may run, nothing may be left to read, and the quarantine may hold nothing of these topics: let the house \
run without intake until no stage lags, then stop it. What was interrupted is finished by the same command, and no \
house starts until then; as long as nothing was taken away, the count that there is gives it up. Afterwards \
`partitions` in the configuration has to say the new count.

Examples:
  tidings repartition --to 128
  tidings repartition --to 128 --execute";

#[derive(Debug, Args)]
pub struct RepartitionArgs {
    /// How many partitions there shall be
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(PARTITIONS_MAX)))]
    pub to: u32,
    /// Do it
    #[arg(long)]
    pub execute: bool,
}
