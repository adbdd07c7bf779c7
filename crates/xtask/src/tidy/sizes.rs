//! No crate is too large to be learnt, and the binary is no more than its start.

use crate::{
    lex,
    tidy::{complaints::ratchet, sources::is_test},
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
            .filter(|(path, _)| path.starts_with(&sources) && !is_test(&path[folder.len()..]))
            .map(|(_, text)| lex::product_code(text).lines().count())
            .sum();
        let most = if package.name == ROOT { ROOT_LINES_MAX } else { CRATE_LINES_MAX };
        if lines > most {
            found.push(format!("{}: {lines} lines of product code, at most {most}", package.name));
        }
    }
    ratchet(tree, "sizes", found.into_iter())
}
