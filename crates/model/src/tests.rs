//! Tests of the fold and of the step, as data behind one `check`.

mod attention;
mod badge;
mod escalation;
mod habit;
mod holds;
mod knob_pairs;
mod leftovers;
mod manual_acts;
mod returns;
mod windows;

use std::sync::Arc;

use crate::{
    AudienceMatch, Channel, Day, DayLife, DayRow, EndReason, Entry, EntryKey, EntryReason, EventKey, Fate,
    Kind, Mark, MarkAction, Person, PlanName, ReadyId, SubjectRef, Tenant, UtcMillis,
    civil_time::{Zone, ZoneRules},
    closing_candidate::ClosingCandidate,
    closing_dates::ClosingDates,
    delivery::{Delivery, DeliveryOutcome},
    fold::fold_rows,
    limits::{DAY_MS, DAY_ROWS_FULL, READY_ENTRIES_MAX, WAITING_BYTES_MAX},
    person::{Act, PersonRecord},
    plan::{
        CloseRule, LocalTime, OncePer, Plan, PlanSection, PlanSet, RestRule, SectionOrder, WeekdaySet,
        ZoneRule,
    },
    ready::Ready,
    step_context::StepContext,
    window::{StepEffects, StepInput, WindowTarget, decide_step},
};

fn entry_key(ms: i64, n: u8) -> EntryKey {
    EntryKey { occurred: UtcMillis(ms), event: EventKey([n; 16]) }
}

fn follow_reason(target: &str) -> EntryReason {
    EntryReason {
        kind: Kind::new("news").unwrap(),
        because: AudienceMatch::Follows(SubjectRef::new(target).unwrap()),
    }
}

fn entry_row(key: EntryKey, target: &str) -> DayRow {
    let subject = SubjectRef::new("work:1").unwrap();
    DayRow::Entry(Entry {
        key,
        reason: follow_reason(target),
        subject,
        actor: None,
        kept: crate::KeptFields::new(),
    })
}

fn mark_row(what: MarkAction, covers: &[EntryKey]) -> DayRow {
    let channel = (!what.is_on_all_channels()).then_some(Channel::Email);
    DayRow::Mark(Mark::new(channel, what, covers.to_vec(), UtcMillis(0)))
}

#[test]
fn the_fold_gives_each_entry_its_fate() {
    let (a, b) = (ReadyId([1; 16]), ReadyId([2; 16]));
    let k = entry_key(5, 1);
    let check = |marks: &[MarkAction], expected: Fate| {
        let mut rows: Vec<DayRow> = marks.iter().map(|what| mark_row(*what, &[k])).collect();
        rows.push(entry_row(k, "author:1"));
        for turn in 0..rows.len() {
            rows.rotate_left(turn);
            let view = fold_rows(&rows);
            assert_eq!(view.get(k).unwrap().fate(Channel::Email), expected, "{marks:?}");
        }
    };
    let returned = |ready| MarkAction::Returned { ready, maybe: true };
    let left = |ready| MarkAction::Left { ready, why: EndReason::NoLongerTrue };
    check(&[], Fate::Waiting { carried: false });
    check(&[MarkAction::Taken(a)], Fate::Told { ready: a });
    check(&[MarkAction::Taken(a), returned(a)], Fate::Waiting { carried: false });
    check(&[MarkAction::Taken(a), returned(a), MarkAction::Taken(b)], Fate::Told { ready: b });
    check(&[MarkAction::Taken(a), left(a)], Fate::Ended(EndReason::NoLongerTrue));
    check(&[MarkAction::Taken(a), left(a), MarkAction::Read], Fate::Read);
    check(&[MarkAction::Taken(a), MarkAction::Read], Fate::Told { ready: a });
    check(&[MarkAction::Cleared], Fate::Cleared);
    check(&[MarkAction::Ended(EndReason::Unfollowed)], Fate::Ended(EndReason::Unfollowed));
    check(&[MarkAction::Carried(a)], Fate::Waiting { carried: true });
}

