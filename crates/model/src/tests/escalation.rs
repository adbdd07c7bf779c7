//! What one plan told and nobody came for.

use super::{
    StepBench, candidate,
    windows::{MINUTE, close_after},
};
use crate::{
    Channel, EndReason, PlanName, UtcMillis,
    closing_candidate::ClosingCandidate,
    delivery::{Delivery, DeliveryOutcome},
    plan::{EscalationRule, OnlineSurface},
    ready::Ready,
    window::StepInput,
};

/// A plan that tells at once, and one that follows it after ten minutes.
fn escalation_bench() -> StepBench {
    let mut bench = StepBench::with_plan(|plan| plan.close = close_after(0));
    let mut next = bench.plan().clone();
    next.name = PlanName::new("next").unwrap();
    next.follows = Some(EscalationRule { plans: vec![bench.plan().name.clone()], wait_ms: 10 * MINUTE });
    bench.plans.by_name.insert(next.name.clone(), next);
    bench.plans.surfaces = vec![OnlineSurface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
    bench
}

fn tell_message(bench: &mut StepBench) -> Ready {
    bench.announce(MINUTE, 0);
    let mut readys = bench.close(MINUTE, vec![candidate(1, 1, "work:1", Ok(()))]);
    readys.remove(0)
}

fn report_outcome(bench: &mut StepBench, now: i64, ready: &Ready, outcome: DeliveryOutcome) {
    let delivery = Delivery {
        ready: ready.id,
        tenant: ready.tenant.clone(),
        person: ready.person.clone(),
        plan: ready.plan.clone(),
        key: ready.key.clone(),
        channel: Channel::Email,
        attempt: 0,
        at: UtcMillis(now),
        outcome,
    };
    bench.step(now, StepInput::Reported(&delivery));
}

/// All of it was left out, for this reason.
fn nothing_sent(ready: &Ready, why: EndReason) -> DeliveryOutcome {
    DeliveryOutcome::Nothing { left: ready.entries.iter().map(|entry| (entry.key, why)).collect() }
}

#[test]
fn it_waits_from_the_report_on() {
    let check = |outcome: fn(Ready) -> DeliveryOutcome, due: i64| {
        let mut bench = escalation_bench();
        let ready = tell_message(&mut bench);
        assert_eq!(bench.due(), 71 * MINUTE + 1, "without a report it goes on all the same");
        report_outcome(&mut bench, 3 * MINUTE, &ready, outcome(ready.clone()));
        assert_eq!(bench.record.windows[0].due.0 / MINUTE, due);
    };
    check(|_| DeliveryOutcome::Sent { left: vec![] }, 13);
    check(|ready| nothing_sent(&ready, EndReason::NoAddress), 3);
    check(|ready| nothing_sent(&ready, EndReason::NoLongerTrue), 13);
    check(|_| DeliveryOutcome::Refused { left: vec![] }, 3);
    check(|_| DeliveryOutcome::Unknown { back: vec![], left: vec![] }, 13);
    check(|ready| DeliveryOutcome::Deferred { until: UtcMillis(5 * MINUTE), ready }, 75);
}

#[test]
fn whoever_comes_has_seen_it() {
    let check = |seen: Option<i64>, expected: usize| {
        let mut bench = escalation_bench();
        let ready = tell_message(&mut bench);
        report_outcome(&mut bench, 2 * MINUTE, &ready, DeliveryOutcome::Sent { left: vec![] });
        if let Some(minute) = seen {
            let at = UtcMillis(minute * MINUTE);
            bench.step(at.0, StepInput::Seen { surface: &"site".into(), at });
        }
        let one = ClosingCandidate { told: Some(UtcMillis(MINUTE)), ..candidate(1, 1, "work:1", Ok(())) };
        let told = bench.close(12 * MINUTE, vec![one]);
        assert_eq!(told.len(), expected, "{seen:?}");
        assert!(bench.record.windows.is_empty());
    };
    check(None, 1);
    check(Some(0), 1);
    check(Some(5), 0);
}

/// They came for the first, and not for the second, which was told after that.
#[test]
fn what_was_told_since_they_came_waits_for_itself() {
    let mut bench = escalation_bench();
    let ready = tell_message(&mut bench);
    report_outcome(&mut bench, 2 * MINUTE, &ready, DeliveryOutcome::Sent { left: vec![] });
    bench.step(5 * MINUTE, StepInput::Seen { surface: &"site".into(), at: UtcMillis(5 * MINUTE) });
    let both = || {
        let one = |n: u8, minute| {
            let subject = format!("work:{n}");
            ClosingCandidate {
                told: Some(UtcMillis(minute * MINUTE)),
                ..candidate(i64::from(n), n, &subject, Ok(()))
            }
        };
        vec![one(1, 1), one(2, 6)]
    };
    assert!(bench.close(12 * MINUTE, both()).is_empty());
    assert_eq!(bench.due(), 16 * MINUTE, "ten minutes after the second");
    let readys = bench.close(16 * MINUTE, both());
    let subjects: Vec<&str> = readys[0].entries.iter().map(|entry| entry.subject.as_str()).collect();
    assert_eq!(subjects, ["work:2"]);
}

#[test]
fn who_cannot_be_reached_is_told_on_the_next_at_once() {
    let mut bench = escalation_bench();
    bench.announce(MINUTE, 0);
    assert!(bench.close(MINUTE, vec![candidate(1, 1, "work:1", Err(EndReason::NoAddress))]).is_empty());
    assert!(bench.due() <= MINUTE + 1);
    assert_eq!(bench.record.windows[0].plan.as_str(), "next");
}

/// What was withdrawn, muted or told before is no reason to tell the others sooner.
#[test]
fn what_ended_hurries_nobody() {
    let check = |why: EndReason, due: i64| {
        // Beside one that is told.
        let mut bench = escalation_bench();
        bench.announce(MINUTE, 0);
        let both = vec![candidate(1, 1, "work:1", Ok(())), candidate(2, 2, "work:2", Err(why))];
        assert_eq!(bench.close(MINUTE, both).len(), 1);
        assert_eq!(bench.due(), 71 * MINUTE + 1, "{why:?}");
        // While another one waits for the person.
        let mut bench = self::escalation_bench();
        let ready = tell_message(&mut bench);
        report_outcome(&mut bench, 2 * MINUTE, &ready, DeliveryOutcome::Sent { left: vec![] });
        bench.announce(3 * MINUTE, 0);
        let place = bench.record.windows.iter().position(|window| window.plan.as_str() != "next").unwrap();
        let window = bench.record.windows[place].clone();
        let candidates = vec![candidate(2, 2, "work:2", Err(why))];
        bench.step(
            3 * MINUTE,
            StepInput::Due { window: &window, joined: &[], candidates, put_off: [].into(), live: None },
        );
        assert_eq!(bench.due(), due * MINUTE, "{why:?}");
    };
    for why in EndReason::ALL {
        check(why, if why.is_unreached() { 3 } else { 12 });
    }
}

/// What ended alone is ended by whoever follows, at once; what is told at that very instant has its wait.
#[test]
fn what_ended_alone_does_not_wait_and_what_is_told_beside_it_does() {
    let mut bench = escalation_bench();
    bench.announce(MINUTE, 0);
    assert!(bench.close(MINUTE, vec![candidate(1, 1, "work:1", Err(EndReason::Muted))]).is_empty());
    assert!(bench.due() <= MINUTE + 1);
    bench.announce(MINUTE, 0);
    let place = bench.record.windows.iter().position(|window| window.plan.as_str() != "next").unwrap();
    let window = bench.record.windows[place].clone();
    let candidates = vec![candidate(2, 2, "work:2", Ok(()))];
    bench.step(
        MINUTE + 2,
        StepInput::Due { window: &window, joined: &[], candidates, put_off: [].into(), live: None },
    );
    assert_eq!(bench.due(), 71 * MINUTE + 2);
}

#[test]
fn nothing_opens_it_but_the_plan_that_it_follows() {
    let mut bench = escalation_bench();
    let wanted =
        crate::window::WindowTarget { plan: PlanName::new("next").unwrap(), key: "".into(), aim: None };
    let input = StepInput::Announced { day: crate::Day(0), rows: 1, wanted: &[wanted] };
    bench.step(MINUTE, input);
    assert!(bench.record.windows.is_empty());
}
