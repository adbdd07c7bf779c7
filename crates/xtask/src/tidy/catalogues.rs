//! No word of an example's product stands in our code: a product is a catalogue, and the code knows none.

use std::collections::BTreeMap;

use crate::{tidy::complaints::format_complaint, tree::SourceTree};

/// Words that a catalogue may use for a kind or a subject and that mean something of their own in the code.
/// A field of one word (title, image, score) is never looked for: such words are everybody's.
const GENERAL: [(&str, &str); 9] = [
    ("event", "a word of the house"),
    ("like", "a word of the catalogue, and of English"),
    ("list", "a word of Rust's users, and of English"),
    ("match", "a keyword of Rust"),
    ("message", "a word of the house"),
    ("page", "what a reader of days turns"),
    ("person", "a word of the house"),
    ("show", "an English verb"),
    ("user", "a word of operating systems and of URLs"),
];

pub fn check_products(tree: &SourceTree) -> Vec<String> {
    let mut words = BTreeMap::new();
    // What lies deeper shows a rule in plain English, and is no product.
    let is_catalogue = |path: &str| {
        let within = path.strip_prefix("examples/").and_then(|path| path.strip_suffix("/catalogue.yaml"));
        within.is_some_and(|name| !name.contains('/'))
    };
    for (path, text) in tree.texts(is_catalogue) {
        words.extend(catalogue_names(text).into_iter().map(|name| (name, path)));
    }
    words.retain(|word, _| GENERAL.iter().all(|(general, _)| general != word));
    let mut found = Vec::new();
    let is_ours = |path: &str| path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    for (path, text) in tree.texts(is_ours) {
        for (number, line) in text.lines().enumerate() {
            let tokens =
                line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|token| !token.is_empty());
            for word in tokens.map(to_snake) {
                if let Some(catalogue) = words.get(&word) {
                    found.push(format_complaint(
                        path,
                        number + 1,
                        format_args!("{word} is a word of {catalogue}"),
                    ));
                }
            }
        }
    }
    found
}

/// `ShownTwice` and `shown_twice` are one word.
fn to_snake(token: &str) -> String {
    let mut word = String::new();
    let mut before = '_';
    for c in token.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            word.push('_');
        }
        word.extend(c.to_lowercase());
        before = c;
    }
    word
}

/// The kinds, the subjects' types and their fields of more than one word.
fn catalogue_names(catalogue: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut section, mut indents) = ("", Vec::new());
    for line in catalogue.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if indent == 0 {
            section = text.trim_end_matches(':');
            indents.clear();
            continue;
        }
        if !matches!(section, "subjects" | "kinds") {
            continue;
        }
        indents.retain(|outer| *outer < indent);
        indents.push(indent);
        let level = indents.len();
        let key = text.split_once(':').map(|(key, _)| strip_quotes(key));
        names.extend(key.filter(|_| level == 1).map(ToOwned::to_owned));
        if section == "subjects" && level <= 2 {
            let fields = mapping_keys(text, level - 1).into_iter().filter(|key| key.contains('_'));
            names.extend(fields.map(ToOwned::to_owned));
        }
    }
    names
}

fn strip_quotes(key: &str) -> &str {
    key.trim().trim_matches(['"', '\''])
}

/// The keys of one mapping in a line that begins at a depth: 0 before its brace, 1 inside it.
fn mapping_keys(text: &str, mut depth: usize) -> Vec<&str> {
    let mut keys = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => (depth, start) = (depth + 1, at + 1),
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' => start = at + 1,
            ':' if depth == 1 => keys.push(strip_quotes(&text[start..at])),
            _ => {}
        }
    }
    keys
}
