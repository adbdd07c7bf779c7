//! Checks over single Rust files: how they open, how long they are, where they wait, where they ask the time.

use crate::{
    lex::{self, SourcePart},
    tidy::{complaints::format_complaint, layers::ROOMS},
    tree::SourceTree,
};

const LINES_MAX: usize = 500;
const LINES_MAX_IN_TESTS: usize = 800;
/// The threshold of clippy's `too_many_lines`.
const FUNCTION_LINES_MAX: &str = "70";

/// The files of a room that may be asynchronous, with those below them.
const RIM: [&str; 5] = ["run.rs", "load.rs", "apply.rs", "http.rs", "tests.rs"];

/// Ways to ask the time, or to wait for it.
const CLOCKS: [&str; 8] = [
    "SystemTime::now",
    "Instant::now",
    "Utc::now",
    "Local::now",
    "Zoned::now",
    "Timestamp::now",
    "time::sleep",
    "thread::sleep",
];

/// Where the real clock is asked, each with its reason.
const CLOCK_HOMES: [(&str, &str); 3] = [
    ("crates/runtime/src/", "the one clock of the house lives there"),
    ("crates/xtask/src/", "it measures stages and waits for processes"),
    ("tests/engines/", "it waits for processes"),
];

/// Every file opens with what it is for.
pub fn check_openings(tree: &SourceTree) -> Vec<String> {
    let opens = |text: &str| text.lines().next().is_some_and(|line| line.starts_with("//! "));
    tree.sources()
        .filter(|(_, text)| !opens(text))
        .map(|(path, _)| format_complaint(path, 1, "must open with `//! `"))
        .collect()
}

/// The gate runs no documentation tests, so no comment has code that would be one.
pub fn check_fences(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.sources() {
        let mut fenced = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
            let Some(word) = comment.and_then(|comment| comment.trim_start().strip_prefix("```")) else {
                continue;
            };
            if !fenced && !word.starts_with("text") {
                found.push(format_complaint(
                    path,
                    number + 1,
                    "code in a comment is not run: make it a test, or text",
                ));
            }
            fenced = !fenced;
        }
    }
    found
}

/// No file is longer than its kind may be.
pub fn check_lengths(tree: &SourceTree) -> Vec<String> {
    let most = |path: &str| if is_test(path) { LINES_MAX_IN_TESTS } else { LINES_MAX };
    let long = tree.sources().map(|(path, text)| (path, text.lines().count(), most(path)));
    long.filter(|(_, lines, most)| lines > most)
        .map(|(path, lines, most)| format!("{path}: {lines} lines, at most {most}"))
        .collect()
}

/// Whether a file belongs to the tests, by its path from the root or from its crate.
pub fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// A room's decisions do not wait.
pub fn check_awaits(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.sources().filter(|(path, _)| is_inside_a_room(path)) {
        let code = lex::keep_parts(text, &[SourcePart::Code]);
        for word in ["async", ".await"] {
            let lines = lex::lines_with(&code, word);
            found.extend(lines.into_iter().map(|line| {
                format_complaint(path, line, format_args!("`{word}` outside {}", RIM.join(", ")))
            }));
        }
    }
    found
}

fn is_inside_a_room(path: &str) -> bool {
    let Some((room, file)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
        return false;
    };
    let below =
        |rim: &str| file.strip_prefix(rim.trim_end_matches(".rs")).is_some_and(|rest| rest.starts_with('/'));
    let is_rim = RIM.iter().any(|rim| file == *rim || below(rim));
    ROOMS.contains(&room) && !is_rim && !is_test(path)
}

/// Nobody asks the time but the clock.
pub fn check_clocks(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    let at_home = |path: &str| CLOCK_HOMES.iter().any(|(home, _)| path.starts_with(home));
    for (path, text) in tree.sources().filter(|(path, _)| !at_home(path)) {
        let code = lex::keep_parts(text, &[SourcePart::Code]);
        for clock in CLOCKS {
            let lines = lex::lines_with(&code, clock);
            found.extend(
                lines
                    .into_iter()
                    .map(|line| format_complaint(path, line, format_args!("`{clock}` outside the clock"))),
            );
        }
    }
    let stale = CLOCK_HOMES.iter().filter(|(home, _)| !tree.has(home.trim_end_matches('/')));
    found.extend(stale.map(|(home, _)| format!("{home} may ask the clock and does not exist")));
    found
}

/// The lint that counts the lines of a function is on, with our number.
pub fn check_limits(tree: &SourceTree) -> Vec<String> {
    let holds = |path: &str, key: &str, value: &str| {
        let lines =
            tree.texts(move |other| other == path).flat_map(|(_, text)| crate::manifest::parse_lines(text));
        lines.into_iter().any(|line| line.key == key && line.value.trim_matches('"') == value)
    };
    let wanted = [
        ("clippy.toml", "too-many-lines-threshold", FUNCTION_LINES_MAX),
        ("Cargo.toml", "too_many_lines", "deny"),
        ("Cargo.toml", "warnings", "deny"),
    ];
    let missing = wanted.into_iter().filter(|(path, key, value)| !holds(path, key, value));
    missing.map(|(path, key, value)| format!("{path}: {key} must be {value}")).collect()
}
