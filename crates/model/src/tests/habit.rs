//! When somebody comes, and the hour that is chosen for it.

use proptest::prelude::*;

use super::windows::{WindowStep, play_with};
use crate::{
    closing_dates::ClosingDates,
    due_time::choose_visit_hour,
    habit::VisitHabit,
    plan::{CloseRule, LocalHours, LocalTime, OnlineSurface, PlanSet, QuietAction, QuietRule, ZoneRule},
};
use WindowStep::{Comes, Hour, Moved, Seen};

fn hours_between(from: u8, to: u8) -> LocalHours {
    let time = |hour| LocalTime { hour, minute: 0 };
    LocalHours { from: time(from), to: time(to) }
}

#[test]
fn the_best_hour_is_an_allowed_one() {
    let check = |visits: &[(u8, u8)], within: LocalHours, quiet: Option<LocalHours>, best: Option<u8>| {
        let habit = VisitHabit::from_visits(visits.iter().copied());
        assert_eq!(choose_visit_hour(&habit, within, quiet).map(|time| time.hour), best, "{visits:?}");
    };
    let day = hours_between(7, 23);
    check(&[], day, None, None);
    check(&[(19, 4)], day, None, None);
    check(&[(19, 5)], day, None, Some(19));
    check(&[(19, 5), (8, 5)], day, None, Some(8));
    check(&[(3, 9), (19, 5)], day, None, Some(19));
    check(&[(3, 9)], day, None, None);
    check(&[(22, 9), (19, 5)], day, Some(hours_between(22, 8)), Some(19));
    check(&[(7, 9)], hours_between(22, 8), None, Some(7));
    check(&[(23, 9), (8, 9)], hours_between(22, 8), None, Some(23));
    check(&[(24, 9), (200, 9)], hours_between(22, 8), None, None);
}

fn set_daily(plans: &mut PlanSet) {
    plans.surfaces = vec![OnlineSurface { name: "site".into(), online_ms: 60_000, asks_live: false }];
    for plan in plans.by_name.values_mut() {
        plan.close = CloseRule::Calendar {
            dates: ClosingDates::DAILY,
            times: vec![LocalTime { hour: 9, minute: 0 }],
            zone: ZoneRule::Person,
            spread_ms: 0,
            best: Some(hours_between(0, 23)),
        };
    }
}

/// Midnight is minute 0, 20:00 minute 1200.
#[test]
fn an_hour_is_chosen_as_a_window_opens() {
    let check = |steps: &[WindowStep], told: &str| assert_eq!(play_with(set_daily, steps), told, "{steps:?}");
    let visits: Vec<WindowStep> = (0..5).map(|day| Seen(day * 1_440 + 1_200, "site")).collect();
    let then = |steps: &[WindowStep]| [&visits[..], steps].concat();
    check(&[Comes(0)], "540: 0;");
    let then = |steps: &[WindowStep]| {
        then(steps)
            .iter()
            .map(|step| match step {
                // Time ends after three days, so all of it comes five days earlier.
                Comes(at) => Comes(at - 5 * 1_440),
                Seen(at, on) => Seen(at - 5 * 1_440, on),
                Moved(at) => Moved(at - 5 * 1_440),
                Hour(at, hour) => Hour(at - 5 * 1_440, *hour),
            })
            .collect::<Vec<_>>()
    };
    check(&then(&[Comes(7_200)]), "1200: 0;");
    // It was told today already, so the next one is tomorrow's.
    check(&then(&[Comes(7_200), Comes(8_401)]), "1200: 0; 2640: 1201;");
    // Who comes more in the morning from now on is told then, and no date twice or not at all.
    let morning: Vec<WindowStep> = (0..9).map(|n| Seen(7_200 + 7 * 60 + n, "site")).collect();
    check(&then(&[&[Comes(7_200)], &morning[..], &[Comes(8_000)]].concat()), "1200: 0 800;");
}

#[test]
fn visits_in_an_hour_are_one_and_old_ones_fade() {
    let mut habit = VisitHabit::default();
    for _ in 0..39 {
        habit.note_visit(LocalTime { hour: 7, minute: 5 });
    }
    habit.note_visit(LocalTime { hour: 21, minute: 0 });
    assert_eq!(habit.visits().collect::<Vec<_>>(), [(7, 39), (21, 1)]);
    habit.note_visit(LocalTime { hour: 7, minute: 5 });
    assert_eq!(habit.visits().collect::<Vec<_>>(), [(7, 20)]);
}

proptest! {
    /// Whenever somebody comes, whatever is quiet, and whatever changes meanwhile, each date is told once and nothing waits forever.
    #[test]
    fn a_date_is_told_once_at_whatever_hour(
        visits in prop::collection::vec(-7_000..4_000_i64, 0..40),
        comings in prop::collection::vec(0..1_440_i64, 1..20),
        moves in prop::collection::vec(0..4_000_i64, 0..10),
        quiet in (0..24_u8, 1..12_u8),
    ) {
        let mut steps: Vec<WindowStep> = visits.iter().map(|at| Seen(*at, "site")).collect();
        steps.extend(comings.iter().map(|at| Comes(*at)));
        steps.extend(moves.iter().map(|at| Moved(*at)));
        steps.sort_by_key(WindowStep::minute);
        let told = play_with(|plans| {
            set_daily(plans);
            for plan in plans.by_name.values_mut() {
                let hours = hours_between(quiet.0, (quiet.0 + quiet.1) % 24);
                plan.quiet = Some(QuietRule { hours, zone: ZoneRule::Person, then: QuietAction::Hold });
            }
        }, &steps);
        let messages = told.split(';').filter_map(|one| one.split_once(": "));
        let dates: Vec<i64> = messages.clone().map(|(at, _)| at.trim().parse::<i64>().unwrap() / 1_440).collect();
        prop_assert!(dates.is_sorted_by(|a, b| a < b), "{}", told);
        let entries = messages.map(|(_, all)| all.split(' ').count());
        prop_assert_eq!(entries.sum::<usize>(), comings.len(), "{}", told);
    }
}
