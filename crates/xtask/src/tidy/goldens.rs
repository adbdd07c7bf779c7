//! Every schema has golden payloads with their expected decoding,
//! `schemas/golden/<name>.<version>.{bin,json}`; a record of several sorts has one each, `<name>-<sort>.<version>`.
//! A schema's version is that of its newest payload; each earlier one is kept as `schemas/old/<name>.<version>.avsc`.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::SourceTree;

pub fn check_goldens(tree: &SourceTree) -> Vec<String> {
    let stems = |folder: &str, end: &str| -> BTreeSet<String> {
        let files = tree.files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_suffix(end));
        files.filter(|stem| !stem.contains('/')).map(ToOwned::to_owned).collect()
    };
    let schemas = stems("schemas/", ".avsc");
    let (payloads, decodings) = (stems("schemas/golden/", ".bin"), stems("schemas/golden/", ".json"));
    let mut found = Vec::new();
    for schema in &schemas {
        if !payloads.iter().any(|stem| schema_of(stem) == Some(schema)) {
            found.push(format!("schemas/{schema}.avsc: no golden payload"));
        }
    }
    for stem in payloads.union(&decodings) {
        let schema = schema_of(stem);
        if schema.is_none() {
            found.push(format!("schemas/golden/{stem}: not named <schema>.<version>"));
        }
        if let Some(schema) = schema.filter(|schema| !schemas.contains(*schema)) {
            found.push(format!("schemas/golden/{stem}: no schema {schema}"));
        }
    }
    found.extend(check_earlier(&stems("schemas/old/", ".avsc"), &payloads));
    found.extend(
        payloads
            .difference(&decodings)
            .map(|stem| format!("schemas/golden/{stem}.bin: no expected decoding")),
    );
    found.extend(
        decodings.difference(&payloads).map(|stem| format!("schemas/golden/{stem}.json: no payload")),
    );
    found
}

/// What is amiss between earlier schemas and payloads: each has the other, and is older than what is written now.
fn check_earlier(old: &BTreeSet<String>, payloads: &BTreeSet<String>) -> Vec<String> {
    let versions = || payloads.iter().filter_map(|stem| split_stem(stem));
    let mut newest: BTreeMap<&str, u32> = BTreeMap::new();
    for (schema, version) in versions() {
        let known = newest.entry(schema).or_default();
        *known = version.max(*known);
    }
    let written: BTreeSet<String> = versions()
        .filter(|(schema, version)| Some(version) < newest.get(schema))
        .map(|(schema, version)| format!("{schema}.{version}"))
        .collect();
    let gone = written.difference(old).map(|stem| format!("schemas/old/{stem}.avsc: missing"));
    let unread = old
        .difference(&written)
        .map(|stem| format!("schemas/old/{stem}.avsc: no payload of it, or none of a later version"));
    gone.chain(unread).collect()
}

/// The schema that a golden file belongs to, if its version is a number.
fn schema_of(stem: &str) -> Option<&str> {
    split_stem(stem).map(|(schema, _)| schema)
}

fn split_stem(stem: &str) -> Option<(&str, u32)> {
    let (name, version) = stem.rsplit_once('.')?;
    let schema = name.split_once('-').map_or(name, |(schema, _)| schema);
    Some((schema, version.parse().ok()?))
}
