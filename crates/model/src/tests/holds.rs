//! What holds a window that is due: quiet hours, caps, the person being here.

use proptest::prelude::*;

use super::{
    StepBench, candidate,
    windows::{HOUR, MINUTE, WindowStep, close_after, play_with},
};
use crate::{
    Channel, UtcMillis,
    closing_candidate::ClosingCandidate,
    limits::DAY_MS,
    person::{Act, HoldCause},
    plan::{
        CapPeriod, CloseRule, FirstRule, LocalHours, LocalTime, MessageCap, OnlineRule, OnlineSurface, Plan,
        PlanSet, QuietAction, QuietRule, WeekdaySet, ZoneRule,
    },
};
use WindowStep::{Comes, Moved, Seen};

fn change_all(plans: &mut PlanSet, change: impl FnMut(&mut Plan)) {
    plans.by_name.values_mut().for_each(change);
}

fn quiet_rule(from: u8, to: u8, then: QuietAction) -> QuietRule {
    let time = |hour| LocalTime { hour, minute: 0 };
    QuietRule { hours: LocalHours { from: time(from), to: time(to) }, zone: ZoneRule::Person, then }
}

fn message_cap(name: &str, most: u8, per: CapPeriod) -> MessageCap {
    MessageCap { name: name.into(), most, per, channel: Some(Channel::Email), kinds: vec![], tenants: vec![] }
}

fn check_holds(change: impl FnOnce(&mut PlanSet), steps: &[WindowStep], told: &str) {
    assert_eq!(play_with(change, steps), told, "{steps:?}");
}

/// Midnight is minute 0; at 22:00 minute 1320 has come, at 08:00 of the next day minute 1920.
#[test]
fn nobody_is_disturbed_in_quiet_hours() {
    let night = |then| {
        move |plans: &mut PlanSet| {
            change_all(plans, |plan| {
                (plan.close, plan.quiet) = (close_after(10), Some(quiet_rule(22, 8, then)));
            });
        }
    };
    check_holds(night(QuietAction::Hold), &[Comes(600)], "610: 600;");
    check_holds(night(QuietAction::Hold), &[Comes(1_309), Comes(1_310)], "1319: 1309 1310;");
    check_holds(
        night(QuietAction::Hold),
        &[Comes(1_310), Comes(1_315), Comes(1_800)],
        "1920: 1310 1315 1800;",
    );
    // The night that began yesterday.
    check_holds(night(QuietAction::Hold), &[Comes(60)], "480: 60;");
    check_holds(
        night(QuietAction::Silent),
        &[Comes(1_310), Comes(1_920)],
        "1320 silently: 1310; 1930: 1920;",
    );
    check_holds(night(QuietAction::End), &[Comes(1_310), Comes(1_920)], "1930: 1920;");
    let noon = |plans: &mut PlanSet| {
        change_all(plans, |plan| {
            (plan.close, plan.quiet) = (close_after(10), Some(quiet_rule(12, 14, QuietAction::Hold)));
        });
    };
    check_holds(noon, &[Comes(719), Comes(800), Comes(900)], "840: 719 800; 910: 900;");
    let urgent = |plans: &mut PlanSet| {
        change_all(plans, |plan| plan.urgent = true);
        night(QuietAction::Hold)(plans);
    };
    check_holds(urgent, &[Comes(1_310)], "1320: 1310;");
}

#[test]
fn a_digest_that_falls_into_quiet_hours_keeps_its_date() {
    let late = |plans: &mut PlanSet| {
        change_all(plans, |plan| {
            (plan.close, plan.quiet) =
                (super::at_nine(WeekdaySet::ALL, 0), Some(quiet_rule(8, 11, QuietAction::Hold)));
        });
    };
    check_holds(late, &[Comes(0), Comes(600), Comes(700)], "660: 0 600; 2100: 700;");
    // Also where something changes while it waits.
    check_holds(late, &[Comes(0), Moved(630), Comes(700)], "660: 0; 2100: 700;");
    let first = |plans: &mut PlanSet| {
        late(plans);
        change_all(plans, |plan| plan.first = FirstRule::Alone);
    };
    check_holds(first, &[Comes(500), Comes(510), Comes(520)], "660: 500; 660: 510 520;");
}

