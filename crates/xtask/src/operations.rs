//! The checks of the chart, of dashboards and alerts, and the upgrade from the release before, as far as they are quick and
//! what they need was built: nothing of Kubernetes and no older program is built by the gate.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{
    engines::GateEngines,
    shell::{self, WorkspaceRoot},
    tally::GateTally,
};

/// A set of checks: its script, the script that says where what it needs is, by which word, and what builds that.
struct QuickCheck {
    script: &'static str,
    setup: &'static str,
    word: &'static str,
    build: &'static str,
}

const CHECKS: [QuickCheck; 3] = [
    QuickCheck {
        script: "tests/chart/run.sh",
        setup: "setup/chart.sh",
        word: "bin",
        build: "make chart ARGS=quick",
    },
    QuickCheck {
        script: "tests/watch/run.sh",
        setup: "setup/watch.sh",
        word: "python",
        build: "make watch ARGS=quick",
    },
    QuickCheck {
        script: "tests/upgrade/run.sh",
        setup: "setup/upgrade.sh",
        word: "cached",
        build: "make upgrade",
    },
];

/// Runs what can be run here, and says what cannot. Engines that run are used by who needs some.
pub fn run_quick_checks(house: &WorkspaceRoot, engines: Option<&GateEngines>) -> Result<GateTally> {
    let mut sum = GateTally::default();
    for QuickCheck { script, setup, word, build } in CHECKS {
        if !has_tools(house, setup, word) {
            println!("{script}: not run here, since what it needs is not built; `{build}` builds it");
            continue;
        }
        let mut last = String::new();
        let mut command = Command::new(house.root.join(script));
        if let Some(engines) = engines {
            engines.set_variables(&mut command);
        }
        let ended = shell::run_listening(command.arg("quick").current_dir(&house.root), |line| {
            println!("{line}");
            last = line.to_owned();
        })?;
        sum += read_tally(&last).unwrap_or_else(|| GateTally::from_passed(ended.succeeded));
    }
    Ok(sum)
}

fn has_tools(house: &WorkspaceRoot, setup: &str, word: &str) -> bool {
    let asked = Command::new(house.root.join(setup)).arg(word).current_dir(&house.root).output();
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
