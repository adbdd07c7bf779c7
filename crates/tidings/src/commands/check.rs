//! `tidings check`: everything that can be said about a catalogue before it runs.

use std::path::Path;

use anyhow::Context as _;
use catalogue::{Catalogue, Problem, Problems, length};
use model::{
    Day, Millis,
    civil::{self, Zones},
    plan::{Alone, Close, First, Follows, GENERAL, LocalTime, Plan, Weekdays, ZoneRule},
};
use render::Renderer;
use runtime::Clock;
use serde::Serialize;
use serde_json::json;

use super::Out;
use crate::{
    cli,
    failure::Failure,
    say,
    scenario::{self, Ground},
};

/// Where a catalogue has its scenarios.
const SCENARIOS: &str = "scenarios";

/// Where the next instants are worked out: west, middle and east, with and without changes of the clock.
const ZONES: [&str; 3] = ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata"];
const INSTANTS: usize = 3;

pub fn run(asked: &cli::Check, out: Out) -> Result<(), Failure> {
    let catalogue = match check(&asked.dir) {
        Ok(catalogue) => catalogue,
        Err(problems) => return refuse(&problems, out),
    };
    let now = Millis(Clock::real(0).now());
    let plans: Vec<Schedule> = catalogue.plans.by_name.values().map(|plan| schedule(plan, now)).collect();
    let played = play(&asked.dir.join(SCENARIOS))?;
    if out.json {
        let subjects: Vec<&String> = catalogue.subjects.keys().collect();
        let kinds: Vec<&str> = catalogue.kinds.keys().map(model::Kind::as_str).collect();
        let name = &catalogue.name;
        say::json(&json!({
            "catalogue": name,
            "problems": [],
            "subjects": subjects,
            "kinds": kinds,
            "plans": plans,
            "scenarios": played,
        }))?;
    } else {
        print(&catalogue, &plans)?;
        print_played(&played)?;
    }
    match played.iter().filter(|played| !played.passed).count() {
        0 => Ok(()),
        1 => Err(Failure::refused("1 scenario failed")),
        n => Err(Failure::refused(format!("{n} scenarios failed"))),
    }
}

/// What came of a scenario.
#[derive(Debug, Serialize)]
struct Played {
    file: String,
    proves: String,
    passed: bool,
    /// Why not, with what happened until then.
    why: Option<String>,
}

/// Plays the scenarios beside a catalogue, if there are any.
fn play(dir: &Path) -> Result<Vec<Played>, Failure> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let files = scenario::files(dir)?;
    let mut all = Vec::new();
    for (number, path) in files.iter().enumerate() {
        say::progress(format!("scenario {} of {}: {}", number + 1, files.len(), path.display()));
        let file = path.display().to_string();
        all.push(match runtime.block_on(scenario::run_file(path, Ground::Even)) {
            Ok(report) => {
                let why = (!report.passed()).then(|| report.to_string());
                Played { file, proves: report.proves, passed: why.is_none(), why }
            }
            Err(error) => {
                Played { file, proves: String::new(), passed: false, why: Some(format!("{error:#}")) }
            }
        });
    }
    say::progress_done();
    Ok(all)
}

fn print_played(all: &[Played]) -> Result<(), Failure> {
    let paint = say::Paint::data();
    for played in all {
        let (style, word) = if played.passed { (say::GOOD, "ok") } else { (say::BAD, "FAILED") };
        say::data(format!(
            "{} {} {}",
            paint.with(style, word),
            played.file,
            paint.with(say::FAINT, &played.proves)
        ))?;
        if let Some(why) = &played.why {
            say::data(format!("  {}", why.replace('\n', "\n  ")))?;
        }
    }
    if !all.is_empty() {
        let passed = all.iter().filter(|played| played.passed).count();
        say::data(format!("{passed} of {} scenarios passed", all.len()))?;
    }
    Ok(())
}

/// Loads a catalogue and renders all of it with example data.
fn check(dir: &Path) -> Result<Catalogue, Problems> {
    let catalogue = Catalogue::load(dir)?;
    Renderer::check(&catalogue).settle()?;
    Ok(catalogue)
}

