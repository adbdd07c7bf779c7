//! What the person did with an entry: of contrary marks the later one counts, and what was put off comes back as news.

use crate::{
    Channel, Day, DayRow, EndReason, EntryAttention, EntryView, Fate, Mark, MarkAction, ReadyId, UtcMillis,
    VersionedState,
    attention::NOT_PUT_OFF,
    fold::fold_rows,
    limits::DAY_MS,
    person::notes::up_to_field,
    value::{Value, ValueCell},
    window::StepInput,
};

use super::{entry_key, entry_row};

const READY: ReadyId = ReadyId([1; 16]);
const NOW: i64 = 1_000;

/// The entry with these marks, each at its instant, folded in every order; and the notes.
fn view(marks: &[(MarkAction, i64)], notes: &VersionedState, now: i64) -> EntryView {
    let key = entry_key(5, 1);
    let row = |(what, at): &(MarkAction, i64)| {
        let channel = (!what.is_on_all_channels()).then_some(Channel::Email);
        DayRow::Mark(Mark::new(channel, *what, vec![key], UtcMillis(*at)))
    };
    let mut rows: Vec<DayRow> = marks.iter().map(row).collect();
    rows.push(entry_row(key, "author:1"));
    let mut views = Vec::new();
    for _ in 0..rows.len() {
        rows.rotate_left(1);
        views.push(fold_rows(&rows).settle(notes, UtcMillis(now)).get(key).unwrap().clone());
        rows.reverse();
        views.push(fold_rows(&rows).settle(notes, UtcMillis(now)).get(key).unwrap().clone());
    }
    assert!(views.windows(2).all(|two| two[0] == two[1]), "the order of rows matters: {marks:?}");
    views.remove(0)
}

fn attention(marks: &[(MarkAction, i64)]) -> EntryAttention {
    view(marks, &VersionedState::default(), NOW).attention(entry_key(5, 1))
}

#[test]
fn of_two_contrary_marks_the_later_one_counts() {
    let pairs = [
        (MarkAction::Read, MarkAction::Unread),
        (MarkAction::Cleared, MarkAction::Restored),
        (MarkAction::Saved, MarkAction::Unsaved),
    ];
    for (what, contrary) in pairs {
        let check = |marks: &[(MarkAction, i64)], expected: bool| {
            let found = attention(marks);
            let flags = [
                (MarkAction::Read, found.is_read),
                (MarkAction::Cleared, found.is_cleared),
                (MarkAction::Saved, found.is_saved),
            ];
            for (of, flag) in flags {
                assert_eq!(flag, of == what && expected, "{marks:?}: {of:?}");
            }
        };
        check(&[], false);
        check(&[(what, 1)], true);
        check(&[(contrary, 1)], false);
        check(&[(what, 1), (contrary, 2)], false);
        check(&[(what, 2), (contrary, 1)], true);
        check(&[(what, 1), (contrary, 2), (what, 3)], true);
        // At one instant nobody knows which was last: the one that tells less.
        check(&[(what, 2), (contrary, 2)], true);
    }
}

#[test]
fn an_entry_is_news_until_something_shows_that_it_was_seen() {
    let check = |marks: &[(MarkAction, i64)], seen: Option<i64>| {
        assert_eq!(attention(marks).seen, seen.map(UtcMillis), "{marks:?}");
    };
    check(&[], None);
    check(&[(MarkAction::Taken(READY), 9), (MarkAction::Saved, 9), (MarkAction::Unread, 9)], None);
    check(&[(MarkAction::Seen, 20)], Some(20));
    check(&[(MarkAction::Seen, 20), (MarkAction::Seen, 10)], Some(10));
    check(&[(MarkAction::Seen, 20), (MarkAction::Read, 15)], Some(15));
    check(&[(MarkAction::Cleared, 15)], Some(15));
    // It stays seen when it is unread again.
    check(&[(MarkAction::Read, 15), (MarkAction::Unread, 30)], Some(15));
    // A note says until when all was read, and a later note says a later instant: the day stays.
    let mut notes = VersionedState::default();
    let name = up_to_field("read", None);
    notes.set(&name, ValueCell { version: 50, value: Some(Value::Flag(true)) });
    let found = view(&[], &notes, NOW).attention(entry_key(5, 1));
    assert_eq!((found.seen, found.is_read), (Some(UtcMillis(0)), true));
}

