//! What is wrong with lines only together: an answer that nothing asked for, an event again that was not
//! there before, and two lines of which nobody could say which is the later one, the house included.

use model::SubjectRef;
use serde_json::{Map, Value};

use crate::{
    scenario::{Act, Event, Expected, Line, What},
    token::Wrong,
};

/// Each line that is wrong, by its number.
pub(crate) fn check(lines: &[Line]) -> Vec<(usize, Wrong)> {
    let mut found = unfounded(lines);
    found.extend(undecided(lines));
    found
}

/// Lines that speak of one before them which is not there.
fn unfounded(lines: &[Line]) -> Vec<(usize, Wrong)> {
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let is_event = |line: &Line| matches!(line.what, What::Do(Act::Event(_)));
        let is_answered = |line: &Line| matches!(&line.what, What::Do(act) if act.is_answered());
        match &line.what {
            What::Do(Act::Again) if !lines[..i].iter().any(is_event) => {
                found.push((line.number, Wrong::new(line.column, "there is no event that could come again")));
            }
            What::Expect(Expected::Rejected { .. }) if !lines[..i].last().is_some_and(is_answered) => {
                let help =
                    "`expect rejected` is about the line before it, which must be one that is answered";
                let wrong = Wrong::new(line.column, "nothing was asked that could be rejected");
                found.push((line.number, wrong.help(help.to_owned())));
            }
            _ => {}
        }
    }
    found
}

/// Lines that state something else than one above, about the same and as of the same instant.
fn undecided(lines: &[Line]) -> Vec<(usize, Wrong)> {
    // What is refused states nothing.
    let refuses = |line: &Line| {
        matches!(line.what, What::Expect(Expected::Rejected { .. } | Expected::Quarantine { .. }))
    };
    let states = |i: &usize| !lines.get(i + 1).is_some_and(refuses);
    let stated: Vec<&Line> = (0..lines.len()).filter(states).map(|i| &lines[i]).collect();
    let mut found = Vec::new();
    for (i, line) in stated.iter().enumerate() {
        if let Some(before) = stated[..i].iter().find(|before| contradict(before, line)) {
            let what = format!("line {} states something else as of the same instant", before.number);
            let help = "a newer version wins, and a version is a time unless `@version` says it";
            found.push((line.number, Wrong::new(line.column, what).help(help.to_owned())));
        }
    }
    found
}

fn contradict(a: &Line, b: &Line) -> bool {
    let (What::Do(act), What::Do(other)) = (&a.what, &b.what) else { return false };
    if a.tenant != b.tenant {
        return false;
    }
    match (act, other) {
        (Act::Profile { person, fields }, Act::Profile { person: theirs, fields: their_fields }) => {
            a.until == b.until && person == theirs && differ(fields, their_fields)
        }
        (
            Act::Follow { person, target, on },
            Act::Follow { person: theirs, target: their_target, on: their_on },
        ) => a.until == b.until && (person, target) == (theirs, their_target) && on != their_on,
        (Act::Mute { person, muted, on }, Act::Mute { person: theirs, muted: their_muted, on: their_on }) => {
            a.until == b.until && (person, muted) == (theirs, their_muted) && on != their_on
        }
        (Act::Erase { person, welcomes }, Act::Erase { person: theirs, welcomes: other }) => {
            a.until == b.until && person == theirs && welcomes != other
        }
        (Act::Event(a), Act::Event(b)) => {
            let as_of = |event: &Event| event.version.unwrap_or(event.at.0);
            as_of(a) == as_of(b) && meet(a, b) && differ(&a.fields, &b.fields)
        }
        _ => false,
    }
}

/// Whether both are about the same subject.
fn meet(a: &Event, b: &Event) -> bool {
    let about =
        |event: &Event, subject: &SubjectRef| event.subject == *subject || event.subjects.contains(subject);
    about(b, &a.subject) || a.subjects.iter().any(|subject| about(b, subject))
}

fn differ(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.iter().any(|(name, value)| b.get(name).is_some_and(|other| other != value))
}
