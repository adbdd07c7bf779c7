//! What others made, turned on a real house: public client libraries that say what happened in every form, a fuzzer that
//! reads our OpenAPI description, a proxy in front of it, mail clients beside one that breaks every rule, and catalogues drawn from
//! a grammar.
//! Upstream's Avro client is in `real/`, browsers and mailboxes are in `seen/`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a seed and a count are what one wants to know of a random test")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use runtime::clock::SteadyStopwatch;

mod api;
mod catalogues;
mod clients;
mod mail;
#[path = "../real/process.rs"]
#[expect(dead_code, reason = "most of it is for tests that kill and stop processes")]
mod process;
mod proxy;

use process::RealProcess;

const BETWEEN: Duration = Duration::from_millis(200);
/// How long anything here may take that is no test of speed.
const PATIENCE: Duration = Duration::from_secs(180);

/// The whole house in one process, on the embedded engine, with the gallery's catalogue.
fn start_house(folder: &Path) -> Result<RealProcess> {
    let catalogue = tests_folder().join("../examples/gallery").display().to_string();
    let words = ["up", "--listen", "127.0.0.1:0", "--catalogue", &catalogue];
    let house = RealProcess::new(folder.to_owned(), &words, Vec::new())?;
    house.start()?;
    wait_until(|| Ok(house.is_ready())).with_context(|| house.log_tail())?;
    Ok(house)
}

fn tests_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A Python program of the tests.
fn python_program(program: &str) -> Result<Command> {
    let mut command = Command::new(engines::python()?);
    command.arg(tests_folder().join("python").join(program));
    command.env("HYPOTHESIS_STORAGE_DIRECTORY", std::env::temp_dir().join("tidings-hypothesis"));
    Ok(command)
}

/// Runs a program to its end, which must be a good one; what it printed.
fn run_program(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start {command:?}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}\n{printed}\n{errors}", output.status);
    Ok(printed)
}

fn wait_until(holds: impl Fn() -> Result<bool>) -> Result<()> {
    let waited = SteadyStopwatch::start();
    while !holds()? {
        ensure!(waited.elapsed() < PATIENCE, "not within {} s", PATIENCE.as_secs());
        std::thread::park_timeout(BETWEEN);
    }
    Ok(())
}

/// The seed of a random test: the one that is asked for, or another one in each run.
fn random_seed() -> u64 {
    let asked = std::env::var("TIDINGS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = asked.unwrap_or_else(|| u64::from(std::process::id()));
    println!("TIDINGS_SEED={seed}");
    seed
}
