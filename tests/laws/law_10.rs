//! Law 10: time zones are civil. One instant for every local date, at the local time where there is one; a
//! date is told once, whatever zones a person travels through, and what a journey skips merges into the next.

use std::{cell::Cell, collections::BTreeSet};

use jiff::{
    Timestamp, ToSpan as _,
    civil::{Date, DateTime},
    tz::{TimeZone, TimeZoneDatabase},
};
use model::{
    UtcMillis,
    civil_time::{self, Zone, ZoneRules},
    plan::{LocalTime, WeekdaySet},
};

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    digest_simulation::DigestSimulation,
    names::{HOUR_MS, a_day, person, reason, subject, tenant},
    seeds::{LawDice, run_multiplier, run_schedules},
};

/// Times of day at which something may happen to the clocks, and some at which nothing does.
const TIMES: [(u8, u8); 8] = [(0, 0), (0, 30), (1, 30), (2, 0), (2, 30), (9, 0), (23, 30), (23, 59)];

/// The first of the ten years. (In October 2023 jiff 0.2.43 reads 23:30 in Nuuk as 22:30: the last change in its
/// table changes nothing, and the rule for the time after it says otherwise.)
const YEAR: i16 = 2025;

#[test]
fn law_10_civil_time() {
    run_schedules(1, every_zone);
    let lives = Cell::new((0, 0));
    run_schedules(25, |dice| {
        let (gap, told) = live_travels(dice);
        let (mornings, lived) = lives.get();
        lives.set(if gap == 1 { (mornings + told, lived + 1) } else { (mornings, lived) });
    });
    // By chance somebody travels so that many a morning is skipped; not all of them do.
    let (mornings, lived) = lives.get();
    assert!(mornings >= 4 * lived, "{lived} persons were told {mornings} times in 12 days");
}

fn every_zone(mut dice: LawDice) {
    let zones = ZoneRules::load_bundled();
    // A soak walks through ten years of every zone; else what lies around changes, and some days more.
    let whole = run_multiplier() >= 10;
    for name in TimeZoneDatabase::bundled().available() {
        let zone = zones.get(name.as_str()).unwrap();
        let stretches =
            if whole { vec![(civil_date(YEAR, 1, 1), 3652)] } else { draw_stretches(&zone, &mut dice) };
        for (from, days) in stretches {
            let (hour, minute) = dice.pick(&TIMES);
            let on = some_days(&mut dice);
            // Long enough for some days of a week to come.
            let days = if on == WeekdaySet::ALL { days } else { days.max(15) };
            walk_closings(name.as_str(), &zone, from, days, (LocalTime { hour, minute }, on));
        }
    }
}

/// Every day, or some days of the week.
fn some_days(dice: &mut LawDice) -> WeekdaySet {
    let weekly = dice.once_in_a_hundred(50);
    let days: Vec<usize> = (0..7).filter(|_| !weekly || dice.once_in_a_hundred(35)).collect();
    WeekdaySet::new(days).unwrap_or(WeekdaySet::ALL)
}

fn civil_date(year: i16, month: i8, day: i8) -> Date {
    Date::new(year, month, day).unwrap()
}