#[test]
fn what_is_put_off_is_away_and_comes_back_as_news() {
    let snoozed = |until| MarkAction::Snoozed(UtcMillis(until));
    let check = |marks: &[(MarkAction, i64)], now: i64, fate: Fate, since: i64, seen: Option<i64>| {
        let found = view(marks, &VersionedState::default(), now);
        let attention = found.attention(entry_key(5, 1));
        assert_eq!(found.fate(Channel::Email), fate, "{marks:?} at {now}");
        assert_eq!((attention.since.0, attention.seen), (since, seen.map(UtcMillis)), "{marks:?} at {now}");
        let is_listed = !matches!(fate, Fate::PutOff | Fate::Cleared);
        assert_eq!(attention.is_listed(), is_listed, "{marks:?} at {now}");
    };
    let waiting = Fate::Waiting { carried: false };
    check(&[(snoozed(100), 20)], 99, Fate::PutOff, 5, None);
    check(&[(snoozed(100), 20)], 100, waiting, 100, None);
    // What was done before, and what became of it before it came back, counts no more.
    let before = [(MarkAction::Read, 10), (MarkAction::Seen, 10), (snoozed(100), 20)];
    check(&before, 100, waiting, 100, None);
    check(&[(MarkAction::Taken(READY), 10), (snoozed(100), 20)], 100, waiting, 100, None);
    let left = MarkAction::Left { ready: READY, why: EndReason::PutOff };
    check(&[(MarkAction::Taken(READY), 19), (snoozed(100), 20), (left, 21)], 100, waiting, 100, None);
    // What was done since counts.
    check(&[(snoozed(100), 20), (MarkAction::Cleared, 30)], 100, Fate::Cleared, 100, Some(30));
    check(&[(snoozed(100), 20), (MarkAction::Read, 130)], 140, Fate::Read, 100, Some(130));
    check(
        &[(snoozed(100), 20), (MarkAction::Taken(READY), 130)],
        140,
        Fate::Told { ready: READY },
        100,
        None,
    );
    // The last word counts, and back at once is a word too.
    check(&[(snoozed(100), 20), (snoozed(50), 30)], 60, waiting, 50, None);
    check(&[(snoozed(100), 20), (snoozed(200), 30)], 150, Fate::PutOff, 5, None);
    check(&[(MarkAction::Read, 10), (snoozed(100), 20), (snoozed(30), 30)], 30, waiting, 30, None);
    // Taken back, it is as it was.
    let taken_back = (MarkAction::Snoozed(NOT_PUT_OFF), 30);
    check(&[(snoozed(100), 20), taken_back], 60, waiting, 5, None);
    check(&[(MarkAction::Read, 10), (snoozed(100), 20), taken_back], 120, Fate::Read, 5, Some(10));
    check(&[(snoozed(100), 20), taken_back, (snoozed(200), 40)], 60, Fate::PutOff, 5, None);
}

#[test]
fn who_reads_all_does_not_read_what_is_put_off() {
    let snoozed = [(MarkAction::Snoozed(UtcMillis(100)), 20)];
    let check = |noted: i64, is_read: bool| {
        let mut notes = VersionedState::default();
        let name = up_to_field("read", None);
        notes.set(&name, ValueCell { version: noted, value: Some(Value::Flag(true)) });
        assert_eq!(view(&snoozed, &notes, NOW).attention(entry_key(5, 1)).is_read, is_read, "{noted}");
    };
    check(10, false);
    check(50, false);
    check(100, true);
}

#[test]
fn what_is_withdrawn_is_told_nowhere_and_listed_nowhere() {
    let check = |marks: &[(MarkAction, i64)], fate: Fate| {
        let found = view(marks, &VersionedState::default(), NOW);
        assert_eq!(found.fate(Channel::Email), fate, "{marks:?}");
        assert!(!found.attention(entry_key(5, 1)).is_listed(), "{marks:?}");
    };
    check(&[(MarkAction::Withdrawn, 9)], Fate::Ended(EndReason::Withdrawn));
    check(&[(MarkAction::Withdrawn, 9), (MarkAction::Read, 8)], Fate::Ended(EndReason::Withdrawn));
    let back = [(MarkAction::Withdrawn, 9), (MarkAction::Snoozed(UtcMillis(100)), 20)];
    check(&back, Fate::Ended(EndReason::Withdrawn));
    // What was told was told.
    check(&[(MarkAction::Taken(READY), 8), (MarkAction::Withdrawn, 9)], Fate::Told { ready: READY });
}

#[test]
fn all_plans_look_at_the_day_of_what_comes_back() {
    let mut bench = super::StepBench::new(8, 1);
    let (one, other) = (Day(0), Day(1));
    let until = UtcMillis(2 * DAY_MS);
    bench.step(0, StepInput::PutOff { back: &[(one, until), (other, until.plus(9))] });
    bench.step(0, StepInput::PutOff { back: &[(one, until.plus(5))] });
    assert_eq!(bench.record.put_off, [(one, until), (other, until.plus(9))].into());
    assert_eq!((bench.record.next_due(), bench.record.is_spent(UtcMillis(i64::MAX))), (Some(until), false));
    bench.step(until.0, StepInput::Again);
    let days: Vec<_> = bench.record.windows.iter().map(|window| window.days.clone()).collect();
    assert_eq!(days, [[one].into()]);
    assert_eq!(bench.record.put_off, [(other, until.plus(9))].into());
    bench.step(until.0 + 9, StepInput::Again);
    assert!(bench.record.put_off.is_empty());
    assert_eq!(bench.record.windows[0].days, [one, other].into(), "one window of the plan");
}
