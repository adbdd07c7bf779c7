//! Knobs beside each other, where two of them once contradicted: each a case of its own, named in the table of docs/windows.md.

use super::{
    StepBench, candidate,
    windows::{HOUR, MINUTE, close_after},
};
use crate::{
    Channel, Day, EndReason, Kind, MarkAction, PlanName, UtcMillis,
    closing_candidate::ClosingCandidate,
    closing_dates::ClosingNumber,
    delivery::DeliveryOutcome,
    hook::Hook,
    limits::{DAY_MS, WINDOWS_PER_PERSON_MAX},
    person::{ToldClosing, Window},
    plan::{
        AloneRule, CloseRule, EscalationRule, FirstRule, KeyPart, OnlineSurface, Plan, RestRule, WeekdaySet,
    },
    ready::Ready,
    window::StepInput,
};

const NEXT: &str = "next";

/// Something that holds, of a day, and told there by the plan before where there is one.
fn candidate_of_day(day: i64, n: u8) -> ClosingCandidate {
    candidate(day * DAY_MS + i64::from(n), n, &format!("work:{n}"), Ok(()))
}

fn told_before(one: ClosingCandidate, at: i64) -> ClosingCandidate {
    ClosingCandidate { told: Some(UtcMillis(at)), ..one }
}

