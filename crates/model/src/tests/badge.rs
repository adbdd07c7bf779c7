//! The number on an app's icon, and when it is set right.

use super::{
    StepBench, candidate,
    windows::{MINUTE, close_after},
};
use crate::{
    Channel, UtcMillis,
    limits::{BADGE_LIFE_MS, BADGE_WAIT_MS, DAY_MS, REVOCABLE_MS},
    plan::OnlineSurface,
    ready::Ready,
    window::StepInput,
};

fn badge_bench() -> StepBench {
    let mut bench = StepBench::with_plan(|plan| {
        (plan.close, plan.channel, plan.badge) = (close_after(0), Channel::Push, true);
    });
    bench.plans.surfaces = vec![OnlineSurface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
    bench
}

fn tell_push(bench: &mut StepBench, now: i64, n: u8) -> Ready {
    bench.announce(now, i32::try_from(now / DAY_MS).unwrap());
    bench.close(now, vec![candidate(now, n, &format!("work:{n}"), Ok(()))]).remove(0)
}

fn wake_bench(bench: &mut StepBench, now: i64) -> Vec<Ready> {
    bench.step(now, StepInput::Again).ready
}

#[test]
fn pushes_of_some_plans_say_the_number() {
    assert!(tell_push(&mut badge_bench(), MINUTE, 1).badge);
    let mut without = StepBench::with_plan(|plan| plan.close = close_after(0));
    assert!(!tell_push(&mut without, MINUTE, 1).badge);
    assert_eq!(without.record.badge, None);
    without.step(MINUTE, StepInput::NumberChanged);
    assert_eq!(without.record.badge, None, "nobody was told a number");
}

#[test]
fn what_changes_the_number_sets_it_right_on_every_device() {
    let mut bench = badge_bench();
    tell_push(&mut bench, MINUTE, 1);
    // Who is there has not looked at anything.
    bench.step(2 * MINUTE, StepInput::Seen { surface: &"site".into(), at: UtcMillis(2 * MINUTE) });
    assert!(bench.record.badge.as_ref().unwrap().due.is_none());
    for second in 0..3 {
        bench.step(3 * MINUTE + second, StepInput::NumberChanged);
    }
    let due = 3 * MINUTE + BADGE_WAIT_MS;
    assert_eq!(bench.record.next_due(), Some(UtcMillis(due)));
    assert!(wake_bench(&mut bench, due - 1).is_empty(), "not yet");
    let [first] = wake_bench(&mut bench, due).try_into().unwrap();
    assert!(first.is_wordless() && first.badge && first.silent);
    assert_eq!(wake_bench(&mut bench, due + 1), [], "once");
    bench.step(4 * MINUTE, StepInput::NumberChanged);
    let [second] = wake_bench(&mut bench, 5 * MINUTE).try_into().unwrap();
    assert_ne!(first.id, second.id, "each is a message of its own");
    // A push with words says the number itself, and not what was revoked: one without any comes all the same.
    for news in [StepInput::NumberChanged, StepInput::Revoked] {
        bench.step(6 * MINUTE, news);
    }
    tell_push(&mut bench, 6 * MINUTE + 1, 2);
    let [third] = wake_bench(&mut bench, 7 * MINUTE).try_into().unwrap();
    assert!(third.is_wordless() && third.id != second.id);
    assert_eq!(wake_bench(&mut bench, 8 * MINUTE), []);
}

/// What was revoked goes from the screen also where pushes have no number; what a person reads changes nothing there.
#[test]
fn a_push_without_a_number_hears_of_what_was_revoked() {
    let mut bench = badge_bench();
    bench.plans.by_name.values_mut().for_each(|plan| plan.badge = false);
    assert!(!tell_push(&mut bench, MINUTE, 1).badge);
    bench.step(2 * MINUTE, StepInput::NumberChanged);
    assert_eq!(wake_bench(&mut bench, 3 * MINUTE), []);
    bench.step(4 * MINUTE, StepInput::Revoked);
    assert!(wake_bench(&mut bench, 4 * MINUTE + BADGE_WAIT_MS - 1).is_empty(), "not yet");
    // Words that come meanwhile take nothing away.
    tell_push(&mut bench, 4 * MINUTE + 1, 2);
    let [push] = wake_bench(&mut bench, 4 * MINUTE + BADGE_WAIT_MS).try_into().unwrap();
    assert!(push.is_wordless() && !push.badge && push.silent);
    bench.record.owed.clear();
    assert!(!bench.record.is_spent(UtcMillis(REVOCABLE_MS)));
    assert!(bench.record.is_spent(UtcMillis(5 * MINUTE + REVOCABLE_MS)));
}

#[test]
fn a_badge_is_forgotten_after_a_while() {
    let mut bench = badge_bench();
    tell_push(&mut bench, MINUTE, 1);
    bench.record.owed.clear();
    assert!(!bench.record.is_spent(UtcMillis(BADGE_LIFE_MS)));
    assert!(bench.record.is_spent(UtcMillis(MINUTE + BADGE_LIFE_MS)));
    bench.step(BADGE_LIFE_MS, StepInput::NumberChanged);
    assert!(!bench.record.is_spent(UtcMillis(2 * BADGE_LIFE_MS)), "a push is still to go out");
}
