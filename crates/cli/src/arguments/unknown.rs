//! Messages whose delivery is unknown.

use clap::Args;

pub const UNKNOWN: &str = "\
If a server breaks off or a process dies between the last byte of a message and the answer, its delivery is \
unknown. An urgent message is then sent once more under the same id; the entries of any other message are \
told later, marked as `may have been sent`. A kind can change that with `unsure`.

Examples:
  tidings unknown
  tidings unknown --hours 168 --json";

#[derive(Debug, Args)]
pub struct UnknownArgs {
    /// How many hours to look back
    #[arg(long, value_name = "HOURS", default_value_t = views::unclear_messages::HOURS, value_parser = clap::value_parser!(u16).range(1..=8_760))]
    pub hours: u16,
}
