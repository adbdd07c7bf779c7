//! Problems: what is wrong in a text, where, and what was probably meant.

use std::fmt;

/// One thing that is wrong, with its place. Lines and columns count from 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TextProblem {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub what: String,
    pub help: Option<String>,
    /// The line of the file, for the caret.
    pub excerpt: Option<String>,
}

/// Everything that is wrong, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextProblems(pub Vec<TextProblem>);

/// A text with its name, from which problems quote.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl SourceText<'_> {
    /// A problem at a line and column of this text.
    pub fn problem(&self, line: usize, column: usize, what: impl Into<String>) -> TextProblem {
        TextProblem {
            file: self.file.to_string(),
            line,
            column,
            what: what.into(),
            help: None,
            excerpt: self.text.lines().nth(line.saturating_sub(1)).map(str::to_string),
        }
    }

    /// A problem at a byte of this text.
    pub fn problem_at(&self, offset: usize, what: impl Into<String>) -> TextProblem {
        let (line, column) = line_and_column(self.text, offset);
        self.problem(line, column, what)
    }
}

impl TextProblem {
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}

impl TextProblems {
    /// `Ok` if there are none; else they are sorted, and the same one twice is said once.
    pub fn into_result(mut self) -> Result<(), Self> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.0
            .sort_by(|a, b| (&a.file, a.line, a.column, &a.what).cmp(&(&b.file, b.line, b.column, &b.what)));
        self.0.dedup();
        Err(self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<TextProblem> for TextProblems {
    fn from(problem: TextProblem) -> Self {
        Self(vec![problem])
    }
}

impl Extend<TextProblem> for TextProblems {
    fn extend<I: IntoIterator<Item = TextProblem>>(&mut self, problems: I) {
        self.0.extend(problems);
    }
}

impl fmt::Display for TextProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.what)?;
        if let Some(excerpt) = &self.excerpt {
            // A long line is quoted around the column, so that the caret is on the screen.
            let skip = self.column.saturating_sub(QUOTE_BEFORE);
            let quoted: String = excerpt.chars().skip(skip).take(QUOTE_WIDTH).map(visible_char).collect();
            let caret = self.column.saturating_sub(1).saturating_sub(skip);
            write!(f, "\n{:>5} | {quoted}\n      | {:caret$}^", self.line, "")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n      = {help}")?;
        }
        Ok(())
    }
}

const QUOTE_BEFORE: usize = 80;
const QUOTE_WIDTH: usize = 120;

/// Control characters would move the caret, or worse.
fn visible_char(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl fmt::Display for TextProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TextProblem {}
impl std::error::Error for TextProblems {}

/// Line and column of a byte offset, both from 1.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
