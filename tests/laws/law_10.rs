//! Law 10: time zones are civil. One instant for every closing of a calendar, at the local time where there is one; a
//! closing is told once, whatever zones a person travels through, and what a journey skips merges into the next.

use std::{cell::Cell, collections::BTreeSet, rc::Rc};

use jiff::{
    Timestamp, ToSpan as _,
    civil::{Date, DateTime, Weekday},
    tz::{TimeZone, TimeZoneDatabase},
};
use model::{
    UtcMillis,
    civil_time::{self, Zone, ZoneRules},
    closing_dates::{ClosingDates, ClosingNumber, CronDates, DateUnit, MonthDay},
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
    let calendars = list_calendars();
    // A soak walks through ten years of every zone; else what lies around changes, and some days more.
    let whole = run_multiplier() >= 10;
    for name in TimeZoneDatabase::bundled().available() {
        let zone = zones.get(name.as_str()).unwrap();
        let stretches =
            if whole { vec![(civil_date(YEAR, 1, 1), 3652)] } else { draw_stretches(&zone, &mut dice) };
        for (from, days) in stretches {
            let calendar = draw_calendar(&calendars, &mut dice);
            // Long enough for some of the dates to come.
            walk_closings(name.as_str(), &zone, from, days.max(calendar.days_least), &calendar);
        }
    }
}

/// A calendar, and what a reader of its line would say of a date.
#[derive(Clone)]
struct LawCalendar {
    dates: ClosingDates,
    times: Vec<LocalTime>,
    has: Rc<dyn Fn(Date) -> bool>,
    /// In so many days it closes a few times.
    days_least: usize,
}

/// By the days of the week or by one of the others, at any times.
fn draw_calendar(calendars: &[LawCalendar], dice: &mut LawDice) -> LawCalendar {
    let mut calendar = dice.pick(calendars);
    if dice.once_in_a_hundred(50) {
        let on = some_days(dice);
        calendar = LawCalendar {
            dates: ClosingDates::Weekdays(on),
            has: Rc::new(move |date| has_weekday(on, date)),
            days_least: if on == WeekdaySet::ALL { 2 } else { 15 },
            ..calendar
        };
    }
    if !matches!(calendar.dates, ClosingDates::Cron(_)) {
        let several = if dice.once_in_a_hundred(40) { 1 + dice.below(3) } else { 1 };
        let times: BTreeSet<(u8, u8)> = (0..several).map(|_| dice.pick(&TIMES)).collect();
        calendar.times = times.into_iter().map(|(hour, minute)| LocalTime { hour, minute }).collect();
    }
    calendar
}

/// Every day, or some days of the week.
fn some_days(dice: &mut LawDice) -> WeekdaySet {
    let weekly = dice.once_in_a_hundred(50);
    let days: Vec<usize> = (0..7).filter(|_| !weekly || dice.once_in_a_hundred(35)).collect();
    WeekdaySet::new(days).unwrap_or(WeekdaySet::ALL)
}

