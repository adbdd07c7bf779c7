//! Tests of the fold and of the step, as data behind one `check`.

use std::sync::Arc;

use crate::{
    Because, Channel, Day, Entry, EntryKey, EventKey, Fate, Kind, Mark, Millis, Person, PlanName, ReadyId,
    Reason, Row, SubjectRef, Tenant, What, Why,
    civil::{Zone, Zones},
    closing::Candidate,
    delivery::{Delivery, Outcome},
    fold::fold,
    limits::{DAY_MS, DAY_ROWS_FULL, READY_ENTRIES_MAX},
    person::PersonRecord,
    plan::{Close, LocalTime, OncePer, Order, Plan, Plans, Section, ZoneRule},
    ready::Ready,
    window::{At, Effects, Input, step},
};

fn key(ms: i64, n: u8) -> EntryKey {
    EntryKey { occurred: Millis(ms), event: EventKey([n; 16]) }
}

fn reason(target: &str) -> Reason {
    Reason { kind: Kind::new("news").unwrap(), because: Because::Follows(SubjectRef::new(target).unwrap()) }
}

fn entry(key: EntryKey, target: &str) -> Row {
    Row::Entry(Entry { key, reason: reason(target), subject: SubjectRef::new("work:1").unwrap() })
}

fn mark(what: What, covers: &[EntryKey]) -> Row {
    let channel = match what {
        What::Read | What::Cleared => None,
        _ => Some(Channel::Email),
    };
    Row::Mark(Mark::new(channel, what, covers.to_vec(), Millis(0)))
}

#[test]
fn the_fold_gives_each_entry_its_fate() {
    let (a, b) = (ReadyId([1; 16]), ReadyId([2; 16]));
    let k = key(5, 1);
    let check = |marks: &[What], expected: Fate| {
        let mut rows: Vec<Row> = marks.iter().map(|what| mark(*what, &[k])).collect();
        rows.push(entry(k, "author:1"));
        for turn in 0..rows.len() {
            rows.rotate_left(turn);
            let view = fold(&rows);
            assert_eq!(view.get(k).unwrap().fate(Channel::Email), expected, "{marks:?}");
        }
    };
    let returned = |ready| What::Returned { ready, maybe: true };
    let left = |ready| What::Left { ready, why: Why::NoLongerTrue };
    check(&[], Fate::Waiting { carried: false });
    check(&[What::Taken(a)], Fate::Told { ready: a });
    check(&[What::Taken(a), returned(a)], Fate::Waiting { carried: false });
    check(&[What::Taken(a), returned(a), What::Taken(b)], Fate::Told { ready: b });
    check(&[What::Taken(a), left(a)], Fate::Ended(Why::NoLongerTrue));
    check(&[What::Taken(a), left(a), What::Read], Fate::Read);
    check(&[What::Taken(a), What::Read], Fate::Told { ready: a });
    check(&[What::Cleared], Fate::Cleared);
    check(&[What::Ended(Why::Unfollowed)], Fate::Ended(Why::Unfollowed));
    check(&[What::Carried(a)], Fate::Waiting { carried: true });
}

#[test]
fn a_mark_may_come_before_its_entry() {
    let k = key(5, 1);
    let mut view = fold(&[mark(What::Read, &[k])]);
    assert!(view.is_empty());
    view.add(&entry(k, "author:1"));
    assert_eq!(view.get(k).unwrap().fate(Channel::Email), Fate::Read);
}

struct Bench {
    tenant: Tenant,
    person: Person,
    zones: Zones,
    zone: Zone,
    plans: Plans,
    record: PersonRecord,
}

const NINE: i64 = 9 * 3_600_000;

impl Bench {
    fn new(most: u16, at_least: u16) -> Self {
        let kinds = vec![Kind::new("news").unwrap()];
        let plan = Plan {
            name: PlanName::new("morning").unwrap(),
            hash: 1,
            channel: Channel::Email,
            close: Close::Daily {
                at: LocalTime { hour: 9, minute: 0 },
                zone: ZoneRule::Person,
                spread_ms: 0,
            },
            look_back_days: 7,
            at_least,
            once_per: OncePer::Subject,
            sections: vec![Section { title: "New".into(), kinds, most, order: Order::Newest }],
        };
        let mut plans = Plans::default();
        plans.by_name.insert(plan.name.clone(), plan);
        let (tenant, person) = (Tenant::new("t").unwrap(), Person::new("ann").unwrap());
        Self {
            tenant,
            person,
            zones: Zones::bundled(),
            zone: Zone::UTC,
            plans,
            record: PersonRecord::default(),
        }
    }