#[test]
fn an_entry_keeps_who_did_it_in_any_order_of_its_rows() {
    let bob = Person::new("bob").unwrap();
    let by = |actor: Option<&Person>, target| {
        let DayRow::Entry(entry) = entry_row(entry_key(5, 1), target) else { panic!("it is an entry") };
        DayRow::Entry(Entry { actor: actor.cloned().map(Into::into), ..entry })
    };
    let mut rows = vec![
        by(Some(&bob), "author:1"),
        by(None, "author:2"),
        mark_row(MarkAction::Read, &[entry_key(5, 1)]),
    ];
    for turn in 0..rows.len() {
        rows.rotate_left(turn);
        assert_eq!(
            fold_rows(&rows).get(entry_key(5, 1)).unwrap().actor().and_then(crate::Actor::person),
            Some(&bob)
        );
    }
}

#[test]
fn a_mark_may_come_before_its_entry() {
    let k = entry_key(5, 1);
    let mut view = fold_rows(&[mark_row(MarkAction::Read, &[k])]);
    assert!(view.is_empty());
    view.add(&entry_row(k, "author:1"));
    assert_eq!(view.get(k).unwrap().fate(Channel::Email), Fate::Read);
}

#[test]
fn who_tells_an_entry_and_since_when_is_known() {
    let (a, b) = (ReadyId([1; 16]), ReadyId([2; 16]));
    let k = entry_key(5, 1);
    let check =
        |said: &[(MarkAction, i64)], expected: &[(ReadyId, i64)]| {
            let mut rows = vec![entry_row(k, "author:1")];
            rows.extend(said.iter().map(|(what, at)| {
                DayRow::Mark(Mark::new(Some(Channel::Email), *what, vec![k], UtcMillis(*at)))
            }));
            let expected: Vec<_> = expected.iter().map(|(ready, at)| (*ready, UtcMillis(*at))).collect();
            for _ in 0..rows.len() {
                rows.rotate_left(1);
                let view = fold_rows(&rows);
                let found: Vec<_> = view.get(k).unwrap().tellers(Channel::Email).collect();
                assert_eq!(found, expected, "{said:?}");
            }
        };
    check(&[(MarkAction::Read, 1), (MarkAction::Carried(a), 2)], &[]);
    check(&[(MarkAction::Taken(a), 7), (MarkAction::Read, 8)], &[(a, 7)]);
    check(&[(MarkAction::Taken(a), 7), (MarkAction::Taken(a), 9)], &[(a, 9)]);
    check(
        &[
            (MarkAction::Taken(a), 7),
            (MarkAction::Returned { ready: a, maybe: true }, 8),
            (MarkAction::Taken(b), 9),
        ],
        &[(b, 9)],
    );
    check(&[(MarkAction::Taken(a), 7), (MarkAction::Left { ready: a, why: EndReason::Unfollowed }, 8)], &[]);
    check(&[(MarkAction::Taken(a), 7), (MarkAction::Taken(b), 9)], &[(a, 7), (b, 9)]);
}

struct StepBench {
    tenant: Tenant,
    person: Person,
    zones: ZoneRules,
    zone: Zone,
    plans: PlanSet,
    record: PersonRecord,
    live: Option<bool>,
    quiet_until: Option<UtcMillis>,
}

const NINE: i64 = 9 * HOUR_MS;
const HOUR_MS: i64 = 3_600_000;

fn at_nine(on: WeekdaySet, spread_ms: i64) -> CloseRule {
    CloseRule::Calendar {
        dates: ClosingDates::Weekdays(on),
        times: vec![LocalTime { hour: 9, minute: 0 }],
        zone: ZoneRule::Person,
        spread_ms,
        best: None,
    }
}

fn morning_plan() -> PlanName {
    PlanName::new("morning").unwrap()
}

impl StepBench {
    fn new(most: u16, at_least: u16) -> Self {
        let kinds = vec![Kind::new("news").unwrap()];
        let plan = Plan {
            hash: 1,
            at_least,
            once_per: OncePer::Mail,
            sections: vec![PlanSection {
                title: "New".into(),
                kinds,
                most,
                order: SectionOrder::Newest,
                group: None,
            }],
            ..Plan::new(morning_plan(), Channel::Email, at_nine(WeekdaySet::ALL, 0))
        };
        let mut plans = PlanSet::default();
        plans.by_name.insert(plan.name.clone(), plan);
        let (tenant, person) = (Tenant::new("t").unwrap(), Person::new("ann").unwrap());
        Self {
            tenant,
            person,
            zones: ZoneRules::load_bundled(),
            zone: Zone::UTC,
            plans,
            record: PersonRecord::default(),
            live: None,
            quiet_until: None,
        }
    }

