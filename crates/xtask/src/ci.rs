//! The gate: every stage runs, also after a failure, and what passed and failed is added up.

use std::{cell::OnceCell, time::Instant};

use anyhow::{Result, anyhow};
use clap::ValueEnum;

use crate::{
    changes::ChangeReach,
    engines::GateEngines,
    faults::{self, PlainRuns},
    lanes::{self, SuiteReport},
    operations,
    shell::{self, WorkspaceRoot},
    suites::{self, TestSuite},
    tally::GateTally,
    tidy,
};

/// A stage of the gate, in the order of the gate: the quick ones first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GateStage {
    /// cargo fmt --check
    Fmt,
    /// What `cargo xtask tidy` checks
    Tidy,
    /// cargo build of all targets: the programs, and the tests of the stages after it
    Build,
    /// All tests, of which none may be ignored
    Test,
    /// What `cargo xtask faults` plants; in the whole gate while tests wait for engines
    Faults,
    /// cargo clippy over all targets; in the whole gate while tests wait for engines
    Clippy,
    /// cargo doc; in the whole gate while tests wait for engines
    Doc,
    /// What is quick of `make chart`, `make watch` and `make upgrade`, if what they need is built; in the whole gate while
    /// tests wait
    Operations,
}

impl GateStage {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it needs nothing but processors, which are free while tests wait.
    fn fills_waits(self) -> bool {
        matches!(self, Self::Faults | Self::Clippy | Self::Doc | Self::Operations)
    }
}

/// What became of a stage.
struct StageReport {
    stage: GateStage,
    tally: GateTally,
    seconds: f64,
}

/// What the stages of one run share.
struct GateRun<'a> {
    house: &'a WorkspaceRoot,
    reach: &'a ChangeReach,
    /// Built by the first stage that needs them.
    suites: OnceCell<Result<Vec<TestSuite>, String>>,
}

/// Runs the wanted stages, or all, with the tests that a change reaches. The last line it prints is the count;
/// whether all is good is returned.
pub fn run_stages(house: &WorkspaceRoot, wanted: &[GateStage], reach: &ChangeReach) -> bool {
    let gate = GateRun { house, reach, suites: OnceCell::new() };
    let all = GateStage::value_variants().iter().copied();
    let stages: Vec<GateStage> = all.filter(|stage| wanted.is_empty() || wanted.contains(stage)).collect();
    let fills: Vec<GateStage> = stages.iter().copied().filter(|stage| stage.fills_waits()).collect();
    let (mut reports, mut suite_reports) = (Vec::<StageReport>::new(), Vec::new());
    for &stage in &stages {
        if reports.iter().any(|report| report.stage == stage) {
            continue;
        }
        let mut meanwhile = Vec::new();
        reports.push(time_stage(stage, || {
            if stage != GateStage::Test {
                return gate.run(stage, &[], None);
            }
            suite_reports = lanes::run_lanes(house, gate.suites()?, |computed, engines| {
                let run = |stage| time_stage(stage, || gate.run(stage, computed, Some(engines)));
                meanwhile.extend(fills.iter().map(|stage| run(*stage)));
            })?;
            Ok(add_up(suite_reports.iter().map(|report: &SuiteReport| report.tally)))
        }));
        reports.append(&mut meanwhile);
    }
    println!("\n== the gate");
    lanes::print_suites(&suite_reports);
    reports.iter().for_each(|report| println!("{}", format_report(report)));
    add_up(reports.iter().map(|report| report.tally)).print_tally()
}

impl GateRun<'_> {
    /// Runs a stage that is not the tests; some of those may have run already.
    fn run(
        &self,
        stage: GateStage,
        computed: &[SuiteReport],
        engines: Option<&GateEngines>,
    ) -> Result<GateTally> {
        let house = self.house;
        match stage {
            GateStage::Fmt => run_single(house, &["fmt", "--all", "--check", "--", "-l"]),
            GateStage::Tidy => tidy::run_checks(house, &[]),
            GateStage::Build | GateStage::Test => self.suites().map(|_| GateTally::from_passed(true)),
            GateStage::Faults => self.plant_faults(computed),
            GateStage::Clippy => run_single(house, &shell::workspace_arguments(&["clippy", "--all-targets"])),
            GateStage::Doc => run_single(house, &shell::workspace_arguments(&["doc", "--no-deps"])),
            GateStage::Operations => operations::run_quick_checks(house, engines),
        }
    }

    fn suites(&self) -> Result<&[TestSuite]> {
        let build = || {
            let mut suites = suites::build_suites(self.house).map_err(|error| format!("{error:#}"))?;
            suites.retain(|suite| self.reach.reaches(&suite.package, &suite.target));
            Ok(suites)
        };
        let suites = self.suites.get_or_init(build);
        suites.as_deref().map_err(|error| anyhow!("{error}"))
    }

    fn plant_faults(&self, computed: &[SuiteReport]) -> Result<GateTally> {
        let suites = self.suites()?;
        if !suites.iter().any(faults::notices_faults) {
            return Ok(GateTally::default());
        }
        let have_passed = |report: &SuiteReport| report.notices_faults && report.tally.is_good();
        let plain_runs =
            if computed.iter().any(have_passed) { PlainRuns::Passed } else { PlainRuns::Unknown };
        faults::run_faults(self.house, suites, plain_runs, &[])
    }
}

fn time_stage(stage: GateStage, work: impl FnOnce() -> Result<GateTally>) -> StageReport {
    println!("\n== {}", stage.name());
    let start = Instant::now();
    let tally = work().unwrap_or_else(|error| {
        println!("error: {error:#}");
        GateTally::from_passed(false)
    });
    let report = StageReport { stage, tally, seconds: start.elapsed().as_secs_f64() };
    println!("{}", format_report(&report));
    report
}

fn format_report(report: &StageReport) -> String {
    let verdict = if report.tally.is_good() { "ok" } else { "FAILED" };
    format!("{:8} {verdict:6} {:7.1} s  {}", report.stage.name(), report.seconds, report.tally)
}

fn add_up(tallies: impl Iterator<Item = GateTally>) -> GateTally {
    let mut total = GateTally::default();
    tallies.for_each(|tally| total += tally);
    total
}

/// A stage that passes or fails as a whole.
fn run_single(house: &WorkspaceRoot, arguments: &[&str]) -> Result<GateTally> {
    Ok(GateTally::from_passed(shell::run_succeeds(&mut house.cargo(arguments))?))
}
