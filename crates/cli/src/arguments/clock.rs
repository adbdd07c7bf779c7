//! The clock of a demo, and devices that pushes reach.

use clap::{ArgGroup, Args};

pub const CLOCK: &str = "\
Only a demo's clock can be moved (`tidings up --demo`), and only forward; whatever is due by then is sent at \
once. `due` is the instant at which the next window is due, `morning` half past nine tomorrow (UTC).

Examples:
  tidings clock
  tidings clock --to due
  tidings clock --by 2h";

pub const DEVICE: &str = "\
A device is named as the app names it: letters, digits, `-`, `_` and `.`. The token is its address at the \
platform's push service; for a browser it is the subscription as JSON. In a demo any word will do: pushes \
stay in the outbox.

Examples:
  tidings device ann
  tidings device ann phone android token-of-the-phone
  tidings device ann phone --remove";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("how").args(["to", "by"]))]
pub struct ClockArgs {
    /// Move the clock to this instant
    #[arg(long, value_name = "INSTANT", value_parser = ["due", "hour", "morning", "day", "week"])]
    pub to: Option<String>,
    /// Move the clock by this much, such as 2h or 1d12h; at most 8d
    #[arg(long, value_name = "TIME", value_parser = parse_length)]
    pub by: Option<i64>,
}

#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// The person's id, as services know it
    pub person: String,
    /// The device; omit it to list all devices
    pub device: Option<String>,
    /// Its platform
    #[arg(value_parser = ["android", "ios", "web"], requires = "token")]
    pub platform: Option<String>,
    /// Its token at the platform's push service
    pub token: Option<String>,
    /// Remove the device
    #[arg(long, requires = "device", conflicts_with = "platform")]
    pub remove: bool,
}

/// A length of time as the catalogue writes it.
fn parse_length(text: &str) -> Result<i64, String> {
    catalogue::parse_duration_ms(text)
        .ok_or_else(|| "it is not a duration such as 20m, 2h or 1d12h".to_owned())
}
