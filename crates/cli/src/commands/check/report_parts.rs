//! What every part of the report is written with.

use catalogue::CatalogueProblem;
use serde_json::json;

pub fn problem_in_json(problem: &CatalogueProblem) -> serde_json::Value {
    let CatalogueProblem { file, line, column, what, help, .. } = problem;
    json!({"file": file, "line": line, "column": column, "what": what, "help": help})
}

/// `1 plan`, `2 plans`.
pub fn pluralise(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
