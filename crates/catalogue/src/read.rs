//! Reading the tree: maps with known keys, texts, numbers. Whatever is wrong is noted with its place and
//! reading goes on, so that one look at the messages is enough.

use crate::{
    limits::NAME_BYTES_MAX,
    problem::{Problem, Problems, Source, nearest, one_of},
    slip::missing_blank,
    yaml::{At, Key, Node, What},
};

/// Collects problems while a tree is read.
pub(crate) struct Reader<'a> {
    pub source: Source<'a>,
    pub problems: Problems,
}

/// The values of a map by key, all keys known.
pub(crate) struct Fields<'a> {
    map: &'a [(Key, Node)],
    pub at: At,
    what: String,
    /// Keys that a slip was probably meant for; that they are missing too is no news.
    meant: Vec<String>,
    /// Whether a key is not known, which has been said.
    pub strange: bool,
}

impl<'a> Reader<'a> {
    pub fn new(source: Source<'a>) -> Self {
        Self { source, problems: Problems::default() }
    }

    pub fn problem(&mut self, at: At, what: impl Into<String>) {
        self.problem_with(at, what, None);
    }

    pub fn problem_with(&mut self, at: At, what: impl Into<String>, help: Option<String>) {
        self.problems.0.push(self.source.problem(at.line, at.column, what).help(help));
    }

    pub fn push(&mut self, problem: Problem) {
        self.problems.0.push(problem);
    }

    pub fn map<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [(Key, Node)]> {
        match &node.what {
            What::Map(map) => Some(map),
            other => {
                self.wrong(node, &format!("{what} must be a map"), other);
                None
            }
        }
    }

    /// A map of which all keys are known; `at` is where to say that one is missing. An unknown key is a
    /// problem, the rest is read all the same.
    pub fn fields<'n>(&mut self, node: &'n Node, at: At, what: &str, known: &[&str]) -> Option<Fields<'n>> {
        self.fields_of(node, at, what, known, (what, known))
    }

    /// The same where only some of the known keys are offered to whoever wrote another one.
    pub fn fields_of<'n>(
        &mut self,
        node: &'n Node,
        at: At,
        what: &str,
        known: &[&str],
        (offers, offered): (&str, &[&str]),
    ) -> Option<Fields<'n>> {
        let map = self.map(node, what)?;
        let mut meant = Vec::new();
        let mut strange = false;
        for (key, _) in map.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            let near = nearest(&key.name, offered.iter().copied());
            let help = match (missing_blank(&key.name), near) {
                (Some(help), _) => help,
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("{offers} has {}", one_of(offered.iter().copied())),
            };
            meant.extend(near.map(str::to_string));
            strange = true;
            self.problem_with(key.at, format!("{what} has no key `{}`", key.name), Some(help));
        }
        Some(Fields { map, at, what: what.to_string(), meant, strange })
    }

    pub fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.what {
            What::Text(text) => Some(text),
            other => {
                let quotes = matches!(other, What::Flag(_) | What::Number(_));
                let hint = if quotes { ", write it in quotes" } else { "" };
                self.wrong(node, &format!("{what} must be a text{hint}"), other);
                None
            }
        }
    }

    pub fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match &node.what {
            What::Flag(flag) => Some(*flag),
            other => {
                self.wrong(node, &format!("{what} must be true or false"), other);
                None
            }
        }
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, node: &Node, what: &str, least: u16, most: u16) -> Option<u16> {
        match &node.what {
            What::Number(n) if n.fract() == 0.0 && *n >= f64::from(least) && *n <= f64::from(most) => {
                // Whole and within the bounds of the type, so nothing is lost.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                Some(*n as u16)
            }
            What::Number(n) => {
                self.problem(
                    node.at,
                    format!("{what} must be a whole number from {least} to {most}, not {n}"),
                );
                None
            }
            other => {
                self.wrong(node, &format!("{what} must be a number"), other);
                None
            }
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub fn texts<'n>(&mut self, node: &'n Node, what: &str) -> Vec<(&'n str, At)> {
        match &node.what {
            What::Text(text) => vec![(text, node.at)],
            What::List(list) => {
                list.iter().filter_map(|node| Some((self.text(node, what)?, node.at))).collect()
            }
            other => {
                self.wrong(node, &format!("{what} must be a list of texts"), other);
                Vec::new()
            }
        }
    }

    /// Checks that a key could be a name.
    pub fn name(&mut self, key: &Key, what: &str) -> bool {
        if key.name.len() > NAME_BYTES_MAX {
            let message =
                format!("the name of {what} has {} bytes, more than {NAME_BYTES_MAX}", key.name.len());
            self.problem(key.at, message);
            return false;
        }
        let good = is_name(&key.name);
        if !good {
            let rule = || "a name has small letters, digits and `_`, and begins with a letter".to_string();
            let message = format!("`{}` cannot be the name of {what}", key.name);
            self.problem_with(key.at, message, Some(missing_blank(&key.name).unwrap_or_else(rule)));
        }
        good
    }

    fn wrong(&mut self, node: &Node, rule: &str, found: &What) {
        // Of `key:value` YAML makes a text.
        let help = match found {
            What::Text(text) if rule.ends_with("must be a map") => missing_blank(text),
            _ => None,
        };
        self.problem_with(node.at, format!("{rule}, this is {}", found.sort()), help);
    }
}

impl<'a> Fields<'a> {
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.map.iter().find(|(known, _)| known.name == key).map(|(_, node)| node)
    }

    /// A key that must be there.
    pub fn need(&self, reader: &mut Reader<'_>, key: &str) -> Option<&'a Node> {
        let node = self.get(key);
        if node.is_none() && !self.meant.iter().any(|meant| meant == key) {
            reader.problem(self.at, format!("{} needs `{key}`", self.what));
        }
        node
    }
}

/// Letters, digits and `_`, so that a name can stand in an expression.
pub(crate) fn is_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(word)
}
