//! When a plan may tell: never before what its `close` allows, and after a message not before its rest is over.
//!
//! Of a message only its instant, its plan and what it tells are taken; and of its window which messages before it were of
//! the same one, for what a plan tells first leaves its window open.

use std::collections::BTreeSet;

use model::{
    EntryKey, UtcMillis, civil_time,
    delivery::DeliveryOutcome,
    limits::LAST_MS,
    plan::{CloseRule, FirstRule, LocalTime, Plan},
    ready::Ready,
};

use super::{
    hold_rules::{NOTED_MS, rule_zone},
    oracle::{OracleMessage, PlanOracle, TellingMoment},
};
use crate::{
    names::{LIFE, tenant},
    outcomes,
};

/// Whether a message was the first of the window that another one closed. Where there were too few, the next window goes
/// on with what was told first.
pub fn is_first_of(plan: &Plan, first: &Ready, then: &Ready) -> bool {
    let goes_on = plan.at_least > 1 && first.opening < then.opening;
    let same = (&first.plan, &first.key) == (&then.plan, &then.key);
    plan.first == FirstRule::Both && first.id != then.id && same && (first.opening == then.opening || goes_on)
}

pub fn check_early(
    oracle: &PlanOracle,
    ready: &Ready,
    plan: &Plan,
    acted: bool,
    world: &TellingMoment<'_>,
) -> Result<(), String> {
    if acted {
        return Ok(());
    }
    if plan.follows.is_some() {
        return check_followed(oracle, ready, plan, world);
    }
    let now = world.now;
    let own: Vec<&OracleMessage> =
        oracle.messages.iter().filter(|told| is_same_window(&told.ready, ready)).collect();
    let is_first =
        plan.first != FirstRule::Gathered && own.iter().all(|told| told.ready.opening != ready.opening);
    if !is_first && count_things(ready, plan) < usize::from(plan.at_least) {
        return Err(format!("tells {}, fewer than {}", ready.entries.len(), plan.at_least));
    }
    if is_first || goes_alone(plan, ready, &own) || was_last(oracle, plan, now, now) {
        return Ok(());
    }
    if let (Some(rest), Some(last)) = (&plan.rest, own.last())
        && now < last.at.plus(rest.start_ms)
    {
        return Err(format!("comes at rest: the last one was at {}", last.at));
    }
    if has_enough(oracle, ready, plan) {
        return Ok(());
    }
    let since = earliest_opening(oracle, ready, plan, &own);
    let from = match &plan.close {
        CloseRule::After { ms } | CloseRule::Silence { ms, .. } => since.map(|since| since.plus(*ms)),
        CloseRule::Away { ms } => oracle.visits.iter().map(|(_, at)| at.plus(ms - NOTED_MS)).max(),
        CloseRule::Before { ms, .. } => earliest_start(oracle, ready, plan).map(|starts| starts.plus(-ms)),
        CloseRule::Calendar { .. } => return check_on_time(oracle, plan, world),
    };
    match from {
        Some(from) if now < from => Err(format!("comes too early: it closes at {from} at the soonest")),
        _ => Ok(()),
    }
}

fn is_same_window(one: &Ready, other: &Ready) -> bool {
    (&one.plan, &one.key) == (&other.plan, &other.key)
}

fn count_things(ready: &Ready, plan: &Plan) -> usize {
    match plan.once_per {
        model::plan::OncePer::Event => ready.entries.len(),
        _ => ready.entries.iter().map(|entry| &entry.subject).collect::<BTreeSet<_>>().len(),
    }
}

/// Few were told lately, so that it need not wait.
fn goes_alone(plan: &Plan, ready: &Ready, own: &[&OracleMessage]) -> bool {
    let Some(alone) = &plan.alone else { return false };
    let lately = own.iter().filter(|told| told.at > ready.opening.plus(-alone.within_ms)).count();
    lately < usize::from(alone.most)
}

/// So many entries wait that the window closes before its time.
fn has_enough(oracle: &PlanOracle, ready: &Ready, plan: &Plan) -> bool {
    let Some(most) = plan.entries else { return false };
    // What is told once more counts as well, also where it finds no room for that.
    let firsts = oracle.messages.iter().map(|told| &told.ready).filter(|told| is_first_of(plan, told, ready));
    let told: BTreeSet<EntryKey> =
        firsts.chain([ready]).flat_map(|ready| &ready.entries).map(|entry| entry.key).collect();
    let waits = |(key, event): &(&EntryKey, &super::script::ScriptEvent)| {
        let told = told.contains(*key);
        told || PlanOracle::tells(plan, event.kind) && !oracle.is_taken(**key, ready.channel)
    };
    oracle.entries.iter().filter(waits).count() >= usize::from(most)
}

/// Since this instant it was the last call of some day: what waits in it is told while it can be. A calendar has its own
/// times.
fn was_last(oracle: &PlanOracle, plan: &Plan, since: UtcMillis, now: UtcMillis) -> bool {
    let end = |key: &EntryKey| {
        let looked_back = key.day().plus(i32::from(plan.look_back_days) + 1).start();
        looked_back.min(LIFE.expiry(key.day()))
    };
    (plan.follows.is_some() || !plan.close.is_calendar())
        && oracle.entries.keys().map(end).any(|end| since < end && end.plus(-LAST_MS) <= now)
}

