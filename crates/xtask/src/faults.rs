//! Plants each fault in turn and demands that the test of its law fails: a test that cannot fail proves nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, File},
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{
    shell::{self, WorkspaceRoot},
    tally::{GateTally, TestRun},
    tidy::{self, FaultTrial},
};

/// The package of which the tests must notice.
const PACKAGE: &str = "tests";
/// How long the tests of one filter may take. A fault that makes them wait for ever counts as not caught.
const RUN_SECS_MAX: u64 = 300;
/// How often a fault is looked for. Laws draw their cases by chance, and one run in some may draw none that shows the
/// fault; a test that needs more luck than this is too weak for its law.
const LOOKS_MAX: u32 = 3;
const POLL: Duration = Duration::from_millis(20);

/// A run of the tests of one filter, with a fault planted or without.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct FaultJob {
    fault: Option<String>,
    filter: String,
}

impl fmt::Display for FaultJob {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} by {}", self.fault.as_deref().unwrap_or("nothing planted"), self.filter)
    }
}

/// What became of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FaultRunOutcome {
    NoTest,
    Passed,
    Failed,
    Hung,
}

/// The built test binaries of the package, and where they run.
struct FaultTestSuite {
    folder: PathBuf,
    binaries: Vec<PathBuf>,
    logs: PathBuf,
}

/// Plants the named faults, or all.
pub fn run_faults(house: &WorkspaceRoot, wanted: &[String]) -> Result<GateTally> {
    let list = fs::read_to_string(house.root.join(tidy::FAULT_LIST)).context(tidy::FAULT_LIST)?;
    let mut trials = tidy::parse_trials(&list)?;
    trials.retain(|trial| wanted.is_empty() || wanted.contains(&trial.fault));
    ensure!(!trials.is_empty(), "no such fault in {}", tidy::FAULT_LIST);
    let suite = FaultTestSuite::build(house)?;
    let outcomes = suite.run_all(list_jobs(&trials))?;
    let of = |fault: Option<&String>, filter: &str| {
        let job = FaultJob { fault: fault.cloned(), filter: filter.to_owned() };
        outcomes.get(&job).copied().unwrap_or(FaultRunOutcome::NoTest)
    };
    let mut tally = GateTally::default();
    for FaultTrial { fault, filter } in &trials {
        let (plain, planted) = (of(None, filter), of(Some(fault), filter));
        let caught = judge_fault(plain, planted);
        tally += GateTally::from_passed(caught.is_ok());
        println!("{fault:24} {filter:40} {}", caught.err().unwrap_or("caught"));
    }
    println!(
        "{} of {} faults caught; what the tests printed is in {}",
        tally.passed,
        trials.len(),
        suite.logs.display()
    );
    Ok(tally)
}

/// Each trial with its fault, and each filter once without.
fn list_jobs(trials: &[FaultTrial]) -> BTreeSet<FaultJob> {
    let planted = trials
        .iter()
        .map(|trial| FaultJob { fault: Some(trial.fault.clone()), filter: trial.filter.clone() });
    let plain = trials.iter().map(|trial| FaultJob { fault: None, filter: trial.filter.clone() });
    planted.chain(plain).collect()
}

/// Whether a fault was caught, or why one cannot say so.
fn judge_fault(plain: FaultRunOutcome, planted: FaultRunOutcome) -> Result<(), &'static str> {
    match (plain, planted) {
        (FaultRunOutcome::NoTest, _) | (_, FaultRunOutcome::NoTest) => Err("FAILED: the filter fits no test"),
        (FaultRunOutcome::Failed, _) => Err("FAILED: the test fails without the fault too"),
        (FaultRunOutcome::Hung, _) => Err("FAILED: the test does not end, even without the fault"),
        (FaultRunOutcome::Passed, FaultRunOutcome::Passed) => Err("FAILED: not caught"),
        (FaultRunOutcome::Passed, FaultRunOutcome::Hung) => Err("FAILED: the test does not end"),
        (FaultRunOutcome::Passed, FaultRunOutcome::Failed) => Ok(()),
    }
}

impl FaultTestSuite {
    /// Builds the tests as the gate does, and asks cargo where the binaries are.
    fn build(house: &WorkspaceRoot) -> Result<Self> {
        let arguments = ["test", "--no-run", "--message-format", "json-render-diagnostics"];
        let mut messages = Vec::new();
        let built =
            shell::run_listening(&mut house.cargo(&shell::workspace_arguments(&arguments)), |line| {
                messages.push(line.to_owned());
            })?;
        ensure!(built, "the tests do not build");
        let folder = house.root.join(PACKAGE);
        let manifest = folder.join("Cargo.toml");
        let binaries: Vec<PathBuf> =
            messages.iter().filter_map(|line| test_binary(line, &manifest)).collect();
        let Some(target) = binaries.first().and_then(|path| path.ancestors().nth(3)) else {
            bail!("the package {PACKAGE} has no test binary");
        };
        let logs = target.join("faults");
        fs::create_dir_all(&logs).with_context(|| format!("could not make {}", logs.display()))?;
        Ok(Self { folder, binaries, logs })
    }