    /// The same with other rules.
    fn with_plan(change: impl FnMut(&mut Plan)) -> Self {
        let mut bench = Self::new(8, 1);
        bench.plans.by_name.values_mut().for_each(change);
        bench
    }

    fn plan(&self) -> &Plan {
        &self.plans.by_name[&morning_plan()]
    }

    fn step(&mut self, now: i64, input: StepInput<'_>) -> StepEffects {
        let at = StepContext {
            tenant: &self.tenant,
            person: &self.person,
            now: UtcMillis(now),
            zone: &self.zone,
            zones: &self.zones,
            plans: &self.plans,
            quiet: None,
            quiet_until: self.quiet_until,
            hour: None,
        };
        let (record, effects) = decide_step(&self.record, input, &at);
        self.record = record;
        effects
    }

    fn announce(&mut self, now: i64, day: i32) -> StepEffects {
        self.announce_to(now, day, "", None)
    }

    fn announce_to(&mut self, now: i64, day: i32, key: &str, aim: Option<i64>) -> StepEffects {
        let wanted = [WindowTarget { plan: morning_plan(), key: key.into(), aim: aim.map(UtcMillis) }];
        self.step(now, StepInput::Announced { day: Day(day), rows: 1, wanted: &wanted })
    }

    fn release(&mut self, now: i64, when: i64) {
        self.by_hand(now, Act::Release, None, when);
    }

    fn by_hand(&mut self, now: i64, act: Act, key: Option<&str>, when: i64) {
        self.step(now, StepInput::ByHand { act, plan: &morning_plan(), key, at: UtcMillis(when) });
    }

    /// When the one open window is due.
    fn due(&self) -> i64 {
        let [window] = self.record.windows.as_slice() else { panic!("{:?}", self.record.windows) };
        window.due.0
    }

    fn close(&mut self, now: i64, candidates: Vec<ClosingCandidate>) -> Vec<Ready> {
        let window = self.record.windows[0].clone();
        self.step(
            now,
            StepInput::Due { window: &window, joined: &[], candidates, put_off: [].into(), live: self.live },
        )
        .ready
    }
}

fn candidate(ms: i64, n: u8, subject: &str, holds: Result<(), EndReason>) -> ClosingCandidate {
    let subject = SubjectRef::new(subject).unwrap();
    let reasons = if holds.is_ok() { vec![follow_reason("author:1")] } else { Vec::new() };
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    ClosingCandidate {
        key: entry_key(ms, n),
        subject,
        actor: None,
        kept: crate::KeptFields::new(),
        bundle: None,
        reasons,
        rank: ms as f64,
        holds,
        maybe: false,
        awaits: false,
        aim: None,
        repeated: false,
        told: None,
        untold: false,
        keys: std::collections::BTreeSet::new(),
    }
}

#[test]
fn a_window_opens_once_and_closes_at_the_local_time() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    bench.announce(2_000, 0);
    assert_eq!(bench.record.windows.len(), 1);
    assert_eq!(bench.record.next_due(), Some(UtcMillis(NINE)));
    let ready =
        bench.close(NINE, vec![candidate(500, 1, "work:1", Ok(())), candidate(900, 2, "work:2", Ok(()))]);
    assert_eq!(ready.len(), 1);
    let told: Vec<_> = ready[0].entries.iter().map(|entry| entry.subject.as_str()).collect();
    assert_eq!(told, ["work:2", "work:1"], "newest first");
    assert!(bench.record.windows.is_empty());
    assert_eq!(bench.record.owed.len(), 1);
    assert_eq!(bench.record.owed[0].mark.what, MarkAction::Taken(ready[0].id));
    // The next one opens for tomorrow, also when it comes at the same instant.
    bench.announce(NINE, 0);
    assert_eq!(bench.record.windows[0].due, UtcMillis(NINE + DAY_MS));
    assert!(bench.record.windows[0].opening > UtcMillis(1_000));
}

#[test]
fn nothing_left_is_no_ready_and_the_fate_is_owed() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(500, 1, "work:1", Err(EndReason::NoLongerTrue))]);
    assert!(ready.is_empty());
    assert!(bench.record.windows.is_empty());
    assert_eq!(bench.record.owed[0].mark.what, MarkAction::Ended(EndReason::NoLongerTrue));
    assert!(bench.record.told_on.is_empty(), "a digest that was not sent does not count for the date");
}