/// A plan, and one that follows it on another channel.
fn chained_bench(first: impl FnMut(&mut Plan), next: impl FnOnce(&mut Plan)) -> StepBench {
    let mut bench = StepBench::with_plan(first);
    let mut after = StepBench::with_plan(|plan| plan.close = super::windows::close_after(0)).plan().clone();
    (after.name, after.channel) = (PlanName::new(NEXT).unwrap(), Channel::Push);
    after.follows = Some(EscalationRule { plans: vec![bench.plan().name.clone()], wait_ms: 10 * MINUTE });
    next(&mut after);
    bench.plans.by_name.insert(after.name.clone(), after);
    bench.plans.surfaces = vec![OnlineSurface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
    bench
}

impl StepBench {
    fn windows_of(&self, plan: &str) -> Vec<Window> {
        self.record.windows.iter().filter(|window| window.plan.as_str() == plan).cloned().collect()
    }

    /// Closes a window of a plan, with others of its own.
    fn close_of(
        &mut self,
        now: i64,
        plan: &str,
        joined: &[Window],
        candidates: Vec<ClosingCandidate>,
    ) -> Vec<Ready> {
        let window = self.windows_of(plan).into_iter().find(|window| !joined.contains(window)).unwrap();
        self.step(now, StepInput::Due { window: &window, joined, candidates, put_off: [].into(), live: None })
            .ready
    }

    fn report(&mut self, now: i64, ready: &Ready, outcome: DeliveryOutcome) {
        let delivery = crate::delivery::Delivery { at: UtcMillis(now), ..super::delivery_of(ready, outcome) };
        self.step(now, StepInput::Reported(&delivery));
    }

    fn count_ended(&self) -> Vec<(EndReason, usize)> {
        let owed = self.record.owed.iter().filter_map(|owed| match owed.mark.what {
            MarkAction::Ended(why) => Some((why, owed.mark.covers.len())),
            _ => None,
        });
        owed.collect()
    }
}

/// It ends, and what waits for its time beside it waits on.
#[test]
fn what_comes_too_late_has_nothing_told_before_its_time() {
    let mut bench =
        StepBench::with_plan(|plan| (plan.close, plan.look_back_days) = (close_after(4 * 24 * 60), 4));
    let (now, late) = (10 * DAY_MS + HOUR, 12 * DAY_MS);
    bench.announce(now, 10);
    bench.announce(late, 6);
    assert_eq!(bench.due(), late, "not before it came");
    assert!(bench.close(late, vec![candidate_of_day(10, 1), candidate_of_day(6, 2)]).is_empty());
    assert_eq!(bench.count_ended(), [(EndReason::Expired, 1)]);
    assert_eq!((bench.due(), &bench.record.windows[0].days), (now + 4 * DAY_MS, &[Day(10)].into()));
}

/// What was told first has the room that the others leave, and alone it is not told again.
#[test]
fn what_is_repeated_takes_no_room() {
    let check = |most: u16, told: &[&str]| {
        let mut bench = StepBench::with_plan(|plan| {
            (plan.close, plan.first) = (close_after(10), FirstRule::Both);
            plan.sections[0].most = most;
        });
        bench.announce(1, 0);
        let first = ClosingCandidate { rank: f64::MAX, ..candidate_of_day(0, 1) };
        assert_eq!(bench.close(1, vec![first.clone()]).len(), 1);
        bench.announce(2, 0);
        let again = ClosingCandidate { repeated: true, ..first };
        let readys = bench.close(10 * MINUTE + 1, vec![again, candidate_of_day(0, 2)]);
        let subjects: Vec<&str> = readys[0].entries.iter().map(|entry| entry.subject.as_str()).collect();
        assert_eq!((subjects.as_slice(), bench.record.windows.len()), (told, 0));
    };
    check(1, &["work:2"]);
    check(2, &["work:1", "work:2"]);
}

#[test]
fn what_goes_at_once_does_so_during_a_rest_too() {
    let rest = Some(RestRule { start_ms: HOUR, factor: 1, most_ms: HOUR, each_ms: 0, reset_ms: HOUR });
    let check = |change: fn(&mut Plan), due: i64| {
        let mut bench = StepBench::with_plan(|plan| {
            (plan.close, plan.rest) = (close_after(10), rest);
            change(plan);
        });
        bench.announce(1, 0);
        let told = bench.due();
        assert_eq!(bench.close(told, vec![candidate_of_day(0, 1)]).len(), 1);
        bench.record.windows.clear();
        bench.announce(told + 5 * MINUTE, 0);
        assert_eq!(bench.due() - told, due * MINUTE);
    };
    check(|_| (), 60);
    check(|plan| plan.first = FirstRule::Alone, 5);
    check(|plan| plan.alone = Some(AloneRule { most: 2, within_ms: HOUR }), 5);
}

/// Each keeps what waits in it, so that none asks for the others in turn, and what follows has the window that it wants.
#[test]
fn what_is_left_of_windows_told_together_waits_in_each() {
    let check = |most: u16, at_least: u16| {
        let mut bench = StepBench::with_plan(|plan| {
            (plan.close, plan.key, plan.together) = (close_after(10), vec![KeyPart::Kind], true);
            (plan.sections[0].most, plan.at_least) = (most, at_least);
        });
        bench.announce_to(1, 0, "a", None);
        bench.announce_to(1, 1, "b", None);
        let joined = vec![bench.record.windows[1].clone()];
        let now = 10 * MINUTE + 1;
        let told = bench.close_of(
            now,
            "morning",
            &joined,
            vec![candidate_of_day(0, 1), candidate_of_day(1, 2), candidate_of_day(1, 3)],
        );
        assert_eq!(told.len(), usize::from(at_least == 1));
        let mut open: Vec<_> = bench
            .record
            .windows
            .iter()
            .map(|open| (&*open.key, open.days.clone(), open.due > UtcMillis(now + MINUTE)))
            .collect();
        open.sort_unstable();
        let (one, two) = ([Day(0)].into(), [Day(1)].into());
        assert_eq!(open, [("a", one, true), ("b", two, true)]);
    };
    check(1, 1);
    check(8, 4);
}

/// A date is told once under each key.
#[test]
fn a_date_is_told_once_under_each_key() {
    let mut bench = StepBench::with_plan(|plan| {
        (plan.close, plan.key) = (super::at_nine(WeekdaySet::ALL, 0), vec![KeyPart::Kind]);
    });
    let nine = 9 * HOUR;
    for key in ["a", "b"] {
        bench.announce_to(1, 0, key, None);
    }
    for n in [1, 2] {
        assert_eq!(bench.close_of(nine, "morning", &[], vec![candidate_of_day(0, n)]).len(), 1, "window {n}");
    }
    // The clock of the person goes back to before nine on that date.
    bench.zone = bench.zones.get("Atlantic/Azores").unwrap();
    for (key, due) in [("a", nine + HOUR + DAY_MS), ("c", nine + HOUR)] {
        bench.announce_to(nine + 1, 0, key, None);
        let open = bench.windows_of("morning");
        assert_eq!(open.last().map(|window| window.due), Some(UtcMillis(due)), "{key}");
    }
}

#[test]
fn a_last_closing_knows_its_keys() {
    let mut told = ToldClosing::new(ClosingNumber(7), "a");
    let last = |told: &ToldClosing, keys: [&str; 3]| keys.map(|key| told.last_number(key).0);
    assert_eq!(last(&told, ["a", "b", ""]), [7, 6, 7]);
    told.note_number(ClosingNumber(7), "b");
    assert_eq!(last(&told, ["a", "b", "c"]), [7, 7, 6]);
    told.note_number(ClosingNumber(6), "c");
    assert_eq!(told.last_number("c").0, 7, "it is told no later than the others, and not twice");
    told.note_number(ClosingNumber(8), "a");
    assert_eq!(last(&told, ["a", "b", "b"]), [8, 7, 7]);
    (0..100).for_each(|n| told.note_number(ClosingNumber(8), &format!("key {n}")));
    assert_eq!(told.keys.len(), WINDOWS_PER_PERSON_MAX);
    let mut whole = ToldClosing::new(ClosingNumber(7), "");
    whole.note_number(ClosingNumber(7), "a");
    assert_eq!(last(&whole, ["a", "b", ""]), [7; 3], "what was told without a key was told for all");
}

/// Whichever of them is due when it ends.
#[test]
fn what_ends_together_is_followed_in_each() {
    let mut bench = chained_bench(
        |plan| {
            (plan.close, plan.key, plan.together) = (close_after(10), vec![KeyPart::Kind], true);
            plan.look_back_days = 1;
        },
        |next| next.key = vec![KeyPart::Kind],
    );
    let late = 10 * DAY_MS;
    bench.announce_to(late, 6, "a", None);
    bench.announce_to(late, 5, "b", None);
    let joined = vec![bench.record.windows[1].clone()];
    assert!(
        bench
            .close_of(late, "morning", &joined, vec![candidate_of_day(6, 1), candidate_of_day(5, 2)])
            .is_empty()
    );
    let open: Vec<_> =
        bench.windows_of(NEXT).into_iter().map(|open| (open.key.to_string(), open.days)).collect();
    assert_eq!(open, [("a".to_owned(), [Day(6)].into()), ("b".to_owned(), [Day(5)].into())]);
}

/// The plan before looks back further: what is over for the one that follows ends with what it tells.
#[test]
fn a_day_that_is_over_does_not_hurry_what_follows() {
    let mut bench = chained_bench(|plan| plan.close = close_after(0), |next| next.look_back_days = 2);
    let now = 10 * DAY_MS;
    bench.announce(now, 10);
    bench.announce(now, 6);
    let muted = candidate(6 * DAY_MS, 2, "work:2", Err(EndReason::Muted));
    let ready = bench.close(now, vec![candidate_of_day(10, 1), muted]).remove(0);
    bench.report(now + MINUTE, &ready, DeliveryOutcome::Sent { left: vec![] });
    bench.step(now + 2 * MINUTE, StepInput::Moved);
    assert_eq!(bench.due(), now + 11 * MINUTE);
    assert_eq!(bench.record.windows[0].days, [Day(6), Day(10)].into());
}

/// At its last call it tells what it has room for; the rest of another day has the wait once more, and not the end of this day.
#[test]
fn the_end_of_one_day_does_not_hurry_another_that_follows() {
    let mut bench = chained_bench(
        |plan| plan.close = close_after(0),
        |next| {
            next.look_back_days = 2;
            next.follows = Some(EscalationRule { wait_ms: DAY_MS, ..next.follows.clone().unwrap() });
            next.sections[0].most = 1;
        },
    );
    bench.announce(1, 0);
    bench.announce(1, 1);
    bench.close(1, vec![candidate_of_day(0, 1), candidate_of_day(1, 2)]);
    let both = || {
        vec![
            told_before(candidate_of_day(0, 1), 1),
            told_before(ClosingCandidate { rank: -1.0, ..candidate_of_day(1, 2) }, 1),
        ]
    };
    bench.record.windows[0].due = UtcMillis(3 * DAY_MS - HOUR);
    assert_eq!(bench.close(3 * DAY_MS - HOUR, both()).len(), 1);
    bench.record.windows[0].days.insert(Day(0));
    bench.step(3 * DAY_MS - MINUTE, StepInput::Moved);
    assert_eq!(bench.due(), 4 * DAY_MS - HOUR);
}

#[test]
fn how_a_plan_that_follows_closes_says_nothing() {
    let mut bench = chained_bench(
        |plan| plan.close = close_after(0),
        |next| next.close = CloseRule::Away { ms: 5 * DAY_MS },
    );
    bench.step(1, StepInput::Seen { surface: &"site".into(), at: UtcMillis(1) });
    bench.announce(MINUTE, 0);
    let ready = bench.close(MINUTE, vec![candidate_of_day(0, 1)]).remove(0);
    bench.report(2 * MINUTE, &ready, DeliveryOutcome::Sent { left: vec![] });
    let last_call = 8 * DAY_MS - HOUR;
    assert_eq!(bench.due(), 12 * MINUTE);
    bench.record.windows[0].due = UtcMillis(last_call);
    bench.step(
        last_call - DAY_MS,
        StepInput::Seen { surface: &"site".into(), at: UtcMillis(last_call - DAY_MS) },
    );
    let told =
        bench.close(last_call, vec![told_before(candidate_of_day(0, 1), last_call - MINUTE - 10 * MINUTE)]);
    assert_eq!((told.len(), bench.count_ended()), (1, vec![]));
}

/// It waits for what is told next, and is not asked again by itself.
#[test]
fn what_is_too_few_waits_for_what_is_told_next() {
    let mut bench = chained_bench(|plan| plan.close = close_after(0), |next| next.at_least = 2);
    bench.announce(1, 0);
    bench.close(1, vec![candidate_of_day(0, 1)]);
    bench.record.windows[0].due = UtcMillis(HOUR);
    assert!(bench.close(HOUR, vec![told_before(candidate_of_day(0, 1), 1)]).is_empty());
    assert_eq!(bench.due(), 8 * DAY_MS - HOUR, "its last call");
    bench.announce(2 * HOUR, 0);
    let ready = bench.close_of(2 * HOUR, "morning", &[], vec![candidate_of_day(0, 2)]).remove(0);
    bench.report(2 * HOUR, &ready, DeliveryOutcome::Sent { left: vec![] });
    assert_eq!(bench.due(), 2 * HOUR + 10 * MINUTE);
}

/// A mail that counts as a push is followed as that push would be; and what it did not tell waits there again.
#[test]
fn what_counts_elsewhere_is_followed_there() {
    let mut bench = chained_bench(
        |plan| {
            plan.close = close_after(0);
            plan.counts_on = vec![Channel::Push];
        },
        |next| {
            next.channel = Channel::Hook(Hook::Chat);
            next.follows =
                Some(EscalationRule { plans: vec![PlanName::new("pushes").unwrap()], wait_ms: 10 * MINUTE });
        },
    );
    let mut pushes = bench.plan().clone();
    (pushes.name, pushes.channel, pushes.counts_on) =
        (PlanName::new("pushes").unwrap(), Channel::Push, vec![]);
    bench.plans.by_name.insert(pushes.name.clone(), pushes);
    bench.announce(1, 0);
    let ready = bench.close(1, vec![candidate_of_day(0, 1)]).remove(0);
    let [next] = bench.windows_of(NEXT).try_into().unwrap();
    assert_eq!((next.after, next.due), (Some(ready.id), UtcMillis(2 + HOUR + 10 * MINUTE)));
    bench.report(
        MINUTE,
        &ready,
        DeliveryOutcome::Nothing { left: vec![(ready.entries[0].key, EndReason::NoLongerTrue)] },
    );
    assert_eq!(bench.windows_of("pushes").len(), 1);
}

/// Where a plan of the other channel follows a third one, it is asked as well: it may have passed over what counted.
#[test]
fn what_did_not_count_after_all_is_asked_of_who_follows() {
    let mut bench = chained_bench(
        |plan| {
            plan.close = close_after(0);
            plan.counts_on = vec![Channel::Push];
        },
        |next| {
            next.follows =
                Some(EscalationRule { plans: vec![PlanName::new("third").unwrap()], wait_ms: MINUTE });
        },
    );
    bench.announce(1, 0);
    let ready = bench.close(1, vec![candidate_of_day(0, 1)]).remove(0);
    assert_eq!(bench.record.windows, []);
    bench.report(
        MINUTE,
        &ready,
        DeliveryOutcome::Nothing { left: vec![(ready.entries[0].key, EndReason::NoLongerTrue)] },
    );
    assert_eq!(bench.windows_of(NEXT).len(), 1);
    let kinds = |plans: &mut crate::plan::PlanSet| {
        let other = vec![Kind::new("other").unwrap()];
        plans.by_name.get_mut(&PlanName::new(NEXT).unwrap()).unwrap().sections[0].kinds = other;
    };
    kinds(&mut bench.plans);
    bench.record.windows.clear();
    bench.report(
        MINUTE,
        &ready,
        DeliveryOutcome::Nothing { left: vec![(ready.entries[0].key, EndReason::NoLongerTrue)] },
    );
    assert_eq!(bench.record.windows, [], "it tells no such kind");
}

/// Also where they came before the message that told them of it came back.
#[test]
fn who_came_for_what_came_back_has_seen_it() {
    let mut bench = chained_bench(|plan| plan.close = close_after(0), |_| ());
    bench.announce(1, 0);
    let ready = bench.close(1, vec![candidate_of_day(0, 1)]).remove(0);
    bench.report(MINUTE, &ready, DeliveryOutcome::Sent { left: vec![] });
    let told = || vec![told_before(candidate_of_day(0, 1), 1)];
    let next = bench.close(11 * MINUTE, told()).remove(0);
    bench.step(20 * MINUTE, StepInput::Seen { surface: &"site".into(), at: UtcMillis(20 * MINUTE) });
    bench.report(30 * MINUTE, &next, DeliveryOutcome::Returned { back: vec![next.entries[0].key] });
    let due = bench.due();
    assert!(bench.close(due, told()).is_empty());
    assert_eq!(bench.count_ended(), [(EndReason::SeesItself, 1)]);
}

/// What ended there has a window due as it opens, and that is after this instant: it is not told ahead for that.
#[test]
fn what_is_told_beside_what_ended_has_its_wait() {
    let mut bench =
        chained_bench(|plan| (plan.close, plan.key) = (close_after(0), vec![KeyPart::Kind]), |_| ());
    ["a", "b", "c"].iter().for_each(|key| drop(bench.announce_to(1, 0, key, None)));
    let [a, b] = [0, 1].map(|at: usize| bench.record.windows[at].clone());
    let mut close = |window: &Window, one| {
        bench.step(
            2,
            StepInput::Due { window, joined: &[], candidates: vec![one], put_off: [].into(), live: None },
        );
        bench.windows_of(NEXT)[0].due
    };
    assert_eq!(close(&a, candidate(1, 1, "work:1", Err(EndReason::Muted))), UtcMillis(4));
    assert_eq!(close(&b, candidate_of_day(0, 2)), UtcMillis(2 + HOUR + 10 * MINUTE));
}
