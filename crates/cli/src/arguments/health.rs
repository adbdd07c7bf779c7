//! The health of a process.

use clap::Args;

pub const HEALTH: &str = "\
Exits with 0 if the process is ready: its rooms have joined, and the engines answer. Otherwise it exits with 4 and \
prints why. It asks the house of the data directory, or the process at `listen`.

Examples:
  tidings health
  tidings health --live
  tidings health --url http://127.0.0.1:7281";

#[derive(Debug, Args)]
pub struct HealthArgs {
    /// Only ask whether the process answers
    #[arg(long)]
    pub live: bool,
    /// The process, if it is not the one of the data directory
    #[arg(long, value_name = "URL", value_parser = parse_address)]
    pub url: Option<String>,
}

fn parse_address(text: &str) -> Result<String, String> {
    let is_address = catalogue::is_web_url(text);
    is_address
        .then(|| text.to_owned())
        .ok_or_else(|| "it is not an address such as http://127.0.0.1:7281".to_owned())
}
