//! The first line of a scenario says which behaviour it proves.

use crate::{tidy::complaints::format_complaint, tree::SourceTree};

pub fn check_scenarios(tree: &SourceTree) -> Vec<String> {
    let is_scenario = |path: &str| path.ends_with(".txt") && is_scenario_path(path);
    let says = |text: &str| {
        let first = text.lines().next().and_then(|line| line.strip_prefix("# "));
        first.is_some_and(|said| !said.trim().is_empty())
    };
    let silent = tree.texts(is_scenario).filter(|(_, text)| !says(text));
    silent
        .map(|(path, _)| format_complaint(path, 1, "must begin with `# ` and the behaviour it proves"))
        .collect()
}

fn is_scenario_path(path: &str) -> bool {
    path.starts_with("tests/scenarios/") || (path.starts_with("examples/") && path.contains("/scenarios/"))
}
