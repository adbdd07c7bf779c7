//! Who may depend on whom. The table names exactly our crates: one that is missing fails, and so does one too many.

use std::collections::BTreeMap;

use crate::tree::SourceTree;

/// The room crates; among them there are no edges at all.
pub const ROOMS: [&str; 6] = ["ingest", "fanout", "digest", "sender", "feed", "slots"];

/// Nouns and how they are written.
const NOUNS: &[&str] = &[
    "calendar",
    "diverse-order",
    "share-ratio",
    "address-guard",
    "model",
    "preferences",
    "house-facts",
    "source-text",
    "languages",
    "expression",
    "catalogue-format",
    "source-rules",
    "catalogue",
    "wire",
    "render",
    "feed-bundles",
    "slot-lists",
    "preference-sheet",
];
/// What the house stands on, as it sees it.
const PORTS: &[&str] = &["topic", "store", "courier", "live", "traces", "runtime"];
/// The engine that needs nothing, on which tests, scenarios and measurements run too.
const EMBEDDED: &[&str] = &["store-embedded"];
/// What every room is given and shares.
const ROOM: &[&str] = &["room"];
/// The rooms that there are.
const ALL_ROOMS: &[&str] = &["ingest", "fanout", "digest", "sender", "feed", "slots"];
/// The engines and couriers of others.
const ADAPTERS: &[&str] = &["topic-kafka", "store-cql", "store-embedded", "courier-net", "registry", "otlp"];
/// A house and what is done with it, each above those before it.
const HOUSE: &[&str] = &["settings", "shell", "house", "upkeep", "views"];

