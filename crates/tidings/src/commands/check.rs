//! `tidings check`: everything that can be said about a catalogue before it runs.

use std::path::Path;

use anyhow::Context as _;
use catalogue::{Catalogue, Problem, Problems};
use model::Millis;
use render::{Renderer, TrialRun};
use runtime::{Clock, Shutdown};
use serde::Serialize;
use serde_json::json;

use self::plans::{Schedule, schedule};
use super::Out;
use crate::{
    cli,
    failure::Failure,
    say,
    scenario::{self, Ground},
};

mod forms;
mod plans;
mod watch;

/// Where a catalogue has its scenarios.
const SCENARIOS: &str = "scenarios";

pub fn run(asked: &cli::Check, out: Out) -> Result<(), Failure> {
    let ask = Ask { only: asked.only.clone(), stop: Shutdown::default() };
    if asked.watch { watch::run(asked, &ask, out) } else { once(asked, &ask, out) }
}

/// What is looked at of a catalogue.
#[derive(Default)]
pub struct Ask {
    /// Of the scenarios those that have this in their name.
    pub only: Option<String>,
    /// No scenario is begun after this.
    pub stop: Shutdown,
}

/// What there is to say of a catalogue without a problem.
#[derive(Debug)]
pub struct Found {
    pub catalogue: Catalogue,
    pub notes: Vec<Problem>,
    /// Each plan's message in its forms, with notes on them.
    pub trial: TrialRun,
    pub played: Vec<Played>,
}

/// What came of a scenario.
#[derive(Debug, Serialize)]
pub struct Played {
    file: String,
    proves: String,
    pub passed: bool,
    /// Why not, with what happened until then.
    why: Option<String>,
    /// All that happened.
    trace: Vec<String>,
}

/// Why a catalogue was not looked at to the end.
#[derive(Debug)]
pub enum Stopped {
    Problems(Problems),
    Failure(Failure),
}

/// Loads a catalogue, renders all of it with example data, and plays its scenarios.
pub fn look(dir: &Path, ask: &Ask) -> Result<Found, Stopped> {
    let catalogue = Catalogue::load(dir).map_err(Stopped::Problems)?;
    Renderer::check(&catalogue).settle().map_err(Stopped::Problems)?;
    let notes = catalogue.notes();
    let trial = Renderer::trial(&catalogue).map_err(Stopped::Problems)?;
    let played = play(&dir.join(SCENARIOS), ask).map_err(Stopped::Failure)?;
    Ok(Found { catalogue, notes, trial, played })
}

/// Checks a catalogue and says what was found.
fn once(asked: &cli::Check, ask: &Ask, out: Out) -> Result<(), Failure> {
    let found = match look(&asked.dir, ask) {
        Ok(found) => found,
        Err(Stopped::Problems(problems)) => return refuse(&problems, out),
        Err(Stopped::Failure(failure)) => return Err(failure),
    };
    let now = Millis(Clock::real(0).now());
    let plans: Vec<Schedule> =
        found.catalogue.plans.by_name.values().map(|plan| schedule(plan, now)).collect();
    if let Some(folder) = &asked.html {
        forms::write(folder, &found.trial.sheets)?;
    }
    if out.json {
        say::json(&in_json(&found, &plans, asked.trace))?;
    } else {
        print(&found, &plans, asked)?;
    }
    verdict(&found, asked.strict)
}

/// What makes the command fail after all has been said.
fn verdict(found: &Found, strict: bool) -> Result<(), Failure> {
    let failed = found.played.iter().filter(|played| !played.passed).count();
    if failed > 0 {
        return Err(Failure::refused(format!("{} failed", so_many(failed, "scenario"))));
    }
    match found.notes.len() + found.trial.findings.len() {
        notes if strict && notes > 0 => {
            Err(Failure::refused(format!("{}, and --strict takes none", so_many(notes, "note"))))
        }
        _ => Ok(()),
    }
}

