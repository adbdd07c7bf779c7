//! `tidings explain`: why a person was or was not told of an event.

use model::{Person, UtcMillis};
use serde_json::json;
use settings::config::Config;
use shell::{
    failure::CommandError,
    terminal::{self, TextPainter},
};
use views::explain::{self, EventExplanation, ExplainTarget, LookupRefusal, StepBearing};

use super::{
    OutputStyle,
    access::{HouseAccess, explain_missing_catalogue, reach_house},
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::ExplainArgs, out: OutputStyle) -> Result<(), CommandError> {
    let person = Person::new(&asked.person).map_err(CommandError::from_refusal)?;
    let Some(event) = ExplainTarget::parse(&asked.event) else {
        let what = "--event must be 32 hexadecimal digits, an entry as `tidings days` prints it, type:id \
            of a subject, or source/id of a change";
        return Err(CommandError::Usage(what.to_owned()));
    };
    let explanations: Vec<EventExplanation> = match reach_house(config)? {
        HouseAccess::Running(client) => client
            .get("/admin/explain", &[("person", person.as_str()), ("event", &asked.event)])?
            .into_value()?,
        HouseAccess::Files(files) => {
            let Some(catalogue) = &files.catalogue else {
                return Err(explain_missing_catalogue(config, "an explanation"));
            };
            let (tenant, now) = (&config.tenant, UtcMillis(files.clock.now()));
            let engines = (&*files.topics, &*files.store);
            let gathered = explain::load_evidence(engines, (tenant, &person), &event, catalogue, now);
            let gathered = files.runtime.block_on(gathered)?;
            match explain::check_target(&gathered, &event, (tenant, &person), catalogue) {
                Ok(()) => {}
                Err(LookupRefusal::Wrong(why) | LookupRefusal::Absent(why)) => {
                    return Err(CommandError::from_refusal(why));
                }
            }
            explain::explain_events(&gathered, (tenant, &person), catalogue, now)
        }
    };
    if out.json {
        return Ok(terminal::print_json(&json!(explanations))?);
    }
    if explanations.is_empty() {
        return Err(CommandError::from_refusal(explain::explain_absence(&event)));
    }
    explanations.iter().try_for_each(print_explanation)
}

fn print_explanation(explanation: &EventExplanation) -> Result<(), CommandError> {
    let paint = TextPainter::for_data();
    let EventExplanation { what, subject, occurred, entry, steps, verdict, .. } = explanation;
    terminal::print_data(
        paint.with(terminal::BOLD, terminal::clean_text(&format!("{what} {subject} at {occurred}"))),
    )?;
    terminal::print_data(paint.with(terminal::FAINT, format!("  {entry}")))?;
    for step in steps {
        let (sign, style) = match step.found {
            StepBearing::For => ("+", terminal::GOOD),
            StepBearing::Against => ("-", terminal::BAD),
            StepBearing::Note => (" ", terminal::FAINT),
        };
        terminal::print_data(format!("  {} {}", paint.with(style, sign), terminal::clean_text(&step.text)))?;
    }
    terminal::print_data(format!("  = {}", paint.with(terminal::BOLD, verdict)))?;
    Ok(())
}