/// Each crate and what it may depend on, of ours.
const MAY: &[(&str, &[&[&str]])] = &[
    ("calendar", &[]),
    ("diverse-order", &[]),
    ("share-ratio", &[]),
    ("address-guard", &[]),
    ("model", &[&["calendar", "diverse-order"]]),
    ("preferences", &[&["model"]]),
    ("house-facts", &[&["model"]]),
    ("runtime", &[]),
    ("listener", &[&["runtime"]]),
    ("http-agent", &[]),
    ("source-text", &[]),
    ("languages", &[]),
    ("expression", &[&["model", "source-text"]]),
    ("catalogue-format", &[&["model", "preferences", "source-text"]]),
    ("source-rules", &[&["model", "expression", "catalogue-format"]]),
    (
        "catalogue",
        &[&[
            "calendar",
            "share-ratio",
            "model",
            "preferences",
            "source-text",
            "languages",
            "expression",
            "catalogue-format",
            "source-rules",
        ]],
    ),
    ("wire", &[&["model", "house-facts"]]),
    ("render", &[&["model", "source-text", "languages", "expression", "catalogue"]]),
    ("feed-bundles", &[&["model", "preferences", "catalogue"]]),
    ("slot-lists", &[&["diverse-order", "model"]]),
    ("preference-sheet", &[&["model", "preferences", "source-text", "catalogue"]]),
    ("topic", &[&["runtime"]]),
    ("store", &[&["model", "house-facts"]]),
    ("courier", &[&["model", "house-facts", "runtime"]]),
    ("live", &[&["model"]]),
    ("geoip", &[&["model"]]),
    ("traces", &[&["model", "share-ratio", "runtime"]]),
    ("web", &[&["model", "house-facts", "store"]]),
    ("sizing", &[&["model", "wire"]]),
    ("topic-kafka", &[&["topic", "runtime"]]),
    ("store-cql", &[&["model", "house-facts", "store", "runtime"]]),
    ("store-embedded", &[&["model", "house-facts", "store", "runtime"]]),
    ("courier-net", &[&["address-guard", "model", "courier", "runtime", "listener"]]),
    ("registry", &[&["model", "wire", "topic", "runtime", "http-agent"]]),
    ("otlp", &[&["model", "share-ratio", "traces", "runtime", "http-agent"]]),
    ("engines", &[]),
    ("room", &[NOUNS, PORTS, EMBEDDED]),
    // A room may use nouns, ports and what rooms share, never an adapter and never another room.
    ("ingest", &[NOUNS, PORTS, ROOM, &["web", "geoip"]]),
    ("fanout", &[NOUNS, PORTS, ROOM]),
    ("digest", &[NOUNS, PORTS, ROOM]),
    ("sender", &[NOUNS, PORTS, ROOM]),
    ("feed", &[NOUNS, PORTS, ROOM, &["web", "listener"]]),
    ("slots", &[NOUNS, PORTS, ROOM, &["web"]]),
    // The scenario runner runs the rooms over the embedded engines.
    ("stage", &[NOUNS, PORTS, ROOM, ALL_ROOMS]),
    // The adapters too: a raw loop beside a figure needs what the adapter stands on.
    (
        "bench",
        &[
            NOUNS,
            PORTS,
            ROOM,
            ALL_ROOMS,
            EMBEDDED,
            &["geoip", "topic-kafka", "store-cql", "courier-net", "otlp", "stage"],
        ],
    ),
    // What is set of an adapter is read by the adapter's own words.
    ("settings", &[NOUNS, PORTS, ADAPTERS]),
    ("shell", &[NOUNS, PORTS, &["courier-net", "http-agent", "settings"]]),
    (
        "house",
        &[NOUNS, PORTS, EMBEDDED, ROOM, ALL_ROOMS, &["geoip", "courier-net", "http-agent", "settings"]],
    ),
    ("upkeep", &[NOUNS, PORTS, ALL_ROOMS, &["settings", "shell", "house"]]),
    ("views", &[NOUNS, PORTS, ROOM, ALL_ROOMS, &["settings", "shell", "house", "upkeep"]]),
    ("adapters", &[NOUNS, PORTS, ADAPTERS, HOUSE]),
    ("console", &[NOUNS, PORTS, ALL_ROOMS, HOUSE, &["web", "listener", "courier-net"]]),
    ("lifecycle", &[NOUNS, PORTS, HOUSE, &["geoip", "http-agent", "web", "listener", "adapters", "console"]]),
    ("scenario", &[NOUNS, PORTS, ALL_ROOMS, ADAPTERS, HOUSE, &["geoip", "web", "adapters", "stage"]]),
    (
        "cli",
        &[
            NOUNS,
            PORTS,
            ALL_ROOMS,
            ADAPTERS,
            HOUSE,
            &["web", "listener", "adapters", "console", "lifecycle"],
            &["scenario", "stage", "bench", "sizing"],
        ],
    ),
    (
        "tidings",
        &[
            NOUNS,
            PORTS,
            ALL_ROOMS,
            ADAPTERS,
            HOUSE,
            &["web", "listener", "adapters", "console", "lifecycle"],
            &["scenario", "stage", "bench", "sizing", "cli"],
        ],
    ),
    (
        "tests",
        &[
            NOUNS,
            PORTS,
            ROOM,
            ALL_ROOMS,
            ADAPTERS,
            HOUSE,
            &["web", "listener", "adapters", "console", "lifecycle"],
            &["scenario", "stage", "bench", "sizing", "cli", "tidings"],
        ],
    ),
    ("xtask", &[]),
];

/// What tests may use beside: the nouns, the ports for their embedded engines, and the real ones.
const IN_TESTS: &[&str] = &[
    "geoip",
    "model",
    "topic",
    "store",
    "store-embedded",
    "courier",
    "engines",
    "topic-kafka",
    "live",
    "ingest",
    "digest",
    "settings",
];

pub fn check_layers(tree: &SourceTree) -> Vec<String> {
    let table: BTreeMap<&str, &[&[&str]]> = MAY.iter().copied().collect();
    let ours: Vec<&str> = tree.members().map(|(package, _)| package.name.as_str()).collect();
    let mut found = Vec::new();
    for (package, _) in tree.members() {
        let Some(may) = table.get(package.name.as_str()) else {
            found.push(format!("{} is not in the table of layers", package.name));
            continue;
        };
        for other in package.dependencies.iter().filter(|other| ours.contains(&other.name.as_str())) {
            let name = other.name.as_str();
            if !(may.iter().any(|group| group.contains(&name)) || other.dev && IN_TESTS.contains(&name)) {
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
