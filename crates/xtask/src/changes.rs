//! What a change can reach: the suites of the crates that it touches, and of all that stand on these.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::{shell::WorkspaceRoot, tree::SourceTree};

/// The package of the tests of the whole house; each of its targets has a folder of its own.
const TESTS: &str = "tests";

/// Targets of [`TESTS`] that read what documents say.
const READERS: [&str; 2] = ["docs", "seen"];

/// The suites that a change can reach.
#[derive(PartialEq, Eq, Debug)]
pub enum ChangeReach {
    Everything,
    /// Packages, or of [`TESTS`] single targets.
    Part {
        packages: BTreeSet<String>,
        targets: BTreeSet<String>,
    },
}

impl ChangeReach {
    /// That of all that differs from a commit, with what is not committed yet.
    pub fn since(house: &WorkspaceRoot, base: &str) -> Result<Self> {
        let changed = ["diff", "--name-only", "--no-renames", base, "--"];
        let added = ["ls-files", "--others", "--exclude-standard"];
        let paths = [ask_git(house, &changed)?, ask_git(house, &added)?].concat();
        let reach = Self::of_paths(&SourceTree::load(house)?, paths.lines());
        match &reach {
            Self::Everything => println!("the change reaches everything"),
            Self::Part { packages, targets } => {
                let all: Vec<&str> = packages.iter().chain(targets).map(String::as_str).collect();
                println!(
                    "the change reaches {}",
                    if all.is_empty() { "no test".into() } else { all.join(", ") }
                );
            }
        }
        Ok(reach)
    }

    fn of_paths<'a>(tree: &SourceTree, paths: impl Iterator<Item = &'a str>) -> Self {
        let (mut packages, mut targets) = (BTreeSet::new(), BTreeSet::new());
        for path in paths {
            if path.ends_with(".md") {
                targets.extend(READERS.map(str::to_owned));
                continue;
            }
            let Some((package, file)) = owner(tree, path) else { return Self::Everything };
            match file.split_once('/') {
                Some((target, _)) if package == TESTS && is_target_folder(target) => {
                    targets.insert(target.to_owned());
                }
                _ => drop(packages.insert(package.to_owned())),
            }
        }
        Self::Part { packages: add_dependents(tree, packages), targets }
    }

    pub fn reaches(&self, package: &str, target: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Part { packages, targets } => {
                packages.contains(package) || package == TESTS && targets.contains(target)
            }
        }
    }
}

/// The package that a file belongs to, the innermost, and its path in there.
fn owner<'a>(tree: &'a SourceTree, path: &'a str) -> Option<(&'a str, &'a str)> {
    let inside = tree.members().filter_map(|(package, folder)| {
        let file = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some((package.name.as_str(), file))
    });
    inside.min_by_key(|(_, file)| file.len())
}

/// Folders of [`TESTS`] that only the target of the same name reads.
fn is_target_folder(folder: &str) -> bool {
    ["laws", "kill", "real", "seen", "outside", "docs"].contains(&folder)
}

/// The packages with all that depend on them, however far.
fn add_dependents(tree: &SourceTree, mut packages: BTreeSet<String>) -> BTreeSet<String> {
    let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (package, _) in tree.members() {
        for dependency in &package.dependencies {
            dependents.entry(&dependency.name).or_default().push(&package.name);
        }
    }
    let mut waiting: Vec<String> = packages.iter().cloned().collect();
    while let Some(package) = waiting.pop() {
        for dependent in dependents.get(package.as_str()).into_iter().flatten() {
            if packages.insert((*dependent).to_owned()) {
                waiting.push((*dependent).to_owned());
            }
        }
    }
    packages
}

fn ask_git(house: &WorkspaceRoot, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(&house.root).stderr(Stdio::inherit());
    let output = command.output().context("--changed asks git")?;
    ensure!(output.status.success(), "git {} failed", arguments.join(" "));
    String::from_utf8(output.stdout).context("a path that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{CargoPackage, PackageDependency};

    fn package(name: &str, folder: &str, needs: &[&str]) -> CargoPackage {
        let dependency = |name: &&str| PackageDependency {
            name: (*name).to_owned(),
            called: (*name).to_owned(),
            dev: false,
        };
        CargoPackage {
            name: name.to_owned(),
            folder: Some(folder.to_owned()),
            dependencies: needs.iter().map(dependency).collect(),
            ..CargoPackage::default()
        }
    }

    #[test]
    fn a_change_reaches_what_stands_on_it() {
        let tree = SourceTree {
            packages: vec![
                package("model", "crates/model", &[]),
                package("store", "crates/store", &["model"]),
                package("topic", "crates/topic", &[]),
                package("tests", "tests", &["store", "topic"]),
                package("engines", "tests/engines", &[]),
            ],
            ..SourceTree::default()
        };
        let check = |paths: &[&str], expect: Option<(&[&str], &[&str])>| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let expect = expect.map_or(ChangeReach::Everything, |(packages, targets)| ChangeReach::Part {
                packages: owned(packages),
                targets: owned(targets),
            });
            assert_eq!(ChangeReach::of_paths(&tree, paths.iter().copied()), expect, "{paths:?}");
        };
        check(&[], Some((&[], &[])));
        check(&["crates/model/src/lib.rs"], Some((&["model", "store", "tests"], &[])));
        check(&["crates/topic/src/lib.rs", "docs/a.md"], Some((&["topic", "tests"], &["docs", "seen"])));
        check(&["tests/laws/main.rs"], Some((&[], &["laws"])));
        check(&["tests/scenarios/a.txt"], Some((&["tests"], &[])));
        check(&["tests/engines/src/lib.rs"], Some((&["engines"], &[])));
        check(&["tests/laws/main.rs", "Cargo.lock"], None);
        check(&["examples/gallery/catalogue.yaml"], None);
    }
}
