//! One of several words, among them the channels.

use model::Channel;
use source_text::{
    did_you_mean, list_choices, suggest_name,
    yaml::{TreeNode, TreeValue},
};

use crate::tree_reader::TreeReader;

/// What people write for a switch, by what it is called: YAML 1.1 took most of these for flags.
const SWITCHES: [(&str, &[&str]); 2] =
    [("on", &["yes", "true", "always", "y", "1"]), ("off", &["no", "false", "never", "none", "n", "0"])];

/// One of some words.
pub(crate) fn read_word<T: Copy>(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    what: &str,
    words: &[(&'static str, T)],
) -> Option<T> {
    let names = || words.iter().map(|(name, _)| *name);
    let text = match &node.what {
        TreeValue::Flag(flag) if names().any(|name| name == SWITCHES[0].0) => {
            if *flag {
                "true"
            } else {
                "false"
            }
        }
        _ => reader.text(node, what)?,
    };
    let found = words.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let switch = SWITCHES.into_iter().find(|(_, others)| others.contains(&&*text.to_lowercase()));
        let switch = switch.map(|(name, _)| name).filter(|switch| names().any(|name| name == *switch));
        let help = switch.map(|name| format!("did you mean `{name}`?"));
        let help = help.or_else(|| did_you_mean(text, names()));
        reader.problem_with(node.at, format!("{what} must be {}", list_choices(names())), help);
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
