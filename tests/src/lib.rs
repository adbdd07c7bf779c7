//! The tests of the whole house, and what they share. The laws are in `laws/`, the scenarios' harness is in
//! `integration/`, the killed process in `kill/`, houses of several processes on real engines in `real/`, what others made in `outside/`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

pub mod markdown;
pub mod scenarios;
pub mod sink;

/// The program beside a test: the gate builds both with the same features.
pub fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let binary = own.parent().and_then(Path::parent).context("no target folder")?.join("tidings");
    let build = "cargo build --workspace --features tests/faults";
    ensure!(binary.exists(), "{} is missing: `{build}` makes it", binary.display());
    Ok(binary)
}

/// What stands before topics and groups of a house with this name.
pub fn prefix(name: &str) -> String {
    format!("{name}.")
}

/// What a process is told of engines that others run, as its environment: houses of other names do not meet there.
pub fn production_settings(kafka: &str, cql: &str, name: &str) -> Vec<(String, String)> {
    let own = |text: &str| text.to_owned();
    env_settings([
        ("ENGINE", own("production")),
        ("KAFKA_BROKERS", own(kafka)),
        ("KAFKA_PREFIX", prefix(name)),
        ("KAFKA_REPLICATION", own("1")),
        ("KAFKA_MIN_INSYNC", own("1")),
        // Who was killed is not waited for long.
        ("KAFKA_SESSION", own("6s")),
        ("CQL_CONTACT_POINTS", own(cql)),
        ("CQL_KEYSPACE", own(name)),
    ])
}

/// Settings under the names that they have in the environment.
pub fn env_settings<const N: usize>(settings: [(&str, String); N]) -> Vec<(String, String)> {
    settings.into_iter().map(|(name, value)| (format!("TIDINGS_{name}"), value)).collect()
}

/// Records that are not read yet, over all stages, from what a house says of them; nothing if it does not say.
pub fn lag(stages: &Value) -> Option<u64> {
    stages.as_array()?.iter().map(|stage| stage["lag"].as_u64()).sum()
}
