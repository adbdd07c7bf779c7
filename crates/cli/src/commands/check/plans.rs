//! When a plan closes, in a sentence, and its next instants in some zones.

use catalogue::format_length;
use model::{
    Day, UtcMillis,
    civil_time::{self, ZoneRules},
    closing_dates::{ClosingDates, DateUnit, MonthDay},
    plan::{
        AloneRule, CloseRule, EscalationRule, FirstRule, GENERAL, LocalHours, LocalTime, Plan, RestRule,
        TooFewRule, WeekdaySet, ZoneRule,
    },
};
use render::FormSheet;
use serde::Serialize;
use shell::{
    failure::CommandError,
    terminal::{self, TextPainter},
};

use super::forms::describe_weights;

/// Where the next instants are worked out: west, middle and east, with and without changes of the clock.
const ZONES: [&str; 3] = ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata"];
const INSTANTS: usize = 3;

/// When a plan closes next.
#[derive(Debug, Serialize)]
pub struct PlanCloseSchedule {
    plan: String,
    /// What a complaint about its mails ends.
    stream: String,
    closes: String,
    zones: Vec<ZoneInstants>,
}

#[derive(Debug, Serialize)]
struct ZoneInstants {
    zone: String,
    /// Local, with the offset.
    next: Vec<String>,
}

/// A line for each plan, below it what its messages weigh, and its next instants if they are asked for.
pub fn print_schedules(
    plans: &[PlanCloseSchedule],
    sheets: &[FormSheet],
    with_instants: bool,
) -> Result<(), CommandError> {
    let paint = TextPainter::for_data();
    for plan in plans {
        let stream = match plan.stream.as_str() {
            GENERAL => String::new(),
            stream => format!(" (stream {stream})"),
        };
        terminal::print_data(format!(
            "{}{stream} closes {}",
            paint.with(terminal::BOLD, &plan.plan),
            plan.closes
        ))?;
        let weights = describe_weights(&plan.plan, sheets);
        if !weights.is_empty() {
            terminal::print_data(paint.with(terminal::FAINT, format!("  {weights}")))?;
        }
        if with_instants {
            let rows: Vec<[String; 4]> = plan.zones.iter().map(zone_row).collect();
            terminal::format_table(&rows)
                .into_iter()
                .try_for_each(|line| terminal::print_data(format!("  {line}")))?;
        }
    }
    if with_instants && plans.iter().any(|plan| !plan.zones.is_empty()) {
        terminal::print_data(
            "If a zone skips a local time, the next one that exists counts; if it has one twice, the \
            first.",
        )?;
    }
    Ok(())
}

pub fn schedule_plan(plan: &Plan, now: UtcMillis) -> PlanCloseSchedule {
    // What follows another plan has no hour of its own to show, and no more has a window that closes after a while.
    let zones = match (&plan.close, &plan.follows) {
        (CloseRule::Calendar { dates, times, zone, .. }, None) => {
            let zones = match zone {
                ZoneRule::Person => ZONES.to_vec(),
                ZoneRule::Fixed(zone) => vec![zone.as_str()],
            };
            zones.into_iter().map(|name| next_in_zone(name, (dates, times), now)).collect()
        }
        _ => Vec::new(),
    };
    let closes = match &plan.follows {
        Some(EscalationRule { plans, wait_ms }) => {
            let names: Vec<String> = plans.iter().map(|plan| format!("`{plan}`")).collect();
            let (wait, names) = (format_length(*wait_ms), names.join(" or "));
            format!("{wait} after a message of {names} was delivered, unless the person has come by then")
        }
        None => describe_close(&plan.close),
    };
    let closes = [vec![closes], describe_pacing(plan)].concat().join("; ");
    PlanCloseSchedule { plan: plan.name.to_string(), stream: plan.stream.to_string(), closes, zones }
}

/// What `close` says, after "the plan closes".
fn describe_close(close: &CloseRule) -> String {
    match close {
        CloseRule::Calendar { dates, times, zone, spread_ms, best } => {
            let whose = match zone {
                ZoneRule::Person => "in the person's time zone".to_owned(),
                ZoneRule::Fixed(zone) => format!("in the time zone {zone}"),
            };
            let mut text = format!("{} {whose}", describe_dates(dates, times));
            if *spread_ms > 0 {
                text += &format!(", spread over the following {}", format_length(*spread_ms));
            }
            if let Some(LocalHours { from, to }) = best {
                let (from, to) = (format_time(*from), format_time(*to));
                text += &format!(
                    "; for a person who comes often, in the hour between {from} and {to} in which they come most"
                );
            }
            text
        }
        CloseRule::After { ms: 0 } => "as soon as an entry arrives".to_owned(),
        CloseRule::After { ms } => format!("{} after its first entry", format_length(*ms)),
        CloseRule::Silence { ms, most_ms } => {
            let (silence, most) = (format_length(*ms), format_length(*most_ms));
            format!("when nothing has come for {silence}, and {most} after its first entry at the latest")
        }
        CloseRule::Away { ms } => format!("when the person has not been seen for {}", format_length(*ms)),
        CloseRule::Before { field, ms: 0 } => format!("at the earliest `{field}` of its entries"),
        CloseRule::Before { field, ms } => {
            format!("{} before the earliest `{field}` of its entries", format_length(*ms))
        }
    }
}