fn refuse(problems: &Problems, out: Out) -> Result<(), Failure> {
    if out.json {
        let one = |problem: &Problem| {
            let Problem { file, line, column, what, help, .. } = problem;
            json!({"file": file, "line": line, "column": column, "what": what, "help": help})
        };
        let problems: Vec<_> = problems.0.iter().map(one).collect();
        say::json(&json!({"problems": problems}))?;
    } else {
        say::talk(problems);
    }
    let n = problems.0.len();
    Err(Failure::refused(if n == 1 { "1 problem".to_owned() } else { format!("{n} problems") }))
}

/// When a plan closes next.
#[derive(Debug, Serialize)]
struct Schedule {
    plan: String,
    /// What a complaint about its mails ends.
    stream: String,
    closes: String,
    zones: Vec<InZone>,
}

#[derive(Debug, Serialize)]
struct InZone {
    zone: String,
    /// Local, with the offset.
    next: Vec<String>,
}

fn schedule(plan: &Plan, now: Millis) -> Schedule {
    let (closes, zones) = match &plan.close {
        Close::Calendar { at, on, zone, spread_ms, best } => {
            let (zones, whose): (Vec<&str>, _) = match zone {
                ZoneRule::Person => (ZONES.to_vec(), "of the person's zone"),
                ZoneRule::Fixed(zone) => (vec![zone], "of one zone"),
            };
            let spread =
                if *spread_ms > 0 { format!(", spread over {}", length(*spread_ms)) } else { String::new() };
            let best = best.map_or_else(String::new, |within| {
                format!(
                    ", or in the hour of {} to {} in which they come most",
                    time(within.from),
                    time(within.to)
                )
            });
            let closes = format!("{} at {} {whose}{best}{spread}", days(*on), time(*at));
            (closes, zones.into_iter().map(|name| in_zone(name, *at, *on, now)).collect())
        }
        // Such a window has no hour of its own to show.
        Close::After { ms: 0 } => ("at once".to_owned(), Vec::new()),
        Close::After { ms } => (format!("{} after it opened", length(*ms)), Vec::new()),
        Close::Silence { ms, most_ms } => {
            let closes = format!(
                "after {} of silence, {} after it opened at the latest",
                length(*ms),
                length(*most_ms)
            );
            (closes, Vec::new())
        }
        Close::Away { ms } => (format!("when they have been away for {}", length(*ms)), Vec::new()),
        Close::Before { field, ms: 0 } => (format!("at the earliest `{field}`"), Vec::new()),
        Close::Before { field, ms } => (format!("{} before the earliest `{field}`", length(*ms)), Vec::new()),
    };
    let closes = match &plan.follows {
        Some(Follows { plans, wait_ms }) => {
            let names: Vec<String> = plans.iter().map(|plan| format!("`{plan}`")).collect();
            format!("{} after {} told, for who has not come", length(*wait_ms), names.join(" or "))
        }
        None => closes + &paced(plan),
    };
    Schedule { plan: plan.name.to_string(), stream: plan.stream.to_string(), closes, zones }
}

fn in_zone(name: &str, at: LocalTime, on: Weekdays, now: Millis) -> InZone {
    let zone = Zones::system().get_or_utc(Some(name));
    let mut told = None;
    let mut next = Vec::new();
    for _ in 0..INSTANTS {
        let (date, instant) = civil::next_on(now, told, at, on, &zone);
        told = Some(date);
        next.push(local(instant, &zone).unwrap_or_else(|| Day(date).to_string()));
    }
    InZone { zone: name.to_owned(), next }
}

/// `daily`, or `weekly on mon and thu`.
fn days(on: Weekdays) -> String {
    if on == Weekdays::ALL {
        return "daily".to_owned();
    }
    let days = Weekdays::NAMES.into_iter().enumerate().filter(|(day, _)| on.has(*day));
    let days: Vec<&str> = days.map(|(_, name)| name).collect();
    match &days[..] {
        [before @ .., last] if !before.is_empty() => format!("weekly on {} and {last}", before.join(", ")),
        days => format!("weekly on {}", days.join(", ")),
    }
}

