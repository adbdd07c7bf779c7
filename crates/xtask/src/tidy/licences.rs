//! Every package that is built in has a licence we accept.

use crate::tree::SourceTree;

const ALLOWED: [&str; 15] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub fn check_licences(tree: &SourceTree) -> Vec<String> {
    let verdict = |licence: Option<&str>| match licence {
        None => Some("no licence expression".to_owned()),
        Some(text) => match evaluate_licence(text) {
            Some(true) => None,
            Some(false) => Some(format!("{text} is not on the list")),
            None => Some(format!("{text} is not a licence expression")),
        },
    };
    let packages = tree.packages.iter();
    packages.filter_map(|p| Some(format!("{}: {}", p.name, verdict(p.licence.as_deref())?))).collect()
}

/// Whether the list satisfies an SPDX expression; nothing if it is not one. A `/` is the old way to say OR.
fn evaluate_licence(expression: &str) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let verdict = evaluate_or(&mut words)?;
    words.is_empty().then_some(verdict)
}

// The words stand in reverse, so that the next one is the last.

fn evaluate_or(words: &mut Vec<&str>) -> Option<bool> {
    let mut verdict = evaluate_and(words)?;
    while words.pop_if(|word| *word == "OR").is_some() {
        verdict |= evaluate_and(words)?;
    }
    Some(verdict)
}

fn evaluate_and(words: &mut Vec<&str>) -> Option<bool> {
    let mut verdict = evaluate_word(words)?;
    while words.pop_if(|word| *word == "AND").is_some() {
        verdict &= evaluate_word(words)?;
    }
    Some(verdict)
}

fn evaluate_word(words: &mut Vec<&str>) -> Option<bool> {
    let word = words.pop()?;
    if word == "(" {
        let verdict = evaluate_or(words)?;
        return (words.pop()? == ")").then_some(verdict);
    }
    if matches!(word, ")" | "OR" | "AND" | "WITH") {
        return None;
    }
    if words.pop_if(|word| *word == "WITH").is_some() {
        return Some(ALLOWED.contains(&format!("{word} WITH {}", words.pop()?).as_str()));
    }
    Some(ALLOWED.contains(&word))
}
