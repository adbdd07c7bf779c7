//! The tests of the whole house, and what they share. The laws are in `laws/`, the scenarios' harness is in
//! `integration/`, the killed process in `kill/`, houses of several processes on real engines in `real/`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

pub mod scenarios;

/// The program beside a test: the gate builds both with the same features.
pub fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let binary = own.parent().and_then(Path::parent).context("no target folder")?.join("tidings");
    let build = "cargo build --workspace --features tests/faults";
    ensure!(binary.exists(), "{} is missing: `{build}` makes it", binary.display());
    Ok(binary)
}
