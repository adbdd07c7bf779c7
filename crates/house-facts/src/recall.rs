//! What was revoked, as the house notes it in the store: beside the subjects of a tenant, under types that no catalogue can
//! declare. Nothing of it names a person, and nothing is written for each of those who have an entry: whoever tells or lists
//! entries asks.
//!
//! - That a subject was deleted is a field of the subject itself, which everybody asks anyway.
//! - That an event was revoked is a row of its own. So that it need not be asked of every entry, each day has a row
//!   that says of which events such rows are worth asking: by the first byte of their keys, so it has 256 fields at most.
//!
//! All are fields with versions, so they may be written again and in any order.

use model::{
    entry::EntryKey,
    id::{BadName, EventKey, SubjectRef},
    time::{Day, UtcMillis},
    value::{Value, ValueCell, VersionedState},
    world::DELETED,
};

/// The type by which services revoke something. On the topic `events` it is the name of an event by which whoever may have
/// been told is found, and told that a number may be wrong.
pub const REVOKE: &str = "tidings.revoke";

/// The field of an event's row.
const REVOKED: &str = "revoked";

/// That a subject was deleted: whatever there is about it up to this instant is withdrawn.
pub fn note_deleted(at: UtcMillis) -> VersionedState {
    note_flag(DELETED, at)
}

/// That events were revoked: rows, and what is noted in each.
pub fn note_revoked(keys: &[EntryKey], at: UtcMillis) -> Result<Vec<(SubjectRef, VersionedState)>, BadName> {
    let mut rows = Vec::with_capacity(2 * keys.len());
    for key in keys {
        rows.push((event_row(key.event)?, note_flag(REVOKED, at)));
        rows.push((day_row(key.day())?, note_flag(&shard_field(key.event), at)));
    }
    Ok(rows)
}

/// The row that says of which events of a day rows are worth asking.
pub fn day_row(day: Day) -> Result<SubjectRef, BadName> {
    SubjectRef::new(&format!("tidings.day:{day}"))
}

/// The row of an event.
pub fn event_row(event: EventKey) -> Result<SubjectRef, BadName> {
    SubjectRef::new(&format!("tidings.event:{event}"))
}

/// Whether the row of an event is worth asking, by that of its day.
pub fn may_be_revoked(of_day: &VersionedState, event: EventKey) -> bool {
    of_day.flag(&shard_field(event))
}

/// Whether an event was revoked, by its row.
pub fn is_revoked(of_event: &VersionedState) -> bool {
    of_event.flag(REVOKED)
}

fn shard_field(event: EventKey) -> String {
    format!("{:02x}", event.0[0])
}

fn note_flag(field: &str, at: UtcMillis) -> VersionedState {
    let mut state = VersionedState::default();
    state.set(field, ValueCell { version: at.0, value: Some(Value::Flag(true)) });
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_worth_asking_of_where_one_like_it_was_revoked() {
        let key = |first: u8, last: u8| {
            let mut event = [0; 16];
            (event[0], event[15]) = (first, last);
            EntryKey { occurred: UtcMillis(1_000), event: EventKey(event) }
        };
        let noted = note_revoked(&[key(7, 1), key(9, 1)], UtcMillis(5)).unwrap();
        let state = |row: SubjectRef| {
            let mut state = VersionedState::default();
            noted.iter().filter(|(of, _)| *of == row).for_each(|(_, more)| state.merge(more));
            state
        };
        let of_day = state(day_row(Day::from_instant(UtcMillis(1_000))).unwrap());
        let check = |key: EntryKey, worth: bool, revoked: bool| {
            assert_eq!(may_be_revoked(&of_day, key.event), worth, "{key}");
            assert_eq!(is_revoked(&state(event_row(key.event).unwrap())), revoked, "{key}");
        };
        check(key(7, 1), true, true);
        check(key(9, 1), true, true);
        check(key(7, 2), true, false);
        check(key(8, 1), false, false);
    }
}
