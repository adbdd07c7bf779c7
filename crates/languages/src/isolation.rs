//! Values in sentences: whatever upstream wrote there, it neither ends a line nor turns the direction of what stands
//! beside it. A value of the other direction is put between U+2068 and U+2069, as Unicode has it for this.

use std::borrow::Cow;

use crate::direction::TextDirection;

/// Characters of one value; a sentence is shorter anyway.
const VALUE_CHARS_MAX: usize = 1_000;

/// What stands around a value of the other direction.
pub const ISOLATE_OPEN: char = '\u{2068}';
pub const ISOLATE_CLOSE: char = '\u{2069}';

/// A value as one line without a character that acts on others, and between isolates if a sentence of this direction
/// needs them.
pub fn isolate_value(text: &str, direction: TextDirection) -> String {
    let clean = clean_value(text);
    if has_other_direction(&clean, direction) {
        format!("{ISOLATE_OPEN}{clean}{ISOLATE_CLOSE}")
    } else {
        clean.into_owned()
    }
}

/// The same text without isolates: for lines that are shown by who may draw them as boxes.
pub fn strip_isolates(text: &str) -> Cow<'_, str> {
    if text.contains([ISOLATE_OPEN, ISOLATE_CLOSE]) {
        Cow::Owned(text.replace([ISOLATE_OPEN, ISOLATE_CLOSE], ""))
    } else {
        Cow::Borrowed(text)
    }
}

fn clean_value(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !ends_line(c) && !turns_direction(c);
    if text.chars().all(is_plain) && text.len() <= VALUE_CHARS_MAX {
        return Cow::Borrowed(text);
    }
    let clean = text.chars().filter(|c| !turns_direction(*c)).map(|c| if is_plain(c) { c } else { ' ' });
    let mut clean: String = clean.take(VALUE_CHARS_MAX + 1).collect();
    if let Some((at, _)) = clean.char_indices().nth(VALUE_CHARS_MAX) {
        clean.truncate(at);
        clean.push('…');
    }
    Cow::Owned(clean)
}

/// Ends a line, in some reader or other, or does worse.
pub fn ends_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Overrides, embeddings and isolates: unclosed, they turn what comes after. The marks U+200E and U+200F turn nothing but
/// themselves.
pub fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether a sentence of this direction could be shown in another order by what the value holds. In a sentence from
/// right to left that is everything with a letter or a digit of the other scripts, since digits move too.
fn has_other_direction(text: &str, direction: TextDirection) -> bool {
    match direction {
        TextDirection::LeftToRight => text.chars().any(is_right_to_left),
        TextDirection::RightToLeft => text.chars().any(|c| c.is_alphanumeric() && !is_right_to_left(c)),
    }
}

/// Letters of Hebrew, Arabic and the other scripts from right to left, by their blocks.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08FF}' | '\u{200F}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}
