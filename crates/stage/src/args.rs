//! The words after a verb, taken one by one; what is missing or too many is said with its column.

use std::{collections::VecDeque, str::FromStr};

use catalogue::problem::{did_you_mean, one_of};
use model::{Kind, Person, PlanName, SubjectRef, Tenant};

use crate::token::{Raw, Shape, Token, Wrong};

pub(crate) struct Args {
    tokens: VecDeque<Token>,
    /// The column after the line, where something missing would stand.
    end: usize,
}

/// A field with the columns of its name and value in one.
pub(crate) struct Field {
    pub column: usize,
    pub name: String,
    pub value: Raw,
}

impl Args {
    pub fn new(tokens: impl IntoIterator<Item = Token>, end: usize) -> Self {
        Self { tokens: tokens.into_iter().collect(), end }
    }

    /// Where the next word stands.
    pub fn column(&self) -> usize {
        self.tokens.front().map_or(self.end, |token| token.column)
    }

    /// The next word, if it stands for itself.
    pub fn peek(&self) -> Option<&str> {
        match &self.tokens.front()?.shape {
            Shape::Value(Raw::Bare(text)) => Some(text),
            _ => None,
        }
    }

    /// A word, with or without quotes.
    pub fn text(&mut self, what: &str) -> Result<String, Wrong> {
        match self.tokens.front().map(|token| &token.shape) {
            Some(Shape::Value(Raw::Bare(text) | Raw::Quoted(text))) => {
                let text = text.clone();
                self.tokens.pop_front();
                Ok(text)
            }
            Some(_) => Err(Wrong::new(self.column(), format!("{what} must stand here"))),
            None => Err(Wrong::new(self.end, format!("{what} is missing"))),
        }
    }

    /// One of a few words.
    pub fn one_of<'a>(&mut self, what: &str, known: &[&'a str]) -> Result<&'a str, Wrong> {
        let column = self.column();
        let choice = || format!("{what} is {}", one_of(known.iter().copied()));
        let word = self.text(what).map_err(|wrong| wrong.help(choice()))?;
        known.iter().find(|name| **name == word).copied().ok_or_else(|| {
            let near = did_you_mean(&word, known.iter().copied());
            Wrong::new(column, format!("`{word}` is not {what}")).help(near.unwrap_or_else(choice))
        })
    }

    pub fn person(&mut self) -> Result<Person, Wrong> {
        self.parsed("a person")
    }

    pub fn tenant(&mut self) -> Result<Tenant, Wrong> {
        self.parsed("a tenant")
    }

    pub fn subject(&mut self) -> Result<SubjectRef, Wrong> {
        self.parsed("a subject, `type:id`,")
    }

    pub fn kind(&mut self) -> Result<Kind, Wrong> {
        self.parsed("a kind")
    }

    pub fn plan(&mut self) -> Result<PlanName, Wrong> {
        self.parsed("a plan")
    }

    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<T, Wrong> {
        let column = self.column();
        let text = self.text(what)?;
        text.parse().map_err(|_| Wrong::new(column, format!("`{text}` is not {what}")))
    }

    fn parsed<T: FromStr<Err = model::id::BadName>>(&mut self, what: &str) -> Result<T, Wrong> {
        let column = self.column();
        self.text(what)?.parse().map_err(|bad: model::id::BadName| Wrong::new(column, bad.to_string()))
    }

    /// Texts in quotes, at least one.
    pub fn quoted(&mut self, what: &str) -> Result<Vec<String>, Wrong> {
        let mut texts = Vec::new();
        while let Some(Token { shape: Shape::Value(Raw::Quoted(text)), .. }) = self.tokens.front() {
            texts.push(text.clone());
            self.tokens.pop_front();
        }
        if texts.is_empty() {
            return Err(Wrong::new(self.column(), format!("{what} must stand here, in quotes")));
        }
        Ok(texts)
    }

    /// All that is left, which must be fields.
    pub fn fields(&mut self) -> Result<Vec<Field>, Wrong> {
        let mut fields: Vec<Field> = Vec::new();
        while let Some(Token { column, shape }) = self.tokens.pop_front() {
            let Shape::Field { name, value } = shape else {
                return Err(Wrong::new(column, "only fields may stand here")
                    .help("a field is written `name=value`".to_owned()));
            };
            if fields.iter().any(|field| field.name == name) {
                return Err(Wrong::new(column, format!("`{name}` is given twice")));
            }
            fields.push(Field { column, name, value });
        }
        Ok(fields)
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), Wrong> {
        match self.tokens.front() {
            None => Ok(()),
            Some(token) => Err(Wrong::new(token.column, "the line should end here")),
        }
    }
}
