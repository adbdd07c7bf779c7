//! Every scenario is a test: those of the house in `tests/scenarios`, those of each example beside its
//! catalogue. A file is played twice, since what happens in it must be the same in every run.
//!
//! `cargo test -p tests --test scenarios -- NAME --trace` prints what happened.

use std::{path::Path, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use tests::scenarios::{self, Named};
use tidings::scenario::{Ground, run_file};

/// Prints each trace; not a flag of the harness.
const TRACE: &str = "--trace";

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
    let trials = files.into_iter().map(|Named { name, path }| Trial::test(name, move || test(&path, trace)));
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

fn test(path: &Path, trace: bool) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let play = || runtime.block_on(run_file(path, Ground::Even)).map_err(|error| format!("{error:#}"));
    let report = play()?;
    if trace {
        println!("{}: {}\n  {}", report.file, report.proves, report.trace.join("\n  "));
    }
    if !report.passed() {
        return Err(report.to_string().into());
    }
    let again = play()?;
    if again.trace != report.trace {
        let traces = [report.trace, again.trace].map(|trace| trace.join("\n  "));
        return Err(format!("two runs differ:\n  {}\nagain:\n  {}", traces[0], traces[1]).into());
    }
    Ok(())
}
