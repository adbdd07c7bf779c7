//! `tidings pause`: stops a plan, a channel or a tenant at once, and lets it go on.

use house::pauses::{self, KnownScopes, PauseError, PauseOrder, PauseView};
use model::UtcMillis;
use settings::config::Config;
use shell::{failure::CommandError, terminal};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
    replay::operator_name,
};
use crate::arguments as cli;

const HEAD: [&str; 4] = ["paused", "since", "by", "why"];

pub fn run(config: &Config, asked: &cli::PauseCommand, out: OutputStyle) -> Result<(), CommandError> {
    let reach = reach_house(config)?;
    let order = |scope: &str, is_paused: bool, why: &str| PauseOrder {
        scope: scope.to_owned(),
        is_paused,
        by: operator_name(),
        why: why.to_owned(),
    };
    let paused = match asked {
        cli::PauseCommand::List => list_pauses(&reach)?,
        cli::PauseCommand::Begin { scope, why } => order_pause(&reach, config, &order(scope, true, why))?,
        cli::PauseCommand::End { scope } => order_pause(&reach, config, &order(scope, false, ""))?,
    };
    if out.json {
        return Ok(terminal::print_json(&paused)?);
    }
    match asked {
        cli::PauseCommand::Begin { scope, .. } => {
            terminal::print_talk(format!("{} is paused", terminal::clean_text(scope)));
        }
        cli::PauseCommand::End { scope } => {
            terminal::print_talk(format!("{} is no longer paused", terminal::clean_text(scope)));
        }
        cli::PauseCommand::List if paused.is_empty() => terminal::print_talk("nothing is paused"),
        cli::PauseCommand::List => print_pauses(&paused)?,
    }
    Ok(())
}

fn list_pauses(reach: &HouseAccess) -> Result<Vec<PauseView>, CommandError> {
    match reach {
        HouseAccess::Running(client) => client.get("/admin/pauses", &[])?.into_value(),
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, .. } = &**files;
            Ok(runtime.block_on(pauses::list_pauses(&**topics))?)
        }
    }
}

fn order_pause(
    reach: &HouseAccess,
    config: &Config,
    order: &PauseOrder,
) -> Result<Vec<PauseView>, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let body = serde_json::to_string(order).map_err(anyhow::Error::from)?;
            client.post("/admin/pauses", &body, None)?.into_value()
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, clock, catalogue, .. } = &**files;
            let now = UtcMillis(clock.now());
            let tenants = config.tenants();
            if order.is_paused && catalogue.is_none() && order.scope.starts_with("plan:") {
                terminal::print_talk(
                    "whether there is such a plan was not checked: name the catalogue with TIDINGS_CATALOGUE",
                );
            }
            let known = KnownScopes { catalogue: catalogue.as_ref(), tenants: Some(&tenants) };
            let done = pauses::order_pause(&**topics, known, order.clone(), now);
            runtime.block_on(done).map_err(|error| match error {
                PauseError::Refused(why) => CommandError::from_refusal(why),
                PauseError::Failed(error) => CommandError::Failed(error),
            })
        }
    }
}

fn print_pauses(paused: &[PauseView]) -> anyhow::Result<()> {
    let row = |one: &PauseView| {
        let PauseView { scope, since, by, why } = one;
        let why = if why.is_empty() { "-".to_owned() } else { terminal::clean_text(why) };
        [scope.clone(), since.clone(), terminal::clean_text(by), why]
    };
    Ok(terminal::print_headed_table(terminal::format_headed_table(HEAD, paused.iter().map(row)))?)
}
