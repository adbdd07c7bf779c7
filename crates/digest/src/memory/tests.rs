//! Memory against the plainest there is, under anything that is put; and how few bytes it takes.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    Channel, Day, EntryKey, EventKey, Mark, MarkAction, PlanName, ReadyId,
    closing_dates::ClosingNumber,
    habit::VisitHabit,
    person::{Act, DeferredReady, HoldCause, MessageHistory, PersonBadge, ToldClosing, Window},
    ready::Ready,
    trace::TraceContext,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;

/// Records as they are, and everybody asked.
#[derive(Default)]
struct PlainMemory(PersonRecords);

impl PlainMemory {
    fn put(&mut self, key: &PersonKey, record: Option<&PersonRecord>) {
        match record {
            Some(record) => drop(self.0.insert(key.clone(), record.clone())),
            None => drop(self.0.remove(key)),
        }
    }

    fn due(&self) -> BTreeSet<(UtcMillis, &PersonKey)> {
        self.0.iter().filter_map(|(key, record)| Some((record.next_due()?, key))).collect()
    }

    fn due_windows(&self, at: UtcMillis) -> usize {
        let windows = self.0.values().flat_map(|record| &record.windows);
        windows.filter(|window| window.due <= at).count()
    }

    fn windows(&self) -> WindowCounts {
        let mut counts = WindowCounts::default();
        for record in self.0.values() {
            counts += WindowCounts::of_windows(&record.windows);
        }
        counts
    }
}

impl PlainMemory {
    fn waiting(&self) -> (usize, Option<UtcMillis>) {
        let due: Vec<UtcMillis> = self
            .0
            .values()
            .flat_map(|record| record.waiting.iter().map(|waiting| waiting.ready.due))
            .collect();
        (due.len(), due.into_iter().min())
    }
}

fn check_against_plain(memory: &mut PartitionMemory, plain: &PlainMemory) {
    let due = plain.due();
    assert_eq!(memory.len(), plain.0.len());
    assert_eq!(memory.is_empty(), plain.0.is_empty());
    assert_eq!(memory.windows(), plain.windows());
    assert_eq!(memory.waiting(), plain.waiting());
    assert_eq!(memory.next_due(), due.first().map(|(at, _)| *at));
    for at in [UtcMillis(-1), UtcMillis(5), UtcMillis(15), UtcMillis(i64::MAX - 1)] {
        let by_then: Vec<_> = due.iter().filter(|(due, _)| *due <= at).collect();
        let all: Vec<_> = by_then.iter().map(|(_, key)| (*key).clone()).collect();
        let all = TenantShares::default().order_in_turns(all, |key| &key.0);
        let is_same = memory.due_at(at, usize::MAX).unwrap() == all;
        assert!(is_same, "at {at}");
        assert_eq!(memory.due_windows(at, usize::MAX), plain.due_windows(at));
        // Where there is not room for all that are due at one instant, it may be any of them.
        let some = memory.due_at(at, 2).unwrap();
        let when = |key: &PersonKey| plain.0.get(key).and_then(PersonRecord::next_due);
        let first: Vec<_> = all.iter().take(2).map(when).collect();
        assert_eq!(some.iter().map(when).collect::<Vec<_>>(), first);
        assert_eq!(some.iter().collect::<BTreeSet<_>>().len(), some.len());
    }
}

fn key(person: usize) -> PersonKey {
    let tenant = if person.is_multiple_of(2) { "one" } else { "two" };
    (Tenant::new(tenant).unwrap(), Person::new(&format!("person-{}", person / 2)).unwrap())
}

proptest! {
    #[test]
    fn it_remembers_what_was_put(
        // Mostly records that change only in when they are due.
        puts in vec((0_usize..12, prop_oneof![
            4 => usual_record().prop_map(Some),
            1 => any_record().prop_map(Some),
            1 => Just(None),
        ]), 1..120),
    ) {
        let (mut memory, mut plain) = (PartitionMemory::with_room(3), PlainMemory::default());
        for (person, record) in &puts {
            memory.put(&key(*person), record.as_ref()).unwrap();
            plain.put(&key(*person), record.as_ref());
            check_against_plain(&mut memory, &plain);
        }
        let all: Vec<PersonKey> = (0..12).map(key).collect();
        prop_assert_eq!(memory.records(&all).unwrap(), plain.0);
    }

    #[test]
    fn every_record_comes_back(record in any_record()) {
        let mut memory = PartitionMemory::default();
        memory.put(&key(1), Some(&record)).unwrap();
        prop_assert_eq!(memory.get(&key(1)).unwrap(), Some(record));
        prop_assert_eq!(memory.get(&key(2)).unwrap(), None);
    }

    #[test]
    fn what_is_cut_short_is_an_error(record in any_record(), cut in any::<prop::sample::Index>()) {
        let (mut bytes, mut names) = (Vec::new(), RecordNames::default());
        names.learn(&key(1), &record);
        record_codec::write_packed(&mut bytes, &key(1), &record, &names).unwrap();
        bytes.truncate(cut.index(bytes.len()));
        prop_assert!(record_codec::read_packed(&bytes, &names).is_err());
    }
}

