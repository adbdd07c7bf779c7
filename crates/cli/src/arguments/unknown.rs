//! Messages of which nobody can say whether they went out.

use clap::Args;

pub const UNKNOWN: &str = "\
A server that breaks off, or a process that dies, between the last word of a message and the answer to it leaves nobody who \
knows. What is urgent is then sent once more, under the same id; all else is told later, as something that may have been sent. \
A kind may have it otherwise, by `unsure`.

Examples:
  tidings unknown
  tidings unknown --hours 168 --json";

#[derive(Debug, Args)]
pub struct UnknownArgs {
    /// How many hours one looks back
    #[arg(long, value_name = "HOURS", default_value_t = views::unclear_messages::HOURS, value_parser = clap::value_parser!(u16).range(1..=8_760))]
    pub hours: u16,
}