/// Days around two changes of ten years, and a few of any.
fn draw_stretches(zone: &Zone, dice: &mut LawDice) -> Vec<(Date, usize)> {
    let from: Timestamp = civil_date(YEAR, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp();
    let until: Timestamp = civil_date(YEAR + 10, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp();
    let changes: Vec<Timestamp> = zone
        .following(from)
        .map(|change| change.timestamp())
        .take_while(|at| *at < until)
        .take(200)
        .collect();
    let mut stretches = Vec::new();
    for _ in 0..changes.len().min(2) {
        let change = dice.pick(&changes).to_zoned(TimeZone::UTC).date();
        stretches.push((change.checked_sub(3.days()).unwrap(), 6));
    }
    let any = civil_date(YEAR, 1, 1).checked_add(i32::try_from(dice.below(3650)).unwrap().days()).unwrap();
    stretches.push((any, 2));
    stretches
}

/// Goes from closing to closing and compares with what a calendar says.
fn walk_closings(name: &str, zone: &Zone, from: Date, days: usize, (time, on): (LocalTime, WeekdaySet)) {
    let clock =
        |date: Date| date.at(i8::try_from(time.hour).unwrap(), i8::try_from(time.minute).unwrap(), 0, 0);
    let start = from.at(0, 0, 0, 0).to_zoned(zone.clone()).unwrap().timestamp();
    let mut expected = Vec::new();
    for later in 0..days {
        let date = from.checked_add(i32::try_from(later).unwrap().days()).unwrap();
        if has_weekday(on, date) {
            let instants = by_the_calendar(zone, clock(date)).filter(|at| *at >= start);
            expected.extend(instants.map(|at| (day_number(date), at)));
        }
    }
    let mut after = UtcMillis(start.as_millisecond());
    let mut told = None;
    for (date, at) in expected {
        let at = UtcMillis(at.as_millisecond());
        let (found_date, found) = civil_time::next_local_instant(after, told, time, on, zone);
        assert_eq!(
            (found_date, found),
            (date, at),
            "{name} after {after}, told {told:?}, at {time:?} on {on:?}"
        );
        assert_eq!(civil_time::local_date(found, zone), date, "{name}: the local date of {found}");
        // The same from any moment since the last one, and whether or not that was told.
        let between = UtcMillis(after.0 + (found.0 - after.0) / 2);
        assert_eq!(
            civil_time::next_local_instant(between, told, time, on, zone),
            (date, found),
            "{name} from {between}"
        );
        told = Some(date);
        after = found.plus(1);
    }
}

/// The instant of a local time, found by trying the offsets of the days around: the first that reads as this
/// local time; if there is none, the first instant of that date that reads as a later one.
fn by_the_calendar(zone: &Zone, local: DateTime) -> std::option::IntoIter<Timestamp> {
    let as_utc = local.to_zoned(TimeZone::UTC).unwrap().timestamp();
    let around = [-36, -24, -12, 0, 12, 24, 36].map(|hours: i32| as_utc.checked_add(hours.hours()).unwrap());
    let offsets: BTreeSet<i32> = around.iter().map(|at| zone.to_offset(*at).seconds()).collect();
    let reads = |at: Timestamp| zone.to_datetime(at);
    let tries = offsets.iter().map(|offset| as_utc.checked_sub(offset.seconds()).unwrap());
    let exact = tries.filter(|at| reads(*at) == local).min();
    let later = || {
        let change =
            zone.following(around[0]).map(|change| change.timestamp()).take_while(|at| *at <= around[6]);
        let mut after = change.filter(|at| reads(*at).date() == local.date() && reads(*at) > local);
        after.next()
    };
    exact.or_else(later).into_iter()
}

/// Whether a date is on one of the days of the week.
fn has_weekday(on: WeekdaySet, date: Date) -> bool {
    on.has(usize::try_from(date.weekday().to_monday_zero_offset()).unwrap())
}

fn day_number(date: Date) -> i32 {
    date.since(date_zero()).unwrap().get_days()
}

fn date_zero() -> Date {
    civil_date(1970, 1, 1)
}

const ZONES: [&str; 9] = [
    "Pacific/Kiritimati",
    "Pacific/Apia",
    "Asia/Tokyo",
    "Asia/Kathmandu",
    "Europe/Berlin",
    "America/Sao_Paulo",
    "America/Los_Angeles",
    "Pacific/Pago_Pago",
    "Etc/GMT+12",
];

/// A person who travels, and always has something to be told: how many days may lie between two at most, and how often
/// they were told in 12 days.
fn live_travels(mut dice: LawDice) -> (i64, usize) {
    let (hour, minute) = dice.pick(&TIMES);
    let morning: &'static str = format!("{hour:02}:{minute:02}").leak();
    // The longest wait from one day of the week to the next, and those days.
    let (morning_on, on, gap) = dice.pick(&[
        ("", WeekdaySet::ALL, 1),
        ("[mon, wed, thu, sat]", WeekdaySet::new([0, 2, 3, 5]).unwrap(), 2),
        ("[fri, mon]", WeekdaySet::new([0, 4]).unwrap(), 4),
    ]);
    let knobs = CatalogueKnobs { morning, morning_on, most: 20, ..CatalogueKnobs::default() };
    let mut desk = DigestSimulation::new(knob_catalogue(&knobs), a_day().start());
    let key = desk.add_person(&tenant("main"), &person("ann"), "Europe/Berlin");
    desk.follow(&key, &subject("author:1"), true);
    let (mut zone, mut moved) = ("Europe/Berlin", desk.now);
    // Who stays where they are hears on the next of the days; the widest journey back takes 26 hours more, and
    // what it skips merges into the one after.
    let longest = (27 + 24 * gap) * HOUR_MS;
    let mut told: Vec<(i32, UtcMillis)> = Vec::new();
    let end = a_day().plus(12).start();
    for number in 0.. {
        if desk.now >= end {
            break;
        }
        desk.set_public(&key.0, &subject(&format!("work:{number}")), true);
        let news = desk.add_event(&key, model::Day::from_instant(desk.now), number, reason("made", 1));
        desk.hear(&key, vec![news]);
        if dice.once_in_a_hundred(25) {
            (zone, moved) = (dice.pick(&ZONES), desk.now);
            desk.set_profile(&key, model::person::profile::ZONE, Some(model::Value::from_text(zone)));
            desk.hear(&key, vec![digest::read::PersonNews::Profile]);
        }
        let here = desk.zones.get(zone).unwrap();
        for ready in desk.pass_to(desk.now.plus(dice.ms(HOUR_MS / 2, 5 * HOUR_MS))) {
            assert_eq!(
                ready.entries.len(),
                ready.entries.iter().map(|entry| entry.key).collect::<BTreeSet<_>>().len()
            );
            let date = civil_time::local_date(ready.due, &here);
            assert!(
                has_weekday(on, date_zero().checked_add(date.days()).unwrap()),
                "told on {} in {zone}",
                ready.due
            );
            if let Some((last, at)) = told.last() {
                assert!(
                    date > *last,
                    "told at {at} and again at {} in {zone}, both the local date {date}",
                    ready.due
                );
                let waited = ready.due.since(moved.max(*at));
                assert!(waited <= longest, "{waited} ms from {at} to {} in {zone}", ready.due);
            }
            told.push((date, ready.due));
        }
    }
    // Who is always on the way may miss many a Monday, but nobody waits longer where they are.
    let since = told.last().map_or(moved, |(_, at)| moved.max(*at));
    assert!(desk.now.since(since) <= longest, "nothing since {since} in {zone}");
    let days = BTreeSet::from_iter(told.iter().map(|(date, _)| date));
    assert_eq!(days.len(), told.len());
    (gap, told.len())
}
