//! What holds a window that is due: quiet hours, caps, the person being here.

use proptest::prelude::*;

use super::windows::{HOUR, MINUTE, Step, after, play_with};
use crate::{
    Channel,
    plan::{
        Cap, Close, Hours, LocalTime, Online, Per, Plan, Plans, Quiet, Surface, Then, Weekdays, ZoneRule,
    },
};
use Step::{Comes, Seen};

fn all(plans: &mut Plans, change: impl FnMut(&mut Plan)) {
    plans.by_name.values_mut().for_each(change);
}

fn hours(from: u8, to: u8, then: Then) -> Quiet {
    let time = |hour| LocalTime { hour, minute: 0 };
    Quiet { hours: Hours { from: time(from), to: time(to) }, zone: ZoneRule::Person, then }
}

fn cap(name: &str, most: u8, per: Per) -> Cap {
    Cap { name: name.into(), most, per, channel: Some(Channel::Email), kinds: vec![], tenants: vec![] }
}

fn check(change: impl FnOnce(&mut Plans), steps: &[Step], told: &str) {
    assert_eq!(play_with(change, steps), told, "{steps:?}");
}

/// Midnight is minute 0; at 22:00 minute 1320 has come, at 08:00 of the next day minute 1920.
#[test]
fn nobody_is_disturbed_in_quiet_hours() {
    let night = |then| {
        move |plans: &mut Plans| {
            all(plans, |plan| (plan.close, plan.quiet) = (after(10), Some(hours(22, 8, then))));
        }
    };
    check(night(Then::Hold), &[Comes(600)], "610: 600;");
    check(night(Then::Hold), &[Comes(1_309), Comes(1_310)], "1319: 1309 1310;");
    check(night(Then::Hold), &[Comes(1_310), Comes(1_315), Comes(1_800)], "1920: 1310 1315 1800;");
    // The night that began yesterday.
    check(night(Then::Hold), &[Comes(60)], "480: 60;");
    check(night(Then::Silent), &[Comes(1_310), Comes(1_920)], "1320 silently: 1310; 1930: 1920;");
    check(night(Then::End), &[Comes(1_310), Comes(1_920)], "1930: 1920;");
    let noon = |plans: &mut Plans| {
        all(plans, |plan| (plan.close, plan.quiet) = (after(10), Some(hours(12, 14, Then::Hold))));
    };
    check(noon, &[Comes(719), Comes(800), Comes(900)], "840: 719 800; 910: 900;");
    let urgent = |plans: &mut Plans| {
        all(plans, |plan| plan.urgent = true);
        night(Then::Hold)(plans);
    };
    check(urgent, &[Comes(1_310)], "1320: 1310;");
}

#[test]
fn a_digest_that_falls_into_quiet_hours_keeps_its_date() {
    let late = |plans: &mut Plans| {
        all(plans, |plan| {
            (plan.close, plan.quiet) = (super::at_nine(Weekdays::ALL, 0), Some(hours(8, 11, Then::Hold)));
        });
    };
    check(late, &[Comes(0), Comes(600), Comes(700)], "660: 0 600; 2100: 700;");
}

#[test]
fn what_is_over_a_cap_waits() {
    let two = |per: Per| {
        move |plans: &mut Plans| {
            plans.caps.push(cap("few", 2, per));
            all(plans, |plan| plan.close = after(0));
        }
    };
    let rolling = Per::Rolling { ms: 2 * HOUR };
    check(two(rolling.clone()), &[Comes(0), Comes(10), Comes(20), Comes(30)], "0: 0; 10: 10; 120: 20 30;");
    check(two(rolling), &[Comes(0), Comes(10), Comes(121)], "0: 0; 10: 10; 121: 121;");
    let day = Per::Day(ZoneRule::Person);
    check(two(day.clone()), &[Comes(0), Comes(10), Comes(20), Comes(1_439)], "0: 0; 10: 10; 1440: 20 1439;");
    // Midnight is quiet: the planner finds the instant that suits both.
    let both = move |plans: &mut Plans| {
        two(day)(plans);
        all(plans, |plan| plan.quiet = Some(hours(22, 8, Then::Hold)));
    };
    check(both, &[Comes(600), Comes(610), Comes(620)], "600: 600; 610: 610; 1920: 620;");
}

