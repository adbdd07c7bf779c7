//! The checks that the compiler and the lints cannot do: pure functions over the tree, one list of them all.
//!
//! Each has a file in `samples/` that shows what it lets through and what it does not.

mod catalogues;
mod faults;
mod goldens;
mod layers;
mod licences;
mod links;
mod manifests;
mod metrics;
mod scenarios;
mod sources;
#[cfg(test)]
mod tests;
mod texts;
mod unused;

use anyhow::Result;

pub use self::faults::{LIST as FAULT_LIST, Trial, trials};
use crate::{shell::House, tally::Tally, tree::Tree};

/// One check: what it finds wrong, one line each.
pub struct Check {
    pub name: &'static str,
    pub why: &'static str,
    pub run: fn(&Tree) -> Vec<String>,
}

const fn check(name: &'static str, run: fn(&Tree) -> Vec<String>, why: &'static str) -> Check {
    Check { name, why, run }
}

/// All checks, in the order in which they run.
pub const CHECKS: [Check; 16] = [
    check("layers", layers::check, "a crate sees only what its layer allows, so each can be read alone"),
    check(
        "manifests",
        manifests::check,
        "every crate has the house's lints, version, licence and a description",
    ),
    check("unused", unused::check, "a dependency that nobody names is paid for by everybody"),
    check("licences", licences::check, "everything that is built in may be given away under Apache-2.0"),
    check("openings", sources::openings, "every file says first what it is for"),
    check("lengths", sources::lengths, "a file is read in one go"),
    check("awaits", sources::awaits, "decisions are synchronous; only the rim of a room waits"),
    check("clocks", sources::clocks, "time is an argument, so that a test can be any time"),
    check("limits", sources::limits, "functions stay short because clippy counts their lines"),
    check("names", catalogues::check, "no product's words in the code: a product is a catalogue"),
    check("goldens", goldens::check, "every version of a record that was ever written can still be read"),
    check("scenarios", scenarios::check, "a scenario says which behaviour it proves"),
    check("metrics", metrics::check, "who reads a metric knows what it counts, and in what unit"),
    check("faults", faults::check, "every fault that can be planted has a test that must notice it"),
    check("texts", texts::check, "no trailing space, no machine's own paths, a newline at the end"),
    check("links", links::check, "what a document points to is there"),
];

pub fn names() -> Vec<&'static str> {
    CHECKS.iter().map(|check| check.name).collect()
}

/// Prints what there is and why.
pub fn list() {
    for check in &CHECKS {
        println!("{:10} {}", check.name, check.why);
    }
}

/// Runs the named checks, or all, and prints what they find.
pub fn run(house: &House, wanted: &[String]) -> Result<Tally> {
    let tree = Tree::load(house)?;
    let mut tally = Tally::default();
    for check in
        CHECKS.iter().filter(|check| wanted.is_empty() || wanted.iter().any(|name| name == check.name))
    {
        let found = (check.run)(&tree);
        tally += Tally::one(found.is_empty());
        println!("{:10} {}", check.name, if found.is_empty() { "ok" } else { "FAILED" });
        if !found.is_empty() {
            println!("  because {}", check.why);
        }
        found.iter().for_each(|complaint| println!("  {complaint}"));
    }
    Ok(tally)
}

/// A complaint about a line.
fn at(path: &str, line: usize, what: impl std::fmt::Display) -> String {
    format!("{path}:{line}: {what}")
}
