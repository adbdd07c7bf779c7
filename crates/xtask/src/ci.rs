//! The gate: every stage runs, also after a failure, and what passed and failed is added up.

use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;

use crate::{
    faults, lanes,
    shell::{self, House},
    tally::Tally,
    tidy,
};

/// The features of every stage that compiles. One list for all of them, so that nothing is built twice:
/// the package `tests` passes this one on to all that has points to crash at or faults to plant.
pub const TEST_FEATURES: &[&str] = &["tests/faults"];

/// A stage of the gate, in the order of the gate: the quick ones first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
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

impl Stage {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn run(self, house: &House) -> Result<Tally> {
        match self {
            Self::Fmt => single(house, &["fmt", "--all", "--check", "--", "-l"]),
            Self::Tidy => tidy::run(house, &[]),
            Self::Clippy => single(house, &workspace(&["clippy", "--all-targets"])),
            // All targets, as the tests are built: with fewer, what we lean on would be built with fewer features, and twice.
            Self::Build => single(house, &workspace(&["build", "--all-targets"])),
            Self::Test => lanes::run(house, || ()),
            Self::Doc => single(house, &workspace(&["doc", "--no-deps"])),
            Self::Faults => faults::run(house, &[]),
        }
    }
}

/// What became of a stage.
struct Report {
    stage: Stage,
    tally: Tally,
    seconds: f64,
}

/// Runs the wanted stages, or all. The last line it prints is the count; whether all is good is returned.
pub fn run(house: &House, wanted: &[Stage]) -> bool {
    let all = Stage::value_variants().iter().copied();
    let stages: Vec<Stage> = all.filter(|stage| wanted.is_empty() || wanted.contains(stage)).collect();
    let compiling: Vec<Stage> =
        stages.iter().copied().filter(|stage| matches!(stage, Stage::Clippy | Stage::Doc)).collect();
    let mut reports: Vec<Report> = Vec::new();
    for &stage in &stages {
        if reports.iter().any(|report| report.stage == stage) {
            continue;
        }
        let mut meanwhile = Vec::new();
        let report = if stage == Stage::Test {
            // Some tests wait for engines for long; what only compiles has the processors until they are done.
            let compile = || meanwhile.extend(compiling.iter().map(|stage| of_stage(house, *stage)));
            timed(stage, || lanes::run(house, compile))
        } else {
            of_stage(house, stage)
        };
        reports.push(report);
        reports.append(&mut meanwhile);
    }
    println!("\n== the gate");
    reports.iter().for_each(|report| println!("{}", line(report)));
    let mut total = Tally::default();
    reports.iter().for_each(|report| total += report.tally);
    total.said()
}

fn of_stage(house: &House, stage: Stage) -> Report {
    timed(stage, || stage.run(house))
}

fn timed(stage: Stage, work: impl FnOnce() -> Result<Tally>) -> Report {
    println!("\n== {}", stage.name());
    let start = Instant::now();
    let tally = work().unwrap_or_else(|error| {
        println!("error: {error:#}");
        Tally::one(false)
    });
    let report = Report { stage, tally, seconds: start.elapsed().as_secs_f64() };
    println!("{}", line(&report));
    report
}

fn line(report: &Report) -> String {
    let verdict = if report.tally.good() { "ok" } else { "FAILED" };
    format!("{:8} {verdict:6} {:7.1} s  {}", report.stage.name(), report.seconds, report.tally)
}

/// A cargo verb over the whole workspace, with the features of the tests.
pub fn workspace<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = arguments.to_vec();
    all.push("--workspace");
    all.extend(TEST_FEATURES.iter().flat_map(|feature| ["--features", *feature]));
    all
}

/// A stage that passes or fails as a whole.
fn single(house: &House, arguments: &[&str]) -> Result<Tally> {
    Ok(Tally::one(shell::succeeds(&mut house.cargo(arguments))?))
}
