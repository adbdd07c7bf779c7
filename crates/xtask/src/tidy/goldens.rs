//! Every schema has golden payloads with their expected decoding,
//! `schemas/golden/<name>.<version>.{bin,json}`; a record of several sorts has one each, `<name>-<sort>.<version>`.

use std::collections::BTreeSet;

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
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

/// The schema that a golden file belongs to, if its version is a number.
fn schema_of(stem: &str) -> Option<&str> {
    let (name, version) = stem.rsplit_once('.')?;
    let schema = name.split_once('-').map_or(name, |(schema, _)| schema);
    version.trim_start_matches('v').parse::<u32>().is_ok().then_some(schema)
}
