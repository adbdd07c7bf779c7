//! The lines of a text, taken apart, and problems that point into them.

use catalogue::problem::{Problem, Source};

use crate::token::{Raw, Shape, Token, Wrong, tokens};

/// Lines of one file.
pub(crate) const LINES_MAX: usize = 2_000;

/// A line taken apart, that is not empty.
pub(crate) struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
    pub tokens: Vec<Token>,
    /// The column after the line, where something missing would stand.
    pub end: usize,
}

impl Line<'_> {
    /// The first word, if it stands for itself.
    pub fn first(&self) -> &str {
        match self.tokens.first() {
            Some(Token { shape: Shape::Value(Raw::Bare(text)), .. }) => text,
            _ => "",
        }
    }

    /// What is written from a column on, without the comment.
    pub fn said(&self, column: usize) -> String {
        self.text.chars().take(self.end - 1).skip(column - 1).collect()
    }
}

/// Takes a text apart.
pub(crate) fn read<'a>(source: &Source<'a>) -> (Vec<Line<'a>>, Vec<Problem>) {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for (i, text) in source.text.lines().enumerate() {
        let number = i + 1;
        if number > LINES_MAX {
            problems.push(problem(
                source,
                number,
                Wrong::new(1, format!("a file has at most {LINES_MAX} lines")),
            ));
            break;
        }
        match tokens(text) {
            Ok((tokens, _)) if tokens.is_empty() => {}
            Ok((tokens, end)) => lines.push(Line { number, text, tokens, end }),
            Err(wrong) => problems.push(problem(source, number, wrong)),
        }
    }
    (lines, problems)
}

pub(crate) fn problem(source: &Source<'_>, number: usize, wrong: Wrong) -> Problem {
    source.problem(number, wrong.column, wrong.what).help(wrong.help)
}