#[test]
fn what_is_over_a_budget_is_carried_to_the_next_digest() {
    let mut bench = StepBench::new(2, 1);
    bench.announce(1_000, 0);
    let all = (1..=3).map(|n| candidate(i64::from(n), n, &format!("work:{n}"), Ok(()))).collect();
    let ready = bench.close(NINE, all);
    assert_eq!(ready[0].entries.len(), 2);
    assert_eq!(bench.record.windows[0].due, UtcMillis(NINE + DAY_MS));
    assert!(bench.record.owed.iter().any(|owed| owed.mark.what == MarkAction::Carried(ready[0].id)));
}

#[test]
fn below_the_minimum_the_window_waits_for_its_next_closing() {
    let mut bench = StepBench::new(8, 2);
    bench.announce(1_000, 0);
    assert!(bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).is_empty());
    assert_eq!(bench.record.windows[0].due, UtcMillis(NINE + DAY_MS));
    assert!(bench.record.owed.is_empty());
}

#[test]
fn a_subject_is_said_once_and_all_its_entries_are_told() {
    let mut bench = StepBench::new(1, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(())), candidate(2, 2, "work:1", Ok(()))]);
    assert_eq!(ready[0].entries.len(), 2);
    assert!(bench.record.windows.is_empty(), "nothing is left over");
}

#[test]
fn one_subject_cannot_fill_more_than_a_ready() {
    let mut bench = StepBench::new(1, 1);
    bench.announce(1_000, 0);
    let many = (0..200_u8).map(|n| candidate(i64::from(n), n, "work:1", Ok(()))).collect();
    let ready = bench.close(NINE, many);
    assert_eq!(ready[0].entries.len(), READY_ENTRIES_MAX);
    assert_eq!(bench.record.windows.len(), 1, "the rest is carried");
}

#[test]
fn what_awaits_another_ready_is_neither_told_nor_ended() {
    let awaiting = |n: u8| ClosingCandidate { awaits: true, ..candidate(i64::from(n), n, "work:1", Ok(())) };
    let check = |others: &[u8], now: i64, expected: (usize, Option<i64>, &[MarkAction])| {
        let mut bench = StepBench::new(8, 1);
        bench.announce(1_000, 0);
        let others = others.iter().map(|n| candidate(i64::from(*n), *n, "work:2", Ok(())));
        let readys = bench.close(now, others.chain([awaiting(9)]).collect());
        let told: usize = readys.iter().map(|ready| ready.entries.len()).sum();
        let due = bench.record.windows.first().map(|window| window.due.0);
        let key = awaiting(9).key;
        let owed = bench.record.owed.iter().filter(|owed| owed.mark.covers.contains(&key));
        let said: Vec<MarkAction> = owed.map(|owed| owed.mark.what).collect();
        assert_eq!((told, due, said.as_slice()), expected);
    };
    check(&[], NINE, (0, Some(NINE + DAY_MS), &[]));
    check(&[1], NINE, (1, Some(NINE + DAY_MS), &[]));
    // Its day is about to expire: there is no next closing.
    let last = DayLife::LEAST.expiry(Day(0)).0 - 1;
    check(&[], last, (0, None, &[MarkAction::Ended(EndReason::Expired)]));
}

#[test]
fn a_window_that_is_not_due_any_more_stays_open() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    // The person flew west: nine o'clock is later now.
    bench.zone = bench.zones.get("America/New_York").unwrap();
    assert!(bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).is_empty());
    assert_eq!(bench.record.windows[0].due, UtcMillis(NINE + 5 * 3_600_000));
}

#[test]
fn the_days_of_a_plan_that_is_gone_go_to_the_plans_there_are() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    let mut other = bench.plans.by_name.pop_first().unwrap().1;
    other.name = PlanName::new("evening").unwrap();
    bench.plans.by_name.insert(other.name.clone(), other);
    assert!(bench.close(NINE, Vec::new()).is_empty());
    let [window] = bench.record.windows.as_slice() else { panic!("{:?}", bench.record) };
    assert_eq!((window.plan.as_str(), window.days.first()), ("evening", Some(&Day(0))));
}

