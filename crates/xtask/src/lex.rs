//! Splits Rust text into code, comments and literals: as far as the checks need, and no further.

use std::ops::Range;

/// What a stretch of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourcePart {
    Code,
    Comment,
    Literal,
}

/// A string literal with what stands before it.
pub struct StringLiteral<'a> {
    pub line: usize,
    pub value: &'a str,
    /// The code before it since the literal or comment before, without the space at its end.
    pub after: &'a str,
}

/// The stretches of a text in order; together they are the text.
pub fn split_parts(text: &str) -> Vec<(SourcePart, Range<usize>)> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut before) = (0, 0, ' ');
    while let Some(here) = text[at..].chars().next() {
        if let Some((part, length)) = special_part(&text[at..], before) {
            if start < at {
                parts.push((SourcePart::Code, start..at));
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
        parts.push((SourcePart::Code, start..at));
    }
    parts
}

/// The text with every stretch that is not wanted blanked out; lines keep their numbers.
pub fn keep_parts(text: &str, wanted: &[SourcePart]) -> String {
    let mut out = String::with_capacity(text.len());
    for (part, range) in split_parts(text) {
        if wanted.contains(&part) {
            out.push_str(&text[range]);
        } else {
            out.extend(text[range].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
    }
    out
}

/// The code before the module of tests that a file ends with; one of which the file is elsewhere ends nothing.
pub fn product_code(text: &str) -> String {
    let mut code = keep_parts(text, &[SourcePart::Code]);
    let opens_module = |at: usize| {
        let below = code[at..].lines().nth(1).unwrap_or_default().trim_end();
        (at == 0 || code[..at].ends_with('\n')) && below.starts_with("mod ") && below.ends_with('{')
    };
    let tests = code.match_indices("#[cfg(test)]").map(|(at, _)| at).find(|at| opens_module(*at));
    code.truncate(tests.unwrap_or(code.len()));
    code
}

/// The string literals of a text, without their quotes and as written (escapes are left alone).
pub fn string_literals(text: &str) -> Vec<StringLiteral<'_>> {
    let mut literals = Vec::new();
    let mut after = "";
    for (part, range) in split_parts(text) {
        let stretch = &text[range.clone()];
        let inner = stretch.trim_start_matches(['b', 'c', 'r', '#']).trim_end_matches('#');
        if part == SourcePart::Literal && inner.starts_with('"') {
            let value = inner.trim_start_matches('"').trim_end_matches('"');
            literals.push(StringLiteral { line: line_of(text, range.start), value, after });
        }
        after = if part == SourcePart::Code { stretch.trim_end() } else { "" };
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
fn special_part(rest: &str, before: char) -> Option<(SourcePart, usize)> {
    let first = rest.chars().next()?;
    match first {
        '/' if rest.starts_with("//") => Some((SourcePart::Comment, rest.find('\n').unwrap_or(rest.len()))),
        '/' if rest.starts_with("/*") => Some((SourcePart::Comment, block_comment_len(rest))),
        '"' => Some((SourcePart::Literal, quoted_len(rest, '"'))),
        '\'' => character_len(rest).map(|length| (SourcePart::Literal, length)),
        'b' | 'c' | 'r' if !before.is_alphanumeric() && before != '_' => {
            prefixed_len(rest).map(|length| (SourcePart::Literal, length))
        }
        _ => None,
    }
}

/// The length of a block comment; they nest.
fn block_comment_len(rest: &str) -> usize {
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
fn quoted_len(rest: &str, quote: char) -> usize {
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
fn character_len(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    match chars.next()? {
        (_, '\\') => Some(quoted_len(rest, '\'')),
        _ => chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1),
    }
}

/// The length of a literal with a prefix: bytes, C strings and raw strings.
fn prefixed_len(rest: &str) -> Option<usize> {
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
        '"' => Some(prefix + quoted_len(body, '"')),
        '\'' => character_len(body).map(|length| prefix + length),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each stretch that is not code, in brackets: `(…)` a comment, `[…]` a literal.
    fn check_parts(text: &str, expect: &str) {
        let mark = |(part, range): (SourcePart, Range<usize>)| match part {
            SourcePart::Code => text[range].to_owned(),
            SourcePart::Comment => format!("({})", &text[range]),
            SourcePart::Literal => format!("[{}]", &text[range]),
        };
        let marked: String = split_parts(text).into_iter().map(mark).collect();
        assert_eq!(marked, expect);
    }

    #[test]
    fn comments_and_literals_are_told_apart() {
        check_parts("a // b \"c\"\nd", "a (// b \"c\")\nd");
        check_parts("a /* b /* c */ \" */ d", "a (/* b /* c */ \" */) d");
        check_parts(r#"f("// no", 'x')"#, r#"f(["// no"], ['x'])"#);
        check_parts(r#""a \" b" c"#, r#"["a \" b"] c"#);
        check_parts(r##"r#"a " b"# c"##, r##"[r#"a " b"#] c"##);
        check_parts(r#"b"a" bar"b" b'"' c"#, r#"[b"a"] bar["b"] [b'"'] c"#);
        check_parts(
            r"fn f<'a>(x: &'a str) { '\'' ; '\\' ; 'é' }",
            r"fn f<'a>(x: &'a str) { ['\''] ; ['\\'] ; ['é'] }",
        );
        check_parts("/// doc\n'open \"end", "(/// doc)\n'open [\"end]");
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(lines_with("now\nknow\nnow_or\nx.now()", "now"), [1, 4]);
        assert_eq!(lines_with("a.await\na.awaited\nb().await?", ".await"), [1, 3]);
    }

    #[test]
    fn product_code_ends_before_a_module_of_tests() {
        let check = |text: &str, expect: &str| assert_eq!(product_code(text), expect, "{text}");
        check("a // b\n#[cfg(test)]\nmod tests {\n}\n", "a     \n");
        check("#[cfg(test)]\nmod tests;\na\n", "#[cfg(test)]\nmod tests;\na\n");
        check("#[cfg(test)]\nfn f() {}\na\n#[cfg(test)]\nmod b {", "#[cfg(test)]\nfn f() {}\na\n");
    }

    #[test]
    fn literals_know_what_stands_before() {
        let found = string_literals("f(\"a\", r#\"b\"#)\n    => 'c' \"d\"");
        let told: Vec<_> =
            found.iter().map(|l| format!("{} {} after {}", l.line, l.value, l.after)).collect();
        assert_eq!(told, ["1 a after f(", "1 b after ,", "2 d after "]);
    }
}