/// Plays the scenarios beside a catalogue, if there are any.
fn play(dir: &Path, ask: &Ask) -> Result<Vec<Played>, Failure> {
    if !dir.is_dir() {
        return match &ask.only {
            Some(_) => Err(Failure::refused(format!("{} is no folder with scenarios", dir.display()))),
            None => Ok(Vec::new()),
        };
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let all = scenario::files(dir)?;
    let files: Vec<_> = all.iter().filter(|path| is_asked(path, ask.only.as_deref())).collect();
    if let Some(only) = ask.only.as_deref().filter(|_| files.is_empty()) {
        let names: Vec<&str> = all.iter().map(|path| name(path)).collect();
        let there = catalogue::problem::one_of(names);
        return Err(Failure::refused(format!("no scenario has `{only}` in its name: there is {there}")));
    }
    let mut played = Vec::new();
    for (number, path) in files.iter().enumerate() {
        if ask.stop.started() {
            break;
        }
        say::progress(format!("scenario {} of {}: {}", number + 1, files.len(), path.display()));
        played.push(one(path, runtime.block_on(scenario::run_file(path, Ground::Even))));
    }
    say::progress_done();
    Ok(played)
}

fn is_asked(path: &Path, only: Option<&str>) -> bool {
    only.is_none_or(|only| name(path).contains(only))
}

/// What a scenario is called: its file without the ending.
fn name(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

fn one(path: &Path, ran: anyhow::Result<stage::Report>) -> Played {
    let file = path.display().to_string();
    match ran {
        Ok(report) => {
            let why = (!report.passed()).then(|| report.to_string());
            let stage::Report { proves, trace, .. } = report;
            Played { file, proves, passed: why.is_none(), why, trace }
        }
        Err(error) => {
            let why = Some(format!("{error:#}"));
            Played { file, proves: String::new(), passed: false, why, trace: Vec::new() }
        }
    }
}

fn in_json(found: &Found, plans: &[Schedule], with_traces: bool) -> serde_json::Value {
    let Found { catalogue, notes, trial, played } = found;
    let subjects: Vec<&String> = catalogue.subjects.keys().collect();
    let kinds: Vec<&str> = catalogue.kinds.keys().map(model::Kind::as_str).collect();
    let scenario = |played: &Played| {
        let Played { file, proves, passed, why, trace } = played;
        let mut one = json!({"file": file, "proves": proves, "passed": passed, "why": why});
        if with_traces {
            one["trace"] = json!(trace);
        }
        one
    };
    let scenarios: Vec<_> = played.iter().map(scenario).collect();
    let notes = notes.iter().map(problem_in_json);
    let notes: Vec<_> = notes.chain(trial.findings.iter().map(forms::finding_in_json)).collect();
    let forms: Vec<_> = trial.sheets.iter().map(forms::in_json).collect();
    json!({
        "catalogue": catalogue.name,
        "problems": [],
        "notes": notes,
        "subjects": subjects,
        "kinds": kinds,
        "plans": plans,
        "forms": forms,
        "scenarios": scenarios,
    })
}

fn print(found: &Found, plans: &[Schedule], asked: &cli::Check) -> Result<(), Failure> {
    let paint = say::Paint::data();
    let Found { catalogue, notes, trial, played } = found;
    say::data(format!(
        "{}: {}, {} and {}; all rendered with example data",
        paint.with(say::BOLD, &catalogue.name),
        so_many(catalogue.subjects.len(), "subject"),
        so_many(catalogue.kinds.len(), "kind"),
        so_many(plans.len(), "plan"),
    ))?;
    plans::print(plans, &trial.sheets, asked.verbose)?;
    for note in notes.iter().chain(trial.findings.iter().map(|finding| &finding.problem)) {
        say::data(format!("{} {note}", paint.with(say::WARN, "note:")))?;
    }
    say::data(paint.with(say::GOOD, "no problems in the catalogue"))?;
    print_played(played, asked.trace)
}

fn print_played(all: &[Played], with_traces: bool) -> Result<(), Failure> {
    let paint = say::Paint::data();
    for played in all {
        let (style, word) = if played.passed { (say::GOOD, "ok") } else { (say::BAD, "FAILED") };
        say::data(format!(
            "{} {} {}",
            paint.with(style, word),
            played.file,
            paint.with(say::FAINT, &played.proves)
        ))?;
        // Why it failed has the trace in it.
        match &played.why {
            Some(why) => say::data(format!("  {}", why.replace('\n', "\n  ")))?,
            None if with_traces => {
                played.trace.iter().try_for_each(|line| say::data(format!("  {line}")))?;
            }
            None => {}
        }
    }
    if !all.is_empty() {
        let passed = all.iter().filter(|played| played.passed).count();
        say::data(format!("{passed} of {} passed", so_many(all.len(), "scenario")))?;
    }
    Ok(())
}

fn refuse(problems: &Problems, out: Out) -> Result<(), Failure> {
    if out.json {
        let problems: Vec<_> = problems.0.iter().map(problem_in_json).collect();
        say::json(&json!({"problems": problems}))?;
    } else {
        say::talk(problems);
    }
    let n = problems.0.len();
    Err(Failure::refused(so_many(n, "problem")))
}

fn problem_in_json(problem: &Problem) -> serde_json::Value {
    let Problem { file, line, column, what, help, .. } = problem;
    json!({"file": file, "line": line, "column": column, "what": what, "help": help})
}

/// `1 plan`, `2 plans`.
fn so_many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
