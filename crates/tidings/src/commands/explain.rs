//! `tidings explain`: why a person was or was not told of an event.

use catalogue::Catalogue;
use model::{Millis, Person};
use serde_json::json;

use super::{
    Out,
    reach::{Reach, reach},
};
use crate::{
    cli,
    config::Config,
    explain::{self, Asked, Explanation, Found, Refusal},
    failure::Failure,
    say::{self, Paint},
};

pub fn run(config: &Config, asked: &cli::Explain, out: Out) -> Result<(), Failure> {
    let person = Person::new(&asked.person).map_err(Failure::refused)?;
    let Some(event) = Asked::parse(&asked.event) else {
        let what = "--event is 32 hexadecimal digits, an entry as `tidings days` prints it, type:id of a subject, or source/id of a change";
        return Err(Failure::Usage(what.to_owned()));
    };
    let explanations: Vec<Explanation> = match reach(config)? {
        Reach::Running(client) => {
            client.get("/admin/explain", &[("person", person.as_str()), ("event", &asked.event)])?.good()?
        }
        Reach::Files(files) => {
            let Some(catalogue) = &files.catalogue else {
                return Err(without_catalogue(config));
            };
            let (tenant, now) = (&config.tenant, Millis(files.clock.now()));
            let engines = (&*files.topics, &*files.store);
            let gathered = explain::gather(engines, (tenant, &person), &event, catalogue, now);
            let gathered = files.runtime.block_on(gathered)?;
            match explain::judge(&gathered, &event, (tenant, &person), catalogue) {
                Ok(()) => {}
                Err(Refusal::Wrong(why) | Refusal::Absent(why)) => return Err(Failure::refused(why)),
            }
            explain::tell(&gathered, (tenant, &person), catalogue, now)
        }
    };
    if out.json {
        return Ok(say::json(&json!(explanations))?);
    }
    if explanations.is_empty() {
        return Err(Failure::refused(explain::nothing(&event)));
    }
    explanations.iter().try_for_each(print)
}

/// There is none, or it is refused.
fn without_catalogue(config: &Config) -> Failure {
    match config.catalogue.as_deref().map(Catalogue::load) {
        Some(Err(problems)) => {
            Failure::refused(format!("an explanation needs a catalogue without problems\n{problems}"))
        }
        Some(Ok(_)) | None => Failure::refused(
            "an explanation needs the catalogue: name its folder with --catalogue, TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml",
        ),
    }
}

fn print(explanation: &Explanation) -> Result<(), Failure> {
    let paint = Paint::data();
    let Explanation { what, subject, occurred, entry, steps, verdict, .. } = explanation;
    say::data(paint.with(say::BOLD, say::clean(&format!("{what} {subject} at {occurred}"))))?;
    say::data(paint.with(say::FAINT, format!("  {entry}")))?;
    for step in steps {
        let (sign, style) = match step.found {
            Found::For => ("+", say::GOOD),
            Found::Against => ("-", say::BAD),
            Found::Note => (" ", say::FAINT),
        };
        say::data(format!("  {} {}", paint.with(style, sign), say::clean(&step.text)))?;
    }
    say::data(format!("  = {}", paint.with(say::BOLD, verdict)))?;
    Ok(())
}
