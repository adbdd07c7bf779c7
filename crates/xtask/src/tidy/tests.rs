//! Each check against its file in `samples/`: houses in a few lines, and what the check says of each.
//!
//! A sample begins with `# ` and ends with `expect`, below which the complaints stand, none if the house is good:
//! `members a b` are crates of ours, `needs a -> b` and `dev a -> b` dependencies of `a`, `stranger a MIT` a package
//! of others, `binary path` a file that is no text, `file path` a text of the lines below it that begin with `|`
//! (`|!` is a last line without its newline, `|*501 x` the line `x` as often). `·` stands for a space, `¦` for a slash.

use std::fs;

use super::CHECKS;
use crate::tree::{CargoPackage, PackageDependency, SourceTree};

/// A house and what is expected of it.
#[derive(Default)]
struct TidySample {
    title: String,
    tree: SourceTree,
    expect: Vec<String>,
}

fn check(name: &str) {
    let check = CHECKS.iter().find(|check| check.name == name).unwrap();
    let samples = read_samples(name);
    for sample in &samples {
        assert_eq!((check.run)(&sample.tree), sample.expect, "{name}: {}", sample.title);
    }
    assert!(samples.iter().any(|sample| sample.expect.is_empty()), "no sample that {name} lets through");
    assert!(samples.iter().any(|sample| !sample.expect.is_empty()), "no sample that {name} finds fault with");
}

macro_rules! check_samples {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_check_has_samples() {
            assert_eq!(super::names(), [$(stringify!($name)),*]);
        }
    };
}

check_samples! {
    layers manifests unused licences openings fences lengths sizes awaits rooms clocks limits products names circles goldens formats scenarios metrics faults texts links prose
}

fn read_samples(name: &str) -> Vec<TidySample> {
    let path = format!("{}/src/tidy/samples/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut samples: Vec<TidySample> = Vec::new();
    let (mut file, mut expecting) = (String::new(), false);
    for line in
        text.lines().map(|line| line.replace('·', " ").replace('¦', "/")).filter(|line| !line.is_empty())
    {
        if let Some(title) = line.strip_prefix("# ") {
            samples.push(TidySample { title: title.to_owned(), ..TidySample::default() });
            expecting = false;
            continue;
        }
        let sample = samples.last_mut().expect("a title first");
        if expecting {
            sample.expect.push(line.trim().to_owned());
        } else if line == "expect" {
            expecting = true;
        } else if let Some(content) = line.strip_prefix('|') {
            sample
                .tree
                .files
                .entry(file.clone())
                .or_default()
                .get_or_insert_default()
                .push_str(&expand_line(content));
        } else if let Some(path) = line.strip_prefix("file ") {
            path.clone_into(&mut file);
            sample.tree.files.insert(file.clone(), Some(String::new()));
        } else {
            apply_directive(&mut sample.tree, &line);
        }
    }
    samples
}

/// What a line of a file's text says.
fn expand_line(content: &str) -> String {
    if let Some(last) = content.strip_prefix('!') {
        return last.to_owned();
    }
    if let Some((times, line)) = content.strip_prefix('*').and_then(|rest| rest.split_once(' ')) {
        return format!("{line}\n").repeat(times.parse().unwrap());
    }
    format!("{}\n", content.strip_prefix(' ').unwrap_or(content))
}

fn apply_directive(tree: &mut SourceTree, line: &str) {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "members" => tree.packages.extend(rest.split(' ').map(member_package)),
        "stranger" => {
            let (name, licence) = rest.split_once(' ').unwrap_or((rest, ""));
            let licence = Some(licence.to_owned()).filter(|text| !text.is_empty());
            tree.packages.push(CargoPackage { name: name.to_owned(), licence, ..CargoPackage::default() });
        }
        "needs" | "dev" => {
            let (from, to) = rest.split_once(" -> ").unwrap();
            let package = tree.packages.iter_mut().find(|package| package.name == from).unwrap();
            let dependency =
                PackageDependency { name: to.to_owned(), called: to.replace('-', "_"), dev: verb == "dev" };
            package.dependencies.push(dependency);
        }
        "binary" => drop(tree.files.insert(rest.to_owned(), None)),
        _ => panic!("what is {line}"),
    }
}

fn member_package(name: &str) -> CargoPackage {
    let folder = if name == "tests" { "tests".to_owned() } else { format!("crates/{name}") };
    CargoPackage {
        name: name.to_owned(),
        folder: Some(folder),
        licence: Some("Apache-2.0".to_owned()),
        dependencies: Vec::new(),
    }
}
