//! What somebody does to windows by hand: they close now, tell or tell nothing, and each act means what was open.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{
    NINE, StepBench, at_nine, candidate,
    windows::{HOUR, MINUTE, close_after},
};
use crate::{
    Channel, EndReason, EntryKey, Kind, MarkAction, PlanName, UtcMillis,
    closing_candidate::ClosingCandidate,
    limits::{DAY_MS, LIST_KEYS_MAX, RECORD_BYTES_MAX, RECORD_KEYS_MAX},
    person::{Act, HoldCause, Window},
    plan::{
        CapPeriod, CloseRule, EscalationRule, FirstRule, MessageCap, OnlineRule, OnlineSurface, Plan,
        RestRule, WeekdaySet,
    },
    window::StepInput,
};

fn holding_candidate(n: u8) -> ClosingCandidate {
    candidate(i64::from(n), n, &format!("work:{n}"), Ok(()))
}

/// Which entries ended so, and which were told.
fn ended_keys(bench: &StepBench, why: EndReason) -> BTreeSet<EntryKey> {
    let owed = bench.record.owed.iter().filter(|owed| owed.mark.what == MarkAction::Ended(why));
    owed.flat_map(|owed| owed.mark.covers.clone()).collect()
}

#[test]
fn whatever_would_have_it_wait_an_act_closes_it() {
    let check = |case: &str, act: Act, change: fn(&mut Plan)| {
        let mut bench = StepBench::with_plan(change);
        bench.plans.surfaces =
            vec![OnlineSurface { name: "site".into(), online_ms: 15 * MINUTE, asks_live: false }];
        bench.plans.caps.push(MessageCap {
            name: "one".into(),
            most: 1,
            per: CapPeriod::Rolling { ms: DAY_MS },
            channel: Some(Channel::Email),
            kinds: vec![Kind::new("news").unwrap()],
            tenants: vec![],
        });
        bench.record.counted.insert("one".into(), vec![UtcMillis(1)]);
        bench.step(1, StepInput::Seen { surface: &"site".into(), at: UtcMillis(1) });
        bench.announce(2, 0);
        bench.by_hand(3, act, None, 3);
        assert!(bench.due() <= 3, "{case}");
        let told = bench.close(3, vec![holding_candidate(1), holding_candidate(2)]);
        assert_eq!(bench.record.windows, [], "{case}");
        let tells = if act == Act::Release { 2 } else { 0 };
        let entries: usize = told.iter().map(|ready| ready.entries.len()).sum();
        assert_eq!((entries, ended_keys(&bench, EndReason::Cancelled).len()), (tells, 2 - tells), "{case}");
        let keeps_date = bench.plan().close.is_calendar() && tells > 0;
        assert_eq!(bench.record.told_on.len(), usize::from(keeps_date), "{case}");
    };
    for act in [Act::Release, Act::Cancel] {
        check("calendar", act, |plan| plan.close = at_nine(WeekdaySet::ALL, 0));
        check("after", act, |plan| plan.close = close_after(60));
        check("online", act, |plan| (plan.close, plan.online) = (close_after(0), Some(OnlineRule::Hold)));
        check("away", act, |plan| plan.close = CloseRule::Away { ms: HOUR });
        check("too few", act, |plan| (plan.close, plan.at_least) = (close_after(60), 9));
        check("first alone", act, |plan| (plan.close, plan.first) = (close_after(60), FirstRule::Alone));
        check("first both", act, |plan| (plan.close, plan.first) = (close_after(60), FirstRule::Both));
        check("rest", act, |plan| {
            let (start_ms, most_ms) = (HOUR, HOUR);
            plan.rest = Some(RestRule { start_ms, factor: 1, most_ms, each_ms: 0, reset_ms: HOUR });
        });
    }
}

#[test]
fn what_is_held_is_let_go() {
    for act in [Act::Release, Act::Cancel] {
        let mut bench = StepBench::with_plan(|plan| {
            (plan.close, plan.online) = (CloseRule::Away { ms: MINUTE }, Some(OnlineRule::Hold));
        });
        bench.plans.surfaces = vec![OnlineSurface { name: "site".into(), online_ms: HOUR, asks_live: false }];
        bench.step(1, StepInput::Seen { surface: &"site".into(), at: UtcMillis(1) });
        bench.announce(2, 0);
        assert!(bench.close(MINUTE + 1, vec![holding_candidate(1)]).is_empty());
        assert_eq!((bench.due(), bench.record.windows[0].held), (HOUR + 1, Some(HoldCause::Online)));
        // They are seen again, so it would close later still.
        bench.step(HOUR, StepInput::Seen { surface: &"site".into(), at: UtcMillis(HOUR) });
        bench.by_hand(HOUR + 1, act, None, HOUR + 1);
        let told = bench.close(HOUR + 1, vec![holding_candidate(1)]);
        assert_eq!((told.len(), bench.record.windows.len()), (usize::from(act == Act::Release), 0));
    }
}

