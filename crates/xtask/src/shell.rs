//! Where the workspace is, and running commands in it.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The features of every stage that compiles. One list for all of them, so that nothing is built twice:
/// the package `tests` passes this one on to all that has points to crash at or faults to plant.
const TEST_FEATURES: &[&str] = &["tests/faults"];

/// The workspace on disk.
pub struct WorkspaceRoot {
    pub root: PathBuf,
    cargo: OsString,
}

impl WorkspaceRoot {
    /// Finds it from what `cargo run` says of this package, so that the tool works from any folder.
    pub fn find() -> Result<Self> {
        let here = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
        let root = PathBuf::from(here).join("../..").canonicalize().context("the workspace is not there")?;
        Ok(Self { root, cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()) })
    }

    /// A cargo command at the root of the workspace.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// All packages of the build, as cargo tells them.
    pub fn metadata(&self) -> Result<Value> {
        let mut command = self.cargo(&["metadata", "--format-version", "1"]);
        let output = command.stderr(Stdio::inherit()).output().context("cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata failed");
        serde_json::from_slice(&output.stdout).context("what cargo metadata printed")
    }
}

/// A cargo verb over the whole workspace, with the features of the tests.
pub fn workspace_arguments<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = arguments.to_vec();
    all.push("--workspace");
    all.extend(TEST_FEATURES.iter().flat_map(|feature| ["--features", *feature]));
    all
}

/// Runs a command with its output on the terminal; whether it succeeded.
pub fn run_succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    Ok(status.success())
}

/// Runs a command and hands on its standard output, line by line, as it comes; whether it succeeded.
pub fn run_listening(command: &mut Command, mut hear: impl FnMut(&str)) -> Result<bool> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("could not run {command:?}"))?;
    let output = child.stdout.take().context("a piped output")?;
    // Not `lines`: what a test prints need not be UTF-8, and must not end the run.
    for line in BufReader::new(output).split(b'\n') {
        hear(&String::from_utf8_lossy(&line.context("output was cut off")?));
    }
    Ok(child.wait().context("waiting for the command")?.success())
}
