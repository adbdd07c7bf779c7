//! Marks around every value that a text prints, by which the checks find which expression printed what, and which was
//! empty. No mail has them.

use minijinja::{Value as Scripted, value::ValueKind};

use crate::layout::TemplateTag;

/// Begins a value: then come its number, [`MIDDLE`], what it printed, and [`END`]. Unicode keeps these four for us.
const OPEN: char = '\u{FDD1}';
/// The same of what is not meant to be printed: `none`, a whole list.
const OPEN_RAW: char = '\u{FDD4}';
const MIDDLE: char = '\u{FDD2}';
const END: char = '\u{FDD3}';

/// Put behind every expression; no author writes it.
pub const PRINTED: &str = "_printed";

/// An expression whose value a text prints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedValue {
    /// Its byte in the text.
    pub at: usize,
    /// As it is written.
    pub text: String,
}

/// A piece of what was made of a marked text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkedPiece {
    /// Written so in the text.
    Literal(String),
    /// What the expression of this number printed, which may be nothing.
    Value(usize, String),
    /// It printed what nobody wants to read.
    Raw(usize, String),
}

/// A text in which every printed expression marks its value, and these expressions by their numbers.
pub fn mark_text(text: &str) -> (String, Vec<PrintedValue>) {
    let mut out = String::with_capacity(text.len() * 2);
    let mut printed = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(next) = rest.find('{').map(|next| at + next) else {
            out.push_str(rest);
            break;
        };
        out.push_str(text.get(at..next).unwrap_or_default());
        let rest = text.get(next..).unwrap_or_default();
        let tag = TemplateTag::parse_at(rest).map(|tag| tag.text).filter(|tag| !tag.is_empty());
        match tag {
            Some(tag) if tag.starts_with("{{") => {
                mark_values(tag, next, &mut out, &mut printed);
                at = next + tag.len();
            }
            Some(tag) => {
                out.push_str(tag);
                at = next + tag.len();
            }
            None => {
                out.push('{');
                at = next + 1;
            }
        }
    }
    (out, printed)
}

/// Marks the value of one tag; of texts that are put together by `~`, each by itself.
fn mark_values(tag: &str, at: usize, out: &mut String, printed: &mut Vec<PrintedValue>) {
    let dash = |c: char| matches!(c, '-' | '+');
    let start = 2 + usize::from(tag.get(2..).is_some_and(|rest| rest.starts_with(dash)));
    let end = tag.len() - 2;
    let end = end - usize::from(end > start && tag.get(..end).is_some_and(|rest| rest.ends_with(dash)));
    let inner = tag.get(start..end).unwrap_or_default();
    out.push_str(tag.get(..start).unwrap_or_default());
    for (number, (from, part)) in split_operands(inner).into_iter().enumerate() {
        if number > 0 {
            out.push_str(" ~ ");
        }
        let text = part.trim();
        let is_text = text.starts_with(['"', '\'']) && count_texts(text) == 1;
        if is_text {
            out.push_str(part);
            continue;
        }
        out.push_str(&format!("({part}) | {PRINTED}({})", printed.len()));
        let blanks = part.len() - part.trim_start().len();
        printed.push(PrintedValue { at: at + start + from + blanks, text: text.to_string() });
    }
    // One alone needs no brackets, and several bind as they were written.
    out.push_str(tag.get(end..).unwrap_or_default());
}

/// The operands of an expression that does nothing but put texts together; else the whole of it.
fn split_operands(inner: &str) -> Vec<(usize, &str)> {
    let whole = vec![(0, inner)];
    let (mut parts, mut from, mut depth, mut quote, mut escaped) = (Vec::new(), 0, 0_usize, None, false);
    let mut bare = String::new();
    for (at, c) in inner.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                '~' if depth == 0 => {
                    parts.push((from, inner.get(from..at).unwrap_or_default()));
                    from = at + 1;
                }
                _ if depth == 0 => bare.push(c),
                _ => {}
            },
        }
    }
    parts.push((from, inner.get(from..).unwrap_or_default()));
    let simple = |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '_' | '.' | '|');
    let words = ["if", "else", "and", "or", "not", "in", "is"];
    let odd = !bare.chars().all(simple) || bare.split_whitespace().any(|word| words.contains(&word));
    if odd || parts.len() == 1 || parts.iter().any(|(_, part)| part.trim().is_empty()) {
        whole
    } else {
        parts
    }
}

/// How many texts in quotes an operand holds; one that is nothing else is written so by its author.
fn count_texts(operand: &str) -> usize {
    let quote = operand.chars().next().unwrap_or('"');
    let inner = operand.get(1..operand.len().saturating_sub(1)).unwrap_or_default();
    if operand.ends_with(quote) && !inner.contains(quote) { 1 } else { 2 }
}

/// Marks a value, as a filter.
pub fn mark_value(value: &Scripted, number: usize) -> String {
    let text = value.to_string();
    let is_list = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    let raw = value.is_none() || is_list;
    let open = if raw { OPEN_RAW } else { OPEN };
    format!("{open}{number}{MIDDLE}{text}{END}")
}

/// What was printed, without marks.
pub fn strip_marks(text: &str) -> String {
    if !text.contains(MIDDLE) {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len());
    let mut in_mark = false;
    for c in text.chars() {
        match c {
            OPEN | OPEN_RAW => in_mark = true,
            MIDDLE => in_mark = false,
            END => {}
            c if !in_mark => out.push(c),
            _ => {}
        }
    }
    out
}

/// The pieces of a marked text, in their order. A value within a value stands for itself.
pub fn split_pieces(text: &str) -> Vec<MarkedPiece> {
    let mut pieces = Vec::new();
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut piece = String::new();
    let mut number: Option<(String, bool)> = None;
    let mut filled = false;
    for c in text.chars() {
        match (c, &mut number) {
            (OPEN | OPEN_RAW, _) => {
                flush_piece(&mut piece, open.last().copied(), &mut pieces);
                number = Some((String::new(), c == OPEN_RAW));
            }
            (MIDDLE, Some((digits, raw))) => {
                open.push((digits.parse().unwrap_or(usize::MAX), *raw));
                number = None;
                filled = false;
            }
            (END, _) => {
                let own = open.pop();
                if piece.is_empty() && !filled {
                    pieces.extend(own.map(|(number, _)| MarkedPiece::Value(number, String::new())));
                }
                flush_piece(&mut piece, own, &mut pieces);
                filled = true;
            }
            (c, Some((digits, _))) => digits.push(c),
            (c, None) => piece.push(c),
        }
    }
    flush_piece(&mut piece, None, &mut pieces);
    pieces
}

fn flush_piece(piece: &mut String, of: Option<(usize, bool)>, pieces: &mut Vec<MarkedPiece>) {
    if piece.is_empty() {
        return;
    }
    let text = std::mem::take(piece);
    pieces.push(match of {
        None => MarkedPiece::Literal(text),
        Some((number, false)) => MarkedPiece::Value(number, text),
        Some((number, true)) => MarkedPiece::Raw(number, text),
    });
}
