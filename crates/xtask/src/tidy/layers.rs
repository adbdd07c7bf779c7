//! Who may depend on whom. The table names exactly our crates: one that is missing fails, and so does one too many.

use std::collections::BTreeMap;

use crate::tree::SourceTree;

/// The room crates; among them there are no edges at all.
pub const ROOMS: [&str; 6] = ["ingest", "fanout", "digest", "sender", "feed", "slots"];

/// What a room may use: nouns, ports and the shell, never an adapter.
const ROOM: &[&str] =
    &["model", "catalogue", "wire", "render", "topic", "store", "courier", "live", "runtime"];
/// What the scenario runner may use: the rooms too, since it runs them over the embedded engines.
const STAGE: &[&str] = &[
    "model",
    "catalogue",
    "wire",
    "render",
    "topic",
    "store",
    "courier",
    "live",
    "runtime",
    "ingest",
    "fanout",
    "digest",
    "sender",
];
/// What the benchmarks may use; the command line runs them, not the other way round. The adapters too: a raw
/// loop beside a figure needs what the adapter stands on.
const BENCH: &[&str] = &[
    "model",
    "catalogue",
    "wire",
    "render",
    "topic",
    "topic-kafka",
    "store",
    "store-cql",
    "courier",
    "courier-net",
    "live",
    "runtime",
    "ingest",
    "fanout",
    "digest",
    "sender",
    "stage",
];
/// What the binary and the tests of the whole house may use: everything.
const ALL: &[&str] = &[
    "model",
    "catalogue",
    "wire",
    "render",
    "topic",
    "topic-kafka",
    "store",
    "store-cql",
    "courier",
    "courier-net",
    "listener",
    "live",
    "registry",
    "runtime",
    "ingest",
    "fanout",
    "digest",
    "sender",
    "stage",
    "bench",
    "tidings",
];

/// Each crate and what it may depend on, of ours.
const MAY: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("runtime", &[]),
    ("listener", &["runtime"]),
    ("catalogue", &["model"]),
    ("wire", &["model"]),
    ("render", &["model", "catalogue"]),
    ("topic", &["runtime"]),
    ("store", &["model", "runtime"]),
    ("courier", &["model", "runtime"]),
    ("live", &["model"]),
    ("topic-kafka", &["topic", "runtime"]),
    ("store-cql", &["model", "store", "runtime"]),
    ("courier-net", &["model", "courier", "runtime", "listener"]),
    ("registry", &["model", "wire", "topic", "runtime"]),
    ("engines", &[]),
    ("ingest", ROOM),
    ("fanout", ROOM),
    ("digest", ROOM),
    ("sender", ROOM),
    ("stage", STAGE),
    ("bench", BENCH),
    ("tidings", ALL),
    ("tests", ALL),
    ("xtask", &[]),
];

/// What tests may use beside: the nouns, the ports for their embedded engines, and the real ones.
const IN_TESTS: &[&str] = &["model", "topic", "store", "courier", "engines"];

pub fn check_layers(tree: &SourceTree) -> Vec<String> {
    let table: BTreeMap<&str, &[&str]> = MAY.iter().copied().collect();
    let ours: Vec<&str> = tree.members().map(|(package, _)| package.name.as_str()).collect();
    let mut found = Vec::new();
    for (package, _) in tree.members() {
        let Some(may) = table.get(package.name.as_str()) else {
            found.push(format!("{} is not in the table of layers", package.name));
            continue;
        };
        for other in package.dependencies.iter().filter(|other| ours.contains(&other.name.as_str())) {
            let name = other.name.as_str();
            if !(may.contains(&name) || other.dev && IN_TESTS.contains(&name)) {
                let tests = if other.dev { " in its tests" } else { "" };
                found.push(format!("{} must not depend on {name}{tests}", package.name));
            }
        }
    }
    for (name, _) in MAY.iter().filter(|(name, _)| !ours.contains(name)) {
        found.push(format!("the table of layers names {name}, which does not exist"));
    }
    found
}
