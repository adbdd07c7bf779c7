//! The command line of replays.

use clap::{ArgGroup, Args};
use upkeep::replay::{
    PER_SECOND_MAX,
    range::{ReplayPlace, parse_ago, parse_offsets, parse_time},
};

pub const REPLAY: &str = "\
TOPIC is `events`, which the fan-out tells again, or `changes`, which are admitted again as of the time they \
first came. Without --execute the plan is printed: the range of offsets in each partition, and the number of \
records. A replay adds what is missing to people's days and changes nothing that is there. Nobody is told, \
unless --tell-missing is given: then what was never told is told once, and nothing is told twice.

Ctrl-C, a crash of the house or a crash of this command lose nothing: --resume continues. One replay of a \
topic runs at a time. --list and --show tell who replayed what.

Times are RFC 3339, 2026-11-21 09:00 (UTC), \"2026-11-21 09:00 Europe/Berlin\", or how long ago, such as 3h. \
They are the times at which records were appended.

Examples:
  tidings replay events --last 3h
  tidings replay events --from '2026-11-21 09:00 Europe/Berlin' --to 1h --execute --tell-missing
  tidings replay changes --from-offset 0:1200,3:877 --execute --per-second 50
  tidings replay --resume 2026-11-21-090000-4f1c";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["topic", "list", "show", "resume", "stop"]))]
#[command(group = ArgGroup::new("beginning").args(["from", "from_offset", "last", "from_start"]).requires("topic"))]
#[command(group = ArgGroup::new("ending").args(["to", "to_offset"]).requires("topic"))]
pub struct ReplayArgs {
    /// The topic: `events` or `changes`
    #[arg(value_name = "TOPIC", requires = "beginning")]
    pub topic: Option<String>,
    /// Start at the first record appended at this time or later
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<ReplayPlace>,
    /// Start at this offset in every partition, or at these: 0:42,3:7
    #[arg(long, value_name = "OFFSETS", value_parser = parse_offsets)]
    pub from_offset: Option<ReplayPlace>,
    /// Start this long ago, such as 3h or 2d
    #[arg(long, value_name = "DURATION", value_parser = parse_ago)]
    pub last: Option<ReplayPlace>,
    /// Start at the first record
    #[arg(long)]
    pub from_start: bool,
    /// End at this time [default: the present end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<ReplayPlace>,
    /// End at this offset in every partition, or at these
    #[arg(long, value_name = "OFFSETS", value_parser = parse_offsets)]
    pub to_offset: Option<ReplayPlace>,
    /// Carry it out; otherwise the plan is printed
    #[arg(long, requires = "topic")]
    pub execute: bool,
    /// Also tell people what they were never told
    #[arg(long, requires = "execute")]
    pub tell_missing: bool,
    /// Records a second
    #[arg(long, value_name = "N", default_value = "200", value_parser = parse_per_second, requires = "execute")]
    pub per_second: u32,
    /// List all replays there were
    #[arg(long)]
    pub list: bool,
    /// Show one
    #[arg(long, value_name = "ID")]
    pub show: Option<String>,
    /// Go on with one
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// Stop one; it can be resumed
    #[arg(long, value_name = "ID")]
    pub stop: Option<String>,
}

/// Records a second, and not none.
fn parse_per_second(text: &str) -> Result<u32, String> {
    let pace = text.parse().ok().filter(|pace| (1..=PER_SECOND_MAX).contains(pace));
    pace.ok_or_else(|| format!("it must be a whole number from 1 to {PER_SECOND_MAX}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::arguments::TidingsCli;

    #[test]
    fn what_makes_sense_is_read_and_the_rest_is_told_why() {
        let check = |line: &str, says: Option<&str>| {
            let words = std::iter::once("tidings").chain(line.split(' ')).map(|word| word.replace('_', " "));
            match (TidingsCli::try_parse_from(words), says) {
                (Ok(_), None) => {}
                (Err(error), Some(says)) if error.to_string().contains(says) => {}
                (found, _) => panic!("{line}: {found:?}"),
            }
        };
        for line in [
            "replay events --from 2026-11-21T09:00:00Z",
            "replay events --from 2026-11-21_09:00_Europe/Berlin --to 1h --json",
            "replay changes --last 3h --execute --tell-missing --per-second 50",
            "replay changes --from-offset 0:42,3:7 --to-offset 100",
            "replay events --from-start --execute",
            "replay --list",
            "replay --show x",
            "replay --resume x",
            "replay --stop x --json",
        ] {
            check(line, None);
        }
        check("replay", Some("--list"));
        check("replay events", Some("--from-start"));
        check("replay --last 3h", Some("TOPIC"));
        check("replay events --last 3h --from-start", Some("cannot be used with"));
        check("replay events --last 3h --to 1h --to-offset 7", Some("cannot be used with"));
        check("replay events --last 3h --tell-missing", Some("--execute"));
        check("replay events --last 3h --per-second 50", Some("--execute"));
        check("replay events --last 3h --execute --per-second 0", Some("1 to 5000"));
        check("replay events --last soon", Some("90s, 30m, 3h or 2d"));
        check("replay events --from 9:00", Some("2026-11-21 09:00"));
        check("replay events --from-offset 0:1,0:2", Some("twice"));
        check("replay --list --show x", Some("cannot be used with"));
        check("replay --resume x --execute", Some("TOPIC"));
        check("replay events --last 3h --list", Some("cannot be used with"));
    }
}
