//! What a closing leaves: what had no room, what was too few, what ended with what it holds. Each a line.

use super::{
    StepBench, candidate,
    windows::{HOUR, MINUTE, WindowStep, close_after, play_with},
};
use crate::{
    Day, EndReason, MarkAction, UtcMillis,
    closing_candidate::ClosingCandidate,
    limits::{CLOSING_BYTES_MAX, DAY_MS, RECORD_BYTES_MAX},
    person::HoldCause,
    plan::{
        AloneRule, CapPeriod, CloseRule, FirstRule, KeyPart, MessageCap, OncePer, Plan, PlanSet, RestRule,
    },
    window::StepInput,
};
use WindowStep::{Comes, Seen};

const AWAY: CloseRule = CloseRule::Away { ms: 30 * MINUTE };

fn close_before() -> CloseRule {
    CloseRule::Before { field: "opens".into(), ms: HOUR }
}

/// Plays with a plan; somebody is seen on a site.
fn check_leftovers(change: impl FnMut(&mut Plan), steps: &[WindowStep], told: &str) {
    let plans = |plans: &mut PlanSet| {
        plans.by_name.values_mut().for_each(change);
        plans.surfaces =
            vec![crate::plan::OnlineSurface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
    };
    assert_eq!(play_with(plans, steps), told, "{steps:?}");
}

/// With one they wait for a second, however that window closes; with it, that closes as its plan says.
#[test]
fn too_few_wait_for_more() {
    let two = |close: CloseRule| move |plan: &mut Plan| (plan.close, plan.at_least) = (close.clone(), 2);
    check_leftovers(two(close_after(10)), &[Comes(0), Comes(15)], "20: 0 15;");
    check_leftovers(two(close_after(10)), &[Comes(0), Comes(100)], "100: 0 100;");
    check_leftovers(two(AWAY), &[Seen(0, "site"), Comes(5), Comes(100)], "100: 5 100;");
    check_leftovers(two(AWAY), &[Comes(5), Seen(90, "site"), Comes(100)], "120: 5 100;");
    check_leftovers(two(close_before()), &[Comes(0), Comes(50)], "50: 0 50;");
    let silent = CloseRule::Silence { ms: 5 * MINUTE, most_ms: 20 * MINUTE };
    check_leftovers(two(silent), &[Comes(0), Comes(100), Comes(200)], "100: 0 100;");
    let alone = |plan: &mut Plan| {
        two(close_after(10))(plan);
        plan.alone = Some(AloneRule { most: 1, within_ms: 30 * MINUTE });
    };
    check_leftovers(alone, &[Comes(0), Comes(50)], "50: 0 50;");
    let daily = |plan: &mut Plan| {
        alone(plan);
        plan.close = super::at_nine(crate::plan::WeekdaySet::ALL, 0);
    };
    check_leftovers(daily, &[Comes(0), Comes(50)], "50: 0 50;");
    // So many entries close it, but no fewer than a message needs.
    let full = |plan: &mut Plan| (plan.close, plan.entries, plan.at_least) = (close_after(60), Some(2), 3);
    check_leftovers(full, &[Comes(0), Comes(1), Comes(2), Comes(3)], "2: 0 1 2;");
    // The first is told alone, and the others are counted without it.
    let first =
        |plan: &mut Plan| (plan.close, plan.first, plan.at_least) = (close_after(10), FirstRule::Alone, 2);
    check_leftovers(first, &[Comes(0), Comes(2), Comes(13), Comes(40)], "0: 0; 20: 2 13; 40: 40;");
}

/// It comes a whole window later, and not as a second message beside the one that had no room.
#[test]
fn what_has_no_room_waits_for_the_next_message() {
    let two = |close: CloseRule| {
        move |plan: &mut Plan| {
            plan.close = close.clone();
            plan.sections[0].most = 2;
        }
    };
    let five = [Comes(1), Comes(2), Comes(3), Comes(4), Comes(5)];
    check_leftovers(two(close_after(10)), &five, "11: 4 5; 21: 2 3; 31: 1;");
    let here: Vec<WindowStep> = [Seen(0, "site")].into_iter().chain(five).collect();
    check_leftovers(two(AWAY), &here, "30: 4 5; 60: 2 3; 90: 1;");
    let comes: Vec<WindowStep> = here.into_iter().chain([Comes(40)]).collect();
    check_leftovers(two(AWAY), &comes, "30: 4 5; 40: 3 40; 70: 1 2;");
    // Where a plan has no length of its own, a minute.
    check_leftovers(two(close_after(0)), &[Comes(0); 5], "0: 0 0; 1: 0 0; 2: 0;");
    check_leftovers(two(close_before()), &[Comes(0); 5], "0: 0 0; 1: 0 0; 2: 0;");
    let alone = |plan: &mut Plan| {
        two(close_after(10))(plan);
        plan.alone = Some(AloneRule { most: 5, within_ms: HOUR });
    };
    check_leftovers(alone, &[Comes(0); 5], "0: 0 0; 10: 0 0; 20: 0;");
    let full = |plan: &mut Plan| {
        two(close_after(10))(plan);
        plan.entries = Some(2);
    };
    check_leftovers(full, &[Comes(0); 5], "0: 0 0; 10: 0 0; 20: 0;");
    // No other of them goes alone.
    let first = |plan: &mut Plan| {
        two(close_after(10))(plan);
        plan.first = FirstRule::Alone;
    };
    check_leftovers(first, &[Comes(0); 6], "0: 0; 10: 0 0; 20: 0 0; 30: 0;");
}

#[test]
fn a_rest_is_over_when_it_is_over() {
    let resting = |plan: &mut Plan| {
        let rest = RestRule { start_ms: HOUR, factor: 1, most_ms: HOUR, each_ms: 0, reset_ms: HOUR };
        (plan.close, plan.entries, plan.rest) = (close_after(10), Some(3), Some(rest));
    };
    check_leftovers(resting, &[Comes(0), Comes(20), Comes(21), Comes(22)], "10: 0; 70: 20 21 22;");
    check_leftovers(resting, &[Comes(0), Comes(200), Comes(201), Comes(202)], "10: 0; 202: 200 201 202;");
}

/// Who is here is told what does not wait for them to leave, and nothing of it ends.
#[test]
fn so_many_close_it_though_the_person_is_here() {
    let three = |plan: &mut Plan| (plan.close, plan.entries) = (AWAY, Some(3));
    check_leftovers(three, &[Seen(0, "site"), Comes(1), Comes(2), Comes(3), Comes(4)], "3: 1 2 3; 30: 4;");
    let first = |plan: &mut Plan| (plan.close, plan.first) = (AWAY, FirstRule::Alone);
    check_leftovers(first, &[Seen(0, "site"), Comes(1), Comes(2)], "1: 1; 30: 2;");
}

/// A cap holds it beyond what its plan looks back on: until then it waits, and ends as what a cap held. What came later waits on.
#[test]
fn what_is_held_for_too_long_ends_by_what_held_it() {
    let mut bench = StepBench::with_plan(|plan| (plan.close, plan.look_back_days) = (close_after(0), 3));
    let per = CapPeriod::Rolling { ms: 6 * DAY_MS };
    bench.plans.caps =
        vec![MessageCap { name: "one".into(), most: 1, per, channel: None, kinds: vec![], tenants: vec![] }];
    let one = |day: i64| candidate(day * DAY_MS, u8::try_from(day).unwrap(), &format!("work:{day}"), Ok(()));
    bench.announce(1, 0);
    assert_eq!(bench.close(1, vec![one(0)]).len(), 1);
    bench.announce(DAY_MS, 1);
    assert!(bench.close(DAY_MS, vec![one(1)]).is_empty());
    let held = &bench.record.windows[0];
    assert_eq!(
        (held.due, held.held),
        (UtcMillis(5 * DAY_MS), Some(HoldCause::Cap)),
        "its look-back is over then"
    );
    bench.announce(4 * DAY_MS, 4);
    assert!(bench.close(5 * DAY_MS, vec![one(1), one(4)]).is_empty());
    let ended = bench.record.owed.last().unwrap();
    assert_eq!(
        (ended.mark.what, &ended.mark.covers),
        (MarkAction::Ended(EndReason::OverCap), &vec![one(1).key])
    );
    assert_eq!(bench.due(), 6 * DAY_MS + 1);
    assert_eq!(bench.close(6 * DAY_MS + 1, vec![one(4)]).len(), 1);
}

/// What came too late ends, and has nothing told before its time.
#[test]
fn what_is_over_hurries_nothing() {
    let mut bench = StepBench::with_plan(|plan| plan.look_back_days = 2);
    let (morning, old) = (10 * DAY_MS, 7);
    bench.announce(morning, 10);
    bench.announce(morning + 1, old);
    let all = || {
        vec![candidate(morning, 1, "work:1", Ok(())), candidate(i64::from(old) * DAY_MS, 2, "work:2", Ok(()))]
    };
    assert!(bench.close(morning + 1, all()).is_empty());
    assert_eq!(bench.record.owed[0].mark.what, MarkAction::Ended(EndReason::Expired));
    assert_eq!((bench.due(), &bench.record.windows[0].days), (morning + super::NINE, &[Day(10)].into()));
}

/// Who wants a seventeenth window sleeps until there is a place, also in the last hours of its day.
#[test]
fn who_finds_no_place_waits_for_one() {
    let mut bench =
        StepBench::with_plan(|plan| (plan.close, plan.key) = (close_after(0), vec![KeyPart::Subject]));
    for n in 0..18 {
        bench.announce_to(MINUTE, 0, &format!("work:{n}"), None);
    }
    let waits = |bench: &StepBench| bench.record.windows.iter().find(|window| window.key.is_empty()).cloned();
    assert_eq!(bench.record.windows.len(), 17);
    assert_eq!(waits(&bench).unwrap().due, UtcMillis(8 * DAY_MS - HOUR), "its last call");
    // Handed on once more, it finds none.
    let handed_on = [super::WindowTarget { plan: super::morning_plan(), key: "work:17".into(), aim: None }];
    bench.step(2 * MINUTE, StepInput::Announced { day: Day(0), rows: 0, wanted: &handed_on });
    assert_eq!(waits(&bench).unwrap().due, UtcMillis(8 * DAY_MS - HOUR));
    bench.close(3 * MINUTE, vec![candidate(1, 1, "work:1", Ok(()))]);
    assert_eq!(waits(&bench).unwrap().due, UtcMillis(3 * MINUTE), "there is a place");
}

/// It waits for the report of the one that is on its way, which has it asked again; should none come, an hour.
#[test]
fn what_awaits_a_report_is_asked_with_it() {
    let mut bench =
        StepBench::with_plan(|plan| (plan.close, plan.once_per) = (close_after(0), OncePer::Subject));
    bench.announce(1, 0);
    let ready = bench.close(1, vec![candidate(0, 1, "work:1", Ok(()))]).remove(0);
    bench.announce(MINUTE, 0);
    let again = |awaits| vec![ClosingCandidate { awaits, ..candidate(1, 2, "work:1", Ok(())) }];
    assert!(bench.close(MINUTE, again(true)).is_empty());
    assert_eq!(bench.due(), MINUTE + HOUR);
    let left =
        crate::delivery::DeliveryOutcome::Refused { left: vec![(ready.entries[0].key, EndReason::Refused)] };
    bench.step(2 * MINUTE, StepInput::Reported(&super::delivery_of(&ready, left)));
    assert_eq!(bench.due(), 2 * MINUTE);
    assert_eq!(bench.close(2 * MINUTE, again(false)).len(), 1);
}

/// However long the keys, and however much is remembered of what was told under them: what has no room for a window of its
/// own waits for a place, and what was told long ago is forgotten.
#[test]
fn a_record_keeps_its_bound_with_long_keys() {
    let mut bench = StepBench::with_plan(|plan| {
        plan.key = vec![KeyPart::Subject];
        (plan.close, plan.look_back_days) = (close_after(0), 19);
        plan.alone = Some(AloneRule { most: 10, within_ms: 10 * DAY_MS });
        plan.urgent = true;
    });
    let cap = |n: u8| {
        let per = CapPeriod::Rolling { ms: 10 * DAY_MS };
        MessageCap {
            name: format!("{n:0>64}").into(),
            most: 20,
            per,
            channel: None,
            kinds: vec![],
            tenants: vec![],
        }
    };
    bench.plans.caps = (0..8).map(cap).collect();
    let mut most = 0;
    for n in 0..1_200_i64 {
        let now = n * 20 * MINUTE + 1;
        let day = i32::try_from(now / DAY_MS).unwrap();
        let key = format!("{}:{:0>124}", "a", n % 60);
        bench.announce_to(now, day, &key, None);
        if n % 3 > 0 {
            let Some(at) = bench.record.windows.iter().position(|window| *window.key == *key) else {
                continue;
            };
            let window = bench.record.windows[at].clone();
            let candidates = vec![candidate(now, 1, "work:1", Ok(()))];
            bench.step(
                now,
                StepInput::Due { window: &window, joined: &[], candidates, put_off: [].into(), live: None },
            );
            let owed = bench.record.owed.clone();
            bench.step(now, StepInput::Acknowledged(&owed));
        }
        most = most.max(bench.record.weight());
        assert!(most <= RECORD_BYTES_MAX - CLOSING_BYTES_MAX, "{most} bytes leave no room for a closing");
    }
    assert!(most > 11_500, "{most} bytes are no test of it");
}