/// What there is beside the hour or the while, in the words of the catalogue.
fn paced(plan: &Plan) -> String {
    let mut text = String::new();
    match plan.first {
        First::Gathered => {}
        First::Alone => text += ", the first entry at once",
        First::Both => text += ", the first entry at once and once more with the others",
    }
    if let Some(Alone { most, within_ms }) = plan.alone {
        let fewer = if most == 1 { "none was".to_owned() } else { format!("fewer than {most} were") };
        text += &format!(", at once if {fewer} told within {}", length(within_ms));
    }
    if let Some(entries) = plan.entries {
        text += &format!(", with {entries} entries at once");
    }
    if let Some(rest) = plan.rest {
        text += &format!(", rests {} after each", length(rest.start_ms));
        if rest.factor > 1 {
            text += &format!(", {} times longer each time", rest.factor);
        }
        if rest.each_ms > 0 {
            text += &format!(", {} longer with each entry", length(rest.each_ms));
        }
        if rest.most_ms > rest.start_ms {
            text += &format!(", up to {}", length(rest.most_ms));
        }
    }
    if plan.together {
        text += ", all its windows together";
    }
    text
}

fn local(at: Millis, zone: &civil::Zone) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %:z").to_string())
}

fn print(catalogue: &Catalogue, plans: &[Schedule]) -> Result<(), Failure> {
    let paint = say::Paint::data();
    let (subjects, kinds) = (catalogue.subjects.len(), catalogue.kinds.len());
    say::data(format!(
        "{}: {subjects} subjects, {kinds} kinds, {} plans; all rendered with example data",
        paint.with(say::BOLD, &catalogue.name),
        plans.len()
    ))?;
    for plan in plans {
        let stream = match plan.stream.as_str() {
            GENERAL => String::new(),
            stream => format!(" (stream {stream})"),
        };
        say::data(format!("{}{stream} closes {}", paint.with(say::BOLD, &plan.plan), plan.closes))?;
        let rows: Vec<[String; 4]> = plan.zones.iter().map(row).collect();
        for line in say::table(&rows) {
            say::data(format!("  {line}"))?;
        }
    }
    if plans.iter().any(|plan| !plan.zones.is_empty()) {
        say::data(
            "A local time that a zone skips is the next one there is; of one that comes twice it is the first.",
        )?;
    }
    say::data(paint.with(say::GOOD, "no problems in the catalogue"))?;
    Ok(())
}

fn time(at: LocalTime) -> String {
    format!("{:02}:{:02}", at.hour, at.minute)
}

fn row(zone: &InZone) -> [String; 4] {
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
            let at = LocalTime { hour: at.0, minute: at.1 };
            let on = Weekdays::new(on.iter().copied()).unwrap();
            Close::Calendar { at, on, zone, spread_ms, best: None }
        };
        let check = |close: Close, closes: &str, in_berlin: &[&str]| {
            let plan = Plan::new(model::PlanName::new("p").unwrap(), model::Channel::Email, close);
            // A Saturday.
            let schedule = schedule(&plan, Millis::parse("2026-11-21T12:00:00Z").unwrap());
            assert_eq!(schedule.closes, closes);
            let berlin = schedule.zones.iter().find(|zone| zone.zone == "Europe/Berlin");
            assert_eq!(berlin.map(|zone| zone.next.join(", ")).unwrap_or_default(), in_berlin.join(", "));
        };
        let daily = close((9, 0), &[0, 1, 2, 3, 4, 5, 6], "person", 20 * 60_000);
        check(
            daily,
            "daily at 09:00 of the person's zone, spread over 20m",
            &["Sun 2026-11-22 09:00 +01:00", "Mon 2026-11-23 09:00 +01:00", "Tue 2026-11-24 09:00 +01:00"],
        );
        check(
            close((18, 5), &[3, 0], "Europe/Berlin", 0),
            "weekly on mon and thu at 18:05 of one zone",
            &["Mon 2026-11-23 18:05 +01:00", "Thu 2026-11-26 18:05 +01:00", "Mon 2026-11-30 18:05 +01:00"],
        );
        check(
            close((18, 5), &[5], "person", 0),
            "weekly on sat at 18:05 of the person's zone",
            &["Sat 2026-11-21 18:05 +01:00", "Sat 2026-11-28 18:05 +01:00", "Sat 2026-12-05 18:05 +01:00"],
        );
        check(
            close((0, 0), &[0, 2, 4], "Asia/Kolkata", 5_400_000),
            "weekly on mon, wed and fri at 00:00 of one zone, spread over 1h30m",
            &[],
        );
        check(Close::After { ms: 7_200_000 }, "2h after it opened", &[]);
        check(Close::After { ms: 93_784_000 }, "1d2h3m4s after it opened", &[]);
    }
}
