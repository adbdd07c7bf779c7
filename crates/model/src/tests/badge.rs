//! The number on an app's icon, and when it is set right.

use super::{
    StepBench, candidate,
    windows::{MINUTE, close_after},
};
use crate::{
    Channel, Day, DayRow, Mark, MarkAction, ReadyId, UtcMillis, badge,
    fold::fold_rows,
    limits::{BADGE_LIFE_MS, BADGE_WAIT_MS, DAY_MS},
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

fn see_person(bench: &mut StepBench, now: i64, when: i64) {
    bench.step(now, StepInput::Seen { surface: &"site".into(), at: UtcMillis(when) });
}

fn wake_bench(bench: &mut StepBench, now: i64) -> Vec<Ready> {
    bench.step(now, StepInput::Again).ready
}

#[test]
fn a_push_says_what_to_count() {
    let mut bench = badge_bench();
    let unseen = tell_push(&mut bench, MINUTE, 1).badge.unwrap();
    assert_eq!((unseen.days, unseen.since), ([Day(0)].into(), UtcMillis(0)));
    let unseen = tell_push(&mut bench, DAY_MS, 2).badge.unwrap();
    assert_eq!(unseen.days, [Day(0), Day(1)].into(), "what was told before is not seen yet");
    let mut without = StepBench::with_plan(|plan| plan.close = close_after(0));
    assert_eq!(tell_push(&mut without, MINUTE, 1).badge, None);
    assert_eq!(without.record.badge, None);
}

#[test]
fn who_comes_has_seen_it_on_every_device() {
    let mut bench = badge_bench();
    tell_push(&mut bench, MINUTE, 1);
    // They were there before it was told, and this is only heard now.
    see_person(&mut bench, 2 * MINUTE, MINUTE - 1);
    assert!(bench.record.badge.as_ref().unwrap().due.is_none());
    see_person(&mut bench, 3 * MINUTE, 3 * MINUTE);
    let due = 3 * MINUTE + BADGE_WAIT_MS;
    assert_eq!(bench.record.next_due(), Some(UtcMillis(due)));
    assert!(wake_bench(&mut bench, due - 1).is_empty(), "not yet");
    let [ready] = wake_bench(&mut bench, due).try_into().unwrap();
    assert!(ready.is_badge() && ready.silent && ready.badge.as_ref().unwrap().days.is_empty());
    assert_eq!(wake_bench(&mut bench, due + 1), [], "once");
    see_person(&mut bench, 9 * MINUTE, 9 * MINUTE);
    assert_eq!(wake_bench(&mut bench, 10 * MINUTE), [], "there is nothing to set right");
    let unseen = tell_push(&mut bench, 11 * MINUTE, 2).badge.unwrap();
    assert_eq!(unseen.since, UtcMillis(3 * MINUTE), "what was told before they came does not count again");
}

#[test]
fn who_reads_some_has_the_rest_counted() {
    let mut bench = badge_bench();
    tell_push(&mut bench, MINUTE, 1);
    for second in 0..3 {
        bench.step(2 * MINUTE + second, StepInput::Read { at: UtcMillis(2 * MINUTE + second) });
    }
    let due = 2 * MINUTE + BADGE_WAIT_MS;
    let [first] = wake_bench(&mut bench, due).try_into().unwrap();
    assert_eq!(first.badge.as_ref().unwrap().days, [Day(0)].into());
    bench.step(3 * MINUTE, StepInput::Read { at: UtcMillis(3 * MINUTE) });
    let [second] = wake_bench(&mut bench, 4 * MINUTE).try_into().unwrap();
    assert_ne!(first.id, second.id, "each is a message of its own");
    // A push with words says the number itself.
    bench.step(5 * MINUTE, StepInput::Read { at: UtcMillis(5 * MINUTE) });
    tell_push(&mut bench, 5 * MINUTE + 1, 2);
    assert_eq!(wake_bench(&mut bench, 6 * MINUTE), []);
}

#[test]
fn a_badge_is_forgotten_after_a_while() {
    let mut bench = badge_bench();
    tell_push(&mut bench, MINUTE, 1);
    bench.record.owed.clear();
    assert!(!bench.record.is_spent(UtcMillis(BADGE_LIFE_MS)));
    assert!(bench.record.is_spent(UtcMillis(MINUTE + BADGE_LIFE_MS)));
    see_person(&mut bench, BADGE_LIFE_MS, BADGE_LIFE_MS);
    assert!(!bench.record.is_spent(UtcMillis(2 * BADGE_LIFE_MS)), "a push is still to go out");
}

#[test]
fn what_counts_was_told_by_push_and_not_seen() {
    let key = super::entry_key(5, 1);
    let check = |marks: &[(Option<Channel>, MarkAction)], since: i64, count: usize| {
        let mark = |(on, what): &(Option<Channel>, MarkAction)| {
            DayRow::Mark(Mark::new(*on, *what, vec![key], UtcMillis(50)))
        };
        let rows: Vec<DayRow> =
            std::iter::once(super::entry_row(key, "author:1")).chain(marks.iter().map(mark)).collect();
        assert_eq!(
            badge::count_unseen(&fold_rows(&rows), UtcMillis(since), |_| false),
            count,
            "{marks:?} since {since}"
        );
        assert_eq!(badge::count_unseen(&fold_rows(&rows), UtcMillis(since), |_| true), 0);
    };
    let id = ReadyId([1; 16]);
    let (push, mail) = (Some(Channel::Push), Some(Channel::Email));
    check(&[], 0, 0);
    check(&[(push, MarkAction::Taken(id))], 0, 1);
    check(&[(push, MarkAction::Taken(id))], 50, 0);
    check(&[(mail, MarkAction::Taken(id))], 0, 0);
    check(&[(push, MarkAction::Taken(id)), (None, MarkAction::Read)], 0, 0);
    check(&[(push, MarkAction::Taken(id)), (None, MarkAction::Cleared)], 0, 0);
    check(&[(push, MarkAction::Taken(id)), (push, MarkAction::Returned { ready: id, maybe: true })], 0, 0);
}
