//! Plants each fault in turn and demands that the test of its law fails: a test that cannot fail proves nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, File},
    num::NonZero,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    shell::WorkspaceRoot,
    suites::TestSuite,
    tally::{GateTally, TestRun},
    tidy::{self, FaultTrial},
};

/// The package and the test target that must notice.
const NOTICING: (&str, &str) = ("tests", "laws");
/// How long the tests of one filter may take. A fault that makes them wait forever counts as not caught.
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

/// The built tests that must notice, and where their output goes.
struct FaultTestSuite<'a> {
    suite: &'a TestSuite,
    logs: PathBuf,
}

/// Whether the tests are known to pass without a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlainRuns {
    /// All of them have just passed: they need not pass once more.
    Passed,
    Unknown,
}

/// Whether a suite is the one that must notice.
pub fn notices_faults(suite: &TestSuite) -> bool {
    (suite.package.as_str(), suite.target.as_str()) == NOTICING
}

/// Plants the named faults, or all.
pub fn run_faults(
    house: &WorkspaceRoot,
    suites: &[TestSuite],
    plain_runs: PlainRuns,
    wanted: &[String],
) -> Result<GateTally> {
    let list = fs::read_to_string(house.root.join(tidy::FAULT_LIST)).context(tidy::FAULT_LIST)?;
    let mut trials = tidy::parse_trials(&list)?;
    trials.retain(|trial| wanted.is_empty() || wanted.contains(&trial.fault));
    ensure!(!trials.is_empty(), "no such fault in {}", tidy::FAULT_LIST);
    let suite = FaultTestSuite::find(suites)?;
    let outcomes = suite.run_all(list_jobs(&trials, plain_runs))?;
    let outcome = |fault: Option<&String>, filter: &str| {
        let job = FaultJob { fault: fault.cloned(), filter: filter.to_owned() };
        outcomes.get(&job).copied().unwrap_or(FaultRunOutcome::NoTest)
    };
    let mut tally = GateTally::default();
    for FaultTrial { fault, filter } in &trials {
        let plain = match plain_runs {
            PlainRuns::Passed => FaultRunOutcome::Passed,
            PlainRuns::Unknown => outcome(None, filter),
        };
        let planted = outcome(Some(fault), filter);
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

/// Each trial with its fault, and each filter once without, unless that is known already.
fn list_jobs(trials: &[FaultTrial], plain_runs: PlainRuns) -> BTreeSet<FaultJob> {
    let planted = trials
        .iter()
        .map(|trial| FaultJob { fault: Some(trial.fault.clone()), filter: trial.filter.clone() });
    let plain = trials
        .iter()
        .filter(|_| plain_runs == PlainRuns::Unknown)
        .map(|trial| FaultJob { fault: None, filter: trial.filter.clone() });
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

impl<'a> FaultTestSuite<'a> {
    fn find(suites: &'a [TestSuite]) -> Result<Self> {
        let suite = suites.iter().find(|suite| notices_faults(suite));
        let suite = suite.with_context(|| format!("no test binary {NOTICING:?}"))?;
        // Beside `debug/deps/`, in which the binary is.
        let target = suite.binary.ancestors().nth(3).context("a test binary outside a target folder")?;
        let logs = target.join("faults");
        fs::create_dir_all(&logs).with_context(|| format!("could not make {}", logs.display()))?;
        Ok(Self { suite, logs })
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

    /// Runs the tests of a filter.
    fn run(&self, job: &FaultJob) -> Result<FaultRunOutcome> {
        let log = self.logs.join(format!(
            "{}.{}.log",
            job.fault.as_deref().unwrap_or("none"),
            job.filter.replace(':', "_")
        ));
        let output = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let mut command = self.suite.command();
        command.arg(&job.filter).stdin(Stdio::null());
        command.stdout(output.try_clone().context("a log")?).stderr(output);
        // A planted failure is not one to remember among the sources, nor worth being made small.
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0");
        match &job.fault {
            Some(fault) => command.env("TIDINGS_FAULT", fault),
            None => command.env_remove("TIDINGS_FAULT"),
        };
        match wait_for_tests(&mut command, Duration::from_secs(RUN_SECS_MAX))? {
            Some(succeeded) => Ok(read_outcome(&fs::read(&log).context("a log")?, !succeeded)),
            None => Ok(FaultRunOutcome::Hung),
        }
    }
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
    fn a_run_that_does_not_end_is_ended() {
        let sleeps = wait_for_tests(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap();
        let passes = wait_for_tests(&mut Command::new("true"), Duration::from_secs(10)).unwrap();
        let fails = wait_for_tests(&mut Command::new("false"), Duration::from_secs(10)).unwrap();
        assert_eq!((sleeps, passes, fails), (None, Some(true), Some(false)));
    }

    #[test]
    fn a_filter_runs_once_without_a_fault() {
        let trials = tidy::parse_trials("a laws::one\nb laws::one # why\n\n# note\n").unwrap();
        let tell = |plain_runs| -> Vec<String> {
            let jobs = list_jobs(&trials, plain_runs);
            jobs.iter().map(|job| format!("{:?} {}", job.fault, job.filter)).collect()
        };
        let planted = ["Some(\"a\") laws::one", "Some(\"b\") laws::one"];
        assert_eq!(tell(PlainRuns::Unknown), ["None laws::one", planted[0], planted[1]]);
        assert_eq!(tell(PlainRuns::Passed), planted);
    }
}