#[test]
fn who_is_here_sees_for_themselves() {
    let surfaces = |plans: &mut Plans| {
        let surface = |name: &str, minutes: i64, asks_live| Surface {
            name: name.into(),
            online_ms: minutes * MINUTE,
            asks_live,
        };
        plans.surfaces = vec![surface("site", 15, false), surface("app", 15, true), surface("any", 5, false)];
    };
    let plan = |online| {
        move |plans: &mut Plans| {
            surfaces(plans);
            all(plans, |plan| (plan.close, plan.online) = (after(10), Some(online)));
        }
    };
    let hold = plan(Online::Hold);
    check(hold, &[Comes(0)], "10: 0;");
    check(hold, &[Seen(0, "site"), Comes(1)], "15: 1;");
    check(hold, &[Comes(0), Seen(9, "site"), Seen(20, "site"), Seen(30, "any")], "35: 0;");
    check(hold, &[Seen(0, "site"), Comes(6)], "16: 6;");
    check(hold, &[Seen(0, "nowhere"), Comes(0)], "10: 0;");
    check(plan(Online::Postpone { ms: 40 * MINUTE }), &[Seen(0, "site"), Comes(1)], "51: 1;");
    check(plan(Online::End), &[Seen(0, "site"), Comes(1), Comes(20)], "30: 20;");
}

proptest! {
    /// However much comes, and whatever else holds it, a cap is kept and nothing vanishes.
    #[test]
    fn caps_are_never_exceeded(
        gaps in prop::collection::vec(0..120_i64, 1..30),
        (most, hours_of_cap, quiet_from, wait) in (1..4_u8, 1..5_i64, 0..24_u8, 0..60_i64),
    ) {
        let comings: Vec<i64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let steps: Vec<Step> = comings.iter().map(|at| Comes(*at)).collect();
        let told = play_with(|plans| {
            plans.caps.push(cap("few", most, Per::Rolling { ms: hours_of_cap * HOUR }));
            let quiet = hours(quiet_from, (quiet_from + 8) % 24, Then::Hold);
            all(plans, |plan| (plan.close, plan.quiet) = (after(wait), Some(quiet.clone())));
        }, &steps);
        let at: Vec<i64> = told.split(';').filter_map(|one| one.split_once(':'))
            .map(|(at, _)| at.trim().parse().unwrap()).collect();
        for many in at.windows(usize::from(most) + 1) {
            prop_assert!(many[usize::from(most)] - many[0] >= hours_of_cap * 60, "{}", told);
        }
        for minute in &at {
            let hour = minute / 60 % 24;
            prop_assert!((hour - i64::from(quiet_from)).rem_euclid(24) >= 8, "{} at {}", told, minute);
        }
        let entries = told.split(';').filter_map(|one| one.split_once(": ")).map(|(_, all)| all.split(' ').count());
        prop_assert_eq!(entries.sum::<usize>(), comings.len(), "{}", told);
    }
}

#[test]
fn when_the_person_leaves() {
    let away = |plans: &mut Plans| {
        plans.surfaces = vec![Surface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
        all(plans, |plan| plan.close = Close::Away { ms: 30 * MINUTE });
    };
    check(away, &[Comes(5)], "5: 5;");
    check(away, &[Seen(0, "site"), Comes(5), Comes(20)], "30: 5 20;");
    check(away, &[Seen(0, "site"), Comes(5), Seen(29, "site"), Comes(58)], "59: 5 58;");
    // After each telling it waits for them to come and go again, unless they do not.
    check(away, &[Seen(0, "site"), Comes(5), Comes(40)], "30: 5; 40: 40;");
}
