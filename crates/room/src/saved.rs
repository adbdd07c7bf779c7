//! What a person saved outlives its day: a copy of each such entry, in a state of the person, by the entry's key. While the day
//! lives the day says everything; afterwards the copy is listed as something that was seen and read, for it is no news.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{
    DayLife, DayRow, DayView, Entry, EntryKey, EntryView, Mark, MarkAction, UtcMillis, Value, ValueCell,
    VersionedState, fold::fold_rows,
};
use store::{RemovedCell, rows};
use wire::FeedbackAction;

use crate::feedback::parse_entry_key;

/// Entries that a person has saved at once.
pub const SAVED_MAX: usize = 500;
/// Reasons of a copy: an entry of more is told no better by all of them.
const REASONS_MAX: usize = 8;

/// Whether a mark changes what is saved, or may.
pub fn concerns_saved(did: FeedbackAction) -> bool {
    use FeedbackAction::{Cleared, Restored, Saved, Unsaved};
    matches!(did, Saved | Unsaved | Cleared | Restored)
}

/// Whether a mark may name an entry whose day is over: of what was saved one can let go.
pub fn lets_go(did: FeedbackAction) -> bool {
    matches!(did, FeedbackAction::Unsaved | FeedbackAction::Cleared)
}

/// There is no room to save more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is room for {SAVED_MAX} saved entries; let go of some first")]
pub struct SavedFullError;

/// What becomes of the copies by a mark. `find` finds what is stored of an entry whose day lives, `held` are the copies, and `notes`
/// say what was cleared with all.
pub fn change_saved<'a>(
    (held, notes): (&VersionedState, &VersionedState),
    find: impl Fn(EntryKey) -> Option<&'a EntryView>,
    keys: &[EntryKey],
    (did, at): (FeedbackAction, UtcMillis),
) -> Result<VersionedState, SavedFullError> {
    let mut change = VersionedState::default();
    let copy = |key: EntryKey| find(key).and_then(|entry| copy_entry(key, entry));
    let is_saved = |key: EntryKey| find(key).is_some_and(EntryView::is_saved);
    let is_held = |key: &EntryKey| held.cells.get(&*key.to_string()).is_some_and(|cell| cell.value.is_some());
    for key in keys {
        let value = match did {
            FeedbackAction::Saved if is_held(key) && is_saved(*key) => continue,
            FeedbackAction::Saved => copy(*key),
            FeedbackAction::Restored if is_saved(*key) => copy(*key),
            // Somebody else may have saved it, and not yet copied it.
            FeedbackAction::Unsaved | FeedbackAction::Cleared if is_held(key) || is_saved(*key) => None,
            _ => continue,
        };
        if value.is_some() || lets_go(did) {
            // Of one instant a removal wins among cells, and among marks that it is saved: so a copy is a moment newer.
            let version = at.0.saturating_add(i64::from(value.is_some()));
            change.set(&key.to_string(), ValueCell { version, value });
        }
    }
    // What comes back had its place before.
    if did == FeedbackAction::Saved && check_room(held, &change).is_err() {
        for name in list_cleared(held, notes, at) {
            change.set(&name, ValueCell { version: at.0, value: None });
        }
        check_room(held, &change)?;
    }
    Ok(change)
}

/// Copies that were cleared with all: nobody sees them, and they take the places of others.
fn list_cleared(held: &VersionedState, notes: &VersionedState, now: UtcMillis) -> Vec<Arc<str>> {
    let view = fold_rows(&read_saved(held)).settle(notes, now);
    let is_listed = |name: &str| {
        let key = parse_entry_key(name).ok()?;
        Some(view.get(key)?.attention(key).is_listed())
    };
    let held = held.cells.iter().filter(|(_, cell)| cell.value.is_some());
    held.filter(|(name, _)| is_listed(name) == Some(false)).map(|(name, _)| name.clone()).collect()
}

fn check_room(held: &VersionedState, change: &VersionedState) -> Result<(), SavedFullError> {
    let is_there = |cell: &ValueCell| cell.value.is_some();
    let stay = held.cells.iter().filter(|(name, cell)| is_there(cell) && !change.cells.contains_key(*name));
    let adds = change.cells.values().filter(|cell| is_there(cell)).count();
    if adds == 0 || stay.count() + adds <= SAVED_MAX {
        return Ok(());
    }
    Err(SavedFullError)
}

