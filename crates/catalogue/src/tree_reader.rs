//! Reading the tree: maps with known keys, texts, numbers. Whatever is wrong is noted with its place and
//! reading goes on, so that one look at the messages is enough.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use expression::{MessageTypes, TextFinding, TextScope, read_text};
use model::{DayLife, SubjectType};
use source_text::{
    SourceText, TextProblem, TextProblems, did_you_mean, list_choices, missing_blank, nearest_name,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue},
};

use crate::{format::MapFormat, limits::NAME_BYTES_MAX};

/// Collects problems while a tree is read.
pub(crate) struct TreeReader<'a> {
    pub source: SourceText<'a>,
    pub problems: TextProblems,
    /// Of the house that the catalogue is for.
    pub day_life: DayLife,
    /// What texts may say.
    pub messages: Option<Arc<MessageTypes>>,
    /// What they do say, each with the values that are numbers there.
    pub said: BTreeMap<String, BTreeSet<String>>,
}

/// The values of a map by key, all keys known.
pub(crate) struct MapFields<'a> {
    map: &'a [(TreeKey, TreeNode)],
    pub at: TreePlace,
    format: &'static MapFormat,
    /// Keys that a slip was probably meant for; that they are missing too is no news.
    meant: Vec<String>,
    /// Whether a key is not known, which has been said.
    pub strange: bool,
}

impl<'a> TreeReader<'a> {
    pub fn new(source: SourceText<'a>, day_life: DayLife) -> Self {
        let (problems, said) = (TextProblems::default(), BTreeMap::new());
        Self { source, problems, day_life, messages: None, said }
    }

    /// Checks a text, which may say messages.
    pub fn check_text(&mut self, text: &str, scope: &TextScope<'_>) -> Vec<TextFinding> {
        let scope = TextScope { messages: self.messages.clone(), ..scope.clone() };
        let (findings, reads) = read_text(text, &scope);
        for (name, numbers) in reads.messages {
            self.said.entry(name).or_default().extend(numbers);
        }
        findings
    }

    pub fn problem(&mut self, at: TreePlace, what: impl Into<String>) {
        self.problem_with(at, what, None);
    }

    pub fn problem_with(&mut self, at: TreePlace, what: impl Into<String>, help: Option<String>) {
        self.problems.0.push(self.source.problem(at.line, at.column, what).with_help(help));
    }

    pub fn push(&mut self, problem: TextProblem) {
        self.problems.0.push(problem);
    }

