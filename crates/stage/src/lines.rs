//! The lines of a text, taken apart, and problems that point into them.

use crate::token::{LineError, LineToken, TokenShape, TokenValue, split_tokens};
use source_text::{SourceText, TextProblem};

/// Lines of one file.
pub(crate) const LINES_MAX: usize = 2_000;

/// A line taken apart, that is not empty.
pub(crate) struct SourceLine<'a> {
    pub number: usize,
    pub text: &'a str,
    pub tokens: Vec<LineToken>,
    /// The column after the line, where something missing would stand.
    pub end: usize,
}

impl SourceLine<'_> {
    /// The first word, if it stands for itself.
    pub fn first_word(&self) -> &str {
        match self.tokens.first() {
            Some(LineToken { shape: TokenShape::Value(TokenValue::Bare(text)), .. }) => text,
            _ => "",
        }
    }

    /// What is written from a column on, without the comment.
    pub fn text_from(&self, column: usize) -> String {
        self.text.chars().take(self.end - 1).skip(column - 1).collect()
    }
}

/// Takes a text apart.
pub(crate) fn read_lines<'a>(source: &SourceText<'a>) -> (Vec<SourceLine<'a>>, Vec<TextProblem>) {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for (i, text) in source.text.lines().enumerate() {
        let number = i + 1;
        if number > LINES_MAX {
            problems.push(line_problem(
                source,
                number,
                LineError::new(1, format!("a file has at most {LINES_MAX} lines")),
            ));
            break;
        }
        match split_tokens(text) {
            Ok((tokens, _)) if tokens.is_empty() => {}
            Ok((tokens, end)) => lines.push(SourceLine { number, text, tokens, end }),
            Err(wrong) => problems.push(line_problem(source, number, wrong)),
        }
    }
    (lines, problems)
}

pub(crate) fn line_problem(source: &SourceText<'_>, number: usize, wrong: LineError) -> TextProblem {
    source.problem(number, wrong.column, wrong.what).with_help(wrong.help)
}
