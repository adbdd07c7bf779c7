//! The shape of our manifests, that no feature for tests gets into the product, that each entry of the workspace's list of dependencies is used, and that the changes
//! begin with the version that we have.

use crate::{
    manifest::{self, ManifestLine},
    tidy::complaints::format_complaint,
    tree::SourceTree,
};

/// What every crate takes from the workspace, by section and key.
const SHARED: [(&str, &str); 4] =
    [("package", "version"), ("package", "edition"), ("package", "license"), ("lints", "workspace")];

/// Features that only tests turn on: faults to plant, conformance suites, engines that lie.
const TEST_FEATURES: [&str; 2] = ["faults", "testing"];

/// What is new, newest first.
const CHANGES: &str = "CHANGELOG.md";

pub fn check_manifests(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = Vec::new();
    for (package, folder) in tree.members() {
        let path = format!("{folder}/Cargo.toml");
        if folder.rsplit('/').next() != Some(&package.name) {
            found.push(format!("{path}: the folder and the package {} must have one name", package.name));
        }
        let Some(text) = tree.files.get(&path).and_then(Option::as_deref) else {
            found.push(format!("{path}: not readable"));
            continue;
        };
        let lines = manifest::parse_lines(text);
        found.extend(check_shape(&lines).into_iter().map(|what| format!("{path}: {what}")));
        found.extend(find_test_features(&path, &lines));
        used.extend(lines.iter().filter_map(dependency_name));
    }
    let root = tree.files.get("Cargo.toml").and_then(Option::as_deref).unwrap_or_default();
    for line in manifest::parse_lines(root).iter().filter(|line| line.section == "workspace.dependencies") {
        if !used.contains(&line.key) {
            found.push(format_complaint(
                "Cargo.toml",
                line.number,
                format_args!("no crate uses {}", line.key),
            ));
        }
    }
    found.extend(check_version(tree, root));
    found
}

/// The version is in one place; what is new in it stands first in the changes.
fn check_version(tree: &SourceTree, root: &str) -> Option<String> {
    let lines = manifest::parse_lines(root);
    let version = lines.iter().find(|line| line.section == "workspace.package" && line.key == "version")?;
    let version = version.value.trim_matches('"');
    let changes = tree.files.get(CHANGES).and_then(Option::as_deref).unwrap_or_default();
    let newest = changes.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    let is_told = newest.split(' ').next() == Some(version);
    (!is_told)
        .then(|| format!("{CHANGES}: its first heading must be `## {version}`, the version in Cargo.toml"))
}

/// What a crate's manifest lacks.
fn check_shape(lines: &[ManifestLine<'_>]) -> Vec<String> {
    let is_true = |section: &str, key: &str| {
        lines.iter().any(|line| line.section == section && line.key == key && line.value == "true")
    };
    let shared = |(section, key): (&str, &str)| match key {
        "workspace" => (format!("[{section}] {key} = true"), is_true(section, key)),
        _ => (format!("{key}.workspace = true"), is_true(section, &format!("{key}.workspace"))),
    };
    let missing = SHARED.into_iter().map(shared).filter(|(_, there)| !there);
    let mut missing: Vec<String> = missing.map(|(line, _)| format!("no `{line}`")).collect();
    let described = |line: &&ManifestLine<'_>| line.section == "package" && line.key == "description";
    if lines.iter().find(described).is_none_or(|line| line.value.trim_matches('"').is_empty()) {
        missing.push("no description".to_owned());
    }
    missing
}

/// Dependencies of the product that turn on a feature which is for tests alone.
fn find_test_features(path: &str, lines: &[ManifestLine<'_>]) -> Vec<String> {
    let asks = |line: &&ManifestLine<'_>| {
        let is_default = line.section == "features" && line.key == "default";
        let is_dependency = dependency_name(line).is_some();
        let is_features = is_default
            || is_dependency && (line.key.ends_with("features") || line.value.contains("features"));
        is_features && TEST_FEATURES.iter().any(|feature| line.value.contains(&format!("\"{feature}\"")))
    };
    let of_product = lines.iter().filter(|line| !line.section.starts_with("dev-")).filter(asks);
    let complain = |line: &ManifestLine<'_>| {
        format_complaint(path, line.number, "a feature for tests is turned on by [dev-dependencies] alone")
    };
    of_product.map(complain).collect()
}

/// The name of the dependency that a line asks for.
fn dependency_name<'a>(line: &ManifestLine<'a>) -> Option<&'a str> {
    if line.section.ends_with("dependencies") {
        return line.key.split('.').next();
    }
    line.section.split_once("dependencies.").map(|(_, name)| name)
}
