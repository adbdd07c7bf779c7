//! The clock of a demo, and devices that pushes reach.

use clap::{ArgGroup, Args};

pub const CLOCK: &str = "\
Only a demo's clock can be moved (`tidings up --demo`), and only forward: what is due by then is done at once. `due` is \
the instant at which the next window is due, `morning` half past nine tomorrow, by UTC.

Examples:
  tidings clock
  tidings clock --to due
  tidings clock --by 2h";

pub const DEVICE: &str = "\
The device is called as the app calls it: a word of letters, digits, `-`, `_` and `.`. The token is what its platform's \
service finds it by; in a browser that is its subscription as JSON. In a demo any word will do: pushes stay in the outbox.

Examples:
  tidings device ann
  tidings device ann phone android token-of-the-phone
  tidings device ann phone --remove";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("how").args(["to", "by"]))]
pub struct ClockArgs {
    /// Move it to this instant
    #[arg(long, value_name = "INSTANT", value_parser = ["due", "hour", "morning", "day", "week"])]
    pub to: Option<String>,
    /// Move it by so much, such as 2h or 1d12h; at most 8d
    #[arg(long, value_name = "TIME", value_parser = parse_length)]
    pub by: Option<i64>,
}

#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// The person, by the id that services use for them
    pub person: String,
    /// The device; without one, all of them are listed
    pub device: Option<String>,
    /// What runs on it
    #[arg(value_parser = ["android", "ios", "web"], requires = "token")]
    pub platform: Option<String>,
    /// What its platform's service finds it by
    pub token: Option<String>,
    /// Take the device away
    #[arg(long, requires = "device", conflicts_with = "platform")]
    pub remove: bool,
}

/// A length of time as the catalogue writes it.
fn parse_length(text: &str) -> Result<i64, String> {
    catalogue::parse_duration_ms(text)
        .ok_or_else(|| "it is no length of time, such as 20m, 2h or 1d12h".to_owned())
}