/// Calendars of all sorts, each beside what somebody would say of a date who has only a calendar on the wall.
fn list_calendars() -> Vec<LawCalendar> {
    let calendar = |days_least: usize, dates: ClosingDates, has: Rc<dyn Fn(Date) -> bool>| LawCalendar {
        dates,
        times: Vec::new(),
        has,
        days_least,
    };
    let from = civil_date(2026, 1, 5);
    let every = |count, unit| ClosingDates::Every { count, unit, from: day_number(from) };
    let since = move |date: Date| day_number(date) - day_number(from);
    let months_since = |date: Date| 12 * (i32::from(date.year()) - 2026) + i32::from(date.month()) - 1;
    let workday = |date: Date| !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday);
    let monthly = |days: &[MonthDay]| ClosingDates::Monthly(days.to_vec());
    let is_nth = |date: Date, nth, weekday| date.nth_weekday_of_month(nth, weekday).unwrap() == date;
    let tuesday = MonthDay::Nth { nth: 3, weekday: 1 };
    let line = CronDates {
        line: "0,30 0-2 * * 1-5".to_owned(),
        days: u64::MAX,
        months: u64::MAX,
        weekdays: WeekdaySet::new(0..5).unwrap(),
        either: false,
    };
    let short = CronDates { days: 1 << 31, weekdays: WeekdaySet::ALL, ..line.clone() };
    let odd_hours = [0, 1, 2].into_iter().flat_map(|hour| [0, 30].map(|minute| LocalTime { hour, minute }));
    vec![
        calendar(
            40,
            monthly(&[MonthDay::Number(1), MonthDay::Number(15)]),
            Rc::new(|date| date.day() == 1 || date.day() == 15),
        ),
        calendar(70, monthly(&[MonthDay::Last]), Rc::new(|date| date.tomorrow().unwrap().day() == 1)),
        calendar(
            70,
            monthly(&[tuesday, MonthDay::LastWeekday(4)]),
            Rc::new(move |date| is_nth(date, 3, Weekday::Tuesday) || is_nth(date, -1, Weekday::Friday)),
        ),
        calendar(20, every(5, DateUnit::Days), Rc::new(move |date| since(date) % 5 == 0)),
        calendar(45, every(2, DateUnit::Weeks), Rc::new(move |date| since(date) % 14 == 0)),
        calendar(
            200,
            every(3, DateUnit::Months),
            Rc::new(move |date| date.day() == 5 && months_since(date) % 3 == 0),
        ),
        LawCalendar { times: odd_hours.collect(), ..calendar(8, ClosingDates::Cron(line), Rc::new(workday)) },
        LawCalendar {
            times: vec![LocalTime { hour: 2, minute: 30 }],
            ..calendar(130, ClosingDates::Cron(short), Rc::new(|date| date.day() == 31))
        },
    ]
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

/// Goes from closing to closing and compares with what a calendar says, day by day.
fn walk_closings(name: &str, zone: &Zone, from: Date, days: usize, calendar: &LawCalendar) {
    let LawCalendar { dates, times, has, .. } = calendar;
    let clock = |date: Date, time: &LocalTime| {
        date.at(i8::try_from(time.hour).unwrap(), i8::try_from(time.minute).unwrap(), 0, 0)
    };
    let start = from.at(0, 0, 0, 0).to_zoned(zone.clone()).unwrap().timestamp();
    let mut expected: Vec<(ClosingNumber, Timestamp)> = Vec::new();
    for later in 0..days {
        let date = from.checked_add(i32::try_from(later).unwrap().days()).unwrap();
        for time in times.iter().filter(|_| has(date)) {
            // What clocks leave out together is one.
            let last = expected.last().map(|(_, at)| *at);
            let instants = by_the_calendar(zone, clock(date, time)).filter(|at| *at >= start);
            let number = ClosingNumber::new(day_number(date), *time, times);
            expected.extend(instants.filter(|at| last != Some(*at)).map(|at| (number, at)));
        }
    }
    let mut after = UtcMillis(start.as_millisecond());
    let mut told = None;
    for (number, at) in expected {
        let at = UtcMillis(at.as_millisecond());
        let found = civil_time::next_closing(after, told, (dates, times), zone);
        assert_eq!(found, (number, at), "{name} after {after}, told {told:?}, at {times:?} on {dates:?}");
        assert_eq!(civil_time::local_date(at, zone), number.date(), "{name}: the local date of {at}");
        // The same from any moment since the last one, and whether or not that was told.
        let between = UtcMillis(after.0 + (at.0 - after.0) / 2);
        for told in [told, None] {
            let again = civil_time::next_closing(between, told, (dates, times), zone);
            assert_eq!(again, (number, at), "{name} from {between}, told {told:?}");
        }
        told = Some(number);
        after = at.plus(1);
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
