//! All tests, in lanes side by side: one computes, the others wait, each for something else. What waits leaves
//! processors idle for minutes, which the others use.

use std::{process::Command, thread, time::Instant};

use anyhow::{Context as _, Result, bail};

use crate::{
    engines::GateEngines,
    faults,
    shell::{self, WorkspaceRoot},
    suites::TestSuite,
    tally::{GateTally, TestRun},
};

/// The lane of all that is in no other.
const COMPUTING: &str = "computes";

/// Test targets, each with its package, that mostly wait: for engines, for processes that are killed and started, for
/// browsers. The lanes take about as long as each other.
const WAITING: [(&str, &[(&str, &str)]); 3] = [
    ("engines", &[("tests", "real")]),
    ("kills", &[("tests", "kill"), ("tests", "outside")]),
    (
        "pages",
        &[
            ("tests", "seen"),
            ("tests", "docs"),
            ("store-cql", "clusters"),
            ("store-cql", "conformance"),
            ("topic-kafka", "real"),
            ("courier-net", "real"),
            ("engines", "engines"),
        ],
    ),
];

/// The tests of a computing target that wait instead: the target, the start of their names, and the lane that has
/// the time for them.
const WAITING_PARTS: [(&str, &str, &str); 1] = [("scenarios", "real::", "kills")];

/// What computes goes behind what waits by so much: the lanes that wait need the processors rarely, but then at once, and
/// the longest of them is how long all takes.
const NICENESS: i32 = 5;

/// What one test binary is run with.
#[derive(PartialEq, Eq, Debug)]
struct SuiteRun<'a> {
    suite: &'a TestSuite,
    arguments: Vec<&'static str>,
}

/// What became of a run, and how long it took.
pub struct SuiteReport {
    pub name: String,
    pub lane: &'static str,
    pub tally: GateTally,
    pub seconds: f64,
    pub processor_seconds: Option<f64>,
    /// What its failed tests said.
    pub failures: Vec<String>,
    /// Whether these are the tests that must notice planted faults.
    pub notices_faults: bool,
}

/// Runs all, and counts the tests one by one while their output is shown. What is to be done afterwards is told how
/// the computing lane fared and where the engines are, and has the processors until the other lanes are done.
pub fn run_lanes(
    house: &WorkspaceRoot,
    suites: &[TestSuite],
    afterwards: impl FnOnce(&[SuiteReport], &GateEngines),
) -> Result<Vec<SuiteReport>> {
    let engines = GateEngines::start(house)?;
    thread::scope(|scope| {
        let engines = &engines;
        let waiting: Vec<_> =
            WAITING.iter().map(|&(lane, _)| scope.spawn(move || run_lane(lane, suites, engines))).collect();
        // Of this thread alone, and of the processes that it starts.
        rustix::process::nice(NICENESS).context("letting others go first")?;
        let mut reports = run_lane(COMPUTING, suites, engines)?;
        afterwards(&reports, engines);
        for lane in waiting {
            let Ok(lane) = lane.join() else { bail!("a lane died") };
            reports.extend(lane?);
        }
        Ok(reports)
    })
}

/// The lane of a test target.
fn lane_of(suite: &TestSuite) -> &'static str {
    let named = (suite.package.as_str(), suite.target.as_str());
    WAITING.iter().find(|(_, targets)| targets.contains(&named)).map_or(COMPUTING, |(lane, _)| *lane)
}

/// The runs of one lane. A suite with a part in another lane is run in both, each time without what the other has.
fn list_runs<'a>(lane: &str, suites: &'a [TestSuite]) -> Vec<SuiteRun<'a>> {
    let mut runs = Vec::new();
    for suite in suites {
        let part = WAITING_PARTS.iter().find(|(target, ..)| *target == suite.target);
        if lane_of(suite) == lane {
            let arguments = part.map_or(Vec::new(), |(_, start, _)| vec!["--skip", *start]);
            runs.push(SuiteRun { suite, arguments });
        }
        if let Some((_, start, _)) = part.filter(|(.., part_lane)| *part_lane == lane) {
            runs.push(SuiteRun { suite, arguments: vec![*start] });
        }
    }
    runs
}

fn run_lane(lane: &'static str, suites: &[TestSuite], engines: &GateEngines) -> Result<Vec<SuiteReport>> {
    list_runs(lane, suites).iter().map(|run| run.run(lane, engines)).collect()
}

impl SuiteRun<'_> {
    fn run(&self, lane: &'static str, engines: &GateEngines) -> Result<SuiteReport> {
        let Self { suite, arguments } = self;
        let name =
            [&[suite.package.as_str(), suite.target.as_str()], arguments.as_slice()].concat().join(" ");
        let mut command: Command = suite.command();
        // The other lanes try what a disk does, too.
        if lane == COMPUTING {
            shell::keep_folders_in_memory(&mut command);
        }
        engines.set_variables(&mut command).args(arguments);
        println!("{lane:>8}| == {name}");
        let (start, mut run) = (Instant::now(), TestRun::default());
        let end = shell::run_listening(&mut command, |line| {
            println!("{lane:>8}| {line}");
            run.hear(line);
        })?;
        if run.ignored > 0 {
            println!("{lane:>8}| {} ignored tests count as failed", run.ignored);
        }
        // A crate whose tests are all elsewhere has an empty binary.
        let is_empty = suite.is_within_a_crate() && run.announced == 0;
        let tally = if is_empty && end.succeeded { GateTally::default() } else { run.tally(end.succeeded) };
        let notices_faults = faults::notices_faults(suite);
        Ok(SuiteReport {
            name,
            lane,
            tally,
            seconds: start.elapsed().as_secs_f64(),
            processor_seconds: end.processor_seconds,
            failures: run.failures,
            notices_faults,
        })
    }
}

/// The longest suites first, a line each. At the end once more what failed, which is far up by now.
pub fn print_suites(reports: &[SuiteReport]) {
    let mut sorted: Vec<&SuiteReport> = reports.iter().collect();
    sorted.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for SuiteReport { name, lane, tally, seconds, processor_seconds, .. } in &sorted {
        let processors = processor_seconds.map(|seconds| format!("{seconds:.1} s")).unwrap_or_default();
        println!("{lane:>8}| {name:30} {seconds:7.1} s {processors:>9} of processors  {tally}");
    }
    for SuiteReport { name, failures, tally, .. } in sorted.iter().filter(|report| !report.tally.is_good()) {
        println!("\n== {name}: {tally}");
        failures.iter().for_each(|line| println!("{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(targets: &[&str], lane: &str, expect: &[&str]) {
        let suites: Vec<TestSuite> = targets
            .iter()
            .map(|target| TestSuite {
                package: "tests".to_owned(),
                target: (*target).to_owned(),
                folder: "/r/p".into(),
                binary: "/r/t/x".into(),
            })
            .collect();
        let told: Vec<String> = list_runs(lane, &suites)
            .iter()
            .map(|run| [&[run.suite.target.as_str()], run.arguments.as_slice()].concat().join(" "))
            .collect();
        assert_eq!(told, expect, "{lane}");
    }

    #[test]
    fn every_suite_is_in_one_lane() {
        let all = ["lib", "laws", "real", "kill", "seen", "scenarios", "docs"];
        check(&all, COMPUTING, &["lib", "laws", "scenarios --skip real::"]);
        check(&all, "engines", &["real"]);
        check(&all, "kills", &["kill", "scenarios real::"]);
        check(&all, "pages", &["seen", "docs"]);
    }
}
