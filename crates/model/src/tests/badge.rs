//! The number on an app's icon, and when it is set right.

use super::{
    Bench, candidate,
    windows::{MINUTE, after},
};
use crate::{
    Channel, Day, Mark, Millis, ReadyId, Row, What, badge,
    fold::fold,
    limits::{BADGE_LIFE_MS, BADGE_WAIT_MS, DAY_MS},
    plan::Surface,
    ready::Ready,
    window::Input,
};

fn bench() -> Bench {
    let mut bench =
        Bench::with(|plan| (plan.close, plan.channel, plan.badge) = (after(0), Channel::Push, true));
    bench.plans.surfaces = vec![Surface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
    bench
}

fn told(bench: &mut Bench, now: i64, n: u8) -> Ready {
    bench.announce(now, i32::try_from(now / DAY_MS).unwrap());
    bench.close(now, vec![candidate(now, n, &format!("work:{n}"), Ok(()))]).remove(0)
}

fn seen(bench: &mut Bench, now: i64, when: i64) {
    bench.step(now, Input::Seen { surface: &"site".into(), at: Millis(when) });
}

fn wakes(bench: &mut Bench, now: i64) -> Vec<Ready> {
    bench.step(now, Input::Again).ready
}

#[test]
fn a_push_says_what_to_count() {
    let mut bench = bench();
    let unseen = told(&mut bench, MINUTE, 1).badge.unwrap();
    assert_eq!((unseen.days, unseen.since), ([Day(0)].into(), Millis(0)));
    let unseen = told(&mut bench, DAY_MS, 2).badge.unwrap();
    assert_eq!(unseen.days, [Day(0), Day(1)].into(), "what was told before is not seen yet");
    let mut without = Bench::with(|plan| plan.close = after(0));
    assert_eq!(told(&mut without, MINUTE, 1).badge, None);
    assert_eq!(without.record.badge, None);
}

#[test]
fn who_comes_has_seen_it_on_every_device() {
    let mut bench = bench();
    told(&mut bench, MINUTE, 1);
    // They were there before it was told, and this is only heard now.
    seen(&mut bench, 2 * MINUTE, MINUTE - 1);
    assert!(bench.record.badge.as_ref().unwrap().due.is_none());
    seen(&mut bench, 3 * MINUTE, 3 * MINUTE);
    let due = 3 * MINUTE + BADGE_WAIT_MS;
    assert_eq!(bench.record.next_due(), Some(Millis(due)));
    assert!(wakes(&mut bench, due - 1).is_empty(), "not yet");
    let [ready] = wakes(&mut bench, due).try_into().unwrap();
    assert!(ready.is_badge() && ready.silent && ready.badge.as_ref().unwrap().days.is_empty());
    assert_eq!(wakes(&mut bench, due + 1), [], "once");
    seen(&mut bench, 9 * MINUTE, 9 * MINUTE);
    assert_eq!(wakes(&mut bench, 10 * MINUTE), [], "there is nothing to set right");
    let unseen = told(&mut bench, 11 * MINUTE, 2).badge.unwrap();
    assert_eq!(unseen.since, Millis(3 * MINUTE), "what was told before they came does not count again");
}

#[test]
fn who_reads_some_has_the_rest_counted() {
    let mut bench = bench();
    told(&mut bench, MINUTE, 1);
    for second in 0..3 {
        bench.step(2 * MINUTE + second, Input::Read { at: Millis(2 * MINUTE + second) });
    }
    let due = 2 * MINUTE + BADGE_WAIT_MS;
    let [first] = wakes(&mut bench, due).try_into().unwrap();
    assert_eq!(first.badge.as_ref().unwrap().days, [Day(0)].into());
    bench.step(3 * MINUTE, Input::Read { at: Millis(3 * MINUTE) });
    let [second] = wakes(&mut bench, 4 * MINUTE).try_into().unwrap();
    assert_ne!(first.id, second.id, "each is a message of its own");
    // A push with words says the number itself.
    bench.step(5 * MINUTE, Input::Read { at: Millis(5 * MINUTE) });
    told(&mut bench, 5 * MINUTE + 1, 2);
    assert_eq!(wakes(&mut bench, 6 * MINUTE), []);
}

#[test]
fn a_badge_is_forgotten_after_a_while() {
    let mut bench = bench();
    told(&mut bench, MINUTE, 1);
    bench.record.owed.clear();
    assert!(!bench.record.is_spent(Millis(BADGE_LIFE_MS)));
    assert!(bench.record.is_spent(Millis(MINUTE + BADGE_LIFE_MS)));
    seen(&mut bench, BADGE_LIFE_MS, BADGE_LIFE_MS);
    assert!(!bench.record.is_spent(Millis(2 * BADGE_LIFE_MS)), "a push is still to go out");
}

#[test]
fn what_counts_was_told_by_push_and_not_seen() {
    let key = super::key(5, 1);
    let check = |marks: &[(Option<Channel>, What)], since: i64, count: usize| {
        let mark =
            |(on, what): &(Option<Channel>, What)| Row::Mark(Mark::new(*on, *what, vec![key], Millis(50)));
        let rows: Vec<Row> =
            std::iter::once(super::entry(key, "author:1")).chain(marks.iter().map(mark)).collect();
        assert_eq!(badge::count(&fold(&rows), Millis(since), |_| false), count, "{marks:?} since {since}");
        assert_eq!(badge::count(&fold(&rows), Millis(since), |_| true), 0);
    };
    let id = ReadyId([1; 16]);
    let (push, mail) = (Some(Channel::Push), Some(Channel::Email));
    check(&[], 0, 0);
    check(&[(push, What::Taken(id))], 0, 1);
    check(&[(push, What::Taken(id))], 50, 0);
    check(&[(mail, What::Taken(id))], 0, 0);
    check(&[(push, What::Taken(id)), (None, What::Read)], 0, 0);
    check(&[(push, What::Taken(id)), (None, What::Cleared)], 0, 0);
    check(&[(push, What::Taken(id)), (push, What::Returned { ready: id, maybe: true })], 0, 0);
}
