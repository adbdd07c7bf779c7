//! `tidings suppressions`: what keeps mails from a person's addresses; lifts it.

use model::{Person, UtcMillis};
use serde_json::{Value, json};
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::suppressions::{self, PersonSuppressions, SuppressionLine};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::SuppressionsCommand, out: OutputStyle) -> Result<(), CommandError> {
    let (cli::SuppressionsCommand::List { person } | cli::SuppressionsCommand::Lift { person, .. }) = asked;
    let person = Person::new(person).map_err(CommandError::from_refusal)?;
    let reach = reach_house(config)?;
    match asked {
        cli::SuppressionsCommand::List { .. } => list_suppressions(&reach, config, &person, out),
        cli::SuppressionsCommand::Lift { stream, .. } => {
            lift_suppressions(&reach, config, &person, stream.as_deref(), out)
        }
    }
}

fn list_suppressions(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let found: PersonSuppressions = match reach {
        HouseAccess::Running(client) => {
            client.get("/admin/suppressions", &[("person", person.as_str())])?.into_value()?
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, store, clock, .. } = &**files;
            runtime.block_on(suppressions::load_suppressions(
                &**store,
                (&config.tenant, person),
                UtcMillis(clock.now()),
            ))?
        }
    };
    if out.json {
        return Ok(terminal::print_json(&found)?);
    }
    if found.suppressions.is_empty() {
        terminal::print_talk(format!("no suppressions for {}", terminal::clean_text(&found.person)));
        return Ok(());
    }
    Ok(terminal::print_headed_table(suppression_table(&found.suppressions))?)
}

const HEAD: [&str; 6] = ["what", "stream", "code", "since", "until", "address"];

fn suppression_table(of: &[SuppressionLine]) -> Vec<String> {
    terminal::format_headed_table(HEAD, of.iter().map(suppression_row))
}

fn suppression_row(one: &SuppressionLine) -> [String; 6] {
    let SuppressionLine { what, stream, code, since, until, holds } = one;
    let text = |text: &str| if text.is_empty() { "-".to_owned() } else { terminal::clean_text(text) };
    let stream = stream.as_deref().map_or_else(|| "all".to_owned(), text);
    let until = until.clone().unwrap_or_else(|| "lifted".to_owned());
    let address = if *holds { "the present one" } else { "an earlier one" };
    [what.clone(), stream, text(code), since.clone(), until, address.to_owned()]
}

fn lift_suppressions(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
    stream: Option<&str>,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let lifted = match reach {
        HouseAccess::Running(client) => {
            let asked = json!({"person": person.as_str(), "stream": stream});
            let said: Value = client.post("/admin/suppressions", &asked.to_string(), None)?.into_value()?;
            said["lifted"].as_u64().unwrap_or_default()
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, store, clock, .. } = &**files;
            let (whose, now) = ((&config.tenant, person), UtcMillis(clock.now()));
            runtime.block_on(suppressions::lift_for_person(&**store, whose, stream, now))? as u64
        }
    };
    if out.json {
        return Ok(terminal::print_json(&json!({"lifted": lifted}))?);
    }
    terminal::print_talk(match lifted {
        0 => format!("there were no suppressions for {}", terminal::clean_text(person.as_str())),
        1 => "1 suppression lifted".to_owned(),
        many => format!("{many} suppressions lifted"),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suppressions_stand_in_columns() {
        let hard = SuppressionLine {
            what: "hard".to_owned(),
            stream: None,
            code: "5.1.1".to_owned(),
            since: "2026-11-21T08:00:00.000Z".to_owned(),
            until: None,
            holds: true,
        };
        let complaint = SuppressionLine {
            what: "complaint".to_owned(),
            stream: Some("offers".to_owned()),
            code: String::new(),
            until: Some("2026-11-28T08:00:00.000Z".to_owned()),
            holds: false,
            ..hard.clone()
        };
        let expected = [
            "what       stream  code   since                     until                     address",
            "hard       all     5.1.1  2026-11-21T08:00:00.000Z  lifted                    the present one",
            "complaint  offers  -      2026-11-21T08:00:00.000Z  2026-11-28T08:00:00.000Z  an earlier one",
        ];
        assert_eq!(suppression_table(&[hard, complaint]), expected);
    }
}