/// The rows of a copy that nobody can read are left out.
pub fn read_saved(held: &VersionedState) -> Vec<DayRow> {
    held.cells.iter().filter_map(|(name, cell)| read_copy(name, cell)).flatten().collect()
}

/// What was let go of and whose day is over: nothing older of it comes any more, so it need not be remembered.
pub fn list_gone(held: &VersionedState, life: DayLife, now: UtcMillis) -> Vec<RemovedCell> {
    let is_over = |name: &str| parse_entry_key(name).is_ok_and(|key| life.is_over(key.day(), now));
    let gone = held.cells.iter().filter(|(name, cell)| cell.value.is_none() && is_over(name));
    gone.map(|(name, cell)| (Arc::clone(name), cell.version)).collect()
}

/// Copies whose day is over and that nobody can see any more: what they are of was cleared with all, revoked, or cannot be read.
/// `view` are the copies as they are settled.
pub fn list_hidden(held: &VersionedState, view: &DayView, life: DayLife, now: UtcMillis) -> Vec<RemovedCell> {
    let is_hidden = |name: &str| {
        let Ok(key) = parse_entry_key(name) else { return true };
        let is_listed = view.get(key).is_some_and(|entry| entry.attention(key).is_listed());
        life.is_over(key.day(), now) && !is_listed
    };
    let hidden = held.cells.iter().filter(|(name, cell)| cell.value.is_some() && is_hidden(name));
    hidden.map(|(name, cell)| (Arc::clone(name), cell.version)).collect()
}

/// When it was seen, and its rows. What a row has is the store's to say, on every engine the same.
fn copy_entry(key: EntryKey, entry: &EntryView) -> Option<Value> {
    let subject = entry.subject()?;
    let seen = entry.attention(key).seen.map_or_else(String::new, |at| at.0.to_string());
    let mut parts = vec![seen];
    for reason in entry.reasons.iter().take(REASONS_MAX) {
        let row = DayRow::Entry(Entry {
            key,
            reason: reason.clone(),
            subject: subject.clone(),
            actor: entry.actor().cloned(),
            kept: entry.kept_fields().clone(),
        });
        let (mut name, mut value) = (Vec::new(), Vec::new());
        rows::push_row(&mut name, &mut value, &row).ok()?;
        parts.push(format!("{}.{}", URL_SAFE_NO_PAD.encode(name), URL_SAFE_NO_PAD.encode(value)));
    }
    Some(Value::from_text(&parts.join(" ")))
}

fn read_copy(name: &str, cell: &ValueCell) -> Option<Vec<DayRow>> {
    let (key, Some(Value::Text(text))) = (parse_entry_key(name).ok()?, &cell.value) else { return None };
    let mut parts = text.split(' ');
    let (at, seen) = (UtcMillis(cell.version).plus(-1), parts.next()?);
    let seen = if seen.is_empty() { at } else { UtcMillis(seen.parse().ok()?) };
    let mark = |what, at| DayRow::Mark(Mark::new(None, what, vec![key], at));
    let mut copy =
        vec![mark(MarkAction::Seen, seen), mark(MarkAction::Read, seen), mark(MarkAction::Saved, at)];
    // All may have been cleared before, and this brought back.
    copy.push(mark(MarkAction::Restored, at));
    for part in parts {
        let (name, value) = part.split_once('.')?;
        let (name, value) = (URL_SAFE_NO_PAD.decode(name).ok()?, URL_SAFE_NO_PAD.decode(value).ok()?);
        copy.push(rows::decode_row(&name, &value).ok()?);
    }
    Some(copy)
}

#[cfg(test)]
mod tests {
    use model::{Actor, ActorId, AudienceMatch, EntryReason, EventKey, KeptFields, Kind, SubjectRef};

    use super::*;
    use crate::feedback::up_to_note;

    fn key(n: u8) -> EntryKey {
        EntryKey { occurred: UtcMillis(1_000 * i64::from(n)), event: EventKey([n; 16]) }
    }

    fn entry(n: u8, kind: &str) -> DayRow {
        DayRow::Entry(Entry {
            key: key(n),
            reason: EntryReason { kind: Kind::new(kind).unwrap(), because: AudienceMatch::Named },
            subject: SubjectRef::new("work:1").unwrap(),
            actor: Some(Actor { id: ActorId::System, name: Some("Ann".into()) }),
            kept: KeptFields::from_iter([("price".into(), Value::Number(2.5))]),
        })
    }