    fn step(&mut self, now: i64, input: Input<'_>) -> Effects {
        let at = At {
            tenant: &self.tenant,
            person: &self.person,
            now: Millis(now),
            zone: &self.zone,
            zones: &self.zones,
            plans: &self.plans,
        };
        let (record, effects) = step(&self.record, input, &at);
        self.record = record;
        effects
    }

    fn announce(&mut self, now: i64, day: i32) -> Effects {
        let plans = [PlanName::new("morning").unwrap()];
        self.step(now, Input::Announced { day: Day(day), rows: 1, plans: &plans })
    }

    fn close(&mut self, now: i64, candidates: Vec<Candidate>) -> Vec<Ready> {
        let window = self.record.windows[0].clone();
        self.step(now, Input::Due { window: &window, candidates }).ready
    }
}

fn candidate(ms: i64, n: u8, subject: &str, holds: Result<(), Why>) -> Candidate {
    let subject = SubjectRef::new(subject).unwrap();
    let reasons = if holds.is_ok() { vec![reason("author:1")] } else { Vec::new() };
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    Candidate { key: key(ms, n), subject, reasons, rank: ms as f64, holds, maybe: false }
}

#[test]
fn a_window_opens_once_and_closes_at_the_local_time() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    bench.announce(2_000, 0);
    assert_eq!(bench.record.windows.len(), 1);
    assert_eq!(bench.record.next_due(), Some(Millis(NINE)));
    let ready =
        bench.close(NINE, vec![candidate(500, 1, "work:1", Ok(())), candidate(900, 2, "work:2", Ok(()))]);
    assert_eq!(ready.len(), 1);
    let told: Vec<_> = ready[0].entries.iter().map(|entry| entry.subject.as_str()).collect();
    assert_eq!(told, ["work:2", "work:1"], "newest first");
    assert!(bench.record.windows.is_empty());
    assert_eq!(bench.record.owed.len(), 1);
    assert_eq!(bench.record.owed[0].mark.what, What::Taken(ready[0].id));
    // The next one opens for tomorrow, also when it comes at the same instant.
    bench.announce(NINE, 0);
    assert_eq!(bench.record.windows[0].due, Millis(NINE + DAY_MS));
    assert!(bench.record.windows[0].opening > Millis(1_000));
}

#[test]
fn nothing_left_is_no_ready_and_the_fate_is_owed() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(500, 1, "work:1", Err(Why::NoLongerTrue))]);
    assert!(ready.is_empty());
    assert!(bench.record.windows.is_empty());
    assert_eq!(bench.record.owed[0].mark.what, What::Ended(Why::NoLongerTrue));
    assert!(bench.record.told_on.is_empty(), "a digest that was not sent does not count for the date");
}

#[test]
fn what_is_over_a_budget_is_carried_to_the_next_digest() {
    let mut bench = Bench::new(2, 1);
    bench.announce(1_000, 0);
    let all = (1..=3).map(|n| candidate(i64::from(n), n, &format!("work:{n}"), Ok(()))).collect();
    let ready = bench.close(NINE, all);
    assert_eq!(ready[0].entries.len(), 2);
    assert_eq!(bench.record.windows[0].due, Millis(NINE + DAY_MS));
    assert!(bench.record.owed.iter().any(|owed| owed.mark.what == What::Carried(ready[0].id)));
}

#[test]
fn below_the_minimum_the_window_waits_for_its_next_closing() {
    let mut bench = Bench::new(8, 2);
    bench.announce(1_000, 0);
    assert!(bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).is_empty());
    assert_eq!(bench.record.windows[0].due, Millis(NINE + DAY_MS));
    assert!(bench.record.owed.is_empty());
}

#[test]
fn a_subject_is_said_once_and_all_its_entries_are_told() {
    let mut bench = Bench::new(1, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(())), candidate(2, 2, "work:1", Ok(()))]);
    assert_eq!(ready[0].entries.len(), 2);
    assert!(bench.record.windows.is_empty(), "nothing is left over");
}

