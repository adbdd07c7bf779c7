//! `tidings unknown`: lists messages whose delivery is unknown.

use model::UtcMillis;
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::unclear_messages::{self, UnclearMessage};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
};
use crate::arguments as cli;

const HEAD: [&str; 6] = ["at", "person", "plan", "channel", "message", "then"];

pub fn run(config: &Config, asked: &cli::UnknownArgs, out: OutputStyle) -> Result<(), CommandError> {
    let found: Vec<UnclearMessage> = match reach_house(config)? {
        HouseAccess::Running(client) => {
            client.get("/admin/unknown", &[("hours", &asked.hours.to_string())])?.into_value()?
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, store, clock, .. } = &*files;
            let since = (asked.hours, UtcMillis(clock.now()));
            runtime.block_on(unclear_messages::list_unclear(&**topics, &**store, &config.tenant, since))?
        }
    };
    if out.json {
        return Ok(terminal::print_json(&found)?);
    }
    if found.is_empty() {
        terminal::print_talk(format!("the outcome of every message of the last {} h is known", asked.hours));
        return Ok(());
    }
    terminal::print_headed_table(terminal::format_headed_table(HEAD, found.iter().map(message_row)))?;
    if found.len() == unclear_messages::LISTED_MAX {
        terminal::print_talk(format!(
            "only the latest {} are listed; look back less far with `--hours`",
            unclear_messages::LISTED_MAX
        ));
    }
    Ok(())
}

fn message_row(one: &UnclearMessage) -> [String; 6] {
    let UnclearMessage { at, person, plan, channel, ready, attempt: _, then } = one;
    [
        at.clone(),
        terminal::clean_text(person),
        plan.clone(),
        channel.clone(),
        ready.clone(),
        then.text().to_owned(),
    ]
}
