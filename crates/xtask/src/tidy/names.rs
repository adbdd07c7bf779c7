//! Names that say what they are to somebody new: two words for a type, one place for each name, and no participles.
//!
//! What cannot be mended at once has a bar that only falls ([`ratchet`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    lex::{self, SourcePart},
    tidy::complaints::{format_complaint as at, ratchet},
    tree::SourceTree,
};

/// Roles that each crate may define once more.
const ROLES: [&str; 5] = ["Config", "Error", "Metrics", "Deps", "Settings"];

/// Words that say nothing of what they are of: no function, type or file has one of them for a name.
const MUTE: [&str; 10] = ["asked", "fared", "found", "given", "kept", "made", "of", "ours", "said", "told"];

/// The page whose table lists the nouns that may stand alone.
const GLOSSARY: &str = "docs/glossary.md";

/// Of a hundred type names at most so many are one word, those of the glossary counted.
const ONE_WORD_SHARE_MAX: usize = 25;

/// Where something is defined.
struct NameDefinition<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

pub fn check_names(tree: &SourceTree) -> Vec<String> {
    let mut complaints: Vec<String> = tree.sources().filter_map(|(path, _)| mute_file(path)).collect();
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    let codes: Vec<(&str, String)> =
        tree.sources().map(|(path, text)| (path, lex::keep_parts(text, &[SourcePart::Code]))).collect();
    for (path, code) in &codes {
        define(path, code, &mut types, &mut functions);
    }
    for NameDefinition { name, path, line } in functions.iter().chain(&types) {
        if MUTE.contains(&name.to_lowercase().as_str()) {
            complaints.push(at(path, *line, format_args!("{name} does not say what it is of")));
        }
    }
    complaints.extend(judge_types(tree, &types));
    complaints
}

/// A file that is named after a participle.
fn mute_file(path: &str) -> Option<String> {
    let stem = path.rsplit('/').next()?.strip_suffix(".rs")?;
    MUTE.contains(&stem).then(|| at(path, 1, "a file is named after what a newcomer would look for in it"))
}

/// The types and functions that a file defines.
fn define<'a>(
    path: &'a str,
    code: &'a str,
    types: &mut Vec<NameDefinition<'a>>,
    functions: &mut Vec<NameDefinition<'a>>,
) {
    for (number, line) in code.lines().enumerate() {
        let mut words = line.split_whitespace().skip_while(|word| is_qualifier(word));
        let (Some(keyword), Some(rest)) = (words.next(), words.next()) else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let definition = NameDefinition { name, path, line: number + 1 };
        match keyword {
            _ if name.is_empty() => {}
            "struct" | "enum" | "trait" | "union" => types.push(definition),
            // What is indented belongs to a trait, which chose its name.
            "type" if !line.starts_with(' ') => types.push(definition),
            "fn" => functions.push(definition),
            _ => {}
        }
    }
}

/// Whether a word may stand before the keyword of a definition.
fn is_qualifier(word: &str) -> bool {
    word.starts_with("pub") || ["const", "async", "unsafe", "default"].contains(&word)
}

/// The nouns of the glossary: what is in bold in the first column of its table.
fn read_glossary(tree: &SourceTree) -> BTreeSet<&str> {
    let text = tree.files.get(GLOSSARY).and_then(Option::as_deref).unwrap_or_default();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| **")?.split_once("**"));
    cells.map(|(noun, _)| noun).collect()
}

fn judge_types(tree: &SourceTree, types: &[NameDefinition<'_>]) -> Vec<String> {
    let (glossary, mut complaints) = (read_glossary(tree), Vec::new());
    let one_word: Vec<&NameDefinition<'_>> = types.iter().filter(|one| count_words(one.name) == 1).collect();
    if one_word.len() * 100 > types.len() * ONE_WORD_SHARE_MAX {
        let share = one_word.len() * 100 / types.len();
        complaints.push(format!("{share} % of the type names are one word, {ONE_WORD_SHARE_MAX} % may be"));
    }
    let unknown: Vec<_> = one_word
        .into_iter()
        .filter(|one| !glossary.contains(one.name) && !ROLES.contains(&one.name))
        .collect();
    let place = |one: &&NameDefinition<'_>| at(one.path, one.line, one.name);
    complaints.extend(ratchet(tree, "one-word-types", unknown.iter().map(place)));

    let mut by_name: BTreeMap<&str, Vec<&NameDefinition<'_>>> = BTreeMap::new();
    for one in types.iter().filter(|one| !ROLES.contains(&one.name)) {
        by_name.entry(one.name).or_default().push(one);
    }
    let again: Vec<_> = by_name.into_values().filter_map(|places| places.get(1).copied()).collect();
    complaints.extend(ratchet(tree, "repeated-types", again.iter().map(place)));
    complaints
}

/// How many words a name in capitals has: `HTTPReply` and `SmtpReply` have two.
fn count_words(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: usize| {
        let next_is_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let before_is_small = at > 0 && !letters[at - 1].is_uppercase();
        letters[at].is_uppercase() && (at == 0 || next_is_small || before_is_small)
    };
    (0..letters.len()).filter(|at| begins(*at)).count()
}