/// What comes while it is quiet asks nobody again, and does not bring a date back that has moved.
#[test]
fn what_is_held_waits_on_whatever_comes() {
    fn set_quiet(plans: &mut PlanSet, close: &CloseRule) {
        change_all(plans, |plan| {
            (plan.close, plan.entries) = (close.clone(), Some(2));
            plan.quiet = Some(quiet_rule(22, 11, QuietAction::Hold));
        });
    }
    // How many are told before the one that is held.
    let check = |change: fn(&mut PlanSet), told: u8, until: i64| {
        let mut bench = StepBench::new(8, 1);
        change(&mut bench.plans);
        for n in 0..=told {
            bench.announce(1, 0);
            let due = bench.due();
            bench.close(due, vec![candidate(1, n, &format!("work:{n}"), Ok(()))]);
        }
        assert_eq!(bench.due(), until);
        for minute in 1..4 {
            bench.announce(until - minute * MINUTE, 0);
            assert_eq!(bench.due(), until);
        }
        let now = until - MINUTE / 2;
        bench.by_hand(now, Act::Release, None, now);
        bench.announce(now, 0);
        assert!(bench.due() <= now, "what is let go waits for nobody");
    };
    check(|plans| set_quiet(plans, &close_after(0)), 0, 11 * HOUR);
    check(|plans| set_quiet(plans, &super::at_nine(WeekdaySet::ALL, 0)), 0, 11 * HOUR);
    let few = |plans: &mut PlanSet| {
        plans.caps.push(message_cap("few", 1, CapPeriod::Rolling { ms: 2 * HOUR }));
        change_all(plans, |plan| plan.close = close_after(0));
    };
    check(few, 1, 1 + 2 * HOUR);
}

/// Whose own time is still to come is not held any more: it closes then, or before that as its plan says.
#[test]
fn what_comes_later_than_the_hold_is_not_held() {
    let many = |plans: &mut PlanSet| {
        change_all(plans, |plan| {
            plan.close = CloseRule::Silence { ms: 30 * MINUTE, most_ms: 20 * HOUR };
            (plan.entries, plan.quiet) = (Some(4), Some(quiet_rule(22, 8, QuietAction::Hold)));
        });
    };
    check_holds(many, &[Comes(1_310), Comes(1_915)], "1945: 1310 1915;");
    check_holds(
        many,
        &[Comes(1_310), Comes(1_915), Comes(1_916), Comes(1_921)],
        "1921: 1310 1915 1916 1921;",
    );
    // It is put off in the last moment, and then comes something that is sooner.
    let mut bench = StepBench::with_plan(|plan| {
        plan.close = CloseRule::Before { field: "starts".into(), ms: 2 * HOUR };
        plan.quiet = Some(quiet_rule(22, 8, QuietAction::Hold));
    });
    let about =
        |aim: i64| vec![ClosingCandidate { aim: Some(UtcMillis(aim)), ..candidate(1, 1, "work:1", Ok(())) }];
    let (half_past_nine, week) = (9 * HOUR + HOUR / 2, 7 * DAY_MS);
    bench.announce_to(1, 0, "", Some(half_past_nine));
    bench.close(half_past_nine - 2 * HOUR, about(half_past_nine));
    assert_eq!((bench.due(), bench.record.windows[0].held), (8 * HOUR, Some(HoldCause::Quiet)));
    assert!(bench.close(8 * HOUR, about(week)).is_empty());
    assert_eq!(bench.record.windows[0].held, None);
    // What comes has it asked, for what it holds may have been brought forward.
    bench.announce_to(10 * HOUR, 0, "", Some(14 * HOUR));
    assert!(bench.close(10 * HOUR, about(14 * HOUR)).is_empty());
    assert_eq!(bench.due(), 12 * HOUR);
    bench.announce_to(10 * HOUR, 0, "", Some(11 * HOUR));
    assert!(bench.due() <= 10 * HOUR);
}

#[test]
fn what_is_over_a_cap_waits() {
    let two = |per: CapPeriod| {
        move |plans: &mut PlanSet| {
            plans.caps.push(message_cap("few", 2, per));
            change_all(plans, |plan| plan.close = close_after(0));
        }
    };
    let rolling = CapPeriod::Rolling { ms: 2 * HOUR };
    check_holds(
        two(rolling.clone()),
        &[Comes(0), Comes(10), Comes(20), Comes(30)],
        "0: 0; 10: 10; 120: 20 30;",
    );
    check_holds(two(rolling), &[Comes(0), Comes(10), Comes(121)], "0: 0; 10: 10; 121: 121;");
    let day = CapPeriod::Day(ZoneRule::Person);
    check_holds(
        two(day.clone()),
        &[Comes(0), Comes(10), Comes(20), Comes(1_439)],
        "0: 0; 10: 10; 1440: 20 1439;",
    );
    // Midnight is quiet: the planner finds the instant that suits both.
    let both = move |plans: &mut PlanSet| {
        two(day)(plans);
        change_all(plans, |plan| plan.quiet = Some(quiet_rule(22, 8, QuietAction::Hold)));
    };
    check_holds(both, &[Comes(600), Comes(610), Comes(620)], "600: 600; 610: 610; 1920: 620;");
}

