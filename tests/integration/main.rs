//! Every scenario is a test: those of the house in `tests/scenarios`, those of each example beside its
//! catalogue. A file is played twice, since what happens in it must be the same in every run.
//!
//! `cargo test -p tests --test scenarios -- NAME --trace` prints what happened.

use std::{path::Path, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use stage::Report;
use tests::scenarios::{self, Named};
use tidings::scenario::{Ground, run_file};

/// Prints each trace; not a flag of the harness.
const TRACE: &str = "--trace";
/// What the rough engines draw from; `TIDINGS_SEED` says another.
const SEED: u64 = 1;
const SEED_FROM: &str = "TIDINGS_SEED";
const THREADS: usize = 8;

fn main() -> ExitCode {
    let (trace, args): (Vec<String>, Vec<String>) = std::env::args().partition(|arg| arg == TRACE);
    let trace = !trace.is_empty();
    let mut args = Arguments::from_iter(args);
    // Most of their time they wait: for a disk, or on rough ground for the next try.
    args.test_threads.get_or_insert(THREADS);
    let files = match scenarios::all() {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let seed = std::env::var(SEED_FROM).ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    let even =
        files.iter().cloned().map(|Named { name, path }| Trial::test(name, move || test(&path, trace)));
    let rough = files
        .iter()
        .cloned()
        .map(|Named { name, path }| Trial::test(format!("rough::{name}"), move || test_rough(&path, seed)));
    libtest_mimic::run(&args, even.chain(rough).collect()).exit_code()
}

fn test(path: &Path, trace: bool) -> Result<(), Failed> {
    let report = play(path, Ground::Even)?;
    if trace {
        println!("{}: {}\n  {}", report.file, report.proves, report.trace.join("\n  "));
    }
    if !report.passed() {
        return Err(report.to_string().into());
    }
    let again = play(path, Ground::Even)?;
    if again.trace == report.trace {
        Ok(())
    } else {
        Err(differ("two runs differ", &report.trace, &again.trace))
    }
}

/// Whatever the engines do, the same is told; it may be minutes late.
fn test_rough(path: &Path, seed: u64) -> Result<(), Failed> {
    let report = play(path, Ground::Rough(seed))?;
    if !report.passed() {
        return Err(format!("{SEED_FROM}={seed}\n{report}").into());
    }
    let mut even = play(path, Ground::Even)?;
    let timeless = [&mut even.trace, &mut report.trace.clone()].map(|trace| {
        for line in trace.iter_mut() {
            *line = line.split_once("  ").map_or_else(String::new, |(_, what)| what.to_owned());
        }
        trace.sort();
        trace.clone()
    });
    if timeless[0] == timeless[1] {
        return Ok(());
    }
    Err(differ(&format!("{SEED_FROM}={seed}: what was told differs"), &timeless[0], &timeless[1]))
}

fn play(path: &Path, ground: Ground) -> Result<Report, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(run_file(path, ground)).map_err(|error| format!("{error:#}"))?)
}

fn differ(what: &str, first: &[String], second: &[String]) -> Failed {
    format!("{what}:\n  {}\nagain:\n  {}", first.join("\n  "), second.join("\n  ")).into()
}
