//! Every scenario is a test: those of the house in `tests/scenarios`, those of each example beside its
//! catalogue. A file is played twice, since what happens in it must be the same in every run, once more on
//! rough ground, where engines do whatever a cluster may do (but for those that hang on minutes). Those of the house and one of
//! each example are played on real engines as well, of which [`engines`] has one of each for this process; with
//! `TIDINGS_REAL=all` all are.
//!
//! `cargo test -p tests --test scenarios -- NAME --trace` prints what happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Context as _;
use house::HouseEngines;
use libtest_mimic::{Arguments, Failed, Trial};
use runtime::clock::SteadyStopwatch;
use scenario::{RealEngines, ScenarioGround, run_file};
use stage::ScenarioReport;
use store::rough_store::{RoughStore, StoreRoughness};
use tests::scenarios::{self, NamedScenario};
use topic::rough_topics::{RoughTopics, RoughTopicsOdds};

/// Prints each trace; not a flag of the harness.
const TRACE: &str = "--trace";
/// Whether every scenario is played on real engines: `all` or nothing.
const REAL_FROM: &str = "TIDINGS_REAL";
/// The group of the house's own scenarios.
const HOUSE_GROUP: &str = "scenarios";
/// What rough engines draw from, unless the environment says otherwise.
const SEED: u64 = 1;
const SEED_FROM: &str = "TIDINGS_SEED";
/// Of a hundred calls of a rough store so many fail, before and after their effect. A turn of the sender makes
/// some ten; with more, most turns fail, and a scenario is spent in the real pauses between the tries.
const BUSY_PERCENT: (u8, u8) = (4, 4);
/// More than there are processors: on rough ground most of the time goes by between tries.
const THREADS: usize = 8;

fn main() -> anyhow::Result<ExitCode> {
    let (trace, args): (Vec<String>, Vec<String>) = std::env::args().partition(|arg| arg == TRACE);
    let trace = !trace.is_empty();
    let mut args = Arguments::from_iter(args);
    args.test_threads.get_or_insert(THREADS);
    let seed = match std::env::var(SEED_FROM) {
        Ok(seed) => seed.parse().with_context(|| format!("{SEED_FROM}={seed} is no number"))?,
        Err(_) => SEED,
    };
    let plays_all_on_real = match std::env::var(REAL_FROM).as_deref() {
        Ok("all") => true,
        Ok(other) if !other.is_empty() => {
            anyhow::bail!("{REAL_FROM}={other}: write it like `{REAL_FROM}=all`")
        }
        _ => false,
    };
    let mut groups_on_real = BTreeSet::new();
    let mut trials = Vec::new();
    let mut on_real = Vec::new();
    for NamedScenario { name, path, to_the_minute } in scenarios::all_scenarios()? {
        let (rough, elsewhere) = (path.clone(), path.clone());
        trials.push(Trial::test(name.clone(), move || run_even(&path, trace)));
        if !to_the_minute {
            trials.push(Trial::test(format!("rough::{name}"), move || run_uneven(&rough, seed)));
        }
        let group = name.split("::").next().unwrap_or_default();
        let is_first_of_group = groups_on_real.insert(group.to_owned());
        if !plays_all_on_real && group != HOUSE_GROUP && !is_first_of_group {
            continue;
        }
        on_real.push(Trial::test(format!("real::{name}"), move || run_real(&elsewhere, trace)));
    }
    // Last, and side by side: they wait for clusters and not for processors.
    trials.append(&mut on_real);
    let ran = libtest_mimic::run(&args, trials);
    report_real();
    Ok(ran.exit_code())
}

/// The engines that scenarios share, started by the first that needs them.
static REAL: OnceLock<Result<RealEngines, String>> = OnceLock::new();
static REAL_SINCE: OnceLock<SteadyStopwatch> = OnceLock::new();
static REAL_PLAYED: AtomicUsize = AtomicUsize::new(0);

fn real_engines() -> Result<&'static RealEngines, Failed> {
    let start = || {
        // Side by side: each takes its time.
        let (kafka, cql) = std::thread::scope(|scope| {
            let kafka = scope.spawn(engines::kafka);
            (kafka.join(), engines::cql())
        });
        let kafka = kafka.map_err(|_| anyhow::anyhow!("starting Kafka ended early"))??;
        let engines = RealEngines::at_addresses(kafka, cql?)?;
        REAL_SINCE.get_or_init(SteadyStopwatch::start);
        anyhow::Ok(engines)
    };
    let engines = REAL.get_or_init(|| start().map_err(|error| format!("{error:#}")));
    engines.as_ref().map_err(|why| why.as_str().into())
}

