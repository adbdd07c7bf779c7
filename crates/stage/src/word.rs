//! Words of a product, so that a scenario reads like a story: `word offer ITEM = event item.offered $ITEM`.
//!
//! A word takes as many arguments as its definition names; what follows them is put at the end, and a field
//! given there replaces the definition's.

use std::collections::BTreeMap;

use crate::{
    calendar::ScenarioCalendar,
    token::{LineError, LineToken, TokenShape, TokenValue},
};
use source_text::did_you_mean;

/// Words may be made from words, so deep.
const DEPTH_MAX: usize = 8;

/// All words that a scenario knows.
#[derive(Default, Debug)]
pub(crate) struct ScenarioWords {
    by_name: BTreeMap<String, WordDefinition>,
}

#[derive(Debug)]
struct WordDefinition {
    params: Vec<String>,
    line: Vec<LineToken>,
    /// The definition as it is written, with its place, for messages.
    said: String,
}

/// A line whose words have been replaced.
pub(crate) struct ExpandedLine {
    pub tokens: Vec<LineToken>,
    /// What the first word stands for, if it was one.
    pub stands_for: Option<String>,
}

impl ScenarioWords {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Takes in a definition, without its leading `word`. `end` is the column after the line.
    pub fn define(
        &mut self,
        tokens: Vec<LineToken>,
        end: usize,
        taken: &[&str],
        said: String,
    ) -> Result<(), LineError> {
        let form = "write a word as `word NAME PARAMETER… = line`";
        let Some(equals) = tokens.iter().position(|token| token.shape == TokenShape::Equals) else {
            return Err(LineError::new(end, "a ` = ` is missing").help(form.to_owned()));
        };
        let mut head = Vec::new();
        for token in &tokens[..equals] {
            match &token.shape {
                TokenShape::Value(TokenValue::Bare(name)) => head.push((token.column, name.clone())),
                _ => return Err(LineError::new(token.column, "this is not a name").help(form.to_owned())),
            }
        }
        let mut head = head.into_iter();
        let Some((column, name)) = head.next() else {
            return Err(
                LineError::new(tokens[equals].column, "the word's name is missing").help(form.to_owned())
            );
        };
        if taken.contains(&name.as_str())
            || self.by_name.contains_key(&name)
            || ScenarioCalendar::is_date(&name)
        {
            return Err(LineError::new(column, format!("`{name}` is taken already")));
        }
        let params: Vec<String> = head.map(|(_, name)| name).collect();
        let line = tokens[equals + 1..].to_vec();
        if line.is_empty() {
            return Err(LineError::new(end, "the line of the word is missing").help(form.to_owned()));
        }
        // Filled once with the parameters' own names, so that a misspelt one is found where it stands.
        let own: Vec<TokenValue> = params.iter().map(|param| TokenValue::Bare(param.clone())).collect();
        for token in &line {
            fill_shape(&token.shape, &params, &own).map_err(|unfilled| {
                let near = did_you_mean(&unfilled.name, params.iter().map(String::as_str));
                LineError::new(token.column, unfilled.what).help(near)
            })?;
        }
        self.by_name.insert(name, WordDefinition { params, line, said });
        Ok(())
    }

    /// Replaces the word that a line begins with, until it begins with a verb.
    pub fn expand(&self, mut tokens: Vec<LineToken>) -> Result<ExpandedLine, LineError> {
        let mut stands_for = None;
        for _ in 0..DEPTH_MAX {
            let Some(LineToken { column, shape: TokenShape::Value(TokenValue::Bare(name)) }) = tokens.first()
            else {
                break;
            };
            let Some(word) = self.by_name.get(name) else { break };
            stands_for.get_or_insert_with(|| word.said.clone());
            tokens = word.replace_word(*column, name, &tokens[1..])?;
        }
        Ok(ExpandedLine { tokens, stands_for })
    }
}

impl WordDefinition {
    fn replace_word(
        &self,
        column: usize,
        name: &str,
        given: &[LineToken],
    ) -> Result<Vec<LineToken>, LineError> {
        let mut args = Vec::new();
        for (i, param) in self.params.iter().enumerate() {
            match given.get(i) {
                Some(LineToken { shape: TokenShape::Value(raw), .. }) => args.push(raw.clone()),
                other => {
                    let at = other.map_or(column, |token| token.column);
                    let wrong = LineError::new(at, format!("`{name}` needs {param}"));
                    return Err(wrong.help(format!("it stands for {}", self.said)));
                }
            }
        }
        let extra = &given[self.params.len()..];
        let replaced = |token: &&LineToken| match &token.shape {
            TokenShape::Field { name, .. } => !extra.iter().any(|other| is_field(other, name)),
            _ => true,
        };
        let mut tokens = Vec::new();
        for token in self.line.iter().filter(replaced) {
            let shape = fill_shape(&token.shape, &self.params, &args)
                .map_err(|unfilled| LineError::new(column, unfilled.what))?;
            // Points to the word in the scenario: that is the line somebody is reading.
            tokens.push(LineToken { column, shape });
        }
        tokens.extend_from_slice(extra);
        Ok(tokens)
    }
}

fn is_field(token: &LineToken, wanted: &str) -> bool {
    matches!(&token.shape, TokenShape::Field { name, .. } if name == wanted)
}

/// A parameter that could not be put in.
struct ParameterError {
    name: String,
    what: String,
}

fn fill_shape(
    shape: &TokenShape,
    params: &[String],
    args: &[TokenValue],
) -> Result<TokenShape, ParameterError> {
    Ok(match shape {
        TokenShape::Value(raw) => TokenShape::Value(fill_raw(raw, params, args)?),
        TokenShape::Field { name, value } => {
            TokenShape::Field { name: name.clone(), value: fill_raw(value, params, args)? }
        }
        TokenShape::Equals => TokenShape::Equals,
    })
}

fn fill_raw(raw: &TokenValue, params: &[String], args: &[TokenValue]) -> Result<TokenValue, ParameterError> {
    Ok(match raw {
        TokenValue::Bare(text) => match whole_param(text, params, args) {
            // Alone it becomes the argument as it was written, quotes and all.
            Some(arg) => arg.clone(),
            None => TokenValue::Bare(fill_text(text, params, args)?),
        },
        TokenValue::Quoted(text) => TokenValue::Quoted(fill_text(text, params, args)?),
        TokenValue::Time(text) => TokenValue::Time(fill_text(text, params, args)?),
        TokenValue::List(items) => {
            let items = items.iter().map(|item| fill_raw(item, params, args));
            TokenValue::List(items.collect::<Result<_, _>>()?)
        }
        TokenValue::Nothing => TokenValue::Nothing,
    })
}

fn whole_param<'a>(text: &str, params: &[String], args: &'a [TokenValue]) -> Option<&'a TokenValue> {
    let name = text.strip_prefix('$')?;
    params.iter().position(|param| param == name).and_then(|i| args.get(i))
}

/// Replaces each `$NAME`; a `$` before anything but a letter stays.
fn fill_text(text: &str, params: &[String], args: &[TokenValue]) -> Result<String, ParameterError> {
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
            Some(TokenValue::Bare(text) | TokenValue::Quoted(text) | TokenValue::Time(text)) => {
                out.push_str(text);
            }
            Some(_) => return Err(parameter_error(name, "is a list, which must stand alone")),
            None => return Err(parameter_error(name, "is not a parameter of the word")),
        }
        out.push_str(rest);
    }
    Ok(out)
}

fn parameter_error(name: &str, what: &str) -> ParameterError {
    ParameterError { name: name.to_owned(), what: format!("`${name}` {what}") }
}
