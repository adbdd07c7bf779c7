//! What is wrong with a body, in plain sentences and with its place. What serde says is for whoever wrote the type.

use serde_path_to_error::{Error, Path, Segment};

use crate::{
    limits::QUOTED_CHARS_MAX,
    problem::{HttpProblem, ProblemType},
};

/// A value that does not fit, at its JSON pointer.
pub fn describe_slip(error: &Error<serde_json::Error>) -> HttpProblem {
    let said = error.inner().to_string();
    let PlainSlip { reason, field } = PlainSlip::read(cut_position(&said));
    let at = format_pointer(error.path(), field);
    HttpProblem::new(ProblemType::InvalidBody, reason).with_pointer(at)
}

/// Text that is no JSON, at its line and column.
pub fn describe_syntax(error: &serde_json::Error) -> HttpProblem {
    let said = error.to_string();
    let reason = match cut_position(&said) {
        "expected value" | "expected ident" => "a value is expected".to_owned(),
        reason => reason.replace("EOF while parsing", "it ends within"),
    };
    let at = format!("line {} column {}", error.line().max(1), error.column().max(1));
    let reason = format!("the body is not JSON: {reason}");
    HttpProblem::new(ProblemType::UnreadableBody, reason).with_pointer(at)
}

/// What serde says of a value, in a plain sentence. What is in other words stays.
pub fn say_plainly(said: &str) -> String {
    PlainSlip::read(cut_position(said)).reason
}

/// A slip in a plain sentence.
struct PlainSlip {
    reason: String,
    /// The field that is meant, within what has the slip.
    field: Option<String>,
}

impl PlainSlip {
    fn read(said: &str) -> Self {
        for (before, what) in [("missing field `", "is missing"), ("duplicate field `", "is there twice")] {
            if let Some(name) = said.strip_prefix(before).and_then(|rest| rest.strip_suffix('`')) {
                let name = quote(name);
                return Self { reason: format!("`{name}` {what}"), field: Some(name) };
            }
        }
        let reason = say_unknown_name(said).or_else(|| say_wrong_type(said));
        Self { reason: reason.unwrap_or_else(|| said.to_owned()), field: None }
    }
}

fn say_unknown_name(said: &str) -> Option<String> {
    let split = |before: &str, between: &str| said.strip_prefix(before)?.rsplit_once(between);
    if let Some((name, known)) = split("unknown field `", "`, expected ") {
        let known = known.trim_start_matches("one of ").replace("` or `", "` and `");
        return Some(format!("there is no field `{}`, only {known}", quote(name)));
    }
    if let Some((name, _)) = split("unknown field `", "`, there are no fields") {
        return Some(format!("there is no field `{}`", quote(name)));
    }
    let (name, known) = split("unknown variant `", "`, expected ")?;
    Some(format!("`{}` is not {known}", quote(name)))
}

fn say_wrong_type(said: &str) -> Option<String> {
    let said = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "))?;
    let (found, expected) = said.rsplit_once(", expected ")?;
    Some(format!("{} is expected, not {}", name_expected(expected), name_found(found)))
}

fn name_expected(expected: &str) -> &str {
    match expected {
        "a string" | "a character" => "a text",
        "a boolean" => "true or false",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        "string or map" => "a text or an object",
        // What our types are called is of no use to anybody else.
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("tuple ") => "a list",
        _ => expected,
    }
}

fn name_found(found: &str) -> String {
    let within = |before: &str, after: char| found.strip_prefix(before)?.strip_suffix(after);
    if let Some(number) = within("integer `", '`').or_else(|| within("floating point `", '`')) {
        return format!("the number {}", quote(number));
    }
    if let Some(text) = within("string \"", '"') {
        return format!("the text \"{}\"", quote(text));
    }
    let other = match found {
        "sequence" => "a list",
        "map" => "an object",
        "unit value" | "Option value" => "null",
        _ => within("boolean `", '`').unwrap_or(found),
    };
    other.to_owned()
}

/// The words without the place, which is said beside them.
fn cut_position(said: &str) -> &str {
    let is_position = |at: &str| at.bytes().all(|byte| byte.is_ascii_digit() || b" column".contains(&byte));
    match said.rsplit_once(" at line ") {
        Some((words, at)) if is_position(at) => words,
        _ => said,
    }
}

/// A JSON pointer (RFC 6901) to what a path leads to, or to a field within.
fn format_pointer(path: &Path, field: Option<String>) -> String {
    let name = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } | Segment::Enum { variant: key } => Some(quote(key)),
        Segment::Unknown => None,
    };
    let names = path.iter().filter_map(name).chain(field);
    names.map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

fn quote(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(QUOTED_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_says_is_said_plainly() {
        let check = |said: &str, expected: &str| assert_eq!(say_plainly(said), expected, "{said}");
        check("missing field `plan`", "`plan` is missing");
        check("duplicate field `plan`", "`plan` is there twice");
        check("unknown field `x`, expected `a`", "there is no field `x`, only `a`");
        check("unknown field `x`, expected `a` or `b`", "there is no field `x`, only `a` and `b`");
        check(
            "unknown field `x`, expected one of `a`, `b`, `c`",
            "there is no field `x`, only `a`, `b`, `c`",
        );
        check("unknown field `x`, there are no fields", "there is no field `x`");
        check("unknown variant `x`, expected `a` or `b`", "`x` is not `a` or `b`");
        check("unknown variant `x`, expected one of `a`, `b`, `c`", "`x` is not one of `a`, `b`, `c`");
        // A name of somebody else's may look like the words around it.
        check(
            "unknown variant `x`, expected `y`, expected `a` or `b`",
            "`x`, expected `y` is not `a` or `b`",
        );
        check("invalid type: sequence, expected an object", "an object is expected, not a list");
        check("invalid type: map, expected a string", "a text is expected, not an object");
        check("invalid type: null, expected a boolean", "true or false is expected, not null");
        check("invalid type: boolean `true`, expected i64", "a whole number is expected, not true");
        check(
            "invalid value: integer `-1`, expected u64",
            "a whole number from 0 is expected, not the number -1",
        );
        check(
            "invalid type: floating point `1.5`, expected usize",
            "a whole number from 0 is expected, not the number 1.5",
        );
        check(
            "invalid type: string \"a, b\", expected struct Order",
            "an object is expected, not the text \"a, b\"",
        );
        let long = format!("invalid type: string \"{}\", expected f64", "x".repeat(1_000));
        check(&long, &format!("a number is expected, not the text \"{}\"", "x".repeat(QUOTED_CHARS_MAX)));
        check(
            "invalid type: integer `5`, expected a string at line 1 column 9",
            "a text is expected, not the number 5",
        );
        check("`soon` is not a date", "`soon` is not a date");
        check("", "");
    }

    #[test]
    fn only_a_place_is_cut_off() {
        for (said, expected) in [
            ("trailing characters at line 1 column 17", "trailing characters"),
            ("unknown variant `x at line y`, expected `a`", "unknown variant `x at line y`, expected `a`"),
            ("", ""),
        ] {
            assert_eq!(cut_position(said), expected);
        }
    }
}
