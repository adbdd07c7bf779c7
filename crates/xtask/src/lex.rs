//! Splits Rust text into code, comments and literals: as far as the checks need, and no further.

use std::ops::Range;

/// What a stretch of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Code,
    Comment,
    Literal,
}

/// A string literal with what stands before it.
pub struct Literal<'a> {
    pub line: usize,
    pub value: &'a str,
    /// The code before it since the literal or comment before, without the space at its end.
    pub after: &'a str,
}

/// The stretches of a text in order; together they are the text.
pub fn parts(text: &str) -> Vec<(Part, Range<usize>)> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut before) = (0, 0, ' ');
    while let Some(here) = text[at..].chars().next() {
        if let Some((part, length)) = special(&text[at..], before) {
            if start < at {
                parts.push((Part::Code, start..at));
            }
            parts.push((part, at..at + length));
            at += length;
            (start, before) = (at, ' ');
        } else {
            at += here.len_utf8();
            before = here;
        }
    }
    if start < at {
        parts.push((Part::Code, start..at));
    }
    parts
}

/// The text with every stretch that is not wanted blanked out; lines keep their numbers.
pub fn only(text: &str, wanted: &[Part]) -> String {
    let mut out = String::with_capacity(text.len());
    for (part, range) in parts(text) {
        if wanted.contains(&part) {
            out.push_str(&text[range]);
        } else {
            out.extend(text[range].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
    }
    out
}

/// The string literals of a text, without their quotes and as written (escapes are left alone).
pub fn literals(text: &str) -> Vec<Literal<'_>> {
    let mut literals = Vec::new();
    let mut after = "";
    for (part, range) in parts(text) {
        let stretch = &text[range.clone()];
        let inner = stretch.trim_start_matches(['b', 'c', 'r', '#']).trim_end_matches('#');
        if part == Part::Literal && inner.starts_with('"') {
            let value = inner.trim_start_matches('"').trim_end_matches('"');
            literals.push(Literal { line: line_of(text, range.start), value, after });
        }
        after = if part == Part::Code { stretch.trim_end() } else { "" };
    }
    literals
}

/// The numbers of the lines in which something stands as a word of its own.
pub fn lines_with(text: &str, word: &str) -> Vec<usize> {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let ends_in_word = word.ends_with(|c: char| c.is_alphanumeric());
    let starts_in_word = word.starts_with(|c: char| c.is_alphanumeric());
    let alone = |line: &str, at: usize| {
        let before = starts_in_word && part_of_word(line[..at].chars().next_back());
        let behind = ends_in_word && part_of_word(line[at + word.len()..].chars().next());
        !before && !behind
    };
    let holds = |line: &str| line.match_indices(word).any(|(at, _)| alone(line, at));
    text.lines().enumerate().filter(|(_, line)| holds(line)).map(|(number, _)| number + 1).collect()
}

pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The comment or literal that starts here, with its length.
fn special(rest: &str, before: char) -> Option<(Part, usize)> {
    let first = rest.chars().next()?;
    match first {
        '/' if rest.starts_with("//") => Some((Part::Comment, rest.find('\n').unwrap_or(rest.len()))),
        '/' if rest.starts_with("/*") => Some((Part::Comment, block(rest))),
        '"' => Some((Part::Literal, quoted(rest, '"'))),
        '\'' => character(rest).map(|length| (Part::Literal, length)),
        'b' | 'c' | 'r' if !before.is_alphanumeric() && before != '_' => {
            prefixed(rest).map(|length| (Part::Literal, length))
        }
        _ => None,
    }
}

/// The length of a block comment; they nest.
fn block(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a literal that ends at the next quote that is not escaped.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal, or nothing when the quote begins a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    match chars.next()? {
        (_, '\\') => Some(quoted(rest, '\'')),
        _ => chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1),
    }
}

/// The length of a literal with a prefix: bytes, C strings and raw strings.
fn prefixed(rest: &str) -> Option<usize> {
    let body = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - body.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
        return Some(prefix + 1 + hashes + 1 + length);
    }
    match body.chars().next()? {
        '"' => Some(prefix + quoted(body, '"')),
        '\'' => character(body).map(|length| prefix + length),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each stretch that is not code, in brackets: `(…)` a comment, `[…]` a literal.
    fn check(text: &str, expect: &str) {
        let mark = |(part, range): (Part, Range<usize>)| match part {
            Part::Code => text[range].to_owned(),
            Part::Comment => format!("({})", &text[range]),
            Part::Literal => format!("[{}]", &text[range]),
        };
        let marked: String = parts(text).into_iter().map(mark).collect();
        assert_eq!(marked, expect);
    }

    #[test]
    fn comments_and_literals_are_told_apart() {
        check("a // b \"c\"\nd", "a (// b \"c\")\nd");
        check("a /* b /* c */ \" */ d", "a (/* b /* c */ \" */) d");
        check(r#"f("// no", 'x')"#, r#"f(["// no"], ['x'])"#);
        check(r#""a \" b" c"#, r#"["a \" b"] c"#);
        check(r##"r#"a " b"# c"##, r##"[r#"a " b"#] c"##);
        check(r#"b"a" bar"b" b'"' c"#, r#"[b"a"] bar["b"] [b'"'] c"#);
        check(
            r"fn f<'a>(x: &'a str) { '\'' ; '\\' ; 'é' }",
            r"fn f<'a>(x: &'a str) { ['\''] ; ['\\'] ; ['é'] }",
        );
        check("/// doc\n'open \"end", "(/// doc)\n'open [\"end]");
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(lines_with("now\nknow\nnow_or\nx.now()", "now"), [1, 4]);
        assert_eq!(lines_with("a.await\na.awaited\nb().await?", ".await"), [1, 3]);
    }

    #[test]
    fn literals_know_what_stands_before() {
        let found = literals("f(\"a\", r#\"b\"#)\n    => 'c' \"d\"");
        let told: Vec<_> =
            found.iter().map(|l| format!("{} {} after {}", l.line, l.value, l.after)).collect();
        assert_eq!(told, ["1 a after f(", "1 b after ,", "2 d after "]);
    }
}
