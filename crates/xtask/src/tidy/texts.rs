//! Every text ends in a newline, has no trailing space and names no machine's own paths.

use crate::{tidy::complaints::format_complaint, tree::SourceTree};

/// Folders that exist on somebody's machine; a path below one works nowhere else.
const MACHINES: [&str; 3] = ["root", "home", "work"];

pub fn check_texts(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(|_| true) {
        for (number, line) in text.lines().enumerate() {
            if line.trim_end() != line {
                found.push(format_complaint(path, number + 1, "trailing space"));
            }
            if let Some(folder) = MACHINES.into_iter().find(|folder| is_below(line, folder)) {
                found.push(format_complaint(
                    path,
                    number + 1,
                    format_args!("a path below /{folder} exists on one machine only"),
                ));
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            found.push(format!("{path}: no newline at the end"));
        }
    }
    found
}

/// Whether a line has an absolute path below a folder; `a/home/b` and `https://a.b/home/c` are not.
fn is_below(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    let inside = |c: char| c.is_alphanumeric() || "._-~*$}/".contains(c);
    line.match_indices(&path).any(|(at, _)| {
        let goes_on = line[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
        goes_on && !line[..at].ends_with(inside)
    })
}