    fn mark(n: u8, what: MarkAction, at: i64) -> DayRow {
        DayRow::Mark(Mark::new(None, what, vec![key(n)], UtcMillis(at)))
    }

    fn day() -> Vec<DayRow> {
        vec![entry(1, "new"), entry(1, "liked"), mark(1, MarkAction::Seen, 7), entry(2, "new")]
    }

    /// The state after what a person did, one after the other.
    fn after(did: &[(FeedbackAction, u8)]) -> VersionedState {
        let (mut held, mut rows) = (VersionedState::default(), day());
        for (at, (did, n)) in (10..).zip(did) {
            rows.push(mark(*n, did.mark(), at));
            let view = fold_rows(&rows);
            let find = |key| view.get(key);
            let of = (&held, &VersionedState::default());
            let change = change_saved(of, find, &[key(*n)], (*did, UtcMillis(at))).unwrap();
            held.merge(&change);
        }
        held
    }

    #[test]
    fn what_is_saved_is_what_it_was() {
        let rows = read_saved(&after(&[(FeedbackAction::Saved, 1), (FeedbackAction::Saved, 2)]));
        let (then, now) = (fold_rows(&day()), fold_rows(&rows));
        assert_eq!(now.len(), 2);
        for (key, entry) in now.entries() {
            let before = then.get(key).unwrap();
            assert_eq!((entry.subject(), entry.actor()), (before.subject(), before.actor()));
            assert_eq!((&entry.reasons, entry.kept_fields()), (&before.reasons, before.kept_fields()));
            assert!(entry.is_read() && entry.is_saved());
        }
        let seen = |n: u8| now.get(key(n)).unwrap().attention(key(n)).seen;
        assert_eq!(
            (seen(1), seen(2)),
            (Some(UtcMillis(7)), Some(UtcMillis(11))),
            "as it was seen, else as it was saved"
        );
    }

    #[test]
    fn marks_decide_what_is_saved() {
        use FeedbackAction::{Cleared, Read, Restored, Saved, Unsaved};
        let check = |did: &[FeedbackAction], expected: bool| {
            let did: Vec<_> = did.iter().map(|did| (*did, 1)).collect();
            assert_eq!(read_saved(&after(&did)).is_empty(), !expected, "{did:?}");
        };
        check(&[Saved], true);
        check(&[Saved, Read], true);
        check(&[Saved, Unsaved], false);
        check(&[Saved, Cleared], false);
        check(&[Saved, Cleared, Restored], true);
        check(&[Saved, Unsaved, Saved], true);
        check(&[Cleared, Restored], false);
        check(&[Unsaved], false);
        // Of one instant, as with marks.
        let view = fold_rows(&day());
        let at = |did| {
            let nothing = VersionedState::default();
            change_saved((&nothing, &nothing), |key| view.get(key), &[key(1)], (did, UtcMillis(9)))
        };
        let mut held = at(Saved).unwrap();
        let of = (&held, &VersionedState::default());
        let unsaved = change_saved(of, |key| view.get(key), &[key(1)], (Unsaved, UtcMillis(9))).unwrap();
        held.merge(&unsaved);
        assert!(!read_saved(&held).is_empty());
        assert!(after(&[(Unsaved, 1), (Cleared, 2)]).is_empty(), "what was never saved leaves nothing");
        assert!(after(&[(Saved, 9)]).is_empty(), "what there is not cannot be saved");
    }

    #[test]
    fn what_nobody_can_see_any_more_goes() {
        let held = after(&[(FeedbackAction::Saved, 1), (FeedbackAction::Saved, 2)]);
        let life = DayLife::default();
        let over = life.expiry(key(1).day()).plus(1);
        let check = |marks: &[DayRow], now: UtcMillis, expected: &[u8]| {
            let rows = [read_saved(&held), marks.to_vec()].concat();
            let found = list_hidden(&held, &fold_rows(&rows), life, now);
            let names: Vec<String> = found.iter().map(|(name, _)| name.to_string()).collect();
            assert_eq!(names, expected.iter().map(|n| key(*n).to_string()).collect::<Vec<_>>(), "{marks:?}");
        };
        check(&[], over, &[]);
        check(&[mark(1, MarkAction::Cleared, 50)], over, &[1]);
        check(&[mark(1, MarkAction::Cleared, 50)], UtcMillis(0), &[]);
        check(&[mark(2, MarkAction::Withdrawn, 50)], over, &[2]);
        // All was cleared before it was saved: it is there.
        check(&[mark(1, MarkAction::Cleared, 9)], over, &[]);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let many = |from: usize, to: usize| {
            VersionedState::from_values(1, (from..to).map(|n| (n.to_string(), Some(Value::from_text("")))))
        };
        let check = |held: &VersionedState, change: &VersionedState, fits: bool| {
            assert_eq!(check_room(held, change).is_ok(), fits);
        };
        check(&many(0, SAVED_MAX - 1), &many(SAVED_MAX, SAVED_MAX + 1), true);
        check(&many(0, SAVED_MAX), &many(SAVED_MAX, SAVED_MAX + 1), false);
        check(&many(0, SAVED_MAX), &many(0, 1), true);
        check(&many(0, SAVED_MAX + 9), &VersionedState::from_values(2, [("0", None)]), true);
        let gone = VersionedState::from_values(1, (0..SAVED_MAX).map(|n| (n.to_string(), None)));
        check(&gone, &many(SAVED_MAX, SAVED_MAX + 1), true);
    }