    pub fn map<'n>(&mut self, node: &'n TreeNode, what: &str) -> Option<&'n [(TreeKey, TreeNode)]> {
        match &node.what {
            TreeValue::Map(map) => Some(map),
            other => {
                self.report_wrong(node, &format!("{what} must be a map"), other);
                None
            }
        }
    }

    /// A map of which all keys are known; `at` is where to say that one is missing. An unknown key is a
    /// problem, the rest is read all the same.
    pub fn fields<'n>(
        &mut self,
        node: &'n TreeNode,
        at: TreePlace,
        format: &'static MapFormat,
    ) -> Option<MapFields<'n>> {
        let known: Vec<&str> = format.key_names().collect();
        self.fields_of(node, at, format, (format.title, &known))
    }

    /// The same where only some of the known keys are offered to whoever wrote another one.
    pub fn fields_of<'n>(
        &mut self,
        node: &'n TreeNode,
        at: TreePlace,
        format: &'static MapFormat,
        (offers, offered): (&str, &[&str]),
    ) -> Option<MapFields<'n>> {
        let what = format.title;
        let map = self.map(node, what)?;
        let mut meant = Vec::new();
        let mut strange = false;
        for (key, _) in map.iter().filter(|(key, _)| !format.has(&key.name)) {
            let near = nearest_name(&key.name, offered.iter().copied());
            let help = match (missing_blank(&key.name), near) {
                (Some(help), _) => help,
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("{offers} has {}", list_choices(offered.iter().copied())),
            };
            meant.extend(near.map(str::to_string));
            strange = true;
            self.problem_with(key.at, format!("{what} has no key `{}`", key.name), Some(help));
        }
        Some(MapFields { map, at, format, meant, strange })
    }

    /// A field that a subject does not have.
    pub fn report_no_field(&mut self, at: TreePlace, subject: &SubjectType, field: &str) {
        let help = did_you_mean(field, subject.fields.keys().map(String::as_str));
        self.problem_with(at, format!("`{}` has no field `{field}`", subject.name), help);
    }

    pub fn text<'n>(&mut self, node: &'n TreeNode, what: &str) -> Option<&'n str> {
        match &node.what {
            TreeValue::Text(text) => Some(text),
            other => {
                self.report_wrong(node, &format!("{what} must be a text"), other);
                None
            }
        }
    }

    /// A text of a form, such as a length of time; `help` shows it.
    pub fn text_like<'n>(&mut self, node: &'n TreeNode, what: &str, help: &str) -> Option<&'n str> {
        if let TreeValue::Text(text) = &node.what {
            return Some(text);
        }
        let what = format!("{what} must be a text, not {}", node.what.sort_name());
        self.problem_with(node.at, what, Some(help.to_string()));
        None
    }

    pub fn flag(&mut self, node: &TreeNode, what: &str) -> Option<bool> {
        match &node.what {
            TreeValue::Flag(flag) => Some(*flag),
            other => {
                self.report_wrong(node, &format!("{what} must be true or false"), other);
                None
            }
        }
    }

    /// A whole number within bounds.
    pub fn whole_number(&mut self, node: &TreeNode, what: &str, least: u16, most: u16) -> Option<u16> {
        match &node.what {
            TreeValue::Number(n) => {
                let n = n.to_f64();
                if n.fract() == 0.0 && n >= f64::from(least) && n <= f64::from(most) {
                    // Whole and within the bounds of the type, so nothing is lost.
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    return Some(n as u16);
                }
                self.problem(
                    node.at,
                    format!("{what} must be a whole number from {least} to {most}, not {n}"),
                );
                None
            }
            other => {
                self.report_wrong(node, &format!("{what} must be a number"), other);
                None
            }
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub fn texts<'n>(&mut self, node: &'n TreeNode, what: &str) -> Vec<(&'n str, TreePlace)> {
        match &node.what {
            TreeValue::Text(text) => vec![(text, node.at)],
            TreeValue::List(list) => {
                list.iter().filter_map(|node| Some((self.text(node, what)?, node.at))).collect()
            }
            other => {
                self.report_wrong(node, &format!("{what} must be a list of texts"), other);
                Vec::new()
            }
        }
    }

    /// Checks that a key could be a name.
    pub fn name(&mut self, key: &TreeKey, what: &str) -> bool {
        if key.name.len() > NAME_BYTES_MAX {
            let message =
                format!("the name of {what} has {} bytes, more than {NAME_BYTES_MAX}", key.name.len());
            self.problem(key.at, message);
            return false;
        }
        let good = is_name(&key.name);
        if !good {
            let rule =
                || "a name has lower-case letters, digits and `_`, and begins with a letter".to_string();
            let message = format!("`{}` cannot be the name of {what}", key.name);
            self.problem_with(key.at, message, Some(missing_blank(&key.name).unwrap_or_else(rule)));
        }
        good
    }

    fn report_wrong(&mut self, node: &TreeNode, rule: &str, found: &TreeValue) {
        let help = match found {
            // Of `key:value` YAML makes a text.
            TreeValue::Text(text) if rule.ends_with("must be a map") => {
                missing_blank(text).unwrap_or_else(|| "write `key: value`".to_string())
            }
            TreeValue::List(_) if rule.ends_with("must be a map") => {
                "write `key: value` without the `-` or the brackets of a list".to_string()
            }
            _ if rule.ends_with("must be a map") => "write `key: value`".to_string(),
            _ if rule.ends_with("must be a list of texts") => "write it like `[one, other]`".to_string(),
            TreeValue::Flag(_) | TreeValue::Number(_) if rule.ends_with("must be a text") => {
                "write it in quotes".to_string()
            }
            TreeValue::Text(text) if rule.ends_with("must be a number") && text.parse::<f64>().is_ok() => {
                "write it without quotes".to_string()
            }
            _ => return self.problem(node.at, format!("{rule}, not {}", found.sort_name())),
        };
        self.problem_with(node.at, format!("{rule}, not {}", found.sort_name()), Some(help));
    }
}

impl<'a> MapFields<'a> {
    pub fn get(&self, key: &str) -> Option<&'a TreeNode> {
        debug_assert!(self.format.has(key), "`{key}` is not a key of {}", self.format.title);
        self.map.iter().find(|(known, _)| known.name == key).map(|(_, node)| node)
    }

    /// A key that must be there.
    pub fn need(&self, reader: &mut TreeReader<'_>, key: &str) -> Option<&'a TreeNode> {
        let node = self.get(key);
        if node.is_none() && !self.meant.iter().any(|meant| meant == key) {
            reader.problem(self.at, format!("{} needs `{key}`", self.format.title));
        }
        node
    }
}

/// Letters, digits and `_`, so that a name can stand in an expression.
pub(crate) fn is_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(word)
}
