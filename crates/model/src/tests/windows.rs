//! The rules of windows, each as a line: when entries came, and what was told when.

use std::{collections::BTreeMap, fmt::Write as _};

use proptest::prelude::*;

use super::{Bench, candidate};
use crate::{
    EntryKey, Millis, What,
    closing::Candidate,
    limits::DAY_MS,
    plan::{Alone, Below, Close, First, Plan, Plans, Rest, Weekdays},
    window::Input,
};

pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
const END: i64 = 3 * DAY_MS;

/// Plays entries that come at these minutes, turn by turn, and says what was told: `MINUTE: ENTRY...`, where an
/// entry is called by the minute at which it came.
fn play(mut change: impl FnMut(&mut Plan), comings: &[i64]) -> String {
    let steps: Vec<Step> = comings.iter().map(|minute| Step::Comes(*minute)).collect();
    play_with(|plans| plans.by_name.values_mut().for_each(&mut change), &steps)
}

/// What happens at a minute.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Comes(i64),
    Seen(i64, &'static str),
    /// Something changes on which it depends when windows close.
    Moved(i64),
}

impl Step {
    pub(super) fn at(&self) -> i64 {
        let (Self::Comes(minute) | Self::Seen(minute, _) | Self::Moved(minute)) = self;
        minute * MINUTE
    }
}

/// The same, with what else happens.
pub(super) fn play_with(change: impl FnOnce(&mut Plans), steps: &[Step]) -> String {
    let mut bench = Bench::new(60, 1);
    change(&mut bench.plans);
    // While nothing comes little closes: a loop that told nothing would never end.
    let most = 40 + 8 * steps.len();
    let mut steps = steps.iter().copied().peekable();
    let (mut here, mut said): (BTreeMap<EntryKey, i64>, _) = (BTreeMap::new(), String::new());
    let mut now = i64::MIN;
    let mut closings = 0;
    loop {
        let due = bench.record.windows.iter().map(|window| window.due.0).min().unwrap_or(i64::MAX).max(now);
        let step = steps.next_if(|step| step.at() <= due);
        now = step.map_or(due, |step| step.at());
        match step {
            // What comes at the instant of a closing is told with it.
            Some(Step::Comes(minute)) => {
                let n = u8::try_from(here.len()).unwrap();
                here.insert(candidate(now, n, &format!("work:{n}"), Ok(())).key, minute);
                bench.announce(now, i32::try_from(now / DAY_MS).unwrap());
            }
            Some(Step::Seen(_, surface)) => {
                bench.step(now, Input::Seen { surface: &surface.into(), at: Millis(now) });
            }
            Some(Step::Moved(_)) => drop(bench.step(now, Input::Moved)),
            None if due > END => return said.trim().to_owned(),
            None => {
                closings += 1;
                assert!(closings <= most, "{said} and no end: {:?}", bench.record.windows);
                tell(&mut bench, &here, now, &mut said);
            }
        }
    }
}

/// Closes what is due, with all that no mark ended.
fn tell(bench: &mut Bench, here: &BTreeMap<EntryKey, i64>, now: i64, said: &mut String) {
    let window = bench.record.windows.iter().find(|window| window.due.0 <= now).unwrap().clone();
    let ends = |what| matches!(what, What::Taken(_) | What::Ended(_));
    let owed = bench.record.owed.iter().filter(|owed| ends(owed.mark.what));
    let done: Vec<EntryKey> = owed.flat_map(|owed| owed.mark.covers.clone()).collect();
    let again = |key: &EntryKey| window.first == Some(*key) && bench.plan().first == First::Both;
    let candidates = here.keys().enumerate().filter(|(_, key)| !done.contains(key) || again(key));
    let candidates = candidates.map(|(n, key)| {
        let mut one = candidate(key.occurred.0, 0, &format!("work:{n}"), Ok(()));
        (one.key, one.repeated) = (*key, again(key));
        one
    });
    let candidates = candidates.collect();
    let readys =
        bench.step(now, Input::Due { window: &window, joined: &[], candidates, live: bench.live }).ready;
    for ready in readys {
        let mut told: Vec<i64> = ready.entries.iter().map(|entry| here[&entry.key]).collect();
        told.sort_unstable();
        let told: Vec<String> = told.iter().map(i64::to_string).collect();
        let silent = if ready.silent { " silently" } else { "" };
        write!(said, " {}{silent}: {};", now / MINUTE, told.join(" ")).unwrap();
    }
}

