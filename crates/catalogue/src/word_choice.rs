//! One of several words, among them the channels.

use model::Channel;
use source_text::{did_you_mean, list_choices, suggest_name, yaml::TreeNode};

use crate::tree_reader::TreeReader;

/// One of some words.
pub(crate) fn read_word<T: Copy>(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    what: &str,
    words: &[(&'static str, T)],
) -> Option<T> {
    let text = reader.text(node, what)?;
    let found = words.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let help = did_you_mean(text, names.iter().copied());
        reader.problem_with(node.at, format!("{what} must be {}", list_choices(names)), help);
    }
    found.map(|(_, value)| *value)
}

pub(crate) fn read_channel(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<Channel> {
    let text = reader.text(node, "`channel`")?;
    let channel = Channel::parse(text);
    if channel.is_none() {
        let names = Channel::ALL.map(Channel::name);
        let help = suggest_name(text, names);
        reader.problem_with(node.at, format!("there is no channel `{text}`"), Some(help));
    }
    channel
}