    /// Whoever clears everything may save as much again.
    #[test]
    fn what_was_cleared_with_all_takes_no_place() {
        let many = |n: usize| EntryKey {
            occurred: UtcMillis(1_000 * i64::try_from(n).unwrap()),
            event: EventKey::from_source_id(&model::Tenant::new("main").unwrap(), "test", &n.to_string()),
        };
        let row = |n: usize, kind: &str| match entry(1, kind) {
            DayRow::Entry(entry) => DayRow::Entry(Entry { key: many(n), ..entry }),
            other => other,
        };
        let rows: Vec<DayRow> =
            (0..=SAVED_MAX).map(|n| row(n, if n % 2 == 0 { "new" } else { "liked" })).collect();
        let view = fold_rows(&rows);
        let save = |held: &VersionedState, notes: &VersionedState, n: usize, at| {
            change_saved(
                (held, notes),
                |key| view.get(key),
                &[many(n)],
                (FeedbackAction::Saved, UtcMillis(at)),
            )
        };
        let (mut held, nothing) = (VersionedState::default(), VersionedState::default());
        for n in 0..SAVED_MAX {
            held.merge(&save(&held, &nothing, n, 1_000_000).unwrap());
        }
        let check = |notes: &VersionedState, left: Option<usize>| {
            let saved = save(&held, notes, SAVED_MAX, 3_000_000).ok().map(|change| {
                let mut after = held.clone();
                after.merge(&change);
                after.cells.values().filter(|cell| cell.value.is_some()).count()
            });
            assert_eq!(saved, left, "{notes:?}");
        };
        let cleared = |kind: Option<&str>, at| {
            up_to_note(
                FeedbackAction::Cleared,
                kind.map(|kind| Kind::new(kind).unwrap()).as_ref(),
                UtcMillis(at),
            )
        };
        check(&nothing, None);
        check(&cleared(None, 2_000_000), Some(1));
        check(&cleared(Some("liked"), 2_000_000), Some(SAVED_MAX / 2 + 1));
        // What was cleared before it was saved is there.
        check(&cleared(None, 900_000), None);
    }

    #[test]
    fn what_was_let_go_of_is_forgotten_with_its_day() {
        let held =
            after(&[(FeedbackAction::Saved, 1), (FeedbackAction::Saved, 2), (FeedbackAction::Unsaved, 1)]);
        let life = DayLife::default();
        assert_eq!(list_gone(&held, life, UtcMillis(0)), []);
        let over = life.expiry(key(1).day()).plus(1);
        assert_eq!(list_gone(&held, life, over), [(key(1).to_string().into(), 12)]);
    }

    #[test]
    fn what_nobody_can_read_is_left_out() {
        let copies = after(&[(FeedbackAction::Saved, 1)]);
        let whole = copies.text(&key(1).to_string()).unwrap().to_owned();
        let check = |name: &str, value: Option<Value>| {
            assert!(read_saved(&VersionedState::from_values(1, [(name, value)])).is_empty(), "{name}");
        };
        let name = key(1).to_string();
        check("no key", Some(Value::from_text(&whole)));
        check(&name, Some(Value::Number(1.0)));
        check(&name, None);
        for at in 0..whole.len() {
            // Cut off anywhere, it has fewer rows or none; nothing breaks.
            let cut = VersionedState::from_values(1, [(&*name, Some(Value::from_text(&whole[..at])))]);
            assert!(read_saved(&cut).len() <= 5);
        }
    }
}
