//! All tests, in two lanes at once: those that start engines, kill them and wait, and those that compute. The
//! first leave processors idle for minutes, which the others use.

use std::{collections::BTreeSet, thread};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{
    engines::GateEngines,
    shell::{self, WorkspaceRoot},
    tally::{GateTally, TestRun},
};

/// Test targets that mostly wait for engines of their own.
const WAITING: [&str; 3] = ["real", "engines", "clusters"];

/// Commands that run one after the other, and what is before each line that they print.
struct TestLane {
    name: &'static str,
    commands: Vec<Vec<String>>,
}

/// Runs all, and counts the tests one by one while their output is shown. What computes is done first; what is to
/// be done afterwards has the processors until the rest is.
pub fn run_lanes(house: &WorkspaceRoot, afterwards: impl FnOnce() + Send) -> Result<GateTally> {
    // Once for both lanes: cargo lets only one of two commands build.
    let built = shell::run_succeeds(&mut house.cargo(&shell::workspace_arguments(&["test", "--no-run"])))?;
    ensure!(built, "the tests do not build");
    let lanes = build_lanes(&house.metadata()?)?;
    let engines = GateEngines::start(house)?;
    let [waiting, computing] = &lanes;
    let (waited, computed) = thread::scope(|scope| {
        let waited = scope.spawn(|| waiting.run(house, &engines));
        let computed = computing.run(house, &engines);
        afterwards();
        (waited.join().map_err(|_| anyhow::anyhow!("a lane died")), computed)
    });
    let mut total = waited??;
    total += computed?;
    Ok(total)
}

/// Every test target of the workspace in the one lane or the other, and the examples in the documentation.
fn build_lanes(metadata: &Value) -> Result<[TestLane; 2]> {
    let targets = test_targets(metadata)?;
    let (waiting, computing): (Vec<&str>, Vec<&str>) =
        targets.into_iter().partition(|name| WAITING.contains(name));
    if waiting.len() < WAITING.len() {
        bail!("one of the test targets {WAITING:?} is not there any more");
    }
    let named = |first: &[&str], names: &[&str]| {
        let mut arguments = shell::workspace_arguments(&[&["test", "--no-fail-fast"], first].concat());
        arguments.extend(names.iter().flat_map(|name| ["--test", *name]));
        arguments.into_iter().map(str::to_owned).collect()
    };
    Ok([
        TestLane { name: "waits", commands: vec![named(&[], &waiting)] },
        TestLane {
            name: "works",
            commands: vec![named(&["--lib", "--bins"], &computing), named(&["--doc"], &[])],
        },
    ])
}

/// The names of what lies under `tests/` of some package.
fn test_targets(metadata: &Value) -> Result<BTreeSet<&str>> {
    let members = metadata["workspace_members"].as_array().context("cargo metadata without members")?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let own = packages.iter().filter(|package| members.contains(&package["id"]));
    let targets = own.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let tests = targets.filter(|target| target["kind"][0] == "test");
    Ok(tests.filter_map(|target| target["name"].as_str()).collect())
}

impl TestLane {
    fn run(&self, house: &WorkspaceRoot, engines: &GateEngines) -> Result<GateTally> {
        let (mut run, mut succeeded) = (TestRun::default(), true);
        for arguments in &self.commands {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            // Colours would stand in the middle of the lines that are counted.
            let mut command = house.cargo(&arguments);
            let command = engines.set_variables(&mut command).env("CARGO_TERM_COLOR", "never");
            succeeded &= shell::run_listening(command, |line| {
                println!("{:>5}| {line}", self.name);
                run.hear(line);
            })?;
        }
        if run.ignored > 0 {
            println!("{} ignored tests count as failed", run.ignored);
        }
        Ok(run.tally(succeeded))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_target_is_in_one_lane() {
        let target = |name: &str| json!({"name": name, "kind": ["test"]});
        let library = json!({"name": "a", "kind": ["lib"]});
        let own: Vec<Value> =
            WAITING.iter().map(|name| target(name)).chain([target("laws"), library]).collect();
        let metadata = json!({"workspace_members": ["ours"],
            "packages": [{"id": "ours", "targets": own}, {"id": "theirs", "targets": [target("x")]}]});
        let [waiting, computing] = build_lanes(&metadata).unwrap();
        let names = |lane: &TestLane| -> BTreeSet<String> {
            let named = lane.commands[0].windows(2).filter(|pair| pair[0] == "--test");
            named.map(|pair| pair[1].clone()).collect()
        };
        assert_eq!(names(&waiting), WAITING.map(str::to_owned).into());
        assert_eq!(names(&computing), ["laws".to_owned()].into());
        assert!(build_lanes(&json!({"workspace_members": [], "packages": []})).is_err());
    }
}
