//! `tidings check`: everything that can be said about a catalogue before it runs.

use std::path::Path;

use anyhow::Context as _;
use catalogue::Catalogue;
use model::{DayLife, UtcMillis};
use render::{MessageRenderer, TrialRun};
use runtime::{Clock, ShutdownSignal};
use scenario::{self, ScenarioGround};
use serde::Serialize;
use serde_json::json;
use share_ratio::ShareRatio;
use shell::{failure::CommandError, terminal};
use source_text::{TextProblem, TextProblems};

use self::{
    plans::{PlanCloseSchedule, schedule_plan},
    report_parts::{pluralise, problem_in_json},
};
use super::OutputStyle;
use crate::arguments as cli;

mod forms;
mod plans;
mod report_parts;
mod watch;

/// Where a catalogue has its scenarios.
const SCENARIOS: &str = "scenarios";

pub fn run(asked: &cli::CatalogueCheckArgs, out: OutputStyle) -> Result<(), CommandError> {
    let (only, day_life) = (asked.only.clone(), DayLife::new(asked.day_life).unwrap_or_default());
    let ask = CatalogueCheckRequest { only, day_life, stop: ShutdownSignal::default() };
    // What is no folder will not change.
    if asked.watch && asked.dir.is_dir() {
        watch::run(asked, &ask, out)
    } else {
        check_once(asked, &ask, out)
    }
}

/// What is looked at of a catalogue.
#[derive(Default)]
pub struct CatalogueCheckRequest {
    /// Of the scenarios those that have this in their name.
    pub only: Option<String>,
    /// Of the house that it is for.
    pub day_life: DayLife,
    /// No scenario is begun after this.
    pub stop: ShutdownSignal,
}

/// What there is to say of a catalogue without a problem.
#[derive(Debug)]
pub struct CatalogueCheckReport {
    pub catalogue: Catalogue,
    pub notes: Vec<TextProblem>,
    /// Each plan's message in its forms, with notes on them.
    pub trial: TrialRun,
    pub played: Vec<ScenarioVerdict>,
}

/// What came of a scenario.
#[derive(Debug, Serialize)]
pub struct ScenarioVerdict {
    file: String,
    proves: String,
    pub passed: bool,
    /// Why not, with what happened until then.
    why: Option<String>,
    /// What was accepted and is probably not what was meant, each with its line.
    notes: Vec<String>,
    /// All that happened.
    trace: Vec<String>,
}

/// Why a catalogue was not looked at to the end.
#[derive(Debug)]
pub enum CatalogueCheckError {
    Problems(TextProblems),
    Failure(CommandError),
}

/// Loads a catalogue, renders all of it with example data, and plays its scenarios.
pub fn check_catalogue(
    dir: &Path,
    ask: &CatalogueCheckRequest,
) -> Result<CatalogueCheckReport, CatalogueCheckError> {
    let catalogue = Catalogue::load(dir, ask.day_life).map_err(CatalogueCheckError::Problems)?;
    MessageRenderer::check(&catalogue).into_result().map_err(CatalogueCheckError::Problems)?;
    let endless = catalogue.find_endless_mails();
    if !endless.is_empty() {
        return Err(CatalogueCheckError::Problems(TextProblems(endless)));
    }
    let notes = catalogue.notes();
    let trial = MessageRenderer::run_trial(&catalogue).map_err(CatalogueCheckError::Problems)?;
    let played = play_scenarios(&dir.join(SCENARIOS), ask).map_err(CatalogueCheckError::Failure)?;
    Ok(CatalogueCheckReport { catalogue, notes, trial, played })
}

