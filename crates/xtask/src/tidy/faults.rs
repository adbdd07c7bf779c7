//! The planted faults: those in the code and those in the list of trials are the same.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::{lex, tidy::complaints::format_complaint, tree::SourceTree};

/// Which fault must be noticed by which tests.
pub const LIST: &str = "tests/laws/faults.txt";
/// Where the faults are declared; behind each stands what it is called.
const CODE: &str = "crates/model/src/fault.rs";

/// One line of the list: with this fault planted, a test of this filter must fail.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FaultTrial {
    pub fault: String,
    pub filter: String,
}

/// The trials of a list; `#` begins a comment.
pub fn parse_trials(list: &str) -> Result<Vec<FaultTrial>> {
    let mut trials = Vec::new();
    for (number, line) in list.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match words[..] {
            [] => {}
            [fault, filter] => trials.push(FaultTrial { fault: fault.to_owned(), filter: filter.to_owned() }),
            _ => bail!("{}", format_complaint(LIST, number + 1, "must be a fault and a filter")),
        }
    }
    Ok(trials)
}

/// As long as the code declares no faults there is nothing to compare.
pub fn check_faults(tree: &SourceTree) -> Vec<String> {
    let text = |path: &str| tree.files.get(path).and_then(Option::as_deref);
    let Some(code) = text(CODE) else { return Vec::new() };
    let Some(list) = text(LIST) else { return vec![format!("{LIST} does not exist")] };
    let trials = match parse_trials(list) {
        Ok(trials) => trials,
        Err(error) => return vec![error.to_string()],
    };
    let arms = lex::string_literals(code).into_iter().filter(|literal| literal.after.ends_with("=>"));
    let declared: BTreeSet<&str> = arms.map(|literal| literal.value).collect();
    let tried: BTreeSet<&str> = trials.iter().map(|trial| trial.fault.as_str()).collect();
    let mut found = Vec::new();
    found.extend(declared.difference(&tried).map(|fault| format!("{CODE}: {fault} has no test in {LIST}")));
    found.extend(
        tried.difference(&declared).map(|fault| format!("{LIST}: {fault} is not declared in {CODE}")),
    );
    let distinct: BTreeSet<_> = trials.iter().collect();
    if distinct.len() < trials.len() {
        found.push(format!("{LIST}: a line stands there twice"));
    }
    if declared.is_empty() {
        found.push(format!("{CODE}: no name was found in it"));
    }
    found
}
