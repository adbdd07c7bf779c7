//! The checks of the chart, and of dashboards and alerts, as far as they are quick and their tools were built: nothing of
//! Kubernetes is built by the gate.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{
    shell::{self, WorkspaceRoot},
    tally::GateTally,
};

/// A set of checks: its make target, its script, and the script that says where its tools are, by which word.
const CHECKS: [(&str, &str, &str, &str); 2] = [
    ("chart", "tests/chart/run.sh", "setup/chart.sh", "bin"),
    ("watch", "tests/watch/run.sh", "setup/watch.sh", "python"),
];

/// Runs what can be run here, and says what cannot.
pub fn run_quick_checks(house: &WorkspaceRoot) -> Result<GateTally> {
    let mut sum = GateTally::default();
    for (target, script, setup, tool) in CHECKS {
        if !has_tools(house, setup, tool) {
            println!(
                "{target}: not run here, since its tools are not built; `make {target} ARGS=quick` builds them"
            );
            continue;
        }
        let mut last = String::new();
        let mut command = Command::new(house.root.join(script));
        let ended = shell::run_listening(command.arg("quick").current_dir(&house.root), |line| {
            println!("{line}");
            last = line.to_owned();
        })?;
        sum += read_tally(&last).unwrap_or_else(|| GateTally::from_passed(ended.succeeded));
    }
    Ok(sum)
}

fn has_tools(house: &WorkspaceRoot, setup: &str, tool: &str) -> bool {
    let asked = Command::new(house.root.join(setup)).arg(tool).current_dir(&house.root).output();
    asked.is_ok_and(|answer| {
        let at = String::from_utf8_lossy(&answer.stdout);
        answer.status.success() && house.root.join(Path::new(at.trim())).exists()
    })
}

/// `N passed, N failed`.
fn read_tally(line: &str) -> Option<GateTally> {
    let (passed, failed) = line.trim().split_once(" passed, ")?;
    let failed = failed.strip_suffix(" failed")?;
    Some(GateTally { passed: passed.parse().ok()?, failed: failed.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_count() {
        let check = |line: &str, expected: Option<(u64, u64)>| {
            assert_eq!(read_tally(line).map(|tally| (tally.passed, tally.failed)), expected, "{line}");
        };
        check("208 passed, 4 failed", Some((208, 4)));
        check("0 passed, 0 failed", Some((0, 0)));
        check("all passed", None);
        check("x passed, 1 failed", None);
    }
}
