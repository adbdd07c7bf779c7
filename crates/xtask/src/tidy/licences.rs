//! Every package that is built in has a licence we accept.

use crate::tree::Tree;

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

pub fn check(tree: &Tree) -> Vec<String> {
    let verdict = |licence: Option<&str>| match licence {
        None => Some("no licence expression".to_owned()),
        Some(text) => match satisfied(text) {
            Some(true) => None,
            Some(false) => Some(format!("{text} is not on the list")),
            None => Some(format!("{text} is not a licence expression")),
        },
    };
    let packages = tree.packages.iter();
    packages.filter_map(|p| Some(format!("{}: {}", p.name, verdict(p.licence.as_deref())?))).collect()
}

/// Whether the list satisfies an SPDX expression; nothing if it is not one. A `/` is the old way to say OR.
fn satisfied(expression: &str) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let verdict = any(&mut words)?;
    words.is_empty().then_some(verdict)
}

// The words stand in reverse, so that the next one is the last.

fn any(words: &mut Vec<&str>) -> Option<bool> {
    let mut verdict = all(words)?;
    while words.pop_if(|word| *word == "OR").is_some() {
        verdict |= all(words)?;
    }
    Some(verdict)
}

fn all(words: &mut Vec<&str>) -> Option<bool> {
    let mut verdict = one(words)?;
    while words.pop_if(|word| *word == "AND").is_some() {
        verdict &= one(words)?;
    }
    Some(verdict)
}

fn one(words: &mut Vec<&str>) -> Option<bool> {
    let word = words.pop()?;
    if word == "(" {
        let verdict = any(words)?;
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
