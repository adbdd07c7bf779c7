//! The rules of windows, each as a line: when entries came, and what was told when.

use std::{collections::BTreeMap, fmt::Write as _};

use proptest::prelude::*;

use super::{StepBench, candidate};
use crate::{
    EntryKey, MarkAction, UtcMillis,
    closing_candidate::ClosingCandidate,
    closing_dates::ClosingDates,
    limits::DAY_MS,
    local_time::LocalTime,
    plan::{AloneRule, CloseRule, FirstRule, Plan, PlanSet, RestRule, TooFewRule, WeekdaySet, ZoneRule},
    window::StepInput,
};

pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
const END: i64 = 3 * DAY_MS;

/// Plays entries that come at these minutes, turn by turn, and says what was told: `MINUTE: ENTRY...`, where an
/// entry is called by the minute at which it came.
fn play_minutes(mut change: impl FnMut(&mut Plan), comings: &[i64]) -> String {
    let steps: Vec<WindowStep> = comings.iter().map(|minute| WindowStep::Comes(*minute)).collect();
    play_with(|plans| plans.by_name.values_mut().for_each(&mut change), &steps)
}

/// What happens at a minute.
#[derive(Clone, Copy, Debug)]
pub(super) enum WindowStep {
    Comes(i64),
    Seen(i64, &'static str),
    /// Something changes on which it depends when windows close.
    Moved(i64),
    /// The plan closes daily at another hour from here on.
    Hour(i64, u8),
}

impl WindowStep {
    pub(super) fn minute(&self) -> i64 {
        let (Self::Comes(minute) | Self::Seen(minute, _) | Self::Moved(minute) | Self::Hour(minute, _)) =
            self;
        minute * MINUTE
    }
}

/// The same, with what else happens.
pub(super) fn play_with(change: impl FnOnce(&mut PlanSet), steps: &[WindowStep]) -> String {
    let mut bench = StepBench::new(60, 1);
    change(&mut bench.plans);
    // While nothing comes little closes: a loop that told nothing would never end.
    let most = 40 + 8 * steps.len();
    let mut steps = steps.iter().copied().peekable();
    let (mut here, mut said): (BTreeMap<EntryKey, i64>, _) = (BTreeMap::new(), String::new());
    let mut now = i64::MIN;
    let mut closings = 0;
    loop {
        let due = bench.record.windows.iter().map(|window| window.due.0).min().unwrap_or(i64::MAX).max(now);
        let step = steps.next_if(|step| step.minute() <= due);
        now = step.map_or(due, |step| step.minute());
        match step {
            // What comes at the instant of a closing is told with it.
            Some(WindowStep::Comes(minute)) => {
                let n = u8::try_from(here.len()).unwrap();
                here.insert(candidate(now, n, &format!("work:{n}"), Ok(())).key, minute);
                bench.announce(now, i32::try_from(now / DAY_MS).unwrap());
            }
            Some(WindowStep::Seen(_, surface)) => {
                bench.step(now, StepInput::Seen { surface: &surface.into(), at: UtcMillis(now) });
            }
            Some(WindowStep::Moved(_)) => drop(bench.step(now, StepInput::Moved)),
            Some(WindowStep::Hour(_, hour)) => bench.plans.by_name.values_mut().for_each(|plan| {
                (plan.close, plan.hash) = (close_daily(hour), plan.hash + 1);
            }),
            None if due > END => return said.trim().to_owned(),
            None => {
                closings += 1;
                assert!(closings <= most, "{said} and no end: {:?}", bench.record.windows);
                tell_due(&mut bench, &here, now, &mut said);
            }
        }
    }
}

/// Closes what is due, with all that no mark ended.
fn tell_due(bench: &mut StepBench, here: &BTreeMap<EntryKey, i64>, now: i64, said: &mut String) {
    let window = bench.record.windows.iter().find(|window| window.due.0 <= now).unwrap().clone();
    let ends = |what| matches!(what, MarkAction::Taken(_) | MarkAction::Ended(_));
    let owed = bench.record.owed.iter().filter(|owed| ends(owed.mark.what));
    let done: Vec<EntryKey> = owed.flat_map(|owed| owed.mark.covers.clone()).collect();
    let again = |key: &EntryKey| window.first == Some(*key) && bench.plan().first == FirstRule::Both;
    let candidates = here.keys().enumerate().filter(|(_, key)| !done.contains(key) || again(key));
    let candidates = candidates.map(|(n, key)| {
        let mut one = candidate(key.occurred.0, 0, &format!("work:{n}"), Ok(()));
        (one.key, one.repeated) = (*key, again(key));
        one
    });
    let candidates = candidates.collect();
    let readys = bench
        .step(
            now,
            StepInput::Due { window: &window, joined: &[], candidates, put_off: [].into(), live: bench.live },
        )
        .ready;
    for ready in readys {
        let mut told: Vec<i64> = ready.entries.iter().map(|entry| here[&entry.key]).collect();
        told.sort_unstable();
        let told: Vec<String> = told.iter().map(i64::to_string).collect();
        let silent = if ready.silent { " silently" } else { "" };
        write!(said, " {}{silent}: {};", now / MINUTE, told.join(" ")).unwrap();
    }
}

pub(super) fn close_after(minutes: i64) -> CloseRule {
    CloseRule::After { ms: minutes * MINUTE }
}

fn close_daily(hour: u8) -> CloseRule {
    close_at(&[LocalTime { hour, minute: 0 }])
}

fn close_at(times: &[LocalTime]) -> CloseRule {
    let (dates, times, zone) = (ClosingDates::DAILY, times.to_vec(), ZoneRule::Person);
    CloseRule::Calendar { dates, times, zone, spread_ms: 0, best: None }
}

fn rest_rule(start: i64, factor: u16, most: i64, reset: i64) -> RestRule {
    let [start_ms, most_ms, reset_ms] = [start, most, reset].map(|minutes| minutes * MINUTE);
    RestRule { start_ms, factor, most_ms, each_ms: 0, reset_ms }
}

fn check_windows(change: impl FnMut(&mut Plan), comings: &[i64], told: &str) {
    assert_eq!(play_minutes(change, comings), told, "{comings:?}");
}

#[test]
fn after_a_while() {
    let ten = |plan: &mut Plan| plan.close = close_after(10);
    check_windows(ten, &[0, 3, 10, 11], "10: 0 3 10; 21: 11;");
    check_windows(ten, &[], "");
    check_windows(|plan| plan.close = close_after(0), &[0, 3], "0: 0; 3: 3;");
}

#[test]
fn when_it_is_silent() {
    let silent = |plan: &mut Plan| plan.close = CloseRule::Silence { ms: 5 * MINUTE, most_ms: 12 * MINUTE };
    check_windows(silent, &[0], "5: 0;");
    check_windows(silent, &[0, 4], "9: 0 4;");
    check_windows(silent, &[0, 4, 8, 12, 13], "12: 0 4 8 12; 18: 13;");
}

#[test]
fn so_many_close_it_before_its_time() {
    let three = |plan: &mut Plan| (plan.close, plan.entries) = (close_after(60), Some(3));
    check_windows(three, &[0, 1], "60: 0 1;");
    check_windows(three, &[0, 1, 2, 3], "2: 0 1 2; 63: 3;");
}

#[test]
fn what_is_heard_twice_counts_once() {
    let mut bench = StepBench::with_plan(|plan| (plan.close, plan.entries) = (close_after(60), Some(3)));
    for _ in 0..3 {
        bench.announce(MINUTE, 0);
    }
    assert_eq!(bench.due(), MINUTE, "three, as far as one knows");
    assert!(bench.close(MINUTE, vec![candidate(1, 1, "work:1", Ok(()))]).is_empty());
    assert_eq!(bench.due(), 61 * MINUTE, "one, as the day says");
    assert_eq!(bench.close(61 * MINUTE, vec![candidate(1, 1, "work:1", Ok(()))]).len(), 1);
}

#[test]
fn the_first_goes_at_once() {
    let first = |first| move |plan: &mut Plan| (plan.close, plan.first) = (close_after(10), first);
    check_windows(first(FirstRule::Alone), &[0], "0: 0;");
    check_windows(first(FirstRule::Alone), &[0, 3, 5], "0: 0; 10: 3 5;");
    check_windows(first(FirstRule::Alone), &[0, 3, 20, 21], "0: 0; 10: 3; 20: 20; 30: 21;");
    check_windows(first(FirstRule::Both), &[0], "0: 0;");
    check_windows(first(FirstRule::Both), &[0, 3, 5], "0: 0; 10: 0 3 5;");
}

#[test]
fn few_go_alone_and_more_are_gathered() {
    let alone = |most| {
        move |plan: &mut Plan| {
            plan.close = close_after(10);
            plan.alone = Some(AloneRule { most, within_ms: 5 * MINUTE });
        }
    };
    check_windows(alone(1), &[0, 6, 12], "0: 0; 6: 6; 12: 12;");
    check_windows(alone(1), &[0, 4, 6], "0: 0; 14: 4 6;");
    check_windows(alone(2), &[0, 1, 2, 3], "0: 0; 1: 1; 12: 2 3;");
    // What was gathered counts as told too.
    check_windows(alone(1), &[0, 1, 12], "0: 0; 11: 1; 22: 12;");
}

#[test]
fn who_waits_since_something_was_told_lately_waits_on_when_that_is_long_ago() {
    let alone = Some(AloneRule { most: 1, within_ms: 5 * MINUTE });
    let mut bench = StepBench::with_plan(|plan| (plan.close, plan.alone) = (close_after(10), alone));
    // Something comes, and is told if it goes alone.
    let mut come = |minute: i64, key: &str| {
        let now = minute * MINUTE;
        bench.announce_to(now, 0, key, None);
        let window = bench.record.windows.iter().find(|window| *window.key == *key).unwrap().clone();
        let candidates = vec![candidate(now, 1, "work:1", Ok(()))];
        if window.due.0 <= now {
            bench.step(
                now,
                StepInput::Due { window: &window, joined: &[], candidates, put_off: [].into(), live: None },
            );
        }
        window.due.0 / MINUTE
    };
    assert_eq!(come(1, "a"), 1);
    assert_eq!(come(5, "a"), 15);
    assert_eq!(come(7, "b"), 7, "what is told now makes room among what is remembered");
    assert_eq!(come(8, "a"), 15);
}

#[test]
fn it_rests_after_each_message() {
    let even =
        |plan: &mut Plan| (plan.close, plan.rest) = (close_after(0), Some(rest_rule(240, 1, 240, 240)));
    check_windows(even, &[0, 60, 70, 250], "0: 0; 240: 60 70; 480: 250;");
    check_windows(even, &[0, 241], "0: 0; 241: 241;");
    let longer =
        |plan: &mut Plan| (plan.close, plan.rest) = (close_after(10), Some(rest_rule(10, 144, 1_440, 720)));
    check_windows(longer, &[0, 11, 30], "10: 0; 21: 11; 1461: 30;");
    // More than twelve hours after the one before.
    check_windows(longer, &[0, 11, 732], "10: 0; 21: 11; 742: 732;");
    let growing = |plan: &mut Plan| {
        let rest = rest_rule(5, 1, 30, 5);
        (plan.close, plan.rest) = (close_after(0), Some(RestRule { each_ms: MINUTE / 2, ..rest }));
    };
    check_windows(growing, &[0, 1, 2], "0: 0; 6: 1 2;");
    check_windows(growing, &[0, 6], "0: 0; 6: 6;");
    let storm: Vec<i64> = (0..60).map(|minute| minute / 2).collect();
    let told = play_minutes(growing, &storm);
    assert!(told.starts_with("0: 0 0; 30: 1 1 2 2 3"), "{told}");
}

#[test]
fn before_what_it_is_about() {
    let plan = |plan: &mut Plan| plan.close = CloseRule::Before { field: "opens".into(), ms: 2 * HOUR };
    let play = |aim: Option<i64>, moved: Option<i64>| {
        let mut bench = StepBench::with_plan(plan);
        bench.announce_to(MINUTE, 0, "", aim.map(|hour| hour * HOUR));
        let one = ClosingCandidate {
            aim: moved.map(|hour| UtcMillis(hour * HOUR)),
            ..candidate(1, 1, "work:1", Ok(()))
        };
        let due = bench.due();
        let told = bench.close(due, vec![one]).len();
        (due / MINUTE, told, bench.record.windows.first().map(|window| window.due.0 / MINUTE))
    };
    assert_eq!(play(Some(9), Some(9)), (420, 1, None));
    assert_eq!(play(Some(9), Some(12)), (420, 0, Some(600)), "it was put off");
    assert_eq!(play(Some(9), Some(3)), (420, 1, None), "it was earlier: late is better than never");
    assert_eq!(play(Some(1), Some(1)), (1, 1, None), "there is no time left");
    assert_eq!(play(None, None), (1, 1, None), "nobody says when");
}

#[test]
fn keys_have_windows_of_their_own() {
    let mut bench = StepBench::with_plan(|plan| plan.close = close_after(10));
    for (minute, key) in [(0, "a"), (3, "b"), (5, "a")] {
        bench.announce_to(minute * MINUTE, 0, key, None);
    }
    let mut open: Vec<_> =
        bench.record.windows.iter().map(|w| (&*w.key, w.due.0 / MINUTE, w.heard)).collect();
    open.sort_unstable();
    assert_eq!(open, [("a", 10, 2), ("b", 13, 1)]);
}

#[test]
fn too_few_wait_or_end() {
    let few =
        |below| move |plan: &mut Plan| (plan.close, plan.at_least, plan.below) = (close_after(10), 2, below);
    check_windows(few(TooFewRule::Carried), &[0, 15], "20: 0 15;");
    check_windows(few(TooFewRule::Ended), &[0, 15, 16], "25: 15 16;");
}

#[test]
fn a_plan_that_has_another_hour_is_told_on_the_same_day() {
    use WindowStep::{Comes, Hour};
    let check = |hour: u8, steps: &[WindowStep], told: &str| {
        let daily = |plans: &mut PlanSet| {
            plans.by_name.values_mut().for_each(|plan| plan.close = close_daily(hour));
        };
        assert_eq!(play_with(daily, steps), told, "from {hour}: {steps:?}");
    };
    check(11, &[Comes(60)], "660: 60;");
    // A later one is waited for.
    check(9, &[Comes(60), Hour(480, 11)], "660: 60;");
    // One that has passed is not waited for until tomorrow, whether or not something comes meanwhile.
    check(11, &[Comes(60), Hour(600, 9)], "660: 60;");
    check(11, &[Comes(60), Hour(600, 9), Comes(630)], "660: 60 630;");
    check(11, &[Comes(60), Hour(120, 9)], "660: 60;");
    // One that has not is kept by whoever hears of something.
    check(11, &[Comes(60), Hour(120, 9), Comes(130)], "540: 60 130;");
    // And the day after everything is as the plan says.
    check(11, &[Comes(60), Hour(600, 9), Comes(700)], "660: 60; 1980: 700;");
}

#[test]
fn a_calendar_may_close_several_times_a_day() {
    let at = |hour| LocalTime { hour, minute: 0 };
    let twice = |plan: &mut Plan| plan.close = close_at(&[at(9), at(18)]);
    check_windows(twice, &[0], "540: 0;");
    check_windows(twice, &[0, 541, 700], "540: 0; 1080: 541 700;");
    check_windows(twice, &[540, 1_081], "540: 540; 1980: 1081;");
    // A plan that comes to close twice a day does so on the same day, and one that ceases to goes on the day after.
    let changing = |first: CloseRule, then: CloseRule, comings: &[i64]| {
        let mut bench = StepBench::with_plan(|plan| plan.close = first.clone());
        let mut told = Vec::new();
        for (now, day) in comings.iter().copied().zip(0..) {
            bench.announce(now * MINUTE, 0);
            let due = bench.due();
            let entry = candidate(1, day + 1, &format!("work:{day}"), Ok(()));
            assert_eq!(bench.close(due, vec![entry]).len(), 1, "{due}");
            told.push(due / MINUTE);
            bench.plans.by_name.values_mut().for_each(|plan| plan.close = then.clone());
        }
        told
    };
    assert_eq!(changing(close_daily(9), close_at(&[at(9), at(18)]), &[0, 600, 1_100]), [540, 1_080, 1_980]);
    assert_eq!(changing(close_at(&[at(9), at(18)]), close_daily(9), &[0, 600, 2_000]), [540, 1_980, 3_420]);
}

#[test]
fn a_calendar_waits_for_the_end_of_a_rest() {
    let daily = |plan: &mut Plan| {
        plan.close = super::at_nine(WeekdaySet::ALL, 0);
        plan.rest = Some(rest_rule(48 * 60, 1, 48 * 60, 48 * 60));
    };
    check_windows(daily, &[0, 600], "540: 0; 3420: 600;");
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let close = prop_oneof![
        (0..60_i64).prop_map(close_after),
        (1..20_i64, 1..60_i64)
            .prop_map(|(ms, most)| CloseRule::Silence { ms: ms * MINUTE, most_ms: most * MINUTE }),
        Just(super::at_nine(WeekdaySet::ALL, 0)),
    ];
    let first = prop_oneof![Just(FirstRule::Gathered), Just(FirstRule::Alone), Just(FirstRule::Both)];
    let alone = proptest::option::of((1..4_u8, 1..60_i64));
    let rests = proptest::option::of((1..60_i64, 1..10_u16, 60..600_i64, 0..60_i64, 1..600_i64));
    (close, first, alone, rests, proptest::option::of(2..6_u16)).prop_map(
        |(close, first, alone, rests, entries)| {
            let mut plan = StepBench::new(60, 1).plan().clone();
            (plan.close, plan.first, plan.entries) = (close, first, entries);
            plan.alone = alone.map(|(most, minutes)| AloneRule { most, within_ms: minutes * MINUTE });
            plan.rest = rests.map(|(start, factor, most, each, reset)| RestRule {
                each_ms: each * 1_000,
                ..rest_rule(start, factor, most, reset)
            });
            plan
        },
    )
}

proptest! {
    /// Law 8, for every plan there can be: what came is told, and told once unless the plan says twice.
    #[test]
    fn whatever_the_rules_everything_is_told_once(plan in any_plan(), gaps in prop::collection::vec(0..90_i64, 1..20)) {
        let comings: Vec<i64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let said = play_minutes(|own| *own = plan.clone(), &comings);
        let told: Vec<i64> = said.split(';').filter_map(|message| message.split_once(": "))
            .flat_map(|(_, entries)| entries.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<i64>>()).collect();
        for coming in &comings {
            let times = told.iter().filter(|one| *one == coming).count();
            let came = comings.iter().filter(|one| *one == coming).count();
            if plan.first == FirstRule::Both { prop_assert!(times >= came, "{said}") } else { prop_assert_eq!(times, came, "{}", said) }
        }
    }
}