#[allow(clippy::print_stdout, reason = "how long the longest part of the tests took")]
fn report_real() {
    if let Some(since) = REAL_SINCE.get() {
        let (played, secs) = (REAL_PLAYED.load(Ordering::SeqCst), since.elapsed().as_secs());
        println!("{played} scenarios were played on real engines in {secs} s\n");
    }
}

/// On real engines the same happens.
#[allow(clippy::print_stdout, reason = "what was asked for by a flag")]
fn run_real(path: &Path, trace: bool) -> Result<(), Failed> {
    let report = play_scenario(path, ScenarioGround::Real(real_engines()?))?;
    REAL_PLAYED.fetch_add(1, Ordering::SeqCst);
    if trace {
        println!("{}: {}\n  {}", report.file, report.proves, report.trace.join("\n  "));
    }
    if !report.has_passed() {
        return Err(report.to_string().into());
    }
    let even = find_even(path)?;
    check_same("what was told differs", &strip_times(&even), &strip_times(&report))
}

/// What happened on even ground, by the scenario's file.
static EVEN: Mutex<BTreeMap<PathBuf, EvenRun>> = Mutex::new(BTreeMap::new());
type EvenRun = Arc<OnceLock<Result<ScenarioReport, String>>>;

/// What happens on even ground; played by the first who asks.
fn find_even(path: &Path) -> Result<ScenarioReport, Failed> {
    let run = EVEN.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default().clone();
    let play = || {
        play_scenario(path, ScenarioGround::Even)
            .map_err(|failed| failed.message().unwrap_or_default().to_owned())
    };
    run.get_or_init(play).clone().map_err(Failed::from)
}

/// It passes, and twice the same happens.
#[allow(clippy::print_stdout, reason = "what was asked for by a flag")]
fn run_even(path: &Path, trace: bool) -> Result<(), Failed> {
    let report = find_even(path)?;
    if trace {
        println!("{}: {}\n  {}", report.file, report.proves, report.trace.join("\n  "));
    }
    if !report.has_passed() {
        return Err(report.to_string().into());
    }
    let again = play_scenario(path, ScenarioGround::Even)?;
    check_same("two runs differ", &report.trace, &again.trace)
}

/// It passes whatever the engines do, and the same is told, though it may be minutes late.
fn run_uneven(path: &Path, seed: u64) -> Result<(), Failed> {
    let report = play_scenario(path, ScenarioGround::Rough { seed, roughen: roughen_engines })?;
    if !report.has_passed() {
        return Err(format!("{SEED_FROM}={seed}\n{report}").into());
    }
    let even = find_even(path)?;
    check_same(
        &format!("{SEED_FROM}={seed}: what was told differs"),
        &strip_times(&even),
        &strip_times(&report),
    )
}

/// Engines that do whatever a cluster may do.
fn roughen_engines(engines: HouseEngines, seed: u64) -> HouseEngines {
    let (busy_before_percent, busy_after_percent) = BUSY_PERCENT;
    let usual = StoreRoughness::from_seed(seed);
    let roughness = StoreRoughness { busy_before_percent, busy_after_percent, ..usual };
    HouseEngines {
        topics: Arc::new(RoughTopics::new(engines.topics, RoughTopicsOdds::ROUGH, seed)),
        store: Arc::new(RoughStore::new(engines.store, roughness)),
        ..engines
    }
}

fn play_scenario(path: &Path, ground: ScenarioGround<'_>) -> Result<ScenarioReport, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime
        .block_on(run_file(path, model::DayLife::default(), ground))
        .map_err(|error| format!("{error:#}"))?)
}

/// What happened, without when: a line of a trace is a time, two blanks, and what happened.
fn strip_times(report: &ScenarioReport) -> Vec<String> {
    let what = |line: &String| line.split_once("  ").map(|(_, what)| what.to_owned()).unwrap_or_default();
    let mut lines: Vec<String> = report.trace.iter().map(what).collect();
    lines.sort();
    lines
}

fn check_same(what: &str, first: &[String], second: &[String]) -> Result<(), Failed> {
    if first == second {
        return Ok(());
    }
    Err(format!("{what}:\n  {}\nagain:\n  {}", first.join("\n  "), second.join("\n  ")).into())
}
