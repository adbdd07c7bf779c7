//! What the parser of Fluent says of a file, in words that help: at the message, or at the sign that is wrong.

use fluent_syntax::parser::{ErrorKind, ParserError};

use crate::MessageProblem;

/// What messages look like, for whoever wrote something else.
const SHAPE: &str = "a message is written `name = text`, and its other lines are indented";

/// What is said of an escape that is none.
const ESCAPE: (&str, &str) = (
    "has a `\\` that stands for nothing",
    "a sign is written `\\u00E9`, with four digits of hex, and the `\\` itself `\\\\`",
);
/// Braces within braces. The parser calls itself for each, and deeper ones would end the process.
const NESTING_MAX: usize = 20;

/// The problem that an error of the parser is.
pub(crate) fn describe_parse_error(error: &ParserError, text: &str) -> MessageProblem {
    let begin = error.slice.as_ref().map_or(error.pos.start, |slice| slice.start).min(text.len());
    let Some(name) = find_name(&text[begin..]) else {
        let help = Some(SHAPE.to_owned());
        return MessageProblem { offset: begin, what: "this is not a message".to_owned(), help };
    };
    // Of what stands alone the sign is found; of what does not end the end is not.
    let is_sign = error.kind == ErrorKind::UnbalancedClosingBrace;
    let offset = if is_sign { error.pos.start.min(text.len()) } else { begin };
    let (what, help) = describe_kind(&error.kind);
    MessageProblem { offset, what: format!("`{name}` {what}"), help: Some(help.to_owned()) }
}

/// The name before the `=` of a message or term.
fn find_name(text: &str) -> Option<&str> {
    let name = text.split('=').next().filter(|name| name.len() < text.len())?.trim_end_matches(' ');
    let letters = name.strip_prefix('-').unwrap_or(name);
    let is_name = letters.starts_with(|c: char| c.is_ascii_alphabetic())
        && letters.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    is_name.then_some(name)
}

/// What would end the process within the parser: braces that are too deep, and a sign of several bytes in an escape.
pub(crate) fn find_fatal_slip(text: &str) -> Option<MessageProblem> {
    let deep = || {
        let what = format!("braces within braces, more than {NESTING_MAX} deep");
        let help = Some("close each `{`".to_owned());
        find_deep_brace(text).map(|offset| MessageProblem { offset, what, help })
    };
    let escape = || {
        let (what, help) = ESCAPE;
        let (what, help) = (format!("this text in quotes {what}"), Some(help.to_owned()));
        find_short_escape(text).map(|offset| MessageProblem { offset, what, help })
    };
    deep().or_else(escape)
}

/// The first brace that is too deep. One in quotes by itself, `{ "{" }`, opens nothing.
fn find_deep_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        let is_alone = || text[..at].ends_with("{ \"") && text[at + 1..].starts_with("\" }");
        match letter {
            '{' | '}' if is_alone() => {}
            '{' if open == NESTING_MAX => return Some(at),
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The first escape in quotes whose digits end at a sign of several bytes, which the parser would cut in two.
fn find_short_escape(text: &str) -> Option<usize> {
    let is_cut = |at: usize| {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let digits = if after.starts_with('u') { 4 } else { 6 };
        let sign = after.chars().skip(1).take(digits).find(|sign| !sign.is_ascii_hexdigit());
        let line = before.rfind('\n').map_or(before, |end| &before[end..]);
        let is_escape = (before.len() - before.trim_end_matches('\\').len()) % 2 == 0;
        is_escape && line.contains('"') && sign.is_some_and(|sign| !sign.is_ascii())
    };
    let escapes = text.match_indices(['\\']).map(|(at, _)| at);
    escapes.filter(|at| text[at + 1..].starts_with(['u', 'U'])).find(|at| is_cut(*at))
}

/// What is wrong with a message, and what to write.
fn describe_kind(kind: &ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::ExpectedToken('}') => (
            "has a `{` that is not closed",
            "write `}` after the value, as in `{ $count }`; the sign itself is `{ \"{\" }`",
        ),
        ErrorKind::UnbalancedClosingBrace => {
            ("has a `}` that closes nothing", "take it out; the sign itself is `{ \"}\" }`")
        }
        ErrorKind::ExpectedInlineExpression => (
            "has a `{` without a value",
            "write the value as in `{ $count }`; the sign itself is `{ \"{\" }`",
        ),
        ErrorKind::ExpectedMessageField { .. } | ErrorKind::ExpectedTermField { .. } => {
            ("says nothing", "write its text after the `=`, or `{ \"\" }` if it is to be empty")
        }
        ErrorKind::MissingValue => (
            "has a variant that says nothing",
            "write its text after the `]`, or `{ \"\" }` if it is to be empty",
        ),
        ErrorKind::MissingDefaultVariant => (
            "has no variant for all other values",
            "put a star before one, each on a line of its own: `*[other] text`",
        ),
        ErrorKind::MultipleDefaultVariants => {
            ("has two variants with a star", "leave the star with the one for all other values")
        }
        ErrorKind::ExpectedToken(']') => {
            ("has a variant that is not closed", "write it as in `[one] text`, with one word in it")
        }
        ErrorKind::ExpectedCharRange { range } if range.contains('\n') || range.contains("\\n") => (
            "has something behind its `->`",
            "write each variant on a line of its own, indented: `[one] text`",
        ),
        ErrorKind::ExpectedCharRange { .. } => (
            "has a name that does not begin with a letter",
            "names have the letters a to z, digits, `-` and `_`: `{ $count }`, `[one]`",
        ),
        ErrorKind::UnterminatedStringLiteral | ErrorKind::ExpectedToken('"') => {
            ("has a text in quotes that does not end", "write the second `\"` on the same line")
        }
        ErrorKind::UnknownEscapeSequence(_) | ErrorKind::InvalidUnicodeEscapeSequence(_) => ESCAPE,
        ErrorKind::MessageReferenceAsSelector
        | ErrorKind::TermReferenceAsSelector
        | ErrorKind::MessageAttributeAsSelector
        | ErrorKind::ExpectedSimpleExpressionAsSelector => {
            ("chooses by something that is no value", "write `{ $name ->`, with the sign `$`")
        }
        ErrorKind::ForbiddenCallee => {
            ("calls a function that there is not", "there is only `NUMBER`, as in `{ NUMBER($count) }`")
        }
        _ => ("is not written as Fluent has it", "write a value as in `{ $count }`"),
    }
}