#[test]
fn a_weekly_window_closes_on_its_days() {
    // 1970 began on a Thursday.
    let check = |on: &[usize], now: i64, due: i64| {
        let on = WeekdaySet::new(on.iter().copied()).unwrap();
        let mut bench = StepBench::with_plan(|plan| plan.close = at_nine(on, 0));
        bench.announce(now, 0);
        assert_eq!(bench.due(), due, "{on:?} at {now}");
    };
    check(&[3], 1_000, NINE);
    check(&[3], NINE + 1, NINE + 7 * DAY_MS);
    check(&[0], 1_000, NINE + 4 * DAY_MS);
    check(&[0, 5], 1_000, NINE + 2 * DAY_MS);
}

#[test]
fn what_a_week_has_no_room_for_comes_a_week_later() {
    let mut bench = StepBench::with_plan(|plan| {
        plan.close = at_nine(WeekdaySet::new([3]).unwrap(), 0);
        plan.sections[0].most = 1;
        plan.look_back_days = 14;
    });
    bench.announce(1_000, 0);
    let two = vec![candidate(1, 1, "work:1", Ok(())), candidate(2, 2, "work:2", Ok(()))];
    assert_eq!(bench.close(NINE, two)[0].entries.len(), 1);
    assert_eq!(bench.due(), NINE + 7 * DAY_MS);
}

#[test]
fn a_window_may_close_so_long_after_it_opened() {
    let after = |ms| StepBench::with_plan(|plan| plan.close = CloseRule::After { ms });
    let mut bench = after(2 * HOUR_MS);
    bench.announce(1_000, 0);
    // What comes meanwhile joins it, and a journey changes nothing.
    bench.announce(HOUR_MS, 0);
    bench.zone = bench.zones.get("Pacific/Kiritimati").unwrap();
    bench.step(HOUR_MS, StepInput::Moved);
    assert_eq!(bench.due(), 1_000 + 2 * HOUR_MS);
    let ready = bench.close(1_000 + 2 * HOUR_MS, vec![candidate(1, 1, "work:1", Ok(()))]);
    assert_eq!(ready[0].entries.len(), 1);
    assert!(bench.record.told_on.is_empty(), "it keeps to no calendar, so no date is told");
    // On the same date again.
    bench.announce(3 * HOUR_MS, 0);
    assert_eq!(bench.due(), 5 * HOUR_MS);
    let ready = bench.close(5 * HOUR_MS, vec![candidate(2, 2, "work:2", Ok(()))]);
    assert_eq!(ready.len(), 1);
    // A window never outlives its oldest day.
    let mut bench = after(7 * DAY_MS);
    bench.plans.by_name.get_mut(&morning_plan()).unwrap().look_back_days = 19;
    bench.announce(15 * DAY_MS, 0);
    assert_eq!(bench.due(), DayLife::LEAST.expiry(Day(0)).0 - DAY_MS - HOUR_MS);
}

#[test]
fn a_released_window_closes_now() {
    let mut bench = StepBench::new(1, 2);
    bench.release(500, 500);
    assert_eq!(bench.record, PersonRecord::default(), "where nothing is open nothing is released");
    bench.announce(1_000, 0);
    bench.release(2_000, 1_500);
    assert_eq!(bench.due(), 2_000);
    bench.zone = bench.zones.get("America/New_York").unwrap();
    bench.step(2_500, StepInput::Moved);
    assert_eq!(bench.due(), 2_000, "wherever the person is");
    // Fewer than are worth a mail, and told all the same; what there is no room for waits for tomorrow's.
    bench.zone = Zone::UTC;
    let two = vec![candidate(1, 1, "work:1", Ok(())), candidate(2, 2, "work:2", Ok(()))];
    let ready = bench.close(3_000, two);
    assert_eq!(ready[0].entries.len(), 1);
    assert_eq!(bench.due(), NINE + DAY_MS, "today is told");
    assert_eq!(bench.record.windows[0].act, None);
}

#[test]
fn a_date_that_is_told_does_not_hold_a_released_window() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]);
    bench.announce(NINE + 1, 0);
    bench.release(NINE + HOUR_MS, NINE + HOUR_MS);
    let ready = bench.close(NINE + HOUR_MS, vec![candidate(2, 2, "work:2", Ok(()))]);
    assert_eq!(ready.len(), 1);
    bench.announce(NINE + 2 * HOUR_MS, 0);
    assert_eq!(bench.due(), NINE + DAY_MS, "and tomorrow comes as always");
}