#[test]
fn many_come_and_go() {
    let (mut memory, mut plain) = (PartitionMemory::default(), PlainMemory::default());
    for round in 0..3_i64 {
        for n in 0..3_000_usize {
            let record = PersonRecord {
                keep_until: UtcMillis(1 + round * 10 + n as i64 % 7),
                ..PersonRecord::default()
            };
            let is_gone = n as i64 % 3 == round;
            let record = (!is_gone).then_some(&record);
            memory.put(&key(n), record).unwrap();
            plain.put(&key(n), record);
        }
        check_against_plain(&mut memory, &plain);
        assert!(memory.slots.len() <= 3_000, "a slot that is free is used again");
    }
}

#[test]
fn names_beyond_number_are_written_in_full() {
    let (mut memory, mut all) = (PartitionMemory::default(), PersonRecords::new());
    for n in 0..5_000_u64 {
        let key = (Tenant::new(&format!("tenant-{n}")).unwrap(), Person::new("ann").unwrap());
        let plan = PlanName::new(&format!("plan-{n}")).unwrap();
        let word: Arc<str> = format!("word-{n}").into();
        let windows = vec![Window::new(plan.clone(), n, "".into(), UtcMillis(1))];
        let (told_on, seen) =
            ([(plan, ToldClosing::new(ClosingNumber(7), ""))].into(), [(word, UtcMillis(3))].into());
        let record = PersonRecord { windows, told_on, seen, ..PersonRecord::default() };
        memory.put(&key, Some(&record)).unwrap();
        all.insert(key, record);
    }
    assert_eq!(memory.records(all.keys()).unwrap(), all);
}

/// A slot, what the index and the queue take of it, what the allocator adds: that is a hundred bytes at most.
#[test]
fn the_usual_record_takes_few_bytes() {
    let mut memory = PartitionMemory::default();
    let opened = UtcMillis(1_795_248_000_000);
    let window = Window::new(PlanName::new("daily").unwrap(), u64::MAX, "".into(), opened);
    let window = Window { due: opened.plus(80_000_000), heard: 3, last: opened.plus(50_000), ..window };
    let windows = vec![Window { days: [Day::from_instant(opened)].into(), ..window }];
    let (rows, keep_until) = ([(Day::from_instant(opened), 3)].into(), opened.plus(100_000_000));
    let record = PersonRecord { windows, last_opening: opened, rows, keep_until, ..PersonRecord::default() };
    let key = (Tenant::new("gallery").unwrap(), Person::new("person-1234567").unwrap());
    memory.put(&key, Some(&record)).unwrap();
    let bytes = memory.slots[0].bytes.len();
    assert!(bytes <= 56, "{bytes}");
    assert!(size_of::<RecordSlot>() <= 24);
}

/// Often the same ones, also as far apart as can be. At the very last instant nothing is due.
fn any_instant() -> impl Strategy<Value = UtcMillis> {
    prop_oneof![4 => 0_i64..20, 1 => i64::MIN..i64::MAX].prop_map(UtcMillis)
}

fn any_word() -> impl Strategy<Value = Arc<str>> {
    select(vec!["one", "two", "three"]).prop_map(Into::into)
}

fn any_plan() -> impl Strategy<Value = PlanName> {
    any_word().prop_map(|name| PlanName::new(&name).unwrap())
}

fn any_entry_key() -> impl Strategy<Value = EntryKey> {
    (any_instant(), any::<[u8; 16]>())
        .prop_map(|(occurred, event)| EntryKey { occurred, event: EventKey(event) })
}

fn any_trace() -> impl Strategy<Value = TraceContext> {
    any::<[u8; 24]>().prop_map(TraceContext::from_bytes)
}

fn any_days() -> impl Strategy<Value = BTreeSet<Day>> {
    prop::collection::btree_set(any::<i32>().prop_map(Day), 0..4)
}