#[test]
fn what_is_cancelled_ends_and_what_had_ended_keeps_its_reason() {
    let mut bench = StepBench::new(1, 1);
    bench.announce(1, 0);
    bench.by_hand(2, Act::Cancel, None, 2);
    let unfollowed = candidate(3, 3, "work:3", Err(EndReason::Unfollowed));
    let unreached = candidate(4, 4, "work:4", Err(EndReason::NoAddress));
    // Of a subject that a Ready says which waits for another attempt.
    let awaits = ClosingCandidate { awaits: true, ..holding_candidate(5) };
    let told_first = ClosingCandidate { repeated: true, ..holding_candidate(6) };
    let candidates =
        vec![holding_candidate(1), holding_candidate(2), unfollowed, unreached, awaits, told_first];
    assert!(bench.close(2, candidates).is_empty());
    let keys = |numbers: &[u8]| numbers.iter().map(|n| holding_candidate(*n).key).collect::<BTreeSet<_>>();
    assert_eq!(ended_keys(&bench, EndReason::Cancelled), keys(&[1, 2, 5]));
    assert_eq!(ended_keys(&bench, EndReason::Unfollowed), keys(&[3]));
    assert_eq!(ended_keys(&bench, EndReason::NoAddress), keys(&[4]));
    assert!(bench.record.windows.is_empty() && bench.record.told_on.is_empty());
    // What comes then is told at its hour.
    bench.announce(3, 0);
    assert_eq!((bench.due(), bench.close(NINE, vec![holding_candidate(7)]).len()), (NINE, 1));
}

#[test]
fn nothing_follows_what_was_cancelled() {
    let mut bench = StepBench::with_plan(|plan| plan.close = close_after(60));
    let mut next = bench.plan().clone();
    next.name = PlanName::new("next").unwrap();
    next.follows = Some(EscalationRule { plans: vec![bench.plan().name.clone()], wait_ms: MINUTE });
    bench.plans.by_name.insert(next.name.clone(), next);
    bench.announce(1, 0);
    bench.by_hand(2, Act::Cancel, None, 2);
    assert!(
        bench
            .close(2, vec![holding_candidate(1), candidate(2, 2, "work:2", Err(EndReason::NoAddress))])
            .is_empty()
    );
    assert_eq!(bench.record.windows, []);
}

/// However much ends, one closing names it all: what is owed for it is lists.
#[test]
fn one_closing_names_all_that_ends() {
    let mut bench = StepBench::new(8, 1);
    bench.announce(1, 0);
    bench.by_hand(2, Act::Cancel, None, 2);
    let many = 40 * RECORD_KEYS_MAX;
    let all = (0..many).map(|n| candidate(i64::try_from(n).unwrap(), 1, &format!("work:{n}"), Ok(())));
    let all: Vec<ClosingCandidate> = all.collect();
    assert!(bench.close(3, all).is_empty());
    assert_eq!(bench.record.windows, []);
    assert_eq!(ended_keys(&bench, EndReason::Cancelled).len(), many);
    let weight = bench.record.weight();
    let lists = bench.record.list_owed_keys();
    assert_eq!(lists.iter().map(|(_, list)| list.keys().len()).sum::<usize>(), many);
    assert!(lists.iter().all(|(_, list)| list.keys().len() <= LIST_KEYS_MAX));
    assert_eq!(bench.record.owed_keys().count(), 0);
    assert_eq!(bench.record.weight(), weight);
    assert!(weight < RECORD_BYTES_MAX / 2, "{weight}");
}

#[test]
fn a_cancel_wins_over_a_release_in_any_order() {
    for acts in [[Act::Release, Act::Cancel], [Act::Cancel, Act::Release]] {
        let mut bench = StepBench::new(8, 1);
        bench.announce(1, 0);
        for act in acts {
            bench.by_hand(2, act, None, 2);
        }
        assert_eq!(bench.record.windows[0].act, Some(Act::Cancel), "{acts:?}");
        assert!(bench.close(2, vec![holding_candidate(1)]).is_empty(), "{acts:?}");
    }
}

