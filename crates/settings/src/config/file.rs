//! What stands in the file, as the one text that every layer has.

use source_text::{
    SourceText, missing_blank,
    yaml::{TreeKey, TreeNode, TreeValue, parse_yaml},
};

use super::keys::{ConfigKey, KeyForm};

/// Why it is probably no map: of `key:value` YAML makes a text. What it says may be a secret.
pub fn no_map_help(what: &TreeValue) -> &'static str {
    let is_slip = matches!(what, TreeValue::Text(text) if missing_blank(text).is_some());
    if is_slip { ": there is no space after the colon" } else { "" }
}

/// One value: what it must be is known to whoever asks for it.
pub fn scalar_text(what: TreeValue) -> Option<String> {
    match what {
        TreeValue::Text(text) => Some(text),
        TreeValue::Nothing => Some(String::new()),
        TreeValue::Flag(flag) => Some(flag.to_string()),
        TreeValue::Number(number) => Some(number.to_string()),
        TreeValue::List(_) | TreeValue::Map(_) => None,
    }
}

/// What stands at a key, as text; or what it should be.
pub fn value_as_text(key: &ConfigKey, what: TreeValue) -> Result<String, &'static str> {
    match (key.form, what) {
        (KeyForm::Map, TreeValue::Map(map)) => {
            let line = |(key, node): (TreeKey, TreeNode)| {
                Some(format!("{}={}\n", key.name, scalar_text(node.what)?))
            };
            map.into_iter().map(line).collect::<Option<String>>().ok_or("a map of names and values")
        }
        (KeyForm::Map, TreeValue::Nothing) => Ok(String::new()),
        (KeyForm::Map, _) => Err("a map of names and values"),
        (KeyForm::List, TreeValue::List(list)) => {
            let texts: Option<Vec<String>> = list.into_iter().map(|node| scalar_text(node.what)).collect();
            texts.map(|texts| texts.join(",")).ok_or("a list of texts")
        }
        (KeyForm::List, TreeValue::Map(_)) => Err("a list of texts"),
        (_, what) => scalar_text(what).ok_or("one value"),
    }
}

/// A list of texts, a line for each; none of them has a line of its own in it.
pub fn lines_of(list: Vec<TreeNode>) -> Option<String> {
    let text = |node: TreeNode| match node.what {
        TreeValue::Text(text) if !text.contains(['\n', '\r']) => Some(text),
        _ => None,
    };
    Some(list.into_iter().map(text).collect::<Option<Vec<String>>>()?.join("\n"))
}

/// A map of the environment is written as in the file. What is none is not shown: it may hold a secret.
pub fn map_of_text(key: &ConfigKey, text: &str) -> Result<String, &'static str> {
    const WRONG: &str = "is not a map, such as `{a: 1}`";
    let node = parse_yaml(SourceText { file: key.name, text }).map_err(|_| WRONG)?;
    value_as_text(key, node.what).map_err(|_| WRONG)
}