#[test]
fn one_subject_cannot_fill_more_than_a_ready() {
    let mut bench = Bench::new(1, 1);
    bench.announce(1_000, 0);
    let many = (0..200_u8).map(|n| candidate(i64::from(n), n, "work:1", Ok(()))).collect();
    let ready = bench.close(NINE, many);
    assert_eq!(ready[0].entries.len(), READY_ENTRIES_MAX);
    assert_eq!(bench.record.windows.len(), 1, "the rest is carried");
}

#[test]
fn a_window_that_is_not_due_any_more_stays_open() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    // The person flew west: nine o'clock is later now.
    bench.zone = bench.zones.get("America/New_York").unwrap();
    assert!(bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).is_empty());
    assert_eq!(bench.record.windows[0].due, Millis(NINE + 5 * 3_600_000));
}

#[test]
fn the_days_of_a_plan_that_is_gone_go_to_the_plans_there_are() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    let mut other = bench.plans.by_name.pop_first().unwrap().1;
    other.name = PlanName::new("evening").unwrap();
    bench.plans.by_name.insert(other.name.clone(), other);
    assert!(bench.close(NINE, Vec::new()).is_empty());
    let [window] = bench.record.windows.as_slice() else { panic!("{:?}", bench.record) };
    assert_eq!((window.plan.as_str(), window.days.first()), ("evening", Some(&Day(0))));
}

fn delivery(ready: &Ready, outcome: Outcome) -> Delivery {
    Delivery {
        ready: ready.id,
        tenant: ready.tenant.clone(),
        person: ready.person.clone(),
        plan: ready.plan.clone(),
        key: Arc::clone(&ready.key),
        channel: ready.channel,
        attempt: ready.attempt,
        at: Millis(NINE + 5),
        outcome,
    }
}

#[test]
fn what_came_back_opens_the_next_window_and_a_repeated_report_changes_nothing() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).remove(0);
    let report = delivery(&ready, Outcome::Unknown { back: vec![ready.entries[0].key], left: Vec::new() });
    bench.step(NINE + 6, Input::Reported(&report));
    let after = bench.record.clone();
    assert_eq!(after.windows[0].due, Millis(NINE + DAY_MS));
    assert!(after.owed.iter().any(|owed| owed.mark.what == What::Returned { ready: ready.id, maybe: true }));
    bench.step(NINE + 6, Input::Reported(&report));
    assert_eq!(bench.record, after);
}

#[test]
fn a_deferred_ready_is_issued_again_when_its_instant_comes() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).remove(0);
    let until = Millis(NINE + 30_000);
    bench.step(
        NINE + 6,
        Input::Reported(&delivery(&ready, Outcome::Deferred { until, ready: ready.clone() })),
    );
    assert_eq!(bench.record.next_due(), Some(until));
    assert!(bench.step(NINE + 7, Input::Again).ready.is_empty());
    let again = bench.step(until.0, Input::Again).ready;
    assert_eq!((again[0].id, again[0].attempt), (ready.id, 1));
    // After the day's end it is not sent at all.
    let late = delivery(&again[0], Outcome::Deferred { until: ready.expires, ready: again[0].clone() });
    bench.step(until.0, Input::Reported(&late));
    assert!(bench.record.waiting.is_empty());
    let left = What::Left { ready: ready.id, why: Why::Expired };
    assert!(bench.record.owed.iter().any(|owed| owed.mark.what == left));
}

#[test]
fn marks_leave_the_record_when_the_store_has_them() {
    let mut bench = Bench::new(8, 1);
    bench.announce(1_000, 0);
    bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]);
    let owed = bench.record.owed.clone();
    bench.step(NINE + 1, Input::Acknowledged(&owed));
    assert!(bench.record.owed.is_empty());
    assert!(!bench.record.is_spent(Millis(NINE + 1)), "the date that was told is still remembered");
    assert!(bench.record.is_spent(Millis(NINE + 3 * DAY_MS)));
}

#[test]
fn a_day_becomes_full_once() {
    let mut bench = Bench::new(8, 1);
    let plans = [PlanName::new("morning").unwrap()];
    let mut full = Vec::new();
    for _ in 0..5 {
        let rows = DAY_ROWS_FULL / 3;
        full.extend(bench.step(1_000, Input::Announced { day: Day(0), rows, plans: &plans }).full);
    }
    assert_eq!(full, [Day(0)]);
}