#[test]
fn a_release_stands_for_the_date_it_came_before_but_not_for_one_to_come() {
    let check = |on: &[usize], spread_ms: i64, at: i64, next: i64| {
        let on = WeekdaySet::new(on.iter().copied()).unwrap();
        let mut bench = StepBench::with_plan(|plan| plan.close = at_nine(on, spread_ms));
        bench.announce(at - 1, 0);
        bench.release(at, at);
        assert_eq!(bench.close(at, vec![candidate(1, 1, "work:1", Ok(()))]).len(), 1);
        bench.announce(at + 1, 0);
        let due = bench.due();
        assert!((next..=next + spread_ms).contains(&due), "{due} after a release at {at} on {on:?}");
    };
    // Before the hour of a day, and after it.
    check(&[0, 1, 2, 3, 4, 5, 6], 0, HOUR_MS, NINE + DAY_MS);
    check(&[0, 1, 2, 3, 4, 5, 6], 0, NINE + HOUR_MS, NINE + DAY_MS);
    // On a Thursday that is the day, and on one that is not.
    check(&[3], 0, HOUR_MS, NINE + 7 * DAY_MS);
    check(&[0], 0, HOUR_MS, NINE + 4 * DAY_MS);
    // Within the spread of the hour, whether or not the person's own place in it has come.
    check(&[0, 1, 2, 3, 4, 5, 6], 2 * HOUR_MS, NINE + 1, NINE + DAY_MS);
    check(&[0, 1, 2, 3, 4, 5, 6], 2 * HOUR_MS, NINE + 2 * HOUR_MS - 1, NINE + DAY_MS);
}

#[test]
fn a_release_that_is_read_again_closes_no_later_window() {
    let check = |now: i64, when: i64, later: i64| {
        let mut bench = StepBench::new(1, 1);
        bench.announce(1_000, 0);
        bench.release(now, when);
        assert!(bench.record.windows[0].is_acted_on(), "{when} at {now}");
        let two = vec![candidate(1, 1, "work:1", Ok(())), candidate(2, 2, "work:2", Ok(()))];
        assert_eq!(bench.close(now, two).len(), 1);
        bench.announce(later, 0);
        bench.release(later, when);
        assert!(!bench.record.windows[0].is_acted_on(), "{when} at {now}, and again at {later}");
        // A release of its own does.
        bench.release(later + 1, later + 1);
        assert_eq!(
            bench.record.windows[0].is_acted_on(),
            later >= when,
            "{when}, and another at {}",
            later + 1
        );
    };
    check(2_000, 1_500, 3_000);
    check(2_000, 2_000, 2_000);
    check(1_000, 1_000, 1_000);
    // By a clock that is a little ahead of ours.
    check(2_000, 2_900, 2_500);
    check(2_000, 2_900, 3_500);
    // One that opened after the release is not meant, and neither is that of another plan.
    let mut bench = StepBench::new(8, 1);
    bench.announce(2_000, 0);
    let before = bench.record.clone();
    bench.release(2_500, 1_999);
    let evening = PlanName::new("evening").unwrap();
    bench
        .step(2_500, StepInput::ByHand { act: Act::Cancel, plan: &evening, key: None, at: UtcMillis(2_500) });
    assert_eq!(bench.record, before);
    // Whatever a release says of its time, windows stay where they can close.
    bench.release(3_000, i64::MAX);
    assert_eq!((bench.due(), bench.record.last_opening), (3_000, UtcMillis(63_000)));
}

#[test]
fn the_best_section_leads_whatever_the_ranks_of_others() {
    let kind = |name: &str| Kind::new(name).unwrap();
    let mut bench = StepBench::with_plan(|plan| {
        let section = |name: &str, order| PlanSection {
            title: name.into(),
            kinds: vec![kind(name)],
            most: 4,
            order,
            group: None,
        };
        plan.sections = vec![
            section("followed", SectionOrder::Soonest("opens".into())),
            section("near", SectionOrder::Nearest("place".into())),
        ];
    });
    bench.announce(1_000, 0);
    let shown = |n: u8, subject: &str, name: &str, rank: f64| {
        let because = AudienceMatch::Near;
        let reasons = vec![EntryReason { kind: kind(name), because }];
        ClosingCandidate { reasons, rank, ..candidate(i64::from(n), n, subject, Ok(())) }
    };
    // Near, a rank is some kilometres below zero; a date that is soon is far below that.
    let found = vec![
        shown(1, "show:1", "near", -3.0),
        shown(2, "show:1", "followed", -1_700_000_000_000.0),
        shown(3, "show:2", "followed", -1_600_000_000_000.0),
        shown(4, "show:3", "near", -1.0),
        shown(5, "show:4", "near", -20.0),
    ];
    let ready = bench.close(NINE, found).remove(0);
    let told: Vec<_> = ready
        .entries
        .iter()
        .map(|entry| (entry.section, entry.subject.as_str(), entry.key.event.0[0]))
        .collect();
    // The sooner date is the smaller one: -1.6 is before -1.7.
    let expected = [(0, "show:2", 3), (0, "show:1", 2), (0, "show:1", 1), (1, "show:3", 4), (1, "show:4", 5)];
    assert_eq!(told, expected);
}

