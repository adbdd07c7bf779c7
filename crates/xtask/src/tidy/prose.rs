//! What a document says of the code is there: paths, items, tests and scenarios that stand in backticks.
//!
//! History is let be: [`HISTORY`] tells of files that were.

use std::collections::BTreeSet;

use crate::{
    lex::{self, SourcePart},
    markdown::lines_outside_fences,
    tidy::complaints::format_complaint,
    tree::SourceTree,
};

/// Pages about what was.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/decisions/"];

/// What stands before a file that a reader is told to make.
const TO_BE_MADE: &str = "new file ";

/// As many underscores make a word the name of a test, and not of a knob.
const TEST_UNDERSCORES_MIN: usize = 5;

/// All that a document can name.
struct NamedThings<'a> {
    tree: &'a SourceTree,
    /// The last parts of all paths.
    files: BTreeSet<&'a str>,
    /// What the sources of each crate define, as `crate::name`.
    items: BTreeSet<String>,
    /// Each word of the sources and of the data beside them that has enough underscores.
    test_names: BTreeSet<&'a str>,
}

pub fn check_prose(tree: &SourceTree) -> Vec<String> {
    let things = NamedThings::collect(tree);
    let is_page = |path: &str| path.ends_with(".md") && !HISTORY.iter().any(|past| path.starts_with(past));
    let mut found = Vec::new();
    for (path, text) in tree.texts(is_page) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, before, span) in code_spans(text) {
            if !before.ends_with(TO_BE_MADE) && !things.has(folder, before, span) {
                found.push(format_complaint(path, line, format_args!("`{span}` does not exist")));
            }
        }
    }
    found
}

/// What stands in backticks outside fenced blocks: its line, the text of the line before it, and itself.
fn code_spans(text: &str) -> Vec<(usize, &str, &str)> {
    let mut spans = Vec::new();
    for (number, line) in lines_outside_fences(text) {
        let mut at = 0;
        for (index, part) in line.split('`').enumerate() {
            if index % 2 == 1 {
                spans.push((number, &line[..at - 1], part));
            }
            at += part.len() + 1;
        }
    }
    spans
}

impl<'a> NamedThings<'a> {
    fn collect(tree: &'a SourceTree) -> Self {
        let files = tree.files.keys().filter_map(|path| path.rsplit('/').next()).collect();
        let mut items = BTreeSet::new();
        let crates: Vec<(String, String)> = tree
            .members()
            .map(|(package, folder)| (package.name.replace('-', "_"), format!("{folder}/src/")))
            .collect();
        for (path, text) in tree.sources() {
            let Some((owner, _)) = crates.iter().find(|(_, folder)| path.starts_with(folder.as_str())) else {
                continue;
            };
            let code = lex::keep_parts(text, &[SourcePart::Code]);
            items.extend(defined_names(&code).map(|name| format!("{owner}::{name}")));
        }
        let test_names = tree
            .texts(|path| !path.ends_with(".md"))
            .flat_map(|(_, text)| text.split(|c: char| !is_word(c)))
            .filter(|word| is_test_name(word))
            .collect();
        Self { tree, files, items, test_names }
    }

    /// Whether a span is there, or is nothing that a check could look for.
    fn has(&self, folder: &str, before: &str, span: &str) -> bool {
        if before.ends_with("scenario ") || before.ends_with("scenarios ") {
            return self.files.contains(format!("{span}.txt").as_str());
        }
        if is_test_name(span) && span.chars().all(is_word) {
            return self.test_names.contains(span);
        }
        match span.split_once("::") {
            Some((owner, rest)) => self.has_item(owner, rest),
            None => self.has_path(folder, span),
        }
    }

    /// Whether a crate of ours defines each part of a path of Rust.
    fn has_item(&self, owner: &str, rest: &str) -> bool {
        let ours = self.items.range(format!("{owner}::")..).next();
        let is_ours = ours.is_some_and(|item| item.split("::").next() == Some(owner));
        let rest = rest.split(['(', '<', ' ']).next().unwrap_or_default();
        !is_ours || rest.split("::").all(|part| self.items.contains(&format!("{owner}::{part}")))
    }

    /// Whether a path is there, from the root, from the page's folder or from `crates/`, `*` standing for any name.
    fn has_path(&self, folder: &str, span: &str) -> bool {
        let path = span.split(' ').next().unwrap_or_default().trim_end_matches('/');
        if !path.contains('/') {
            return !path.ends_with(".rs") || self.files.contains(path) || path.contains('*');
        }
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let below_a_crate = ["src", "tests"].contains(&rest.split('/').next().unwrap_or_default());
        let is_crate = below_a_crate && self.tree.has(&format!("crates/{first}"));
        let is_path = !first.is_empty() && first != "target" && self.tree.has(first) || is_crate;
        !is_path && !path.ends_with(".rs")
            || [path.to_owned(), format!("{folder}/{path}"), format!("crates/{path}")]
                .iter()
                .any(|path| self.has_pattern(path))
    }

    fn has_pattern(&self, pattern: &str) -> bool {
        let Some((first, _)) = pattern.split_once('*') else { return self.tree.has(pattern) };
        let parts: Vec<&str> = pattern.split('/').collect();
        self.tree.files.keys().filter(|path| path.starts_with(first)).any(|path| {
            let names: Vec<&str> = path.split('/').collect();
            names.len() >= parts.len() && parts.iter().zip(&names).all(|(part, name)| fits_part(part, name))
        })
    }
}

/// Whether a name fits a part of a path, in which one `*` stands for anything.
fn fits_part(part: &str, name: &str) -> bool {
    match part.split_once('*') {
        Some((start, end)) => name.len() >= part.len() - 1 && name.starts_with(start) && name.ends_with(end),
        None => part == name,
    }
}

/// The names that a source defines, of whatever sort.
fn defined_names(code: &str) -> impl Iterator<Item = &str> {
    const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "trait", "mod", "type", "const", "static", "use"];
    let words: Vec<&str> = code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let follows = |pair: &[&str]| KEYWORDS.contains(&pair[0]);
    let names: Vec<&str> = words.windows(2).filter(|pair| follows(pair)).map(|pair| pair[1]).collect();
    // Variants and methods of a macro are no definitions by keyword; a word with a capital is near enough.
    let capitals = words.into_iter().filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
    names.into_iter().chain(capitals)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_test_name(word: &str) -> bool {
    word.matches('_').count() >= TEST_UNDERSCORES_MIN && !word.chars().any(|c| c.is_ascii_uppercase())
}
