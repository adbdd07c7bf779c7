//! The gate: every stage runs, also after a failure, and what passed and failed is added up.

use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;

use crate::{
    faults, lanes,
    shell::{self, WorkspaceRoot},
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
    /// cargo build, for the tests that start the binary
    Build,
    /// cargo test, in which no test may be ignored
    Test,
    /// cargo clippy over all targets; in the whole gate while tests wait for engines
    Clippy,
    /// cargo doc
    Doc,
    /// What `cargo xtask faults` plants
    Faults,
}

impl GateStage {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn run(self, house: &WorkspaceRoot) -> Result<GateTally> {
        match self {
            Self::Fmt => run_single(house, &["fmt", "--all", "--check", "--", "-l"]),
            Self::Tidy => tidy::run_checks(house, &[]),
            Self::Clippy => run_single(house, &shell::workspace_arguments(&["clippy", "--all-targets"])),
            // All targets, as the tests are built: with fewer, what we lean on would be built with fewer features, and twice.
            Self::Build => run_single(house, &shell::workspace_arguments(&["build", "--all-targets"])),
            Self::Test => lanes::run_lanes(house, || ()),
            Self::Doc => run_single(house, &shell::workspace_arguments(&["doc", "--no-deps"])),
            Self::Faults => faults::run_faults(house, &[]),
        }
    }
}

/// What became of a stage.
struct StageReport {
    stage: GateStage,
    tally: GateTally,
    seconds: f64,
}

/// Runs the wanted stages, or all. The last line it prints is the count; whether all is good is returned.
pub fn run_stages(house: &WorkspaceRoot, wanted: &[GateStage]) -> bool {
    let all = GateStage::value_variants().iter().copied();
    let stages: Vec<GateStage> = all.filter(|stage| wanted.is_empty() || wanted.contains(stage)).collect();
    let compiling: Vec<GateStage> =
        stages.iter().copied().filter(|stage| matches!(stage, GateStage::Clippy | GateStage::Doc)).collect();
    let mut reports: Vec<StageReport> = Vec::new();
    for &stage in &stages {
        if reports.iter().any(|report| report.stage == stage) {
            continue;
        }
        let mut meanwhile = Vec::new();
        let report = if stage == GateStage::Test {
            // Some tests wait for engines for long; what only compiles has the processors until they are done.
            let compile = || meanwhile.extend(compiling.iter().map(|stage| report_stage(house, *stage)));
            time_stage(stage, || lanes::run_lanes(house, compile))
        } else {
            report_stage(house, stage)
        };
        reports.push(report);
        reports.append(&mut meanwhile);
    }
    println!("\n== the gate");
    reports.iter().for_each(|report| println!("{}", report_line(report)));
    let mut total = GateTally::default();
    reports.iter().for_each(|report| total += report.tally);
    total.print_tally()
}

fn report_stage(house: &WorkspaceRoot, stage: GateStage) -> StageReport {
    time_stage(stage, || stage.run(house))
}

fn time_stage(stage: GateStage, work: impl FnOnce() -> Result<GateTally>) -> StageReport {
    println!("\n== {}", stage.name());
    let start = Instant::now();
    let tally = work().unwrap_or_else(|error| {
        println!("error: {error:#}");
        GateTally::from_passed(false)
    });
    let report = StageReport { stage, tally, seconds: start.elapsed().as_secs_f64() };
    println!("{}", report_line(&report));
    report
}

fn report_line(report: &StageReport) -> String {
    let verdict = if report.tally.is_good() { "ok" } else { "FAILED" };
    format!("{:8} {verdict:6} {:7.1} s  {}", report.stage.name(), report.seconds, report.tally)
}

/// A stage that passes or fails as a whole.
fn run_single(house: &WorkspaceRoot, arguments: &[&str]) -> Result<GateTally> {
    Ok(GateTally::from_passed(shell::run_succeeds(&mut house.cargo(arguments))?))
}