fn next_in_zone(name: &str, calendar: (&ClosingDates, &[LocalTime]), now: UtcMillis) -> ZoneInstants {
    let zone = ZoneRules::load_newest().get_or_utc(Some(name));
    let mut told = None;
    let mut next = Vec::new();
    for _ in 0..INSTANTS {
        let (number, instant) = civil_time::next_closing(now, told, calendar, &zone);
        told = Some(number);
        next.push(format_local(instant, &zone).unwrap_or_else(|| Day(number.date()).to_string()));
    }
    ZoneInstants { zone: name.to_owned(), next }
}

/// `every day at 09:00`, `every Monday and Thursday at 09:00 and 18:00`.
fn describe_dates(dates: &ClosingDates, times: &[LocalTime]) -> String {
    let at = join_and(times.iter().map(|at| format_time(*at)));
    let dates = match dates {
        ClosingDates::Weekdays(WeekdaySet::ALL) => "every day".to_owned(),
        ClosingDates::Weekdays(on) => {
            let days = WEEKDAYS.into_iter().enumerate().filter(|(day, _)| on.has(*day));
            format!("every {}", join_and(days.map(|(_, name)| name.to_owned())))
        }
        ClosingDates::Monthly(days) => {
            format!("on {} of each month", join_and(days.iter().map(|day| describe_month_day(*day))))
        }
        ClosingDates::Every { count, unit, from } => {
            let unit = match unit {
                DateUnit::Days => "day",
                DateUnit::Weeks => "week",
                DateUnit::Months => "month",
            };
            let every = if *count == 1 { unit.to_owned() } else { format!("{count} {unit}s") };
            format!("every {every} counted from {}", Day(*from))
        }
        ClosingDates::Cron(cron) => return format!("by the line of cron `{}`", cron.line),
    };
    format!("{dates} at {at}")
}

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// `day 15`, `the last day`, `the first Monday`.
fn describe_month_day(day: MonthDay) -> String {
    let weekday = |weekday: u8| WEEKDAYS[usize::from(weekday) % 7];
    match day {
        MonthDay::Number(day) => format!("day {day}"),
        MonthDay::Last => "the last day".to_owned(),
        MonthDay::LastWeekday(day) => format!("the last {}", weekday(day)),
        MonthDay::Nth { nth, weekday: day } => {
            let nth = ["first", "second", "third", "fourth"][usize::from(nth.saturating_sub(1)) % 4];
            format!("the {nth} {}", weekday(day))
        }
    }
}

/// `this`, or `this, that and that`.
fn join_and(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match &words[..] {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        words => words.join(", "),
    }
}

/// What there is beside the hour or the while, a clause for each.
fn describe_pacing(plan: &Plan) -> Vec<String> {
    let mut clauses = Vec::new();
    if let Some(entries) = plan.entries {
        clauses.push(format!("sooner, once it holds {} entries", entries.max(plan.at_least)));
    }
    match plan.first {
        FirstRule::Gathered => {}
        FirstRule::Alone => clauses.push("the first entry is told at once".to_owned()),
        FirstRule::Both => {
            clauses.push("the first entry is told at once, and again with the others".to_owned());
        }
    }
    if let Some(AloneRule { most, within_ms }) = plan.alone {
        let few =
            if most == 1 { "no message was".to_owned() } else { format!("fewer than {most} messages were") };
        clauses.push(format!("at once, if {few} told in the {} before", format_length(within_ms)));
    }
    clauses.extend(plan.rest.as_ref().map(describe_rest));
    if plan.together {
        clauses.push("all windows of a person close together".to_owned());
    }
    if plan.at_least > 1 {
        let few = match plan.below {
            TooFewRule::Carried => "they wait for more",
            TooFewRule::Ended => "they are not told at all",
        };
        clauses.push(format!("with fewer than {} entries there is no message: {few}", plan.at_least));
    }
    clauses
}

