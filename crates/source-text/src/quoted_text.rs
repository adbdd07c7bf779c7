//! Somebody else's text in a sentence of ours.

/// Characters of it that a sentence quotes.
const QUOTED_CHARS_MAX: usize = 60;

/// It, short and printable.
pub fn quote_text(text: &str) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(QUOTED_CHARS_MAX).map(printable).collect()
}