    /// Runs the jobs, as many at once as there are processors.
    fn run_all(&self, jobs: BTreeSet<FaultJob>) -> Result<BTreeMap<FaultJob, FaultRunOutcome>> {
        let jobs: Vec<FaultJob> = jobs.into_iter().collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((job.clone(), self.run_until_caught(job)?));
            }
            anyhow::Ok(done)
        };
        thread::scope(|scope| {
            let count = thread::available_parallelism().map_or(1, NonZero::get);
            let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
            let mut outcomes = BTreeMap::new();
            for worker in workers {
                let Ok(done) = worker.join() else { bail!("a worker died") };
                outcomes.extend(done?);
            }
            Ok(outcomes)
        })
    }

    /// Runs a job; one with a fault again for as long as nothing is seen of it.
    fn run_until_caught(&self, job: &FaultJob) -> Result<FaultRunOutcome> {
        let looks = if job.fault.is_some() { LOOKS_MAX } else { 1 };
        let mut outcome = self.run(job)?;
        for again in 2..=looks {
            if outcome != FaultRunOutcome::Passed {
                break;
            }
            println!("look {again} for {job}");
            outcome = self.run(job)?;
        }
        Ok(outcome)
    }

    /// Runs the tests of a filter in all binaries; the worst outcome counts.
    fn run(&self, job: &FaultJob) -> Result<FaultRunOutcome> {
        let log = self.logs.join(format!(
            "{}.{}.log",
            job.fault.as_deref().unwrap_or("none"),
            job.filter.replace(':', "_")
        ));
        let output = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let mut failed = false;
        for binary in &self.binaries {
            let mut command = Command::new(binary);
            command.arg(&job.filter).current_dir(&self.folder).stdin(Stdio::null());
            command.stdout(output.try_clone().context("a log")?).stderr(output.try_clone().context("a log")?);
            // A planted failure is not one to remember among the sources, nor worth being made small.
            command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0");
            match &job.fault {
                Some(fault) => command.env("TIDINGS_FAULT", fault),
                None => command.env_remove("TIDINGS_FAULT"),
            };
            match wait_for_tests(&mut command, Duration::from_secs(RUN_SECS_MAX))? {
                Some(succeeded) => failed |= !succeeded,
                None => return Ok(FaultRunOutcome::Hung),
            }
        }
        Ok(read_outcome(&fs::read(&log).context("a log")?, failed))
    }
}

/// The test binary that a message of cargo tells of, if it is one of the package.
fn test_binary(line: &str, manifest: &Path) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let ours = message["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest);
    let tests = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    message["executable"].as_str().filter(|_| ours && tests).map(PathBuf::from)
}

/// What a run amounts to: only a run that had a test can have passed or failed.
fn read_outcome(output: &[u8], failed: bool) -> FaultRunOutcome {
    let mut run = TestRun::default();
    String::from_utf8_lossy(output).lines().for_each(|line| run.hear(line));
    match (run.announced > run.ignored, failed) {
        (false, _) => FaultRunOutcome::NoTest,
        (true, true) => FaultRunOutcome::Failed,
        (true, false) => FaultRunOutcome::Passed,
    }
}

/// Whether a command succeeded; nothing if it had to be ended after its time.
fn wait_for_tests(command: &mut Command, most: Duration) -> Result<Option<bool>> {
    let mut child = command.spawn().with_context(|| format!("could not run {command:?}"))?;
    let end = Instant::now() + most;
    loop {
        if let Some(status) = child.try_wait().context("waiting for the tests")? {
            return Ok(Some(status.success()));
        }
        if Instant::now() >= end {
            child.kill().context("could not end the tests")?;
            child.wait().context("waiting for the tests")?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_that_passes_without_and_fails_with_the_fault_has_caught_it() {
        use FaultRunOutcome::{Failed, Hung, NoTest, Passed};
        let all = [NoTest, Passed, Failed, Hung];
        let caught = all.iter().flat_map(|plain| all.iter().map(move |planted| (*plain, *planted)));
        let caught: Vec<_> =
            caught.filter(|(plain, planted)| judge_fault(*plain, *planted).is_ok()).collect();
        assert_eq!(caught, [(Passed, Failed)]);
    }

    #[test]
    fn an_outcome_needs_a_test() {
        let check = |output: &str, failed, expect| {
            assert_eq!(read_outcome(output.as_bytes(), failed), expect, "{output}");
        };
        check(
            "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured",
            false,
            FaultRunOutcome::NoTest,
        );
        check(
            "running 1 test\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured",
            false,
            FaultRunOutcome::NoTest,
        );
        check(
            "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured",
            false,
            FaultRunOutcome::Passed,
        );
        check(
            "running 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured",
            true,
            FaultRunOutcome::Failed,
        );
        check("running 1 test\n(the process died here)", true, FaultRunOutcome::Failed);
    }

    #[test]
    fn binaries_are_found_in_what_cargo_says() {
        let check = |line: &str, expect: Option<&str>| {
            assert_eq!(
                test_binary(line, Path::new("/r/tests/Cargo.toml")),
                expect.map(PathBuf::from),
                "{line}"
            );
        };
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/r/tests/Cargo.toml","profile":{"test":true},"executable":"/r/t/x"}"#;
        check(line, Some("/r/t/x"));
        check(&line.replace("true", "false"), None);
        check(&line.replace("/r/tests/", "/r/crates/a/"), None);
        check(&line.replace(r#""/r/t/x""#, "null"), None);
        check("no message", None);
    }

    #[test]
    fn a_run_that_does_not_end_is_ended() {
        let sleeps = wait_for_tests(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap();
        let passes = wait_for_tests(&mut Command::new("true"), Duration::from_secs(10)).unwrap();
        let fails = wait_for_tests(&mut Command::new("false"), Duration::from_secs(10)).unwrap();
        assert_eq!((sleeps, passes, fails), (None, Some(true), Some(false)));
    }

    #[test]
    fn a_filter_runs_once_without_a_fault() {
        let trials = tidy::parse_trials("a laws::one\nb laws::one # why\n\n# note\n").unwrap();
        let told: Vec<String> =
            list_jobs(&trials).iter().map(|job| format!("{:?} {}", job.fault, job.filter)).collect();
        assert_eq!(told, ["None laws::one", "Some(\"a\") laws::one", "Some(\"b\") laws::one"]);
    }
}
