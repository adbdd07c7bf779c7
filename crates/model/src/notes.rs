//! Names of what the house itself notes of a person: never set from outside, and empty for nearly everybody.

use crate::{
    id::Kind,
    mark::MarkAction,
    time::{Day, UtcMillis},
    value::{Value, ValueCell, VersionedState},
};

/// A flag that outlives every retention: this person was erased.
pub const ERASED: &str = "erased";
/// When that was asked for last; the version is the instant. Who is welcome again is told nothing from before.
const ERASED_AT: &str = "erased_at";
/// The last of these instants whose erasure is done.
const ERASED_TO: &str = "erased_to";
/// UTC days whose rows are full, as days since 1970: only what an urgent plan tells has room there. Each day has one
/// of these cells, and shares it with none that takes rows at the same time. Written by the owner alone.
const FULL: [&str; 10] = [
    "full_day",
    "full_day_1",
    "full_day_2",
    "full_day_3",
    "full_day_4",
    "full_day_5",
    "full_day_6",
    "full_day_7",
    "full_day_8",
    "full_day_9",
];
/// The same of days that take no rows at all any more.
const SHUT: [&str; 10] = [
    "shut_day",
    "shut_day_1",
    "shut_day_2",
    "shut_day_3",
    "shut_day_4",
    "shut_day_5",
    "shut_day_6",
    "shut_day_7",
    "shut_day_8",
    "shut_day_9",
];

/// Notes that a day is full.
pub fn note_full_day(day: Day) -> VersionedState {
    day_note(&FULL, day)
}

/// Notes that a day takes no rows any more.
pub fn note_shut_day(day: Day) -> VersionedState {
    day_note(&SHUT, day)
}

/// Whether it was noted that a day is full.
pub fn is_full(notes: &VersionedState, day: Day) -> bool {
    is_noted(notes, &FULL, day)
}

/// Whether it was noted that a day takes no rows any more.
pub fn is_shut(notes: &VersionedState, day: Day) -> bool {
    is_noted(notes, &SHUT, day)
}

/// Notes when an erasure was asked for.
pub fn note_erasure_asked(asked: UtcMillis) -> VersionedState {
    instant_note(ERASED_AT, asked)
}

/// Notes that the erasure which was asked for then is done.
pub fn note_erasure_done(asked: UtcMillis) -> VersionedState {
    instant_note(ERASED_TO, asked)
}

/// When the last erasure was asked for; nothing for those who were marked before that was noted.
pub fn last_erased(notes: &VersionedState) -> Option<UtcMillis> {
    notes.cells.get(ERASED_AT).map(|cell| UtcMillis(cell.version))
}

/// Whether something of the person may still have to go.
pub fn is_being_erased(notes: &VersionedState) -> bool {
    let done = notes.cells.get(ERASED_TO).map(|cell| UtcMillis(cell.version));
    notes.flag(ERASED) && last_erased(notes) > done
}

/// Whether a note outlives an erasure.
pub fn outlives(field: &str) -> bool {
    [ERASED, ERASED_AT, ERASED_TO].contains(&field)
}

fn instant_note(name: &str, at: UtcMillis) -> VersionedState {
    VersionedState::from_values(at.0, [(name, Some(Value::Time(at)))])
}

/// Whether only the house says this of a person.
pub fn is_own(field: &str) -> bool {
    outlives(field) || FULL.contains(&field) || SHUT.contains(&field)
}

/// The version is the day itself: a later day wins, whoever writes first.
fn day_note(cells: &[&str; 10], day: Day) -> VersionedState {
    let mut state = VersionedState::default();
    let value = Some(Value::Number(f64::from(day.0)));
    state.set(day_cell(cells, day), ValueCell { version: i64::from(day.0), value });
    state
}

/// All of them are looked at: there was one for all days once.
fn is_noted(notes: &VersionedState, cells: &[&str; 10], day: Day) -> bool {
    let is_day = |value: &Value| matches!(value, Value::Number(noted) if *noted == f64::from(day.0));
    cells.iter().any(|cell| notes.get(cell).is_some_and(is_day))
}

fn day_cell<'a>(cells: &[&'a str; 10], day: Day) -> &'a str {
    usize::try_from(day.0.rem_euclid(10))
        .ok()
        .and_then(|place| cells.get(place))
        .copied()
        .unwrap_or("full_day")
}

/// Flags whose version is an instant: all there was until then, or all of one kind, was read or cleared. One
/// cell for a page that is looked at again and again, where marks would be a row for each look.
pub const UP_TO: [(&str, MarkAction); 2] = [("read", MarkAction::Read), ("cleared", MarkAction::Cleared)];

/// The name of such a flag.
pub fn up_to_field(word: &str, kind: Option<&Kind>) -> String {
    kind.map_or_else(|| word.to_owned(), |kind| format!("{word} {kind}"))
}