#[test]
fn things_that_are_alike_stand_apart_as_far_as_there_are_others() {
    let check = |most: u16, found: &[(&str, &str)], expected: &[u8]| {
        let mut bench = StepBench::with_plan(|plan| {
            (plan.sections[0].order, plan.sections[0].most) = (SectionOrder::Diverse, most);
            plan.once_per = OncePer::Event;
        });
        bench.announce(1_000, 0);
        let one = |(n, (subject, actor)): (u8, &(&str, &str))| ClosingCandidate {
            actor: Person::new(actor).ok().map(Into::into),
            // The first one is the newest.
            ..candidate(i64::from(100 - n), n, subject, Ok(()))
        };
        let ready = bench.close(NINE, (0..).zip(found).map(one).collect()).remove(0);
        let told: Vec<u8> = ready.entries.iter().map(|entry| entry.key.event.0[0]).collect();
        assert_eq!(told, expected, "{found:?}");
    };
    let of_one = ("work:1", "ann");
    check(9, &[of_one, ("work:2", "ann"), ("work:3", "bob")], &[0, 2, 1]);
    check(9, &[("work:1", "ann"), ("work:1", "bob"), ("work:2", "bob")], &[0, 2, 1]);
    // Nobody did it: then the subject alone counts.
    check(9, &[("work:1", ""), ("work:2", ""), ("work:2", ""), ("work:3", "")], &[0, 1, 3, 2]);
    check(9, &[of_one, of_one, of_one], &[0, 1, 2]);
    // Also where there is not room for all: what is told is not all of one.
    check(2, &[of_one, of_one, of_one, ("work:9", "cleo")], &[0, 3]);
}

fn delivery_of(ready: &Ready, outcome: DeliveryOutcome) -> Delivery {
    Delivery {
        ready: ready.id,
        tenant: ready.tenant.clone(),
        person: ready.person.clone(),
        plan: ready.plan.clone(),
        key: Arc::clone(&ready.key),
        channel: ready.channel,
        attempt: ready.attempt,
        at: UtcMillis(NINE + 5),
        outcome,
    }
}

#[test]
fn what_came_back_opens_the_next_window_and_a_repeated_report_changes_nothing() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).remove(0);
    let report =
        delivery_of(&ready, DeliveryOutcome::Unknown { back: vec![ready.entries[0].key], left: Vec::new() });
    bench.step(NINE + 6, StepInput::Reported(&report));
    let after = bench.record.clone();
    assert_eq!(after.windows[0].due, UtcMillis(NINE + DAY_MS));
    assert!(
        after.owed.iter().any(|owed| owed.mark.what == MarkAction::Returned { ready: ready.id, maybe: true })
    );
    bench.step(NINE + 6, StepInput::Reported(&report));
    assert_eq!(bench.record, after);
}

#[test]
fn a_deferred_ready_is_issued_again_when_its_instant_comes() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    let ready = bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]).remove(0);
    let until = UtcMillis(NINE + 30_000);
    bench.step(
        NINE + 6,
        StepInput::Reported(&delivery_of(&ready, DeliveryOutcome::Deferred { until, ready: ready.clone() })),
    );
    assert_eq!(bench.record.next_due(), Some(until));
    assert!(bench.step(NINE + 7, StepInput::Again).ready.is_empty());
    let again = bench.step(until.0, StepInput::Again).ready;
    assert_eq!((again[0].id, again[0].attempt), (ready.id, 1));
}

