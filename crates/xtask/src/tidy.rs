//! The checks that the compiler and the lints cannot do: pure functions over the tree, one list of them all.
//!
//! Each has a file in `samples/` that shows what it lets through and what it does not.

mod catalogues;
mod circles;
mod complaints;
mod faults;
mod formats;
mod goldens;
mod layers;
mod licences;
mod links;
mod manifests;
mod metrics;
mod names;
mod prose;
mod rooms;
mod scenarios;
mod sizes;
mod sources;
#[cfg(test)]
mod tests;
mod texts;
mod unused_dependencies;

use anyhow::Result;

pub use self::faults::{FaultTrial, LIST as FAULT_LIST, parse_trials};
use crate::{shell::WorkspaceRoot, tally::GateTally, tree::SourceTree};

/// One check: what it finds wrong, one line each.
pub struct TidyCheck {
    pub name: &'static str,
    pub why: &'static str,
    pub run: fn(&SourceTree) -> Vec<String>,
}

const fn tidy_check(name: &'static str, run: fn(&SourceTree) -> Vec<String>, why: &'static str) -> TidyCheck {
    TidyCheck { name, why, run }
}

/// All checks, in the order in which they run.
pub const CHECKS: [TidyCheck; 23] = [
    tidy_check(
        "layers",
        layers::check_layers,
        "a crate sees only what its layer allows, so each can be read alone",
    ),
    tidy_check(
        "manifests",
        manifests::check_manifests,
        "every crate has the house's lints, version, licence and a description",
    ),
    tidy_check(
        "unused",
        unused_dependencies::check_unused,
        "a dependency that nobody names is paid for by everybody",
    ),
    tidy_check(
        "licences",
        licences::check_licences,
        "everything that is built in may be given away under Apache-2.0",
    ),
    tidy_check("openings", sources::check_openings, "every file says first what it is for"),
    tidy_check("fences", sources::check_fences, "an example that nobody runs is wrong one day"),
    tidy_check("lengths", sources::check_lengths, "a file is read in one go"),
    tidy_check("sizes", sizes::check_sizes, "a crate has one subject, and the root only composes"),
    tidy_check("awaits", sources::check_awaits, "decisions are synchronous; only the rim of a room waits"),
    tidy_check("rooms", rooms::check_rooms, "who knows one room finds their way in all of them"),
    tidy_check("clocks", sources::check_clocks, "time is an argument, so that a test can be any time"),
    tidy_check("limits", sources::check_limits, "functions stay short because clippy counts their lines"),
    tidy_check(
        "products",
        catalogues::check_products,
        "no product's words in the code: a product is a catalogue",
    ),
    tidy_check("names", names::check_names, "a name says what it is and what it is of, to somebody new"),
    tidy_check("circles", circles::check_circles, "files that need each other can only be read together"),
    tidy_check(
        "goldens",
        goldens::check_goldens,
        "every version of a record that was ever written can still be read",
    ),
    tidy_check(
        "formats",
        formats::check_formats,
        "who changes what is persisted decides whether the release before can read it",
    ),
    tidy_check("scenarios", scenarios::check_scenarios, "a scenario says which behaviour it proves"),
    tidy_check(
        "metrics",
        metrics::check_metrics,
        "who reads a metric knows what it counts, and in what unit",
    ),
    tidy_check(
        "faults",
        faults::check_faults,
        "every fault that can be planted has a test that must notice it",
    ),
    tidy_check(
        "texts",
        texts::check_texts,
        "no trailing space, no machine's own paths, a newline at the end",
    ),
    tidy_check("links", links::check_links, "what a document points to is there"),
    tidy_check("prose", prose::check_prose, "what a document says of the code is there"),
];

pub fn names() -> Vec<&'static str> {
    CHECKS.iter().map(|check| check.name).collect()
}

/// Prints what there is and why.
pub fn print_list() {
    for check in &CHECKS {
        println!("{:10} {}", check.name, check.why);
    }
}

/// Runs the named checks, or all, and prints what they find.
pub fn run_checks(house: &WorkspaceRoot, wanted: &[String]) -> Result<GateTally> {
    let tree = SourceTree::load(house)?;
    let mut tally = GateTally::default();
    for check in
        CHECKS.iter().filter(|check| wanted.is_empty() || wanted.iter().any(|name| name == check.name))
    {
        let found = (check.run)(&tree);
        tally += GateTally::from_passed(found.is_empty());
        println!("{:10} {}", check.name, if found.is_empty() { "ok" } else { "FAILED" });
        if !found.is_empty() {
            println!("  because {}", check.why);
        }
        found.iter().for_each(|complaint| println!("  {complaint}"));
    }
    Ok(tally)
}
