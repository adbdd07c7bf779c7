//! The shape of a room: each has the same files, and its `run.rs` is a story that is read in one go.

use crate::{tidy::layers::ROOMS, tree::SourceTree};

/// The files that every room has, in the order in which one reads them.
const FILES: [&str; 11] = [
    "lib.rs",
    "config.rs",
    "deps.rs",
    "read.rs",
    "facts.rs",
    "load.rs",
    "decide.rs",
    "apply.rs",
    "run.rs",
    "metrics.rs",
    "tests.rs",
];

/// The story of a room has fewer lines.
const RUN_LINES: usize = 200;

pub fn check_rooms(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    // Some of the names are kept for rooms that are not built yet.
    for room in ROOMS.iter().filter(|room| tree.has(&format!("crates/{room}"))) {
        let path = |file: &str| format!("crates/{room}/src/{file}");
        let missing = FILES.iter().filter(|file| !tree.has(&path(file)));
        found.extend(missing.map(|file| format!("{} is missing, and every room has it", path(file))));
        let run = tree.files.get(&path("run.rs")).and_then(Option::as_deref).unwrap_or_default();
        let lines = run.lines().count();
        if lines >= RUN_LINES {
            found.push(format!("{}: {lines} lines, and fewer than {RUN_LINES} may be", path("run.rs")));
        }
    }
    found
}
