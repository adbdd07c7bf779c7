//! Contradictions between lines: an answer without a request, a repetition without an event, and two statements for the
//! same instant whose order is undefined.

use model::SubjectRef;
use serde_json::{Map, Value};

use crate::{
    scenario::{ScenarioAct, ScenarioEvent, ScenarioExpectation, ScenarioLine, ScenarioStep},
    token::LineError,
};

/// Each line that is wrong, by its number.
pub(crate) fn check_lines(lines: &[ScenarioLine]) -> Vec<(usize, LineError)> {
    let mut found = find_unfounded(lines);
    found.extend(find_undecided(lines));
    found
}

/// Lines that speak of one before them which is not there.
fn find_unfounded(lines: &[ScenarioLine]) -> Vec<(usize, LineError)> {
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let is_event = |line: &ScenarioLine| matches!(line.what, ScenarioStep::Do(ScenarioAct::Event(_)));
        let is_answered =
            |line: &ScenarioLine| matches!(&line.what, ScenarioStep::Do(act) if act.is_answered());
        match &line.what {
            ScenarioStep::Do(ScenarioAct::Again) if !lines[..i].iter().any(is_event) => {
                found.push((line.number, LineError::new(line.column, "there is no event to repeat")));
            }
            ScenarioStep::Expect(ScenarioExpectation::Rejected { .. })
                if !lines[..i].last().is_some_and(is_answered) =>
            {
                let help =
                    "`expect rejected` is about the line before it, which must be an event or a request";
                let wrong = LineError::new(line.column, "there is nothing that could be rejected");
                found.push((line.number, wrong.help(help.to_owned())));
            }
            _ => {}
        }
    }
    found
}

/// Lines that state something else than one above, about the same and as of the same instant.
fn find_undecided(lines: &[ScenarioLine]) -> Vec<(usize, LineError)> {
    // What is refused states nothing.
    let refuses = |line: &ScenarioLine| {
        matches!(
            line.what,
            ScenarioStep::Expect(
                ScenarioExpectation::Rejected { .. } | ScenarioExpectation::Quarantine { .. }
            )
        )
    };
    let states = |i: &usize| !lines.get(i + 1).is_some_and(refuses);
    let stated: Vec<&ScenarioLine> = (0..lines.len()).filter(states).map(|i| &lines[i]).collect();
    let mut found = Vec::new();
    for (i, line) in stated.iter().enumerate() {
        if let Some(before) = stated[..i].iter().find(|before| lines_contradict(before, line)) {
            let what = format!("line {} states something else for the same instant", before.number);
            let help = "a newer version wins; without `@version`, the version is the time";
            found.push((line.number, LineError::new(line.column, what).help(help.to_owned())));
        }
    }
    found
}

fn lines_contradict(a: &ScenarioLine, b: &ScenarioLine) -> bool {
    let (ScenarioStep::Do(act), ScenarioStep::Do(other)) = (&a.what, &b.what) else { return false };
    if a.tenant != b.tenant {
        return false;
    }
    match (act, other) {
        (
            ScenarioAct::Profile { person, fields },
            ScenarioAct::Profile { person: theirs, fields: their_fields },
        ) => a.until == b.until && person == theirs && fields_differ(fields, their_fields),
        (
            ScenarioAct::Follow { person, target, on },
            ScenarioAct::Follow { person: theirs, target: their_target, on: their_on },
        ) => a.until == b.until && (person, target) == (theirs, their_target) && on != their_on,
        (
            ScenarioAct::Mute { person, muted, on },
            ScenarioAct::Mute { person: theirs, muted: their_muted, on: their_on },
        ) => a.until == b.until && (person, muted) == (theirs, their_muted) && on != their_on,
        (
            ScenarioAct::Prefer { person, choice, of },
            ScenarioAct::Prefer { person: theirs, choice: other, of: their_of },
        ) => a.until == b.until && (person, of) == (theirs, their_of) && choice != other,
        (ScenarioAct::Erase { person, welcomes }, ScenarioAct::Erase { person: theirs, welcomes: other }) => {
            a.until == b.until && person == theirs && welcomes != other
        }
        (ScenarioAct::Event(a), ScenarioAct::Event(b)) => {
            let as_of = |event: &ScenarioEvent| event.version.unwrap_or(event.at.0);
            as_of(a) == as_of(b) && share_subject(a, b) && fields_differ(&a.fields, &b.fields)
        }
        _ => false,
    }
}

/// Whether both are about the same subject.
fn share_subject(a: &ScenarioEvent, b: &ScenarioEvent) -> bool {
    let about = |event: &ScenarioEvent, subject: &SubjectRef| {
        event.subject == *subject || event.subjects.contains(subject)
    };
    about(b, &a.subject) || a.subjects.iter().any(|subject| about(b, subject))
}

fn fields_differ(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.iter().any(|(name, value)| b.get(name).is_some_and(|other| other != value))
}
