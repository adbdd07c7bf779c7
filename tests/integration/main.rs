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
/// What the rough engines draw from.
const SEED: u64 = 1;

fn main() -> ExitCode {
    let (trace, args): (Vec<String>, Vec<String>) = std::env::args().partition(|arg| arg == TRACE);
    let trace = !trace.is_empty();
    let args = Arguments::from_iter(args);
    let files = match scenarios::all() {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let even = files.iter().cloned().map(|Named { name, path }| Trial::test(name, move || test(&path, trace)));
    let rough = files.iter().cloned().map(|Named { name, path }| {
        Trial::test(format!("rough::{name}"), move || test_rough(&path))
    });
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
    same(&report, &play(path, Ground::Even)?)
}

/// Whatever the engines do, what happens is the same.
fn test_rough(path: &Path) -> Result<(), Failed> {
    let report = play(path, Ground::Rough(SEED))?;
    if !report.passed() {
        return Err(report.to_string().into());
    }
    same(&play(path, Ground::Even)?, &report)
}

fn play(path: &Path, ground: Ground) -> Result<Report, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(run_file(path, ground)).map_err(|error| format!("{error:#}"))?)
}

fn same(first: &Report, second: &Report) -> Result<(), Failed> {
    if first.trace == second.trace {
        return Ok(());
    }
    let traces = [first, second].map(|report| report.trace.join("\n  "));
    Err(format!("two runs differ:\n  {}\nagain:\n  {}", traces[0], traces[1]).into())
}
