//! Makes texts from elsewhere harmless: they may hold anything that fits in a string.

use languages::{ISOLATE_CLOSE, ISOLATE_OPEN, ends_line, turns_direction};

use crate::limits::TEXT_WIDTH;

/// A value, without what could move a cursor, end a line or turn the direction of what follows.
pub fn clean_value(text: &str) -> String {
    // Nearly every text is harmless as it is.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars().filter(|c| !turns_direction(*c)).map(|c| if ends_line(c) { ' ' } else { c }).collect()
}

/// One line with single blanks, of at most so many characters.
pub fn clean_line(text: &str, most: usize) -> String {
    let clean = clean_value(text);
    let words: Vec<&str> = clean.split_whitespace().collect();
    shorten_text(&words.join(" "), most)
}

/// A sentence as one line, of at most so many characters. What isolates a value in it stays, and ends in it.
pub fn clean_sentence(text: &str, most: usize) -> String {
    if !has_isolates(text) {
        return clean_line(text, most);
    }
    let kept: String = text.chars().filter(|c| ISOLATES.contains(c) || !turns_direction(*c)).collect();
    let kept = kept.replace(ends_line, " ");
    let words: Vec<&str> = kept.split_whitespace().collect();
    balance_isolates(&shorten_text(&words.join(" "), most))
}

/// Whether a text has isolates. Values from elsewhere have none, so it was made by the house.
pub fn has_isolates(text: &str) -> bool {
    text.contains(ISOLATES)
}

/// Each isolate with its end, and no end without its beginning: a text that was cut may lack some.
pub fn balance_isolates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            ISOLATE_OPEN => open += 1,
            ISOLATE_CLOSE if open == 0 => continue,
            ISOLATE_CLOSE => open -= 1,
            _ => {}
        }
        out.push(c);
    }
    out.extend(std::iter::repeat_n(ISOLATE_CLOSE, open));
    out
}

const ISOLATES: [char; 2] = [ISOLATE_OPEN, ISOLATE_CLOSE];

/// At most so many characters, cut between words where there is one near.
pub fn shorten_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    // Not far back, or a long word would leave nothing.
    let cut = kept.rfind(' ').filter(|at| *at > kept.len() / 2).unwrap_or(kept.len());
    let kept = kept[..cut].trim_end_matches(|c: char| {
        c.is_whitespace() || joins_neighbour(c) || matches!(c, ',' | ';' | ':' | '.')
    });
    format!("{kept}…")
}

/// Wraps a text part: long lines at blanks, no blanks at ends, no more than one empty line together.
pub fn wrap_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = true;
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() {
            if !empty {
                out.push('\n');
            }
            empty = true;
            continue;
        }
        empty = false;
        wrap_line(line, &mut out);
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push('\n');
    out
}

/// What follows is as deep as the line began; after a bullet, as deep as its text.
fn wrap_line(line: &str, out: &mut String) {
    let blanks = line.len() - line.trim_start().len();
    let bullet = if ["- ", "* "].iter().any(|bullet| line[blanks..].starts_with(bullet)) { 2 } else { 0 };
    out.push_str(&line[..blanks]);
    let mut width = blanks;
    let mut first = true;
    for word in line.split_whitespace() {
        let len = word.chars().count();
        if !first && width + 1 + len > TEXT_WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', blanks + bullet));
            width = blanks + bullet;
        } else if !first {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += len;
        first = false;
    }
    out.push('\n');
}

/// Belongs to its neighbours, so that nothing ends with it.
fn joins_neighbour(c: char) -> bool {
    matches!(c, '\u{200D}' | '\u{FE0F}')
}
