//! Each metric is declared in the `metrics.rs` of its crate, with a name that ends in its unit and a help text.

use crate::{
    lex::{self, StringLiteral},
    tidy::complaints::format_complaint,
    tree::SourceTree,
};

/// Units of gauges: what a number can be measured in, and what can be counted. The lag of a group has none, for it is
/// called what the exporters of Kafka call it.
const UNITS: [&str; 22] = [
    "bytes",
    "connections",
    "days",
    "edition",
    "editions",
    "entries",
    "info",
    "lag",
    "messages",
    "partitions",
    "persons",
    "ratio",
    "records",
    "replays",
    "requests",
    "rows",
    "seconds",
    "slices",
    "turns",
    "unknown",
    "up",
    "windows",
];

/// The calls that take a metric from the registry, each with the ends its name may have.
const CALLS: [(&str, &[&str]); 4] = [
    ("counter", &["total"]),
    ("seconds_histogram", &["seconds"]),
    ("gauge", &UNITS),
    ("float_gauge", &UNITS),
];

/// Where metrics come from.
const REGISTRY: &str = "crates/runtime/src/metrics.rs";

pub fn check_metrics(tree: &SourceTree) -> Vec<String> {
    let is_source = |path: &str| {
        path.starts_with("crates/")
            && path.contains("/src/")
            && path.ends_with(".rs")
            && path != REGISTRY
            && !path.contains("/tests")
    };
    let check = |(path, text): (&str, &str)| {
        if path.ends_with("/src/metrics.rs") {
            check_metrics_file(path, text)
        } else {
            find_strays(path, text)
        }
    };
    tree.texts(is_source).flat_map(check).collect()
}

/// Metrics that are declared elsewhere.
fn find_strays(path: &str, text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let literals = lex::string_literals(text);
    let strays = literals
        .iter()
        .filter(|name| name.value.starts_with("tidings_") && enclosing_call(name).is_some())
        .map(|name| {
            let what = format_args!("{}: a metric is declared in the metrics.rs of its crate", name.value);
            format_complaint(path, name.line, what)
        });
    strays.collect()
}

fn check_metrics_file(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let literals = lex::string_literals(text);
    for (name, next) in literals.iter().zip(literals.iter().skip(1).map(Some).chain([None])) {
        let called = enclosing_call(name);
        let ends = called.map(|(_, ends)| ends);
        if ends.is_none() && !name.value.starts_with("tidings_") {
            continue;
        }
        if !is_name(name.value) {
            found.push(format_complaint(
                path,
                name.line,
                format_args!("{}: the name must be tidings_ and small letters", name.value),
            ));
        }
        let end = name.value.rsplit('_').next().unwrap_or_default();
        let fits = ends
            .map_or_else(|| CALLS.iter().any(|(_, ends)| ends.contains(&end)), |ends| ends.contains(&end));
        if !fits {
            let call = called.map_or("metric", |(call, _)| call);
            found.push(format_complaint(
                path,
                name.line,
                format_args!("{}: a {call} must end in its unit", name.value),
            ));
        }
        if !next.is_some_and(|help| help.after.trim() == "," && help.value.contains(' ')) {
            found.push(format_complaint(
                path,
                name.line,
                format_args!("{}: no help text behind the name", name.value),
            ));
        }
    }
    found
}

/// The call whose first argument a literal is, with the ends it allows.
fn enclosing_call(literal: &StringLiteral<'_>) -> Option<(&'static str, &'static [&'static str])> {
    let call = literal.after.strip_suffix('(')?;
    CALLS.into_iter().find(|(name, _)| call.ends_with(&format!(".{name}")))
}

fn is_name(name: &str) -> bool {
    name.starts_with("tidings_")
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
