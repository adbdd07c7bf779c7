//! The bill of materials: what the program is built from, as CycloneDX.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::layout::digest_bytes;

/// All packages that the program is linked from, with their versions, licences and dependencies.
pub fn list_components(metadata: &Value, version: &str, created: &str) -> Result<Value> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolved nothing")?;
    let needs: BTreeMap<&str, BTreeSet<&str>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, linked_dependencies(node)))).collect();
    let own = packages.iter().find(|package| package["name"] == "tidings" && package["source"].is_null());
    let own = own.and_then(|package| package["id"].as_str()).context("no package tidings")?;
    let mut reached = BTreeSet::from([own]);
    let mut next = vec![own];
    while let Some(id) = next.pop() {
        for dependency in needs.get(id).into_iter().flatten() {
            if reached.insert(dependency) {
                next.push(dependency);
            }
        }
    }
    let reference = |id: &str| by_id.get(id).map(|package| package_reference(package));
    let others = reached.iter().filter(|id| **id != own).filter_map(|id| by_id.get(id));
    let mut components: Vec<Value> = others.map(|package| describe_component(package)).collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let mut dependencies: Vec<Value> = reached
        .iter()
        .filter_map(|id| {
            let mut needed: Vec<String> = needs.get(id)?.iter().filter_map(|id| reference(id)).collect();
            needed.sort();
            Some(json!({"ref": reference(id)?, "dependsOn": needed}))
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    let about = json!({
        "timestamp": created,
        "component": {"type": "application", "name": "tidings", "version": version, "bom-ref": reference(own)},
    });
    let digest = digest_bytes(&serde_json::to_vec(&json!([about, components, dependencies]))?);
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial_number(&digest),
        "version": 1,
        "metadata": about,
        "components": components,
        "dependencies": dependencies,
    }))
}

/// What a package is linked with: neither what only its build needs nor what its tests need.
fn linked_dependencies(node: &Value) -> BTreeSet<&str> {
    let all = node["deps"].as_array().into_iter().flatten();
    let is_linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    all.filter(is_linked).filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

/// `pkg:cargo/NAME@VERSION`, as lists of vulnerabilities name it.
fn package_reference(package: &Value) -> String {
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn describe_component(package: &Value) -> Value {
    let reference = package_reference(package);
    let mut component = json!({
        "type": "library",
        "bom-ref": reference,
        "name": package["name"],
        "version": package["version"],
        "purl": reference,
    });
    if let Some(licence) = package["license"].as_str() {
        // Cargo once wrote alternatives with a slash.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    component
}

/// A UUID made of the content, so that the same bill has the same number.
fn serial_number(digest: &str) -> String {
    let hex: Vec<char> = digest.chars().skip("sha256:".len()).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().iter().collect::<String>();
    format!("urn:uuid:{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_is_listed() {
        let package = |name: &str, source: Value| json!({"id": name, "name": name, "version": "1.0.0", "source": source, "license": "MIT/Apache-2.0"});
        let needs = |id: &str, kinds: Value| json!({"pkg": id, "dep_kinds": kinds});
        let metadata = json!({
            "packages": [package("tidings", Value::Null), package("linked", json!("r")), package("deep", json!("r")),
                package("built", json!("r")), package("tested", json!("r"))],
            "resolve": {"nodes": [
                {"id": "tidings", "deps": [needs("linked", json!([{"kind": null}])), needs("built", json!([{"kind": "build"}])),
                    needs("tested", json!([{"kind": "dev"}]))]},
                {"id": "linked", "deps": [needs("deep", json!([{"kind": "build"}, {"kind": null}]))]},
                {"id": "deep", "deps": []}, {"id": "built", "deps": []}, {"id": "tested", "deps": []},
            ]},
        });
        let bill = list_components(&metadata, "1.0.0", "2026-01-01T00:00:00Z").unwrap();
        let names: Vec<&str> =
            bill["components"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["deep", "linked"]);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/deep@1.0.0");
        let of = |reference: &str| {
            bill["dependencies"].as_array().unwrap().iter().find(|one| one["ref"] == reference).unwrap()["dependsOn"].clone()
        };
        assert_eq!(of("pkg:cargo/tidings@1.0.0"), json!(["pkg:cargo/linked@1.0.0"]));
        assert_eq!(of("pkg:cargo/linked@1.0.0"), json!(["pkg:cargo/deep@1.0.0"]));
        let again = list_components(&metadata, "1.0.0", "2026-01-01T00:00:00Z").unwrap();
        assert_eq!(bill, again);
        assert_eq!(bill["serialNumber"].as_str().unwrap().len(), "urn:uuid:".len() + 36);
    }
}
