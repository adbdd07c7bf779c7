//! What every part of the report is written with.

use serde_json::json;
use source_text::TextProblem;

pub fn problem_in_json(problem: &TextProblem) -> serde_json::Value {
    let TextProblem { file, line, column, what, help, .. } = problem;
    json!({"file": file, "line": line, "column": column, "what": what, "help": help})
}

/// `1 plan`, `2 plans`.
pub fn pluralise(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
