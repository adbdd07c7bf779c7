//! Combinations of knobs that can never act: a plan that closes only in hours in which nothing is told, one that needs
//! more entries than a window ever holds, one that waits for an absent person to leave.

use std::collections::BTreeSet;

use model::{
    Day, Kind,
    civil_time::{self, Zone, ZoneRules},
    hold,
    plan::{
        CloseRule, FirstRule, KeyPart, LocalHours, LocalTime, OncePer, OnlineSurface, Plan, QuietAction,
        QuietRule, ZoneRule,
    },
};

use source_text::{units::format_length, yaml::TreePlace};

use crate::{kinds, tree_reader::TreeReader};

/// From here on, and for as long, closings are tried against quiet hours: a year has all changes of the clock.
const YEAR_BEGINS: i32 = 20_454;
const YEAR_DAYS: i32 = 366;

/// A calendar whose closings all lie in quiet hours that end what is due in them.
pub(crate) fn check_quiet_hours(reader: &mut TreeReader<'_>, plan: &Plan, at: TreePlace) {
    let Some(QuietRule { hours, zone: quiet_zone, then: QuietAction::End }) = &plan.quiet else { return };
    let CloseRule::Calendar { times, zone, best, .. } = &plan.close else { return };
    if plan.follows.is_some() || !best.is_none_or(|best| is_quiet(best, *hours, quiet_zone)) {
        return;
    }
    let zones = ZoneRules::load_newest();
    let zones: [Zone; 2] = match (zone, quiet_zone) {
        (ZoneRule::Fixed(close), ZoneRule::Fixed(quiet)) => {
            [close, quiet].map(|name| zones.get_or_utc(Some(name)))
        }
        // Wherever the person is, both are by the same clock.
        (ZoneRule::Person, ZoneRule::Person) => [(); 2].map(|()| zones.get_or_utc(None)),
        // Somewhere on the globe it closes at another hour.
        _ => return,
    };
    if closes_within(&plan.close, *hours, &zones) {
        let what = format!(
            "it closes at {}, which is always in these quiet hours, and with `then: ended` nothing is told in them",
            describe_times(times)
        );
        let help = "close at another time, or write `then: hold` or `then: silent`".to_string();
        reader.problem_with(at, what, Some(help));
    }
}

/// `09:00`, or `09:00 and 18:00`.
fn describe_times(times: &[LocalTime]) -> String {
    let times: Vec<String> = times.iter().map(|at| format!("{:02}:{:02}", at.hour, at.minute)).collect();
    times.join(" and ")
}

/// Whether each hour that may be somebody's best one is quiet.
fn is_quiet(best: LocalHours, quiet: LocalHours, zone: &ZoneRule) -> bool {
    let mut hours = (0..24).map(|hour| LocalTime { hour, minute: 0 }).filter(|hour| best.has(*hour));
    *zone == ZoneRule::Person && hours.all(|hour| quiet.has(hour))
}

/// Whether all closings of a year, wherever in their spread, lie within these hours.
fn closes_within(close: &CloseRule, hours: LocalHours, [zone, quiet_zone]: &[Zone; 2]) -> bool {
    let CloseRule::Calendar { dates, times, spread_ms, .. } = close else { return false };
    let (mut told, mut from) = (None, Day(YEAR_BEGINS).start());
    let end = Day(YEAR_BEGINS + YEAR_DAYS).start();
    while from < end {
        let (number, closes) = civil_time::next_closing(from, told, (dates, times), zone);
        let quiet = hold::quiet_until(hours, quiet_zone, closes);
        if quiet.is_none_or(|until| closes.plus(*spread_ms) > until) {
            return false;
        }
        (told, from) = (Some(number), closes);
    }
    true
}

/// Refuses an `at_least` that is more than one window can ever tell.
pub(crate) fn check_entry_count(
    reader: &mut TreeReader<'_>,
    plan: &Plan,
    at: TreePlace,
    kinds: &[kinds::KindDraft],
) {
    let at_least = plan.at_least;
    // What waits in all windows is told together.
    if at_least < 2 || plan.key.is_empty() || plan.together {
        return;
    }
    let of_subject = plan.key.contains(&KeyPart::Subject);
    if of_subject && plan.once_per != OncePer::Event {
        let what = format!(
            "`at_least` is {at_least}, but a window of one subject, which is told once, never holds more \
            than one entry"
        );
        let help = "leave `subject` out of the `key`, or write `once_per: event`".to_string();
        reader.problem_with(at, what, Some(help));
        return;
    }
    let of_kind = plan.key.contains(&KeyPart::Kind);
    let told: BTreeSet<&Kind> = plan.sections.iter().flat_map(|section| &section.kinds).collect();
    let told: Vec<_> = kinds.iter().filter(|kind| told.contains(&kind.name)).collect();
    for kind in &told {
        // What happened is one entry, whatever kinds tell it; so these may be in one window, and no others.
        let beside = |other: &&&kinds::KindDraft| {
            if of_kind {
                other.on.0 == kind.on.0
            } else {
                !of_subject || other.subject_name() == kind.subject_name()
            }
        };
        let beside: BTreeSet<&Kind> = told.iter().filter(beside).map(|kind| &kind.name).collect();
        let sections =
            plan.sections.iter().filter(|section| section.kinds.iter().any(|kind| beside.contains(kind)));
        let room: u32 = sections.map(|section| u32::from(section.most)).sum();
        if u32::from(at_least) > room {
            let what =
                format!("`at_least` is {at_least}, but a window of `{}` has room for {room}", kind.name);
            let help = "make room for that many with `most` of its section".to_string();
            reader.problem_with(at, what, Some(help));
            return;
        }
    }
}

/// A person who was away for that long is not online, so a window that closes only then is never held by presence.
pub(crate) fn check_presence(
    reader: &mut TreeReader<'_>,
    plan: &Plan,
    at: TreePlace,
    surfaces: &[OnlineSurface],
) {
    let CloseRule::Away { ms } = plan.close else { return };
    // These go though the person is here.
    let goes_sooner = plan.entries.is_some() || plan.alone.is_some() || plan.first != FirstRule::Gathered;
    let stays = surfaces.iter().any(|surface| surface.online_ms > ms);
    if plan.online.is_some() && plan.follows.is_none() && !goes_sooner && !stays {
        let what = format!(
            "`online` has no effect beside `away: {}`: a person who was away for that long is not online",
            format_length(ms)
        );
        reader.problem(at, what);
    }
}
