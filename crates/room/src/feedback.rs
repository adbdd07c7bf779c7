//! What a person did with entries: marks in their days, and records for whoever remembers what they were told.

use std::collections::BTreeSet;

use model::{
    DayLife, DayRow, DayView, EntryKey, EntryView, EventKey, Kind, Mark, Person, Tenant, UtcMillis, Value,
    ValueCell, VersionedState,
    entry::DayKey,
    event::check_timely,
    limits::LAST_CALL_MS,
    partition::PartitionCount,
    person::notes::{UP_TO, up_to_field},
};
use store::DayRows;
use topic::NewRecord;
use wire::{Feedback, FeedbackAction, InboxItem, WireError};

use crate::records::inbox_record;

/// Entry keys of one mark or announcement; of more there are several.
pub const MARK_KEYS_MAX: usize = 1_000;

const _: () = assert!(MARK_KEYS_MAX <= wire::LIST_MAX);

/// `2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef`, as an entry is printed everywhere.
pub fn parse_entry_key(text: &str) -> Result<EntryKey, String> {
    let key = text.split_once('/').and_then(|(occurred, event)| {
        Some(EntryKey { occurred: UtcMillis::parse(occurred)?, event: EventKey::parse(event)? })
    });
    key.ok_or_else(|| {
        "it is not an entry key: 2026-11-21T09:00:00.000Z/ and 32 hexadecimal digits".to_owned()
    })
}

/// A mark lives as long as its day, so it may not name a day that is gone or one that is far ahead.
pub fn check_entry_day(key: EntryKey, life: DayLife, now: UtcMillis) -> Result<(), String> {
    if life.is_over(key.day(), now) {
        return Err("the day of this entry has expired".to_owned());
    }
    check_timely(key.occurred.max(now), now).map_err(|untimely| untimely.to_string())
}

/// What is put off comes back while its day lives, and early enough to be told then.
pub fn check_snooze(keys: &[EntryKey], did: FeedbackAction, life: DayLife) -> Result<(), String> {
    let FeedbackAction::Snoozed(until) = did else { return Ok(()) };
    let last = |key: &EntryKey| life.expiry(key.day()).plus(-LAST_CALL_MS);
    match keys.iter().map(last).min().filter(|last| until > *last) {
        None => Ok(()),
        Some(last) => {
            Err(format!("an entry of these expires before that: put it off until {last} at the latest"))
        }
    }
}

/// Of which of these entries it holds already, by the rows of their days. They are not marked again, or each look at a page
/// would add a row; but they are announced again, since the first time may have ended between the mark and its
/// announcement.
pub fn list_settled_entries(view: &DayView, keys: &[EntryKey], did: FeedbackAction) -> BTreeSet<EntryKey> {
    let holds = |key: &&EntryKey| view.get_marked(**key).is_some_and(|entry| is_so(entry, did));
    keys.iter().filter(holds).copied().collect()
}

/// Whether what was done before decides if a mark is needed beside what a note says: that all was read until an instant does
/// not say when this entry was, so who names it marks it. To be unread again it has to be marked also where only a note
/// says that it was read.
pub fn takes_notes_back(did: FeedbackAction) -> bool {
    matches!(did, FeedbackAction::Unread | FeedbackAction::Restored)
}

/// Whether what the person did holds of an entry already.
fn is_so(entry: &EntryView, did: FeedbackAction) -> bool {
    match did {
        FeedbackAction::Read => entry.is_read(),
        FeedbackAction::Unread => !entry.is_read(),
        FeedbackAction::Cleared => entry.is_cleared(),
        FeedbackAction::Restored => !entry.is_cleared(),
        FeedbackAction::Seen => entry.is_seen(),
        FeedbackAction::Saved => entry.is_saved(),
        FeedbackAction::Unsaved => !entry.is_saved(),
        FeedbackAction::Snoozed(until) => entry.is_snoozed_until(until),
    }
}

/// Marks of these entries, in each day that still lives; the keys are sorted.
pub fn mark_rows(
    (tenant, person): (&Tenant, &Person),
    (did, at): (FeedbackAction, UtcMillis),
    keys: &[EntryKey],
    (life, now): (DayLife, UtcMillis),
) -> Vec<DayRows> {
    let mark = |keys: &[EntryKey]| DayRow::Mark(Mark::new(None, did.mark(), keys.to_vec(), at));
    let of_days = keys.chunk_by(|a, b| a.day() == b.day()).filter(|keys| !life.is_over(keys[0].day(), now));
    let rows = of_days.map(|keys| DayRows {
        key: DayKey { tenant: tenant.clone(), person: person.clone(), day: keys[0].day() },
        rows: keys.chunks(MARK_KEYS_MAX).map(mark).collect(),
    });
    rows.collect()
}

/// What is announced of these entries.
pub fn feedback_records(
    (tenant, person): (&Tenant, &Person),
    (what, at): (FeedbackAction, UtcMillis),
    keys: &[EntryKey],
    partitions: PartitionCount,
) -> Result<Vec<NewRecord>, WireError> {
    let record = |keys: &[EntryKey]| {
        let (tenant, person, keys) = (tenant.clone(), person.clone(), keys.to_vec());
        inbox_record(&InboxItem::Feedback(Feedback { tenant, person, what, keys, at }), partitions)
    };
    keys.chunks(MARK_KEYS_MAX).map(record).collect()
}

/// That all until an instant was read or cleared, or all of a kind: one cell says it, whatever lies in the days.
pub fn up_to_note(did: FeedbackAction, kind: Option<&Kind>, until: UtcMillis) -> VersionedState {
    let mut state = VersionedState::default();
    for (word, _) in UP_TO.into_iter().filter(|(_, said)| *said == did.mark()) {
        let cell = ValueCell { version: until.0, value: Some(Value::Flag(true)) };
        state.set(&up_to_field(word, kind), cell);
    }
    state
}

/// What is announced of it, for feeds that show the person's entries, and for the number on an icon.
pub fn up_to_record(
    (tenant, person): (&Tenant, &Person),
    (what, at): (FeedbackAction, UtcMillis),
    partitions: PartitionCount,
) -> Result<NewRecord, WireError> {
    let (tenant, person, keys) = (tenant.clone(), person.clone(), Vec::new());
    inbox_record(&InboxItem::Feedback(Feedback { tenant, person, what, keys, at }), partitions)
}
