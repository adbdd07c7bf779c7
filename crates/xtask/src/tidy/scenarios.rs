//! The first line of a scenario says which behaviour it proves.

use crate::{tidy::at, tree::Tree};

pub fn check(tree: &Tree) -> Vec<String> {
    let is_scenario = |path: &str| path.ends_with(".txt") && folder_of_scenarios(path);
    let says = |text: &str| {
        let first = text.lines().next().and_then(|line| line.strip_prefix("# "));
        first.is_some_and(|said| !said.trim().is_empty())
    };
    let silent = tree.texts(is_scenario).filter(|(_, text)| !says(text));
    silent.map(|(path, _)| at(path, 1, "must begin with `# ` and the behaviour it proves")).collect()
}

fn folder_of_scenarios(path: &str) -> bool {
    path.starts_with("tests/scenarios/") || (path.starts_with("examples/") && path.contains("/scenarios/"))
}