/// Of several that are not sent yet those are called back for which there is no room, and nothing comes back unasked.
#[test]
fn what_has_no_room_is_called_back() {
    let mut bench = StepBench::new(20, 1);
    let mut readys = Vec::new();
    for n in 0..12 {
        let at = NINE + n * DAY_MS;
        bench.announce(at - 1_000, i32::try_from(n).unwrap());
        let works = (0..20).map(|work| candidate(at, work, &format!("work:{n}"), Ok(())));
        readys.extend(bench.close(at, works.collect()));
    }
    let mut back = Vec::new();
    for ready in &readys {
        let outcome = DeliveryOutcome::Deferred { until: ready.due.plus(30_000), ready: ready.clone() };
        let effects = bench.step(NINE + 12 * DAY_MS, StepInput::Reported(&delivery_of(ready, outcome)));
        back.extend(effects.ready);
    }
    assert!(bench.record.waiting_weight() <= WAITING_BYTES_MAX);
    assert_eq!((readys.len(), bench.record.waiting.len() + back.len()), (12, 12), "each is somewhere");
    assert!(!bench.record.waiting.is_empty() && !back.is_empty() && back.iter().all(Ready::is_recalled));
    let is_back = |what| matches!(what, MarkAction::Returned { .. });
    assert!(!bench.record.owed.iter().any(|owed| is_back(owed.mark.what)));
    // The journal has it as not sent.
    let keys = back[0].entries.iter().map(|entry| entry.key).collect();
    bench.step(
        NINE + 12 * DAY_MS,
        StepInput::Reported(&delivery_of(&back[0], DeliveryOutcome::Returned { back: keys })),
    );
    let what = MarkAction::Returned { ready: back[0].id, maybe: false };
    assert!(bench.record.owed.iter().any(|owed| owed.mark.what == what));
    assert_eq!(bench.record.windows.len(), 1, "they are told by the next one");
}

#[test]
fn marks_leave_the_record_when_the_store_has_them() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1_000, 0);
    bench.close(NINE, vec![candidate(1, 1, "work:1", Ok(()))]);
    let owed = bench.record.owed.clone();
    bench.step(NINE + 1, StepInput::Acknowledged(&owed));
    assert!(bench.record.owed.is_empty());
    assert!(!bench.record.is_spent(UtcMillis(NINE + 1)), "the date that was told is still remembered");
    assert!(bench.record.is_spent(UtcMillis(NINE + 3 * DAY_MS)));
}

#[test]
fn a_day_becomes_full_once() {
    let mut bench = StepBench::new(8, 1);
    let wanted = [WindowTarget { plan: morning_plan(), key: "".into(), aim: None }];
    let mut full = Vec::new();
    for _ in 0..5 {
        let rows = DAY_ROWS_FULL / 3;
        full.extend(bench.step(1_000, StepInput::Announced { day: Day(0), rows, wanted: &wanted }).full);
    }
    assert_eq!(full, [Day(0)]);
}

#[test]
fn a_record_that_differs_in_hints_alone_need_not_be_written() {
    let check = |change: fn(&mut Plan), then: fn(&mut PersonRecord), is_hint: bool| {
        let mut bench = StepBench::with_plan(change);
        bench.announce(1_000, 0);
        let mut record = bench.record.clone();
        then(&mut record);
        assert_eq!(record.differs_by_hints_only(&bench.record, &bench.plans), is_hint, "{record:?}");
    };
    let heard = |record: &mut PersonRecord| {
        (record.windows[0].heard, record.windows[0].last) = (9, UtcMillis(2_000));
        record.rows.insert(Day(0), 9);
    };
    let none = |_: &mut Plan| {};
    check(none, |_| {}, true);
    check(none, heard, true);
    check(|plan| plan.entries = Some(10), heard, false);
    let rested = |plan: &mut Plan| {
        plan.rest = Some(RestRule { start_ms: 1, factor: 1, most_ms: 1, each_ms: 1, reset_ms: 1 });
    };
    check(rested, heard, false);
    check(none, |record| record.windows[0].due = UtcMillis(7), false);
    check(none, |record| _ = record.windows[0].days.insert(Day(1)), false);
    check(none, |record| record.windows[0].act = Some(Act::Release), false);
    check(none, |record| record.windows.clear(), false);
    check(none, |record| _ = record.rows.insert(Day(0), 100), false);
    check(none, |record| _ = record.rows.insert(Day(1), 1), false);
    check(none, |record| _ = record.seen.insert("site".into(), UtcMillis(1)), false);
    check(none, |record| record.last_opening = UtcMillis(5_000), false);
}
