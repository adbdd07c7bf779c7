//! No crate is too large to be learnt, and the binary is no more than its start.

use crate::{
    lex::{self, SourcePart},
    tidy::ratchet,
    tree::SourceTree,
};

/// Lines of product code in one crate: what is not a test of its own.
const CRATE_LINES_MAX: usize = 7000;
/// The only binary composes; what it composes has crates of its own.
const ROOT: &str = "tidings";
const ROOT_LINES_MAX: usize = 600;

pub fn check_sizes(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (package, folder) in tree.members() {
        let sources = format!("{folder}/src/");
        let lines: usize = tree
            .sources()
            .filter(|(path, _)| path.starts_with(&sources) && !is_test(&path[sources.len()..]))
            .map(|(_, text)| count_product_lines(text))
            .sum();
        let most = if package.name == ROOT { ROOT_LINES_MAX } else { CRATE_LINES_MAX };
        if lines > most {
            found.push(format!("{}: {lines} lines of product code, at most {most}", package.name));
        }
    }
    ratchet(tree, "sizes", found.into_iter())
}

fn is_test(file: &str) -> bool {
    file.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The lines before the tests that a file ends with.
fn count_product_lines(text: &str) -> usize {
    let code = lex::keep_parts(text, &[SourcePart::Code]);
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let tests = lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{'));
    tests.unwrap_or(lines.len())
}