/// Checks a catalogue and says what was found.
fn check_once(
    asked: &cli::CatalogueCheckArgs,
    ask: &CatalogueCheckRequest,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let found = match check_catalogue(&asked.dir, ask) {
        Ok(found) => found,
        Err(CatalogueCheckError::Problems(problems)) => return refuse_problems(&problems, out),
        Err(CatalogueCheckError::Failure(failure)) => return Err(failure),
    };
    let canary = asked.canary.as_ref().map(|dir| check_canary(&found.catalogue, dir, out)).transpose()?;
    let now = UtcMillis(Clock::real(0).now());
    let plans: Vec<PlanCloseSchedule> =
        found.catalogue.plans.by_name.values().map(|plan| schedule_plan(plan, now)).collect();
    if let Some(folder) = &asked.html {
        forms::write_sheets(folder, &found.trial.sheets)?;
    }
    if out.json {
        terminal::print_json(&report_in_json(&found, &plans, asked.trace))?;
    } else {
        print_report(&found, &plans, asked)?;
        canary.into_iter().try_for_each(terminal::print_data)?;
    }
    judge_report(&found, asked.strict)
}

/// Whether another catalogue can be tried on some persons; what there is to say of it.
fn check_canary(catalogue: &Catalogue, dir: &Path, out: OutputStyle) -> Result<String, CommandError> {
    let both = lifecycle::start::add_canary(catalogue.clone(), dir, ShareRatio::WHOLE);
    let both = both.or_else(|refused| {
        if out.json {
            terminal::print_json(&json!({"problems": [{"what": refused.to_string()}]}))?;
        }
        Err(refused)
    })?;
    let is_same = both.canary.is_some_and(|canary| canary.catalogue.hash == catalogue.hash);
    let dir = dir.display();
    Ok(if is_same {
        format!("the canary {dir} fits, but has the same kinds and plans")
    } else {
        format!("the canary {dir} fits")
    })
}

/// Whether the command fails, decided after everything was printed.
fn judge_report(found: &CatalogueCheckReport, strict: bool) -> Result<(), CommandError> {
    let failed = found.played.iter().filter(|played| !played.passed).count();
    if failed > 0 {
        return Err(CommandError::from_refusal(format!("{} failed", pluralise(failed, "scenario"))));
    }
    let in_scenarios: usize = found.played.iter().map(|played| played.notes.len()).sum();
    match found.notes.len() + found.trial.findings.len() + in_scenarios {
        notes if strict && notes > 0 => {
            Err(CommandError::from_refusal(format!("{}, and --strict allows none", pluralise(notes, "note"))))
        }
        _ => Ok(()),
    }
}