pub(super) fn after(minutes: i64) -> Close {
    Close::After { ms: minutes * MINUTE }
}

fn rest(start: i64, factor: u16, most: i64, reset: i64) -> Rest {
    let [start_ms, most_ms, reset_ms] = [start, most, reset].map(|minutes| minutes * MINUTE);
    Rest { start_ms, factor, most_ms, each_ms: 0, reset_ms }
}

fn check(change: impl FnMut(&mut Plan), comings: &[i64], told: &str) {
    assert_eq!(play(change, comings), told, "{comings:?}");
}

#[test]
fn after_a_while() {
    let ten = |plan: &mut Plan| plan.close = after(10);
    check(ten, &[0, 3, 10, 11], "10: 0 3 10; 21: 11;");
    check(ten, &[], "");
    check(|plan| plan.close = after(0), &[0, 3], "0: 0; 3: 3;");
}

#[test]
fn when_it_is_silent() {
    let silent = |plan: &mut Plan| plan.close = Close::Silence { ms: 5 * MINUTE, most_ms: 12 * MINUTE };
    check(silent, &[0], "5: 0;");
    check(silent, &[0, 4], "9: 0 4;");
    check(silent, &[0, 4, 8, 12, 13], "12: 0 4 8 12; 18: 13;");
}

#[test]
fn so_many_close_it_before_its_time() {
    let three = |plan: &mut Plan| (plan.close, plan.entries) = (after(60), Some(3));
    check(three, &[0, 1], "60: 0 1;");
    check(three, &[0, 1, 2, 3], "2: 0 1 2; 63: 3;");
}

#[test]
fn what_is_heard_twice_counts_once() {
    let mut bench = Bench::with(|plan| (plan.close, plan.entries) = (after(60), Some(3)));
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
    let first = |first| move |plan: &mut Plan| (plan.close, plan.first) = (after(10), first);
    check(first(First::Alone), &[0], "0: 0;");
    check(first(First::Alone), &[0, 3, 5], "0: 0; 10: 3 5;");
    check(first(First::Alone), &[0, 3, 20, 21], "0: 0; 10: 3; 20: 20; 30: 21;");
    check(first(First::Both), &[0], "0: 0;");
    check(first(First::Both), &[0, 3, 5], "0: 0; 10: 0 3 5;");
}

#[test]
fn few_go_alone_and_more_are_gathered() {
    let alone = |most| {
        move |plan: &mut Plan| {
            plan.close = after(10);
            plan.alone = Some(Alone { most, within_ms: 5 * MINUTE });
        }
    };
    check(alone(1), &[0, 6, 12], "0: 0; 6: 6; 12: 12;");
    check(alone(1), &[0, 4, 6], "0: 0; 14: 4 6;");
    check(alone(2), &[0, 1, 2, 3], "0: 0; 1: 1; 12: 2 3;");
    // What was gathered counts as told too.
    check(alone(1), &[0, 1, 12], "0: 0; 11: 1; 22: 12;");
}