#[test]
fn one_window_is_meant_by_its_key_and_its_opening() {
    let check = |key: Option<&str>, when: i64, meant: &[&str]| {
        let mut bench = StepBench::with_plan(|plan| plan.close = close_after(60));
        for (at, key) in [(10, ""), (20, "a"), (30, "b")] {
            bench.announce_to(at, 0, key, None);
        }
        bench.by_hand(40, Act::Cancel, key, when);
        let acted = bench.record.windows.iter().filter(|window| window.is_acted_on());
        let keys: Vec<&str> = acted.map(|window| &*window.key).collect();
        assert_eq!(keys, meant, "{key:?} at {when}");
    };
    check(None, 40, &["", "a", "b"]);
    check(None, 25, &["", "a"]);
    check(Some(""), 40, &[""]);
    check(Some("a"), 20, &["a"]);
    check(Some("a"), 19, &[]);
    check(Some("b"), 40, &["b"]);
    check(Some("c"), 40, &[]);
    // By its own opening, which nothing that opens later has.
    let mut bench = StepBench::with_plan(|plan| plan.close = close_after(0));
    bench.announce(10, 0);
    let opening = bench.record.windows[0].opening;
    bench.by_hand(10, Act::Cancel, Some(""), opening.0);
    assert!(bench.close(10, vec![holding_candidate(1)]).is_empty());
    bench.announce(10, 0);
    bench.by_hand(10, Act::Cancel, Some(""), opening.0);
    let [Window { act: None, .. }] = bench.record.windows.as_slice() else { panic!("{:?}", bench.record) };
}

/// What happens in a person's life under one plan.
#[derive(Clone, Copy, Debug)]
enum WindowHappening {
    Comes,
    Acts(Act, i64),
    /// The last act is read once more.
    Again,
    Passes(i64),
}

fn any_happening() -> impl Strategy<Value = WindowHappening> {
    let act = prop::sample::select(vec![Act::Release, Act::Cancel]);
    prop_oneof![
        4 => Just(WindowHappening::Comes),
        2 => (act, 0..3 * MINUTE).prop_map(|(act, ago)| WindowHappening::Acts(act, ago)),
        1 => Just(WindowHappening::Again),
        2 => (0..90 * MINUTE).prop_map(WindowHappening::Passes),
    ]
}

proptest! {
    /// Law 8 with acts: each entry is told once or cancelled, never both, and cancelled only where somebody did so; what
    /// an act closed is not closed by the same act again.
    #[test]
    fn whatever_is_done_by_hand_everything_has_one_fate(
        life in prop::collection::vec(any_happening(), 1..40),
        (wait, most) in (0..120_i64, 1..4_u16),
    ) {
        let mut bench = StepBench::with_plan(|plan| (plan.close, plan.sections[0].most) = (close_after(wait), most));
        let (mut now, mut came, mut told, mut cancelled) = (1, Vec::new(), Vec::new(), Vec::new());
        let (mut last, mut cancels) = (None, false);
        // At the end all is quiet until everything has closed.
        for happens in life.into_iter().chain([WindowHappening::Passes(40 * 3 * HOUR)]) {
            let until = now + if let WindowHappening::Passes(ms) = happens { ms } else { 1 };
            match happens {
                WindowHappening::Comes => {
                    let n = u8::try_from(came.len()).unwrap();
                    came.push(candidate(now, n, &format!("work:{n}"), Ok(())));
                    bench.announce(now, 0);
                }
                WindowHappening::Acts(act, ago) => {
                    last = Some((act, now - ago));
                    cancels |= act == Act::Cancel;
                }
                WindowHappening::Again | WindowHappening::Passes(_) => {}
            }
            if let (WindowHappening::Acts(..) | WindowHappening::Again, Some((act, when))) = (happens, last) {
                bench.by_hand(now, act, None, when);
                let acted = bench.record.windows.iter().filter(|window| window.is_acted_on());
                let late: Vec<&Window> = acted.filter(|window| window.opening.0 > when).collect();
                prop_assert!(late.is_empty(), "{late:?} opened after {when}");
            }
            while let Some(due) = bench.record.windows.iter().map(|one| one.due.0).min().filter(|due| *due <= until) {
                now = now.max(due);
                let done: Vec<EntryKey> = told.iter().chain(&cancelled).copied().collect();
                let left = came.iter().filter(|one| !done.contains(&one.key)).cloned().collect();
                let readys = bench.close(now, left);
                told.extend(readys.iter().flat_map(|ready| ready.entries.iter().map(|entry| entry.key)));
                cancelled.extend(ended_keys(&bench, EndReason::Cancelled));
                bench.record.owed.clear();
            }
            now = now.max(until);
        }
        let mut all: Vec<EntryKey> = told.iter().chain(&cancelled).copied().collect();
        all.sort_unstable();
        let mut expected: Vec<EntryKey> = came.iter().map(|one| one.key).collect();
        expected.sort_unstable();
        prop_assert_eq!(all, expected, "told {:?}, cancelled {:?}", told, cancelled);
        prop_assert!(cancels || cancelled.is_empty());
    }
}