fn usual_record() -> impl Strategy<Value = PersonRecord> {
    (0_i64..20, any_plan()).prop_map(|(due, plan)| {
        let window = Window::new(plan, 1, "".into(), UtcMillis(1));
        PersonRecord { windows: vec![Window { due: UtcMillis(due), ..window }], ..PersonRecord::default() }
    })
}

fn any_window() -> impl Strategy<Value = Window> {
    let names = (any_plan(), any::<u64>(), any::<String>());
    let act = option::of(select(vec![Act::Release, Act::Cancel]));
    let held = option::of(select(vec![HoldCause::Online, HoldCause::Quiet, HoldCause::Cap]));
    let after = option::of(any::<[u8; 16]>().prop_map(ReadyId));
    let rest = (any::<u32>(), option::of(any_instant()), option::of(any_entry_key()), any_days());
    let hour = option::of(0_u8..24);
    (names, (any_instant(), any_instant(), any_instant(), hour), (act, held, after), rest).prop_map(
        |(
            (plan, plan_hash, key),
            (opening, due, last, hour),
            (act, held, after),
            (heard, aim, first, days),
        )| {
            Window {
                plan,
                plan_hash,
                key: key.into(),
                opening,
                due,
                act,
                after,
                held,
                heard,
                last,
                hour,
                aim,
                first,
                days,
            }
        },
    )
}

fn any_told() -> impl Strategy<Value = MessageHistory> {
    (any_plan(), any_word(), vec(any_instant(), 0..3), any_instant(), any::<u8>(), any_instant())
        .prop_map(|(plan, key, at, heard, row, until)| MessageHistory { plan, key, at, heard, row, until })
}

fn any_ready() -> impl Strategy<Value = Ready> {
    (any_plan(), any_word(), any_instant(), any::<u16>()).prop_map(|(plan, key, at, attempt)| Ready {
        id: ReadyId([7; 16]),
        tenant: Tenant::new("one").unwrap(),
        person: Person::new("ann").unwrap(),
        plan,
        key,
        opening: at,
        channel: Channel::Push,
        silent: true,
        attempt,
        due: at,
        expires: at,
        entries: Vec::new(),
        more: vec![3],
        badge: false,
        renews: None,
    })
}

fn any_badge() -> impl Strategy<Value = PersonBadge> {
    (any_plan(), option::of(any_instant())).prop_map(|(plan, due)| PersonBadge { plan, due })
}

fn any_told_date() -> impl Strategy<Value = ToldClosing> {
    (any::<i32>(), prop::collection::btree_set(any::<i64>(), 0..3))
        .prop_map(|(date, keys)| ToldClosing { number: ClosingNumber(date), keys })
}

/// Anything; one in three with what is there for a moment only.
fn any_record() -> impl Strategy<Value = PersonRecord> {
    let mark = (vec(any_entry_key(), 0..3), any_instant())
        .prop_map(|(keys, at)| Mark::new(None, MarkAction::Read, keys, at));
    let owed = (any::<i32>(), mark).prop_map(|(day, mark)| OwedMark { day: Day(day), mark });
    let waiting = (any_instant(), any_ready()).prop_map(|(at, ready)| DeferredReady { at, ready });
    let moment = prop_oneof![2 => Just((vec![], vec![])), 1 => (vec(owed, 0..3), vec(waiting, 0..2))];
    let dates = prop::collection::btree_map(any_plan(), any_told_date(), 0..3);
    let counted = prop::collection::btree_map(any_word(), vec(any_instant(), 0..3), 0..3);
    let seen = prop::collection::btree_map(any_word(), any_instant(), 0..3);
    let rows = prop::collection::btree_map(any::<i32>().prop_map(Day), any::<u32>(), 0..3);
    let habit = vec((0_u8..24, any::<u8>()), 0..4).prop_map(VisitHabit::from_visits);
    let badge = option::of(any_badge());
    let traces = prop::collection::btree_map(any_entry_key(), any_trace(), 0..3);
    let put_off = prop::collection::btree_map(any::<i32>().prop_map(Day), any_instant(), 0..3);
    let past = (dates, vec(any_told(), 0..3), counted, seen, rows, habit, badge, (traces, put_off));
    (vec(any_window(), 0..3), moment, any_instant(), any_instant(), past).prop_map(
        |(
            windows,
            (owed, waiting),
            last_opening,
            keep_until,
            (told_on, told, counted, seen, rows, habit, badge, (traces, put_off)),
        )| {
            PersonRecord {
                windows,
                owed,
                waiting,
                last_opening,
                told_on,
                told,
                counted,
                seen,
                habit,
                badge,
                put_off,
                rows,
                traces,
                keep_until,
            }
        },
    )
}
