//! `tidings check`: everything that can be said about a catalogue before it runs.

use std::path::Path;

use anyhow::Context as _;
use catalogue::{Catalogue, Problem, Problems};
use model::{
    Day, Millis,
    civil::{self, Zones},
    plan::{Close, Plan, ZoneRule},
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
    let Close::Daily { at, zone, spread_ms } = &plan.close;
    let (zones, whose): (Vec<&str>, _) = match zone {
        ZoneRule::Person => (ZONES.to_vec(), "of the person's zone"),
        ZoneRule::Fixed(zone) => (vec![zone], "of one zone"),
    };
    let spread =
        if *spread_ms > 0 { format!(", spread over {} min", spread_ms / 60_000) } else { String::new() };
    let rules = Zones::system();
    let in_zone = |name: &&str| {
        let zone = rules.get_or_utc(Some(name));
        let mut told = None;
        let mut next = Vec::new();
        for _ in 0..INSTANTS {
            let (date, instant) = civil::next_daily(now, told, *at, &zone);
            told = Some(date);
            next.push(local(instant, &zone).unwrap_or_else(|| Day(date).to_string()));
        }
        InZone { zone: (*name).to_owned(), next }
    };
    Schedule {
        plan: plan.name.to_string(),
        closes: format!("daily at {:02}:{:02} {whose}{spread}", at.hour, at.minute),
        zones: zones.iter().map(in_zone).collect(),
    }
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
        say::data(format!("{} closes {}", paint.with(say::BOLD, &plan.plan), plan.closes))?;
        let rows: Vec<[String; 4]> = plan.zones.iter().map(row).collect();
        for line in say::table(&rows) {
            say::data(format!("  {line}"))?;
        }
    }
    say::data(
        "A local time that a zone skips is the next one there is; of one that comes twice it is the first.",
    )?;
    say::data(paint.with(say::GOOD, "no problems in the catalogue"))?;
    Ok(())
}

fn row(zone: &InZone) -> [String; 4] {
    let next = |i: usize| zone.next.get(i).cloned().unwrap_or_default();
    [zone.zone.clone(), next(0), next(1), next(2)]
}