#[test]
fn who_waits_since_something_was_told_lately_waits_on_when_that_is_long_ago() {
    let alone = Some(Alone { most: 1, within_ms: 5 * MINUTE });
    let mut bench = Bench::with(|plan| (plan.close, plan.alone) = (after(10), alone));
    // Something comes, and is told if it goes alone.
    let mut come = |minute: i64, key: &str| {
        let now = minute * MINUTE;
        bench.announce_to(now, 0, key, None);
        let window = bench.record.windows.iter().find(|window| *window.key == *key).unwrap().clone();
        let candidates = vec![candidate(now, 1, "work:1", Ok(()))];
        if window.due.0 <= now {
            bench.step(now, Input::Due { window: &window, joined: &[], candidates, live: None });
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
    let even = |plan: &mut Plan| (plan.close, plan.rest) = (after(0), Some(rest(240, 1, 240, 240)));
    check(even, &[0, 60, 70, 250], "0: 0; 240: 60 70; 480: 250;");
    check(even, &[0, 241], "0: 0; 241: 241;");
    let longer = |plan: &mut Plan| (plan.close, plan.rest) = (after(10), Some(rest(10, 144, 1_440, 720)));
    check(longer, &[0, 11, 30], "10: 0; 21: 11; 1461: 30;");
    // More than twelve hours after the one before.
    check(longer, &[0, 11, 732], "10: 0; 21: 11; 742: 732;");
    let growing = |plan: &mut Plan| {
        let rest = rest(5, 1, 30, 5);
        (plan.close, plan.rest) = (after(0), Some(Rest { each_ms: MINUTE / 2, ..rest }));
    };
    check(growing, &[0, 1, 2], "0: 0; 6: 1 2;");
    check(growing, &[0, 6], "0: 0; 6: 6;");
    let storm: Vec<i64> = (0..60).map(|minute| minute / 2).collect();
    let told = play(growing, &storm);
    assert!(told.starts_with("0: 0 0; 30: 1 1 2 2 3"), "{told}");
}

#[test]
fn before_what_it_is_about() {
    let plan = |plan: &mut Plan| plan.close = Close::Before { field: "opens".into(), ms: 2 * HOUR };
    let play = |aim: Option<i64>, moved: Option<i64>| {
        let mut bench = Bench::with(plan);
        bench.announce_to(MINUTE, 0, "", aim.map(|hour| hour * HOUR));
        let one =
            Candidate { aim: moved.map(|hour| Millis(hour * HOUR)), ..candidate(1, 1, "work:1", Ok(())) };
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
    let mut bench = Bench::with(|plan| plan.close = after(10));
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
    let few = |below| move |plan: &mut Plan| (plan.close, plan.at_least, plan.below) = (after(10), 2, below);
    check(few(Below::Carried), &[0, 15], "20: 0 15;");
    check(few(Below::Ended), &[0, 15, 16], "25: 15 16;");
}

#[test]
fn a_calendar_waits_for_the_end_of_a_rest() {
    let daily = |plan: &mut Plan| {
        plan.close = super::at_nine(Weekdays::ALL, 0);
        plan.rest = Some(rest(48 * 60, 1, 48 * 60, 48 * 60));
    };
    check(daily, &[0, 600], "540: 0; 3420: 600;");
}

fn plans() -> impl Strategy<Value = Plan> {
    let close = prop_oneof![
        (0..60_i64).prop_map(after),
        (1..20_i64, 1..60_i64)
            .prop_map(|(ms, most)| Close::Silence { ms: ms * MINUTE, most_ms: most * MINUTE }),
        Just(super::at_nine(Weekdays::ALL, 0)),
    ];
    let first = prop_oneof![Just(First::Gathered), Just(First::Alone), Just(First::Both)];
    let alone = proptest::option::of((1..4_u8, 1..60_i64));
    let rests = proptest::option::of((1..60_i64, 1..10_u16, 60..600_i64, 0..60_i64, 1..600_i64));
    (close, first, alone, rests, proptest::option::of(2..6_u16)).prop_map(
        |(close, first, alone, rests, entries)| {
            let mut plan = Bench::new(60, 1).plan().clone();
            (plan.close, plan.first, plan.entries) = (close, first, entries);
            plan.alone = alone.map(|(most, minutes)| Alone { most, within_ms: minutes * MINUTE });
            plan.rest = rests.map(|(start, factor, most, each, reset)| Rest {
                each_ms: each * 1_000,
                ..rest(start, factor, most, reset)
            });
            plan
        },
    )
}

proptest! {
    /// Law 8, for every plan there can be: what came is told, and told once unless the plan says twice.
    #[test]
    fn whatever_the_rules_everything_is_told_once(plan in plans(), gaps in prop::collection::vec(0..90_i64, 1..20)) {
        let comings: Vec<i64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let said = play(|own| *own = plan.clone(), &comings);
        let told: Vec<i64> = said.split(';').filter_map(|message| message.split_once(": "))
            .flat_map(|(_, entries)| entries.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<i64>>()).collect();
        for coming in &comings {
            let times = told.iter().filter(|one| *one == coming).count();
            let came = comings.iter().filter(|one| *one == coming).count();
            if plan.first == First::Both { prop_assert!(times >= came, "{said}") } else { prop_assert_eq!(times, came, "{}", said) }
        }
    }
}