/// Plays the scenarios beside a catalogue, if there are any.
fn play_scenarios(dir: &Path, ask: &CatalogueCheckRequest) -> Result<Vec<ScenarioVerdict>, CommandError> {
    if !dir.is_dir() {
        return match &ask.only {
            Some(_) => {
                Err(CommandError::from_refusal(format!("{} is not a folder with scenarios", dir.display())))
            }
            None => Ok(Vec::new()),
        };
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let all = scenario::list_scenarios(dir)?;
    let files: Vec<_> = all.iter().filter(|path| matches_pattern(path, ask.only.as_deref())).collect();
    if let Some(only) = ask.only.as_deref().filter(|_| files.is_empty()) {
        let names: Vec<&str> = all.iter().map(|path| scenario_name(path)).collect();
        let there = source_text::list_choices(names);
        return Err(CommandError::from_refusal(format!(
            "no scenario has `{only}` in its name; choose from {there}"
        )));
    }
    let mut played = Vec::new();
    for (number, path) in files.iter().enumerate() {
        if ask.stop.is_started() {
            break;
        }
        terminal::print_progress(format!("scenario {} of {}: {}", number + 1, files.len(), path.display()));
        played.push(scenario_outcome(
            path,
            runtime.block_on(scenario::run_file(path, ask.day_life, ScenarioGround::Even)),
        ));
    }
    terminal::progress_done();
    Ok(played)
}

fn matches_pattern(path: &Path, only: Option<&str>) -> bool {
    only.is_none_or(|only| scenario_name(path).contains(only))
}

/// What a scenario is called: its file without the ending.
fn scenario_name(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

fn scenario_outcome(path: &Path, ran: anyhow::Result<stage::ScenarioReport>) -> ScenarioVerdict {
    let file = path.display().to_string();
    match ran {
        Ok(report) => {
            let why = (!report.has_passed()).then(|| report.to_string());
            let stage::ScenarioReport { proves, trace, notes, .. } = report;
            let notes =
                notes.into_iter().map(|note| format!("{file}:{}: {}", note.line, note.what)).collect();
            ScenarioVerdict { file, proves, passed: why.is_none(), why, notes, trace }
        }
        Err(error) => {
            let why = Some(format!("{error:#}"));
            ScenarioVerdict {
                file,
                proves: String::new(),
                passed: false,
                why,
                notes: Vec::new(),
                trace: Vec::new(),
            }
        }
    }
}

fn report_in_json(
    found: &CatalogueCheckReport,
    plans: &[PlanCloseSchedule],
    with_traces: bool,
) -> serde_json::Value {
    let CatalogueCheckReport { catalogue, notes, trial, played } = found;
    let subjects: Vec<&String> = catalogue.subjects.keys().collect();
    let kinds: Vec<&str> = catalogue.kinds.keys().map(model::Kind::as_str).collect();
    let scenario = |played: &ScenarioVerdict| {
        let ScenarioVerdict { file, proves, passed, why, notes, trace } = played;
        let mut one = json!({"file": file, "proves": proves, "passed": passed, "why": why, "notes": notes});
        if with_traces {
            one["trace"] = json!(trace);
        }
        one
    };
    let scenarios: Vec<_> = played.iter().map(scenario).collect();
    let notes = notes.iter().map(problem_in_json);
    let notes: Vec<_> = notes.chain(trial.findings.iter().map(forms::finding_in_json)).collect();
    let forms: Vec<_> = trial.sheets.iter().map(forms::sheet_in_json).collect();
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

fn print_report(
    found: &CatalogueCheckReport,
    plans: &[PlanCloseSchedule],
    asked: &cli::CatalogueCheckArgs,
) -> Result<(), CommandError> {
    let paint = terminal::TextPainter::for_data();
    let CatalogueCheckReport { catalogue, notes, trial, played } = found;
    terminal::print_data(format!(
        "{}: {}, {} and {}; all rendered with example data",
        paint.with(terminal::BOLD, &catalogue.name),
        pluralise(catalogue.subjects.len(), "subject"),
        pluralise(catalogue.kinds.len(), "kind"),
        pluralise(plans.len(), "plan"),
    ))?;
    plans::print_schedules(plans, &trial.sheets, asked.verbose)?;
    for note in notes.iter().chain(trial.findings.iter().map(|finding| &finding.problem)) {
        terminal::print_data(format!("{} {note}", paint.with(terminal::WARN, "note:")))?;
    }
    terminal::print_data(paint.with(terminal::GOOD, "no problems in the catalogue"))?;
    print_scenarios(played, asked.trace)
}

fn print_scenarios(all: &[ScenarioVerdict], with_traces: bool) -> Result<(), CommandError> {
    let paint = terminal::TextPainter::for_data();
    for played in all {
        let (style, word) = if played.passed { (terminal::GOOD, "ok") } else { (terminal::BAD, "FAILED") };
        terminal::print_data(format!(
            "{} {} {}",
            paint.with(style, word),
            played.file,
            paint.with(terminal::FAINT, &played.proves)
        ))?;
        for note in &played.notes {
            terminal::print_data(format!("  {} {note}", paint.with(terminal::WARN, "note:")))?;
        }
        // Why it failed has the trace in it.
        match &played.why {
            Some(why) => terminal::print_data(format!("  {}", why.replace('\n', "\n  ")))?,
            None if with_traces => {
                played.trace.iter().try_for_each(|line| terminal::print_data(format!("  {line}")))?;
            }
            None => {}
        }
    }
    if !all.is_empty() {
        let passed = all.iter().filter(|played| played.passed).count();
        terminal::print_data(format!("{passed} of {} passed", pluralise(all.len(), "scenario")))?;
    }
    Ok(())
}

fn refuse_problems(problems: &TextProblems, out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        let problems: Vec<_> = problems.0.iter().map(problem_in_json).collect();
        terminal::print_json(&json!({"problems": problems}))?;
    } else {
        terminal::print_talk(problems);
    }
    let n = problems.0.len();
    Err(CommandError::from_refusal(pluralise(n, "problem")))
}