fn describe_rest(rest: &RestRule) -> String {
    let mut text = format!("after a message it rests for {}", format_length(rest.start_ms));
    if rest.factor > 1 {
        text += &format!(", {} times longer after each further message in a row", rest.factor);
    }
    if rest.each_ms > 0 {
        text += &format!(", {} longer with each entry that arrives meanwhile", format_length(rest.each_ms));
    }
    if rest.most_ms > rest.start_ms {
        text += &format!(", {} at most", format_length(rest.most_ms));
    }
    text
}

fn format_local(at: UtcMillis, zone: &civil_time::Zone) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %:z").to_string())
}

fn format_time(at: LocalTime) -> String {
    format!("{:02}:{:02}", at.hour, at.minute)
}

fn zone_row(zone: &ZoneInstants) -> [String; 4] {
    let next = |i: usize| zone.next.get(i).cloned().unwrap_or_default();
    [zone.zone.clone(), next(0), next(1), next(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_says_when_it_closes() {
        let close = |at: (u8, u8), on: &[usize], zone: &str, spread_ms| {
            let zone = if zone == "person" { ZoneRule::Person } else { ZoneRule::Fixed(zone.to_owned()) };
            let times = vec![LocalTime { hour: at.0, minute: at.1 }];
            let dates = ClosingDates::Weekdays(WeekdaySet::new(on.iter().copied()).unwrap());
            CloseRule::Calendar { dates, times, zone, spread_ms, best: None }
        };
        let check = |close: CloseRule, closes: &str, in_berlin: &[&str]| {
            let plan = Plan::new(model::PlanName::new("p").unwrap(), model::Channel::Email, close);
            // A Saturday.
            let schedule = schedule_plan(&plan, UtcMillis::parse("2026-11-21T12:00:00Z").unwrap());
            assert_eq!(schedule.closes, closes);
            let berlin = schedule.zones.iter().find(|zone| zone.zone == "Europe/Berlin");
            assert_eq!(berlin.map(|zone| zone.next.join(", ")).unwrap_or_default(), in_berlin.join(", "));
        };
        let daily = close((9, 0), &[0, 1, 2, 3, 4, 5, 6], "person", 20 * 60_000);
        check(
            daily,
            "every day at 09:00 in the person's time zone, spread over the following 20m",
            &["Sun 2026-11-22 09:00 +01:00", "Mon 2026-11-23 09:00 +01:00", "Tue 2026-11-24 09:00 +01:00"],
        );
        check(
            close((18, 5), &[3, 0], "Europe/Berlin", 0),
            "every Monday and Thursday at 18:05 in the time zone Europe/Berlin",
            &["Mon 2026-11-23 18:05 +01:00", "Thu 2026-11-26 18:05 +01:00", "Mon 2026-11-30 18:05 +01:00"],
        );
        check(
            close((18, 5), &[5], "person", 0),
            "every Saturday at 18:05 in the person's time zone",
            &["Sat 2026-11-21 18:05 +01:00", "Sat 2026-11-28 18:05 +01:00", "Sat 2026-12-05 18:05 +01:00"],
        );
        check(
            close((0, 0), &[0, 2, 4], "Asia/Kolkata", 5_400_000),
            "every Monday, Wednesday and Friday at 00:00 in the time zone Asia/Kolkata, spread over the following 1h30m",
            &[],
        );
        let on = |dates: ClosingDates, hours: &[u8]| CloseRule::Calendar {
            dates,
            times: hours.iter().map(|hour| LocalTime { hour: *hour, minute: 0 }).collect(),
            zone: ZoneRule::Person,
            spread_ms: 0,
            best: None,
        };
        check(
            on(ClosingDates::DAILY, &[9, 18]),
            "every day at 09:00 and 18:00 in the person's time zone",
            &["Sat 2026-11-21 18:00 +01:00", "Sun 2026-11-22 09:00 +01:00", "Sun 2026-11-22 18:00 +01:00"],
        );
        let days = [MonthDay::Number(1), MonthDay::Nth { nth: 3, weekday: 1 }, MonthDay::Last];
        check(
            on(ClosingDates::Monthly(days.to_vec()), &[9]),
            "on day 1, the third Tuesday and the last day of each month at 09:00 in the person's time zone",
            &["Mon 2026-11-30 09:00 +01:00", "Tue 2026-12-01 09:00 +01:00", "Tue 2026-12-15 09:00 +01:00"],
        );
        let from = Day::parse("2026-01-05").unwrap().0;
        check(
            on(ClosingDates::Every { count: 2, unit: DateUnit::Weeks, from }, &[9]),
            "every 2 weeks counted from 2026-01-05 at 09:00 in the person's time zone",
            &["Mon 2026-11-23 09:00 +01:00", "Mon 2026-12-07 09:00 +01:00", "Mon 2026-12-21 09:00 +01:00"],
        );
        check(CloseRule::After { ms: 7_200_000 }, "2h after its first entry", &[]);
        check(CloseRule::After { ms: 93_784_000 }, "1d2h3m4s after its first entry", &[]);
    }

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;

    /// What is said of a plan that goes at once, after a change.
    fn check_sentence(change: impl FnOnce(&mut Plan), expected: &str) {
        let (name, channel) = (model::PlanName::new("p").unwrap(), model::Channel::Email);
        let mut plan = Plan::new(name, channel, CloseRule::After { ms: 0 });
        change(&mut plan);
        assert_eq!(schedule_plan(&plan, UtcMillis(0)).closes, expected, "{plan:?}");
    }

    #[test]
    fn what_a_plan_says_beside_is_a_sentence() {
        let after = |ms| CloseRule::After { ms };
        let rest =
            RestRule { start_ms: 10 * MINUTE, factor: 1, most_ms: 10 * MINUTE, each_ms: 0, reset_ms: HOUR };
        check_sentence(|_| (), "as soon as an entry arrives");
        check_sentence(
            |plan| plan.rest = Some(rest),
            "as soon as an entry arrives; after a message it rests for 10m",
        );
        check_sentence(
            |plan| plan.rest = Some(RestRule { factor: 6, most_ms: 24 * HOUR, ..rest }),
            "as soon as an entry arrives; after a message it rests for 10m, 6 times longer after each \
             further message in a row, 1d at most",
        );
        check_sentence(
            |plan| plan.rest = Some(RestRule { each_ms: 30_000, most_ms: HOUR, ..rest }),
            "as soon as an entry arrives; after a message it rests for 10m, 30s longer with each entry \
            that arrives meanwhile, 1h at most",
        );
        check_sentence(
            |plan| (plan.close, plan.entries) = (after(HOUR), Some(3)),
            "1h after its first entry; sooner, once it holds 3 entries",
        );
        check_sentence(
            |plan| (plan.close, plan.entries, plan.at_least) = (after(HOUR), Some(3), 5),
            "1h after its first entry; sooner, once it holds 5 entries; with fewer than 5 entries there is \
            no message: they \
             wait for more",
        );
        check_sentence(
            |plan| (plan.close, plan.at_least, plan.below) = (after(HOUR), 2, TooFewRule::Ended),
            "1h after its first entry; with fewer than 2 entries there is no message: they are not told at \
            all",
        );
        check_sentence(
            |plan| (plan.close, plan.first) = (after(HOUR), FirstRule::Alone),
            "1h after its first entry; the first entry is told at once",
        );
        check_sentence(
            |plan| (plan.close, plan.first) = (after(HOUR), FirstRule::Both),
            "1h after its first entry; the first entry is told at once, and again with the others",
        );
        let alone = |most| Some(AloneRule { most, within_ms: 10 * MINUTE });
        check_sentence(
            |plan| (plan.close, plan.alone) = (after(HOUR), alone(1)),
            "1h after its first entry; at once, if no message was told in the 10m before",
        );
        check_sentence(
            |plan| (plan.close, plan.alone, plan.together) = (after(HOUR), alone(3), true),
            "1h after its first entry; at once, if fewer than 3 messages were told in the 10m before; all windows of a \
             person close together",
        );
    }

    #[test]
    fn every_way_to_close_is_a_sentence() {
        check_sentence(
            |plan| plan.close = CloseRule::Silence { ms: 5 * MINUTE, most_ms: HOUR },
            "when nothing has come for 5m, and 1h after its first entry at the latest",
        );
        check_sentence(
            |plan| plan.close = CloseRule::Away { ms: HOUR },
            "when the person has not been seen for 1h",
        );
        let before = |ms| CloseRule::Before { field: "starts".to_owned(), ms };
        check_sentence(|plan| plan.close = before(0), "at the earliest `starts` of its entries");
        check_sentence(|plan| plan.close = before(HOUR), "1h before the earliest `starts` of its entries");
        let best = LocalHours::parse("07:00-22:00");
        check_sentence(
            |plan| {
                let (dates, times) = (ClosingDates::DAILY, vec![LocalTime { hour: 9, minute: 0 }]);
                plan.close = CloseRule::Calendar { dates, times, zone: ZoneRule::Person, spread_ms: 0, best };
            },
            "every day at 09:00 in the person's time zone; for a person who comes often, in the hour between 07:00 and \
             22:00 in which they come most",
        );
        let plans = ["now", "nudge"].map(|name| model::PlanName::new(name).unwrap()).to_vec();
        check_sentence(
            |plan| plan.follows = Some(EscalationRule { plans: plans.clone(), wait_ms: 10 * MINUTE }),
            "10m after a message of `now` or `nudge` was delivered, unless the person has come by then",
        );
    }
}
