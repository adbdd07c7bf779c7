//! The words after a verb, taken one by one; what is missing or too many is said with its column.

use std::{collections::VecDeque, str::FromStr};

use house_facts::pause::PauseScope;
use model::{Kind, Person, PlanName, SubjectRef, Tenant};
use source_text::{did_you_mean, list_choices};

use crate::token::{LineError, LineToken, TokenShape, TokenValue};

pub(crate) struct LineArgs {
    tokens: VecDeque<LineToken>,
    /// The column after the line, where something missing would stand.
    end: usize,
}

/// A field with the columns of its name and value in one.
pub(crate) struct ScenarioField {
    pub column: usize,
    pub name: String,
    pub value: TokenValue,
}

impl LineArgs {
    pub fn new(tokens: impl IntoIterator<Item = LineToken>, end: usize) -> Self {
        Self { tokens: tokens.into_iter().collect(), end }
    }

    /// Where the next word stands.
    pub fn column(&self) -> usize {
        self.tokens.front().map_or(self.end, |token| token.column)
    }

    /// The next word, if it stands for itself.
    pub fn peek(&self) -> Option<&str> {
        match &self.tokens.front()?.shape {
            TokenShape::Value(TokenValue::Bare(text)) => Some(text),
            _ => None,
        }
    }

    /// A word, with or without quotes.
    pub fn text(&mut self, what: &str) -> Result<String, LineError> {
        match self.tokens.front().map(|token| &token.shape) {
            Some(TokenShape::Value(TokenValue::Bare(text) | TokenValue::Quoted(text))) => {
                let text = text.clone();
                self.tokens.pop_front();
                Ok(text)
            }
            Some(_) => Err(LineError::new(self.column(), format!("expected {what}"))),
            None => Err(LineError::new(self.end, format!("{what} is missing"))),
        }
    }

    /// One of a few words.
    pub fn one_of<'a>(&mut self, what: &str, known: &[&'a str]) -> Result<&'a str, LineError> {
        let column = self.column();
        let choice = || format!("use {}", list_choices(known.iter().copied()));
        let word = self.text(what).map_err(|wrong| wrong.help(choice()))?;
        known.iter().find(|name| **name == word).copied().ok_or_else(|| {
            let near = did_you_mean(&word, known.iter().copied());
            LineError::new(column, format!("expected {what}, not `{word}`")).help(near.unwrap_or_else(choice))
        })
    }

    pub fn person(&mut self) -> Result<Person, LineError> {
        self.parse_name("a person")
    }

    pub fn tenant(&mut self) -> Result<Tenant, LineError> {
        self.parse_name("a tenant")
    }

    pub fn subject(&mut self) -> Result<SubjectRef, LineError> {
        self.parse_name("a subject (`type:id`)")
    }

    pub fn kind(&mut self) -> Result<Kind, LineError> {
        self.parse_name("a kind")
    }

    pub fn plan(&mut self) -> Result<PlanName, LineError> {
        self.parse_name("a plan")
    }

    pub fn pause_scope(&mut self) -> Result<PauseScope, LineError> {
        const WHAT: &str = "plan:NAME, channel:NAME or tenant:NAME";
        let column = self.column();
        let text = self.text(WHAT)?;
        PauseScope::parse(&text).ok_or_else(|| LineError::new(column, format!("`{text}` is not {WHAT}")))
    }

    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<T, LineError> {
        let column = self.column();
        let text = self.text(what)?;
        text.parse().map_err(|_| LineError::new(column, format!("`{text}` is not {what}")))
    }

    fn parse_name<T: FromStr<Err = model::id::BadName>>(&mut self, what: &str) -> Result<T, LineError> {
        let column = self.column();
        self.text(what)?.parse().map_err(|bad: model::id::BadName| LineError::new(column, bad.to_string()))
    }

    /// Texts in quotes, at least one.
    pub fn quoted_texts(&mut self, what: &str) -> Result<Vec<String>, LineError> {
        let mut texts = Vec::new();
        while let Some(LineToken { shape: TokenShape::Value(TokenValue::Quoted(text)), .. }) =
            self.tokens.front()
        {
            texts.push(text.clone());
            self.tokens.pop_front();
        }
        if texts.is_empty() {
            return Err(LineError::new(self.column(), format!("expected {what} in quotes")));
        }
        Ok(texts)
    }

    /// All that is left, which must be fields.
    pub fn fields(&mut self) -> Result<Vec<ScenarioField>, LineError> {
        let mut fields: Vec<ScenarioField> = Vec::new();
        while let Some(LineToken { column, shape }) = self.tokens.pop_front() {
            let TokenShape::Field { name, value } = shape else {
                return Err(LineError::new(column, "only fields are allowed here")
                    .help("write a field as `name=value`".to_owned()));
            };
            if fields.iter().any(|field| field.name == name) {
                return Err(LineError::new(column, format!("`{name}` is given twice")));
            }
            fields.push(ScenarioField { column, name, value });
        }
        Ok(fields)
    }

    /// Nothing may be left.
    pub fn check_end(&self) -> Result<(), LineError> {
        match self.tokens.front() {
            None => Ok(()),
            Some(token) => Err(LineError::new(token.column, "the line should end here")),
        }
    }
}
