//! The workspace in memory: its files and its packages. The checks see nothing else, so a test can make one up.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::WorkspaceRoot;

/// All that the checks look at.
#[derive(Default)]
pub struct SourceTree {
    /// By path from the root, with `/`; no text for a file that is not one.
    pub files: BTreeMap<String, Option<String>>,
    /// Every package of the build, ours and others'.
    pub packages: Vec<CargoPackage>,
}

/// One package of the build.
#[derive(Default)]
pub struct CargoPackage {
    pub name: String,
    /// Its folder from the root, if it is ours.
    pub folder: Option<String>,
    pub licence: Option<String>,
    pub dependencies: Vec<PackageDependency>,
}

/// One line of a package's dependencies.
pub struct PackageDependency {
    pub name: String,
    /// The name by which the sources call it.
    pub called: String,
    pub dev: bool,
}

/// Files that are bytes even if they happen to read as text.
const BYTES: [&str; 5] = ["bin", "ico", "jpg", "png", "woff2"];

/// Never ours, whatever .gitignore says.
const ALWAYS_IGNORED: [&str; 2] = [".git", "target"];

impl SourceTree {
    pub fn load(house: &WorkspaceRoot) -> Result<Self> {
        let ignored = fs::read_to_string(house.root.join(".gitignore")).unwrap_or_default();
        let mut files = BTreeMap::new();
        walk_folder(&house.root, "", &IgnoredNames::parse(&ignored), &mut files)?;
        let packages = read_packages(&house.metadata(None)?, &house.root)?;
        Ok(Self { files, packages })
    }

    /// The text files of which the path fits.
    pub fn texts<'a>(&'a self, fits: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter_map(move |(path, text)| fits(path).then_some((path.as_str(), text.as_deref()?)))
    }

    /// All Rust files.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts(|path| path.ends_with(".rs"))
    }

    /// Our own packages, each with its folder.
    pub fn members(&self) -> impl Iterator<Item = (&CargoPackage, &str)> {
        self.packages.iter().filter_map(|package| Some((package, package.folder.as_deref()?)))
    }

    /// Whether a file or a folder is there.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.keys().any(|file| file == path || file.starts_with(&folder))
    }
}

/// The lines of a .gitignore, of the kinds we use: `name/`, `/name/` and `*.end`.
struct IgnoredNames<'a> {
    names: Vec<&'a str>,
    ends: Vec<&'a str>,
}

impl<'a> IgnoredNames<'a> {
    fn parse(text: &'a str) -> Self {
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let names = lines()
            .filter(|line| !line.starts_with('*'))
            .map(|line| line.trim_matches('/'))
            .chain(ALWAYS_IGNORED);
        Self { names: names.collect(), ends: lines().filter_map(|line| line.strip_prefix('*')).collect() }
    }

    fn holds(&self, name: &str) -> bool {
        self.names.contains(&name) || self.ends.iter().any(|end| name.ends_with(end))
    }
}

/// Reads a folder and what is below it. It asks nothing of git, so that an unpacked archive is checked alike.
fn walk_folder(
    root: &Path,
    folder: &str,
    ignored: &IgnoredNames<'_>,
    files: &mut BTreeMap<String, Option<String>>,
) -> Result<()> {
    for item in fs::read_dir(root.join(folder)).with_context(|| format!("could not list {folder}"))? {
        let item = item.context("a folder changed while it was read")?;
        let name = item.file_name().to_string_lossy().into_owned();
        if ignored.holds(&name) {
            continue;
        }
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let kind = item.file_type().with_context(|| format!("what is {path}"))?;
        if kind.is_dir() {
            walk_folder(root, &path, ignored, files)?;
        } else if kind.is_file() {
            let bytes = fs::read(item.path()).with_context(|| format!("could not read {path}"))?;
            let is_text = !path.rsplit('.').next().is_some_and(|end| BYTES.contains(&end));
            files.insert(path, String::from_utf8(bytes).ok().filter(|_| is_text));
        }
    }
    Ok(())
}

/// The packages in what `cargo metadata` prints.
fn read_packages(metadata: &Value, root: &Path) -> Result<Vec<CargoPackage>> {
    let list = metadata["packages"].as_array().context("cargo metadata without packages")?;
    list.iter().map(|value| read_package(value, root)).collect()
}

fn read_package(value: &Value, root: &Path) -> Result<CargoPackage> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let name = text(&value["name"]).context("a package without a name")?;
    let manifest = text(&value["manifest_path"]).with_context(|| format!("{name} has no manifest"))?;
    let folder = Path::new(&manifest).parent().and_then(|folder| folder.strip_prefix(root).ok());
    let ours = value["source"].is_null();
    let list = value["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    let dependency = |value: &Value| {
        let name = text(&value["name"])?;
        let called = text(&value["rename"]).unwrap_or_else(|| name.clone()).replace('-', "_");
        Some(PackageDependency { name, called, dev: value["kind"] == "dev" })
    };
    Ok(CargoPackage {
        folder: folder.filter(|_| ours).map(|folder| folder.to_string_lossy().into_owned()),
        licence: text(&value["license"]),
        dependencies: list.iter().filter_map(dependency).collect(),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_metadata() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "manifest_path": "/r/crates/a/Cargo.toml", "source": null, "license": "MIT", "dependencies": [
                {"name": "b-c", "rename": null, "kind": null}, {"name": "d", "rename": "e-f", "kind": "dev"}]},
            {"name": "b-c", "manifest_path": "/r/vendor/Cargo.toml", "source": "registry", "license": null, "dependencies": []},
        ]});
        let told: Vec<String> =
            read_packages(&metadata, Path::new("/r")).unwrap().iter().map(describe_package).collect();
        assert_eq!(told, [r#"a Some("crates/a") Some("MIT") b-c=b_c d=e_f(dev)"#, "b-c None None"]);
    }

    fn describe_package(package: &CargoPackage) -> String {
        let mut told = format!("{} {:?} {:?}", package.name, package.folder, package.licence);
        for d in &package.dependencies {
            told += &format!(" {}={}{}", d.name, d.called, if d.dev { "(dev)" } else { "" });
        }
        told
    }

    #[test]
    fn ignored_files_are_passed_over() {
        let ignored = IgnoredNames::parse("target/\n/.cache/\n*.rs.bk\n# note\n");
        let told = ["target", ".cache", ".git", "a.rs.bk", "a.rs", ".gitignore", "note"]
            .map(|name| ignored.holds(name));
        assert_eq!(told, [true, true, true, true, false, false, false]);
    }
}
