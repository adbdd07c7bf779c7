//! `tidings suppressions`: what keeps mails from a person's addresses; lifts it.

use model::{Millis, Person};
use serde_json::{Value, json};

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    say::{self, Paint},
    suppressions::{self, One, Suppressed},
};

pub fn run(config: &Config, asked: &cli::Suppressions, out: Out) -> Result<(), Failure> {
    let (cli::Suppressions::List { person } | cli::Suppressions::Lift { person, .. }) = asked;
    let person = Person::new(person).map_err(Failure::refused)?;
    let reach = reach(config)?;
    match asked {
        cli::Suppressions::List { .. } => list(&reach, config, &person, out),
        cli::Suppressions::Lift { stream, .. } => lift(&reach, config, &person, stream.as_deref(), out),
    }
}

fn list(reach: &Reach, config: &Config, person: &Person, out: Out) -> Result<(), Failure> {
    let found: Suppressed = match reach {
        Reach::Running(client) => {
            client.get("/admin/suppressions", &[("person", person.as_str())])?.good()?
        }
        Reach::Files(files) => {
            let Files { runtime, store, clock, .. } = &**files;
            runtime.block_on(suppressions::read(&**store, (&config.tenant, person), Millis(clock.now())))?
        }
    };
    if out.json {
        return Ok(say::json(&found)?);
    }
    if found.suppressions.is_empty() {
        say::talk(format!("nothing keeps mails from {}", say::clean(&found.person)));
        return Ok(());
    }
    let paint = Paint::data();
    let mut lines = table(&found.suppressions).into_iter();
    if let Some(head) = lines.next() {
        say::data(paint.with(say::FAINT, head))?;
    }
    Ok(lines.try_for_each(say::data)?)
}

const HEAD: [&str; 6] = ["what", "stream", "code", "since", "until", "address"];

fn table(of: &[One]) -> Vec<String> {
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(of.iter().map(row));
    say::table(&rows.collect::<Vec<_>>())
}

fn row(one: &One) -> [String; 6] {
    let One { what, stream, code, since, until, holds } = one;
    let text = |text: &str| if text.is_empty() { "-".to_owned() } else { say::clean(text) };
    let stream = stream.as_deref().map_or_else(|| "all".to_owned(), text);
    let until = until.clone().unwrap_or_else(|| "lifted".to_owned());
    let address = if *holds { "the present one" } else { "an earlier one" };
    [what.clone(), stream, text(code), since.clone(), until, address.to_owned()]
}

fn lift(
    reach: &Reach,
    config: &Config,
    person: &Person,
    stream: Option<&str>,
    out: Out,
) -> Result<(), Failure> {
    let lifted = match reach {
        Reach::Running(client) => {
            let asked = json!({"person": person.as_str(), "stream": stream});
            let said: Value = client.post("/admin/suppressions", &asked.to_string(), None)?.good()?;
            said["lifted"].as_u64().unwrap_or_default()
        }
        Reach::Files(files) => {
            let Files { runtime, store, clock, .. } = &**files;
            let (whose, now) = ((&config.tenant, person), Millis(clock.now()));
            runtime.block_on(suppressions::lift(&**store, whose, stream, now))? as u64
        }
    };
    if out.json {
        return Ok(say::json(&json!({"lifted": lifted}))?);
    }
    say::talk(match lifted {
        0 => format!("nothing kept mails from {}", say::clean(person.as_str())),
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
        let hard = One {
            what: "hard".to_owned(),
            stream: None,
            code: "5.1.1".to_owned(),
            since: "2026-11-21T08:00:00.000Z".to_owned(),
            until: None,
            holds: true,
        };
        let complaint = One {
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
        assert_eq!(table(&[hard, complaint]), expected);
    }
}
