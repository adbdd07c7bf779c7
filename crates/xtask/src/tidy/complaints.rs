//! How a check complains, and the bars up to which it does not.

use crate::tree::SourceTree;

/// A complaint about a line.
pub fn format_complaint(path: &str, line: usize, what: impl std::fmt::Display) -> String {
    format!("{path}:{line}: {what}")
}

/// Where the bars of the ratchets stand: what cannot be mended at once, and only becomes less.
const RATCHETS: &str = "crates/xtask/ratchets.txt";

/// Complains of each if there are more than the bar, and of the bar if it could be lower.
pub fn ratchet(
    tree: &SourceTree,
    name: &str,
    complaints: impl ExactSizeIterator<Item = String>,
) -> Vec<String> {
    let bars = tree.files.get(RATCHETS).and_then(Option::as_deref).unwrap_or_default();
    let mut lines = bars.lines().filter_map(|line| line.split_once(' '));
    let bar = lines.find(|(of, _)| *of == name).and_then(|(_, bar)| bar.trim().parse().ok()).unwrap_or(0);
    match complaints.len() {
        count if count == bar => Vec::new(),
        count if count < bar => {
            vec![format!("{name}: there are {count}; lower the bar of {bar} in {RATCHETS}")]
        }
        count => std::iter::once(format!("{name}: there are {count}, and {bar} may be"))
            .chain(complaints)
            .collect(),
    }
}
