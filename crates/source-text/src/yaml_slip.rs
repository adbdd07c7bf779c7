//! Slips of YAML: where the one is that a parser only notices lines later. A parser says where it could not go on; what was
//! probably written wrong stands there or above. Each guess is tried: it is told only if the file, with that one slip
//! mended, is read to its end or at least further.

/// Guesses that are tried, from the line of the error upwards.
const TRIES_MAX: usize = 60;
/// Lines, from that of the error upwards, whose indentation may be the slip.
const INDENTED_LINES_MAX: usize = 3;
/// Indentations that are tried of such a line.
const INDENTS_MAX: usize = 3;

/// A slip, where it is and what was probably meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct YamlSlip {
    pub line: usize,
    pub column: usize,
    /// Says nothing that stands in the file, where secrets may be.
    pub what: String,
    pub help: String,
}

/// One guess: how a line would read without the slip, and what to say of it.
struct YamlGuess {
    mended: String,
    column: usize,
    what: String,
    help: String,
}

/// Finds the slip behind an error in this line. `fails` says in which line a text cannot be read, if it cannot.
pub fn find_slip(text: &str, line: usize, fails: &dyn Fn(&str) -> Option<usize>) -> Option<YamlSlip> {
    let lines: Vec<&str> = text.lines().collect();
    let above = lines.get(..line.min(lines.len())).unwrap_or_default();
    let guesses = above.iter().enumerate().rev().flat_map(|(number, written)| {
        let next = lines.get(number + 1).copied().unwrap_or_default();
        list_guesses(written, next).into_iter().map(move |guess| (number, guess))
    });
    // Another indentation makes another tree, so it comes after what is wrong within a line.
    let indents = above.iter().enumerate().rev().take(INDENTED_LINES_MAX).flat_map(|(number, written)| {
        let before = lines.get(..number).unwrap_or_default();
        guess_indents(written, before).into_iter().map(move |guess| (number, guess))
    });
    let mut best: Option<(usize, YamlSlip)> = None;
    for (number, guess) in guesses.take(TRIES_MAX).chain(indents) {
        let YamlGuess { mended, column, what, help } = guess;
        let mut tried: Vec<&str> = lines.clone();
        if let Some(place) = tried.get_mut(number) {
            *place = &mended;
        }
        let reached = fails(&format!("{}\n", tried.join("\n"))).unwrap_or(usize::MAX);
        let slip = YamlSlip { line: number + 1, column, what, help };
        if reached == usize::MAX {
            return Some(slip);
        }
        if reached > line && best.as_ref().is_none_or(|(best, _)| reached > *best) {
            best = Some((reached, slip));
        }
    }
    best.map(|(_, slip)| slip)
}

/// `key:value`, as it was probably meant.
pub fn missing_blank(text: &str) -> Option<String> {
    let (key, value) = text.split_once(':')?;
    let is_key = is_word(key.trim());
    let value_stands = value.starts_with(|c: char| !c.is_whitespace() && c != '/' && c != ':');
    (is_key && value_stands).then(|| format!("a space is missing after the colon: `{}: {value}`", key.trim()))
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// What may be wrong with a line, the likeliest first.
fn list_guesses(line: &str, next: &str) -> Vec<YamlGuess> {
    if is_empty_line(line) {
        return Vec::new();
    }
    let guesses = [guess_tab(line), guess_blank(line), guess_bracket(line), guess_colon(line, next)];
    let later = [guess_no_quotes(line), guess_dash(line)];
    guesses.into_iter().flatten().chain(guess_quote(line)).chain(later.into_iter().flatten()).collect()
}

/// Whether it says nothing.
fn is_empty_line(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn guess_tab(line: &str) -> Option<YamlGuess> {
    let indent = indent_of(line);
    let at = line.get(..indent)?.find('\t')?;
    let (before, after) = line.split_at_checked(indent)?;
    let what = "this is a tab".to_string();
    let help = "YAML is indented with spaces".to_string();
    Some(YamlGuess { mended: format!("{}{after}", before.replace('\t', "  ")), column: at + 1, what, help })
}

/// Every `key:value` outside of quotes: at the start of a line, or in braces.
fn guess_blank(line: &str) -> Option<YamlGuess> {
    let mut mended = String::with_capacity(line.len() + 2);
    let mut first: Option<(usize, String)> = None;
    let (mut quote, mut word) = (None, String::new());
    let mut chars = line.char_indices().peekable();
    let mut starts = true;
    while let Some((at, c)) = chars.next() {
        mended.push(c);
        match quote {
            Some(open) => {
                if c == open {
                    quote = None;
                }
                continue;
            }
            None if (c == '"' || c == '\'') && word.is_empty() => quote = Some(c),
            None => {}
        }
        match c {
            ':' if starts && is_word(&word) => {
                let value = chars.peek().map_or(' ', |(_, next)| *next);
                if !value.is_whitespace() && !matches!(value, '/' | ':' | ',' | '}' | ']') {
                    mended.push(' ');
                    first.get_or_insert((at, word.clone()));
                }
                (starts, word) = (false, String::new());
            }
            '{' | ',' | '[' => (starts, word) = (true, String::new()),
            '-' if word.is_empty() => {}
            c if c.is_whitespace() => {
                starts &= word.is_empty();
                word.clear();
            }
            c => word.push(c),
        }
    }
    let (at, key) = first?;
    let column = line.get(..at)?.chars().count() + 1;
    let value = line.get(at + 1..)?.split([',', '}', ' ']).next().unwrap_or_default();
    let what = "there is no space after this colon".to_string();
    Some(YamlGuess { mended, column, what, help: format!("write `{key}: {value}`") })
}

/// A bracket that is not closed in its line.
fn guess_bracket(line: &str) -> Option<YamlGuess> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') if line.get(..at).is_some_and(|before| before.ends_with(' ')) => break,
            (None, '[' | '{') => open.push((at, c)),
            (None, ']' | '}') => {
                open.pop();
            }
            (None, _) => {}
        }
    }
    let (at, _) = *open.first()?;
    let closing: String = open.iter().rev().map(|(_, c)| if *c == '[' { ']' } else { '}' }).collect();
    let what = "this bracket is not closed".to_string();
    let column = line.get(..at)?.chars().count() + 1;
    Some(YamlGuess {
        mended: format!("{line}{closing}"),
        column,
        what,
        help: format!("write `{closing}` where it ends"),
    })
}