#[test]
fn who_is_here_sees_for_themselves() {
    let surfaces = |plans: &mut PlanSet| {
        let surface = |name: &str, minutes: i64, asks_live| OnlineSurface {
            name: name.into(),
            online_ms: minutes * MINUTE,
            asks_live,
        };
        plans.surfaces = vec![surface("site", 15, false), surface("app", 15, true), surface("any", 5, false)];
    };
    let plan = |online| {
        move |plans: &mut PlanSet| {
            surfaces(plans);
            change_all(plans, |plan| (plan.close, plan.online) = (close_after(10), Some(online)));
        }
    };
    let hold = plan(OnlineRule::Hold);
    check_holds(hold, &[Comes(0)], "10: 0;");
    check_holds(hold, &[Seen(0, "site"), Comes(1)], "15: 1;");
    check_holds(hold, &[Comes(0), Seen(9, "site"), Seen(20, "site"), Seen(30, "any")], "35: 0;");
    check_holds(hold, &[Seen(0, "site"), Comes(6)], "16: 6;");
    check_holds(hold, &[Seen(0, "nowhere"), Comes(0)], "10: 0;");
    check_holds(plan(OnlineRule::Postpone { ms: 40 * MINUTE }), &[Seen(0, "site"), Comes(1)], "51: 1;");
    check_holds(plan(OnlineRule::End), &[Seen(0, "site"), Comes(1), Comes(20)], "30: 20;");
}

proptest! {
    /// However much comes, and whatever else holds it, a cap is kept and nothing vanishes.
    #[test]
    fn caps_are_never_exceeded(
        gaps in prop::collection::vec(0..120_i64, 1..30),
        (most, hours_of_cap, quiet_from, wait) in (1..4_u8, 1..5_i64, 0..24_u8, 0..60_i64),
    ) {
        let comings: Vec<i64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let steps: Vec<WindowStep> = comings.iter().map(|at| Comes(*at)).collect();
        let told = play_with(|plans| {
            plans.caps.push(message_cap("few", most, CapPeriod::Rolling { ms: hours_of_cap * HOUR }));
            let quiet = quiet_rule(quiet_from, (quiet_from + 8) % 24, QuietAction::Hold);
            change_all(plans, |plan| (plan.close, plan.quiet) = (close_after(wait), Some(quiet.clone())));
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
    let away = |plans: &mut PlanSet| {
        plans.surfaces = vec![OnlineSurface { name: "site".into(), online_ms: MINUTE, asks_live: false }];
        change_all(plans, |plan| plan.close = CloseRule::Away { ms: 30 * MINUTE });
    };
    check_holds(away, &[Comes(5)], "5: 5;");
    check_holds(away, &[Seen(0, "site"), Comes(5), Comes(20)], "30: 5 20;");
    check_holds(away, &[Seen(0, "site"), Comes(5), Seen(29, "site"), Comes(58)], "59: 5 58;");
    // After each telling it waits for them to come and go again, unless they do not.
    check_holds(away, &[Seen(0, "site"), Comes(5), Comes(40)], "30: 5; 40: 40;");
}

#[test]
fn nothing_comes_before_the_end_of_a_break() {
    let told = || vec![candidate(1, 1, "work:1", Ok(()))];
    // A break ends at midnight, which is in the night of the plan.
    let midnight = 24 * HOUR;
    let cases = [
        (QuietAction::Hold, midnight + 8 * HOUR),
        (QuietAction::Silent, midnight),
        (QuietAction::End, midnight + 8 * HOUR),
    ];
    for (then, due) in cases {
        let mut bench = StepBench::with_plan(|plan| {
            (plan.close, plan.quiet) = (close_after(10), Some(quiet_rule(22, 8, then)));
        });
        bench.quiet_until = Some(UtcMillis(midnight));
        bench.announce(10 * HOUR, 0);
        assert!(bench.close(10 * HOUR + 10 * MINUTE, told()).is_empty(), "{then:?}");
        assert_eq!((bench.due(), bench.record.windows[0].held), (due, Some(HoldCause::Quiet)), "{then:?}");
        assert_eq!(bench.close(due, told()).len(), 1, "{then:?}");
    }
}