/// The earliest instant at which the window of a message can have opened: as the one before it closed, or as the first
/// entry was stored; for whoever reads its day for something else may find it there.
fn earliest_opening(
    oracle: &PlanOracle,
    ready: &Ready,
    plan: &Plan,
    own: &[&OracleMessage],
) -> Option<UtcMillis> {
    let before = own.iter().rev().find(|told| told.ready.opening != ready.opening).map(|told| told.at);
    let heard = || {
        // Of a kind that is gone any window hears, to end it.
        // And whoever prefers another plan has its window opened for what waits.
        let of_plan = |key: &EntryKey| {
            let kind = oracle.entries.get(key).map_or("", |event| event.kind);
            oracle.chose || PlanOracle::tells(plan, kind) || !oracle.knows(kind)
        };
        oracle.stored.iter().filter(|(key, _)| of_plan(key)).map(|(_, at)| *at).min()
    };
    before.or_else(heard)
}

/// The earliest instant that anything is about that may wait in its window; what was told first waits to be told again.
fn earliest_start(oracle: &PlanOracle, ready: &Ready, plan: &Plan) -> Option<UtcMillis> {
    let of_window =
        |told: &&OracleMessage| told.ready.opening == ready.opening && is_same_window(&told.ready, ready);
    let own = oracle.messages.iter().filter(of_window).map(|told| &told.ready).chain([ready]);
    let told: BTreeSet<EntryKey> = own.flat_map(|ready| &ready.entries).map(|entry| entry.key).collect();
    let waits = oracle.entries.iter().filter(|(key, event)| {
        told.contains(key) || PlanOracle::tells(plan, event.kind) && !oracle.is_taken(**key, ready.channel)
    });
    waits.filter_map(|(_, event)| oracle.starts.get(&event.work)).flatten().min().copied()
}

/// At the time on the wall that the plan names, unless something may have held it.
fn check_on_time(oracle: &PlanOracle, plan: &Plan, world: &TellingMoment<'_>) -> Result<(), String> {
    let CloseRule::Calendar { dates, times, zone: rule, spread_ms, best } = &plan.close else {
        return Ok(());
    };
    let caps = &oracle.catalogue.plans.caps;
    let is_capped = caps.iter().any(|cap| cap.counts_plan(plan, &tenant("main")));
    if oracle.has_nights(plan) || plan.online.is_some() || is_capped {
        return Ok(());
    }
    let zone = rule_zone(rule, world);
    let date = civil_time::local_date(world.now, &zone);
    let time = civil_time::local_time(world.now, &zone);
    let best = best.is_some_and(|hours| hours.has(time) && time.minute == 0);
    let within = |at: LocalTime| {
        let begin = civil_time::local_instant(date, at, &zone).unwrap();
        begin <= world.now && world.now.since(begin) <= *spread_ms
    };
    if dates.has(date) && (times.iter().any(|at| within(*at)) || best) {
        return Ok(());
    }
    // Just after midnight it may be within the spread of the evening before.
    if *spread_ms > 0
        && times
            .iter()
            .filter_map(|at| civil_time::local_instant(date - 1, *at, &zone))
            .any(|begin| world.now.since(begin) <= *spread_ms)
    {
        return Ok(());
    }
    Err(format!("comes at {time:?} of a plan that closes at {times:?}"))
}

/// What follows tells what was told so long ago, or what could not be told.
fn check_followed(
    oracle: &PlanOracle,
    ready: &Ready,
    plan: &Plan,
    world: &TellingMoment<'_>,
) -> Result<(), String> {
    let Some(follows) = &plan.follows else { return Ok(()) };
    let of = |told: &&OracleMessage| follows.plans.contains(&told.ready.plan);
    let last =
        oracle.messages.iter().filter(|told| is_same_window(&told.ready, ready)).map(|told| told.at).max();
    for entry in &ready.entries {
        let told: Vec<&OracleMessage> = oracle
            .messages
            .iter()
            .filter(of)
            .filter(|told| match &told.reported {
                // What it went out without it has not told.
                Some(delivery) => outcomes::told_entries(&told.ready, delivery).any(|key| key == entry.key),
                None => told.ready.entries.iter().any(|one| one.key == entry.key),
            })
            .collect();
        // Somebody who came since has seen it for themselves.
        let when = told.iter().map(|told| told.at).max();
        if let Some(when) = when.filter(|_| oracle.is_taken(entry.key, told[0].ready.channel))
            && oracle.visits.iter().any(|(_, at)| *at > when)
        {
            return Err(format!("tells {} though they came after {when}", entry.key));
        }
    }
    // Whatever of the plans before went out since the last one of this plan, the first of them says when.
    let since = oracle.messages.iter().filter(of).filter(|told| last.is_none_or(|last| told.at >= last));
    let ends = since.map(|told| match &told.reported {
        Some(delivery) if matches!(delivery.outcome, DeliveryOutcome::Sent { .. }) => {
            delivery.at.plus(follows.wait_ms)
        }
        Some(_) => told.at,
        None => told.at.plus(follows.wait_ms),
    });
    // What came back of a message of its own is told again without waiting once more.
    let came_back = |key| {
        let own = oracle.messages.iter().filter(|told| told.ready.plan == plan.name);
        own.filter(|told| told.ready.entries.iter().any(|one| one.key == key)).count() > 0
    };
    let reached = ready.entries.iter().all(|entry| {
        if came_back(entry.key) {
            return false;
        }
        let channels = follows.plans.iter().filter_map(|name| oracle.catalogue.plans.by_name.get(name));
        channels.map(|plan| plan.channel).any(|channel| oracle.is_taken(entry.key, channel))
    });
    // What had no room in the last one goes so long after that. A limit (docs/windows.md): a last call hurries all that is
    // in the window, also where that was held beyond it.
    let carried = last.map(|last| last.plus(follows.wait_ms));
    match ends.chain(carried).min() {
        Some(end) if reached && world.now < end && !was_last(oracle, plan, ready.opening, world.now) => {
            Err(format!("follows too early: not before {end}"))
        }
        _ => Ok(()),
    }
}
