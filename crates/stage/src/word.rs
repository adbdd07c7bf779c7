//! Words of a product, so that a scenario reads like a story: `word offer ITEM = event item.offered $ITEM`.
//!
//! A word takes as many arguments as its definition names; what follows them is put at the end, and a field
//! given there replaces the definition's.

use std::collections::BTreeMap;

use catalogue::problem::did_you_mean;

use crate::{
    calendar::Calendar,
    token::{Raw, Shape, Token, Wrong},
};

/// Words may be made from words, so deep.
const DEPTH_MAX: usize = 8;

/// All words that a scenario knows.
#[derive(Default, Debug)]
pub(crate) struct Words {
    by_name: BTreeMap<String, Word>,
}

#[derive(Debug)]
struct Word {
    params: Vec<String>,
    line: Vec<Token>,
    /// The definition as it is written, with its place, for messages.
    said: String,
}

/// A line whose words have been replaced.
pub(crate) struct Expanded {
    pub tokens: Vec<Token>,
    /// What the first word stands for, if it was one.
    pub stands_for: Option<String>,
}

impl Words {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Takes in a definition, without its leading `word`. `end` is the column after the line.
    pub fn define(
        &mut self,
        tokens: Vec<Token>,
        end: usize,
        taken: &[&str],
        said: String,
    ) -> Result<(), Wrong> {
        let form = "a word is written `word NAME PARAMETER… = line`";
        let Some(equals) = tokens.iter().position(|token| token.shape == Shape::Equals) else {
            return Err(Wrong::new(end, "a ` = ` is missing").help(form.to_owned()));
        };
        let mut head = Vec::new();
        for token in &tokens[..equals] {
            match &token.shape {
                Shape::Value(Raw::Bare(name)) => head.push((token.column, name.clone())),
                _ => return Err(Wrong::new(token.column, "this is no name").help(form.to_owned())),
            }
        }
        let mut head = head.into_iter();
        let Some((column, name)) = head.next() else {
            return Err(Wrong::new(tokens[equals].column, "the word's name is missing").help(form.to_owned()));
        };
        if taken.contains(&name.as_str()) || self.by_name.contains_key(&name) || Calendar::is_date(&name) {
            return Err(Wrong::new(column, format!("`{name}` has a meaning already")));
        }
        let params: Vec<String> = head.map(|(_, name)| name).collect();
        let line = tokens[equals + 1..].to_vec();
        if line.is_empty() {
            return Err(Wrong::new(end, "what the word stands for is missing").help(form.to_owned()));
        }
        // Filled once with the parameters' own names, so that a misspelt one is found where it stands.
        let own: Vec<Raw> = params.iter().map(|param| Raw::Bare(param.clone())).collect();
        for token in &line {
            fill(&token.shape, &params, &own).map_err(|unfilled| {
                let near = did_you_mean(&unfilled.name, params.iter().map(String::as_str));
                Wrong::new(token.column, unfilled.what).help(near)
            })?;
        }
        self.by_name.insert(name, Word { params, line, said });
        Ok(())
    }

    /// Replaces the word that a line begins with, until it begins with a verb.
    pub fn expand(&self, mut tokens: Vec<Token>) -> Result<Expanded, Wrong> {
        let mut stands_for = None;
        for _ in 0..DEPTH_MAX {
            let Some(Token { column, shape: Shape::Value(Raw::Bare(name)) }) = tokens.first() else { break };
            let Some(word) = self.by_name.get(name) else { break };
            stands_for.get_or_insert_with(|| word.said.clone());
            tokens = word.replace(*column, name, &tokens[1..])?;
        }
        Ok(Expanded { tokens, stands_for })
    }
}

impl Word {
    fn replace(&self, column: usize, name: &str, given: &[Token]) -> Result<Vec<Token>, Wrong> {
        let mut args = Vec::new();
        for (i, param) in self.params.iter().enumerate() {
            match given.get(i) {
                Some(Token { shape: Shape::Value(raw), .. }) => args.push(raw.clone()),
                other => {
                    let at = other.map_or(column, |token| token.column);
                    let wrong = Wrong::new(at, format!("`{name}` needs {param}"));
                    return Err(wrong.help(format!("it stands for {}", self.said)));
                }
            }
        }
        let extra = &given[self.params.len()..];
        let replaced = |token: &&Token| match &token.shape {
            Shape::Field { name, .. } => !extra.iter().any(|other| is_field(other, name)),
            _ => true,
        };
        let mut tokens = Vec::new();
        for token in self.line.iter().filter(replaced) {
            let shape = fill(&token.shape, &self.params, &args)
                .map_err(|unfilled| Wrong::new(column, unfilled.what))?;
            // Points to the word in the scenario: that is the line somebody is reading.
            tokens.push(Token { column, shape });
        }
        tokens.extend_from_slice(extra);
        Ok(tokens)
    }
}

fn is_field(token: &Token, wanted: &str) -> bool {
    matches!(&token.shape, Shape::Field { name, .. } if name == wanted)
}

/// A parameter that could not be put in.
struct Unfilled {
    name: String,
    what: String,
}

fn fill(shape: &Shape, params: &[String], args: &[Raw]) -> Result<Shape, Unfilled> {
    Ok(match shape {
        Shape::Value(raw) => Shape::Value(fill_raw(raw, params, args)?),
        Shape::Field { name, value } => {
            Shape::Field { name: name.clone(), value: fill_raw(value, params, args)? }
        }
        Shape::Equals => Shape::Equals,
    })
}

fn fill_raw(raw: &Raw, params: &[String], args: &[Raw]) -> Result<Raw, Unfilled> {
    Ok(match raw {
        Raw::Bare(text) => match whole_param(text, params, args) {
            // Alone it becomes the argument as it was written, quotes and all.
            Some(arg) => arg.clone(),
            None => Raw::Bare(fill_text(text, params, args)?),
        },
        Raw::Quoted(text) => Raw::Quoted(fill_text(text, params, args)?),
        Raw::Time(text) => Raw::Time(fill_text(text, params, args)?),
        Raw::List(items) => {
            let items = items.iter().map(|item| fill_raw(item, params, args));
            Raw::List(items.collect::<Result<_, _>>()?)
        }
        Raw::Nothing => Raw::Nothing,
    })
}

fn whole_param<'a>(text: &str, params: &[String], args: &'a [Raw]) -> Option<&'a Raw> {
    let name = text.strip_prefix('$')?;
    params.iter().position(|param| param == name).and_then(|i| args.get(i))
}

/// Replaces each `$NAME`; a `$` before anything but a letter stays.
fn fill_text(text: &str, params: &[String], args: &[Raw]) -> Result<String, Unfilled> {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        if !name.starts_with(char::is_alphabetic) {
            out.push('$');
            out.push_str(part);
            continue;
        }
        match params.iter().position(|param| param == name).and_then(|i| args.get(i)) {
            Some(Raw::Bare(text) | Raw::Quoted(text) | Raw::Time(text)) => out.push_str(text),
            Some(_) => return Err(unfilled(name, "is a list and can only stand alone")),
            None => return Err(unfilled(name, "is none of the word's parameters")),
        }
        out.push_str(rest);
    }
    Ok(out)
}

fn unfilled(name: &str, what: &str) -> Unfilled {
    Unfilled { name: name.to_owned(), what: format!("`${name}` {what}") }
}
