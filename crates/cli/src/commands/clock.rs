//! `tidings clock`: shows a demo's clock, and moves it forward.

use model::UtcMillis;
use serde_json::{Value, json};
use settings::config::Config;
use shell::{client::HouseClient, failure::CommandError, terminal};
use views::display::format_until;

use super::OutputStyle;
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::ClockArgs, out: OutputStyle) -> Result<(), CommandError> {
    let client = HouseClient::find(config)?;
    let to = match (&asked.to, asked.by) {
        (Some(to), _) => Some(json!({"to": to})),
        (None, Some(by_ms)) => Some(json!({"by_ms": by_ms})),
        (None, None) => None,
    };
    let settled = match to {
        None => true,
        Some(to) => {
            let said: Value = client.post("/admin/clock", &to.to_string(), None)?.into_value()?;
            said["settled"].as_bool().unwrap_or_default()
        }
    };
    let clock: Value = client.get("/admin/clock", &[])?.into_value()?;
    if out.json {
        return Ok(terminal::print_json(&clock)?);
    }
    for line in clock_lines(&clock) {
        terminal::print_data(line)?;
    }
    if !settled {
        terminal::print_talk("the clock was moved; the house is still busy with what is due");
    }
    Ok(())
}

fn clock_lines(clock: &Value) -> Vec<String> {
    let text = |name: &str| clock[name].as_str().unwrap_or_default().to_owned();
    let ahead_ms = clock["ahead_ms"].as_i64().unwrap_or_default();
    let ahead = match ahead_ms {
        0 => "the same as this machine's clock".to_owned(),
        ms => format!("{} ahead of this machine's clock", catalogue::format_length(ms)),
    };
    let mut lines = vec![format!("{}  {ahead}", text("now"))];
    if let (Some(due), Some(now)) = (UtcMillis::parse(&text("due")), UtcMillis::parse(&text("now"))) {
        lines.push(format!("{due}  the next window is due {}", format_until(due.since(now))));
    } else {
        lines.push("no window is open".to_owned());
    }
    if clock["demo"] != true {
        lines.push("it cannot be moved: this is not a demo".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_shown_with_what_is_due() {
        let clock = |ahead_ms: i64, due: Option<&str>, demo: bool| {
            let now = "2026-11-21T10:00:00.000Z";
            clock_lines(&json!({"now": now, "ahead_ms": ahead_ms, "due": due, "demo": demo}))
        };
        assert_eq!(
            clock(0, None, true),
            ["2026-11-21T10:00:00.000Z  the same as this machine's clock", "no window is open"]
        );
        assert_eq!(
            clock(5_400_000, Some("2026-11-22T08:00:00.000Z"), false),
            [
                "2026-11-21T10:00:00.000Z  1h30m ahead of this machine's clock",
                "2026-11-22T08:00:00.000Z  the next window is due in 22 h",
                "it cannot be moved: this is not a demo",
            ]
        );
    }
}