/// A word where a key stands, without its colon.
fn guess_colon(line: &str, next: &str) -> Option<YamlGuess> {
    let written = line.trim_start();
    let indent = line.len() - written.len();
    let item = written.strip_prefix("- ").unwrap_or(written);
    let start = line.len() - item.len();
    let word = item.split_whitespace().next()?;
    if !is_word(word) {
        return None;
    }
    let rest = item.get(word.len()..)?.trim();
    let deeper = next.len() - next.trim_start().len() > indent;
    if rest.is_empty() && !deeper {
        return None;
    }
    let column = line.get(..start)?.chars().count() + 1;
    let mended = format!("{}{word}: {rest}", line.get(..start)?);
    let what = "there is no colon after this word".to_string();
    Some(YamlGuess {
        mended,
        column,
        what,
        help: format!("write `{}`", format!("{word}: {rest}").trim_end()),
    })
}

/// A quote that is not closed: at the end of the line it would be, or before what cannot be of the text.
fn guess_quote(line: &str) -> Vec<YamlGuess> {
    let mut open = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match open {
            Some((_, mark)) if c == mark => open = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && !before.is_alphanumeric() => open = Some((at, c)),
            None => {}
        }
        before = c;
    }
    let Some((at, mark)) = open else { return Vec::new() };
    let ends =
        line.get(at + 1..).unwrap_or_default().match_indices([',', '}', ']']).map(|(end, _)| at + 1 + end);
    let column = line.get(..at).unwrap_or_default().chars().count() + 1;
    let guess = |end: usize| {
        let (before, after) = line.split_at_checked(end)?;
        let what = "this quote is not closed".to_string();
        Some(YamlGuess {
            mended: format!("{before}{mark}{after}"),
            column,
            what,
            help: format!("write `{mark}` where it ends"),
        })
    };
    std::iter::once(line.len()).chain(ends).filter_map(guess).collect()
}

/// A key of a map that begins like an item of a list.
fn guess_dash(line: &str) -> Option<YamlGuess> {
    let item = line.trim_start().strip_prefix("- ")?.trim_start();
    let indent = indent_of(line);
    let key = item.split_once(':').map(|(key, _)| key).filter(|key| is_word(key))?;
    Some(YamlGuess {
        mended: format!("{}{item}", " ".repeat(indent)),
        column: indent + 1,
        what: "a map has no `-` before its keys".to_string(),
        help: format!("write `{key}:` without it"),
    })
}

/// A text that YAML takes for something else: it begins like a map or an alias, or has a colon in it.
fn guess_no_quotes(line: &str) -> Option<YamlGuess> {
    let item = line.trim_start();
    let item = item.strip_prefix("- ").unwrap_or(item).trim_start();
    let value = match item.split_once(": ") {
        Some((key, value)) if is_word(key) => value.trim_start(),
        _ => item,
    };
    let start = line.len() - value.len();
    let text = value.split(" #").next()?.trim_end();
    let begins = ["{{", "{%", "*", "&", "@", "%", "!", "`"].iter().any(|mark| text.starts_with(mark));
    let has_colon = !text.starts_with(['"', '\'', '[', '{', '|', '>']) && text.contains(": ");
    // A whole line would be a text of several lines.
    if !begins && (value.len() == item.len() || !has_colon) {
        return None;
    }
    let quoted = if text.contains('\'') && !text.contains(['"', '\\']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', "''"))
    };
    Some(YamlGuess {
        mended: format!("{}{quoted}{}", line.get(..start)?, value.get(text.len()..)?),
        column: line.get(..start)?.chars().count() + 1,
        what: "this text needs quotes".to_string(),
        help: format!("write `{quoted}`"),
    })
}

/// A line that is indented as no line above it, or not as the one it belongs beside.
fn guess_indents(line: &str, before: &[&str]) -> Vec<YamlGuess> {
    let indent = indent_of(line);
    if is_empty_line(line) || line.get(..indent).is_none_or(|blank| blank.contains('\t')) {
        return Vec::new();
    }
    let mut indents = Vec::new();
    for other in before.iter().rev().filter(|other| !is_empty_line(other)).map(|other| indent_of(other)) {
        if other != indent && !indents.contains(&other) {
            indents.push(other);
        }
    }
    let guess = |by: usize| YamlGuess {
        mended: format!("{}{}", " ".repeat(by), line.trim_start()),
        column: indent + 1,
        what: "the indentation of this line does not fit the lines above it".to_string(),
        help: match by {
            0 => "write it at the beginning of the line".to_string(),
            1 => "indent it by 1 space".to_string(),
            by => format!("indent it by {by} spaces"),
        },
    };
    indents.into_iter().take(INDENTS_MAX).map(guess).collect()
}
