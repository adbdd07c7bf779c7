//! Files of one crate that import each other in a loop can only be read together. Their number is a bar that only falls.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    lex,
    tidy::{complaints::ratchet, sources::is_test},
    tree::SourceTree,
};

/// Who imports whom, by path.
type FileImports = BTreeMap<String, BTreeSet<String>>;

pub fn check_circles(tree: &SourceTree) -> Vec<String> {
    ratchet(tree, "circles", find_circles(&read_imports(tree)).iter().map(|circle| circle.join(", ")))
}

/// Tests may look at whatever they test.
fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && !is_test(path)
}

fn read_imports(tree: &SourceTree) -> FileImports {
    let files: BTreeSet<&str> =
        tree.sources().map(|(path, _)| path).filter(|path| is_product(path)).collect();
    let product = tree.sources().filter(|(path, _)| files.contains(path));
    let arrows = product.map(|(path, text)| {
        let code = lex::product_code(text);
        let reached = read_paths(&code).into_iter().filter_map(|names| resolve(path, &names, &files));
        (path.to_owned(), reached.filter(|other| other != path).collect())
    });
    arrows.collect()
}

/// The paths in a text that begin with `crate`, `self` or `super`, braces spread out.
fn read_paths(code: &str) -> Vec<Vec<&str>> {
    let mut paths = Vec::new();
    for (start, _) in code.match_indices("::") {
        let before = &code[..start];
        let first = before.rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
        let is_first = !before[..before.len() - first.len()].ends_with("::");
        if is_first && ["crate", "self", "super"].contains(&first) {
            spread(&code[start + 2..], &mut vec![first], &mut paths);
        }
    }
    paths
}

/// Follows one path; what is in braces are several. How much of the text it took is returned.
fn spread<'a>(text: &'a str, names: &mut Vec<&'a str>, paths: &mut Vec<Vec<&'a str>>) -> usize {
    let depth = names.len();
    let mut taken = 0;
    loop {
        let rest = &text[taken..];
        let space = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            let mut within = 1;
            while !inner[within - 1..].trim_start().starts_with('}') && within <= inner.len() {
                let length = spread(&inner[within - 1..], names, paths);
                let after = &inner[within - 1 + length..];
                let comma = after.find([',', '}']).unwrap_or(after.len());
                within += length + comma + usize::from(after[comma..].starts_with(','));
            }
            let end = inner[within - 1..].find('}').map_or(inner.len(), |end| within - 1 + end + 1);
            names.truncate(depth);
            return taken + space + 1 + end;
        }
        let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        names.push(&rest[..length]);
        taken += space + length;
        if text[taken..].starts_with("::") {
            taken += 2;
            continue;
        }
        paths.push(names.clone());
        names.truncate(depth);
        return taken;
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The file of the crate that a path leads to.
fn resolve(from: &str, names: &[&str], files: &BTreeSet<&str>) -> Option<String> {
    let source = &from[..from.find("/src/")? + "/src".len()];
    let own = module_folder(from);
    let (first, mut rest) = names.split_first()?;
    let mut folder = match *first {
        "crate" => source.to_owned(),
        "self" => own,
        _ => parent(&own)?,
    };
    while let Some((&"super", more)) = rest.split_first() {
        (folder, rest) = (parent(&folder)?, more);
    }
    // As far down as there are files; what is left are items.
    let mut reached = file_of(&folder, source, files);
    for name in rest {
        let deeper = format!("{folder}/{name}");
        let Some(file) = file_of(&deeper, source, files) else { break };
        (folder, reached) = (deeper, Some(file));
    }
    reached
}

/// The folder in which a file's modules would be: `a/b.rs` has `a/b`.
fn module_folder(path: &str) -> String {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let root = stem.strip_suffix("/lib").or_else(|| stem.strip_suffix("/main"));
    root.or_else(|| stem.strip_suffix("/mod")).unwrap_or(stem).to_owned()
}

fn parent(folder: &str) -> Option<String> {
    folder.rsplit_once('/').map(|(parent, _)| parent.to_owned())
}

fn file_of(folder: &str, source: &str, files: &BTreeSet<&str>) -> Option<String> {
    let root = folder == source;
    let candidates = if root {
        vec![format!("{folder}/lib.rs"), format!("{folder}/main.rs")]
    } else {
        vec![format!("{folder}.rs"), format!("{folder}/mod.rs")]
    };
    candidates.into_iter().find(|path| files.contains(path.as_str()))
}

/// Sets of files each of which reaches every other of its set.
fn find_circles(imports: &FileImports) -> Vec<Vec<String>> {
    let reaches: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reach(file, imports))).collect();
    let mut circles = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (file, reached) in &reaches {
        if done.contains(file) || !reached.contains(file) {
            continue;
        }
        let members: Vec<&str> = reached
            .iter()
            .copied()
            .filter(|other| reaches.get(other).is_some_and(|back| back.contains(file)))
            .collect();
        done.extend(&members);
        circles.push(members.into_iter().map(str::to_owned).collect());
    }
    circles
}

/// Everything that a file imports, by however many steps.
fn reach<'a>(file: &str, imports: &'a FileImports) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = imports.get(file).into_iter().flatten().map(String::as_str).collect();
    while let Some(other) = next.pop() {
        if reached.insert(other) {
            next.extend(imports.get(other).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}
