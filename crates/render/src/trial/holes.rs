//! Holes: a printed value that was empty, judged by what stands around it. That it was empty is known and not guessed, for
//! every value is marked; and a sentence that an author built around it is told from one that does without it by whether
//! the text itself, and no other value, goes up to the hole.

use crate::marks::MarkedPiece;

/// A value that leaves a hole in what is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentenceHole {
    /// The expression, by its number in the text.
    pub value: usize,
    /// What is read, with [`GAP`] where the value should be.
    pub sentence: String,
    pub sort: HoleSort,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HoleSort {
    /// Nothing stands where something was meant.
    Empty,
    /// A word that is no word of the reader: `none`, a list in brackets.
    Raw,
    /// One of something, said as of many.
    Plural,
}

/// How a hole is shown.
pub const GAP: &str = "___";
/// Characters that are shown before and behind a hole.
const SHOWN: usize = 40;

/// What belongs to the value before it and is lost without it.
const CLOSES: [char; 17] =
    [',', '.', ';', ':', '!', '?', ')', ']', '}', '”', '»', '%', '€', '°', '\'', '’', '…'];
const SEPARATES: [char; 11] = [',', ';', ':', '·', '|', '–', '—', '-', '/', '&', '+'];
const ENDS: [char; 6] = ['.', '!', '?', '…', '。', '！'];
const PAIRS: [(char, char); 10] = [
    ('(', ')'),
    ('[', ']'),
    ('“', '”'),
    ('„', '“'),
    ('"', '"'),
    ('\'', '\''),
    ('‘', '’'),
    ('«', '»'),
    ('»', '«'),
    ('‹', '›'),
];
/// What goes right in front of a value: a sign of a currency, of a number, of a name.
const LEADS: [char; 6] = ['@', '#', '$', '€', '£', '№'];
/// Words that no sentence ends with, in languages that many mails are in.
const LINKS: [&str; 62] = [
    "a", "an", "the", "and", "or", "by", "with", "for", "from", "of", "to", "at", "in", "on", "near", "is",
    "are", "was", "were", "than", "as", "until", "since", "between", "about", "you", "von", "vom", "mit",
    "für", "bei", "aus", "der", "die", "das", "den", "dem", "und", "oder", "ist", "sind", "war", "ein",
    "eine", "im", "am", "zum", "zur", "um", "ab", "bis", "de", "du", "par", "avec", "pour", "et", "ou",
    "con", "por", "para", "y",
];

/// Words that end like many and are one.
const SINGULARS: [&str; 6] = ["news", "series", "species", "means", "does", "plus"];

/// A character of what is read, or a value that was empty.
#[derive(Clone, Copy, PartialEq, Debug)]
enum BlockUnit {
    /// Whether its author wrote it.
    Char(char, bool),
    Gap(usize),
}

/// All holes of one block of text: a line, a paragraph, a cell.
pub fn find_holes(block: &[MarkedPiece]) -> Vec<SentenceHole> {
    let units = split_units(block);
    let gaps = units.iter().enumerate().filter_map(|(at, unit)| match unit {
        BlockUnit::Gap(value) => Some((at, *value)),
        BlockUnit::Char(..) => None,
    });
    let empty = gaps.filter(|(at, _)| is_hole(&units, *at));
    let mut found: Vec<SentenceHole> = empty
        .map(|(at, value)| SentenceHole { value, sentence: words_around(&units, at), sort: HoleSort::Empty })
        .collect();
    found.extend(find_raw_values(block));
    found
}

/// Values that look like raw data in a sentence.
fn find_raw_values(block: &[MarkedPiece]) -> impl Iterator<Item = SentenceHole> {
    block.iter().filter_map(move |piece| {
        let MarkedPiece::Raw(value, text) = piece else { return None };
        let sentence = text.chars().take(2 * SHOWN).collect();
        Some(SentenceHole { value: *value, sentence, sort: HoleSort::Raw })
    })
}

/// Values that are one, with a word behind them that means many. Which word does is known only where the
/// value is called by it, as in `{{ subject.rooms }} rooms`, or is a count; `several` where a message never has one thing alone.
pub fn find_plurals(
    block: &[MarkedPiece],
    written: impl Fn(usize) -> String,
    several: bool,
) -> Vec<SentenceHole> {
    let is_many = |value: usize, word: &str| {
        let expression = written(value);
        let path = expression.split('|').next().unwrap_or_default().trim();
        let last = path.rsplit('.').next().unwrap_or_default();
        let is_count = path == "count" || last == "more" || expression.ends_with("| length");
        let looks_many = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        let is_one = SINGULARS.contains(&word.to_lowercase().as_str()) || (several && last != "more");
        (is_count && looks_many && !is_one) || (word.eq_ignore_ascii_case(last) && word.ends_with('s'))
    };
    let mut found = Vec::new();
    for pair in block.windows(2) {
        let [MarkedPiece::Value(value, one), MarkedPiece::Literal(after)] = pair else { continue };
        let word = after.strip_prefix([' ', '\u{a0}']).unwrap_or_default();
        let word = word.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if one.trim() == "1" && is_many(*value, word) {
            found.push(SentenceHole { value: *value, sentence: format!("1 {word}"), sort: HoleSort::Plural });
        }
    }
    found
}

fn split_units(block: &[MarkedPiece]) -> Vec<BlockUnit> {
    let mut units = Vec::new();
    for piece in block {
        match piece {
            MarkedPiece::Literal(text) => units.extend(text.chars().map(|c| BlockUnit::Char(c, true))),
            MarkedPiece::Value(value, text) if text.is_empty() => units.push(BlockUnit::Gap(*value)),
            MarkedPiece::Value(_, text) | MarkedPiece::Raw(_, text) => {
                units.extend(text.chars().map(|c| BlockUnit::Char(c, false)));
            }
        }
    }
    units
}

/// What stands on one side of a hole.
#[derive(Clone, Copy, Debug, Default)]
struct HoleSide {
    /// Whether a blank is between.
    blank: bool,
    /// The next character that is none, and whether its author wrote it.
    next: Option<(char, bool)>,
}

fn read_side(units: impl Iterator<Item = BlockUnit>) -> HoleSide {
    let mut side = HoleSide::default();
    for unit in units {
        match unit {
            BlockUnit::Char(c, _) if c.is_whitespace() => side.blank = true,
            BlockUnit::Char(c, written) => {
                side.next = Some((c, written));
                break;
            }
            BlockUnit::Gap(_) => {}
        }
    }
    side
}

fn is_hole(units: &[BlockUnit], at: usize) -> bool {
    let chars = || {
        units.iter().filter_map(|unit| match unit {
            BlockUnit::Char(c, _) => Some(*c),
            BlockUnit::Gap(_) => None,
        })
    };
    if !chars().any(char::is_alphanumeric) {
        // A line of nothing is no line; one of signs alone is a hole.
        return chars().any(|c| !c.is_whitespace());
    }
    let (before, after) = (units.get(..at).unwrap_or_default(), units.get(at + 1..).unwrap_or_default());
    let (left, right) = (read_side(before.iter().rev().copied()), read_side(after.iter().copied()));
    let is_in = |side: HoleSide, set: &[char]| side.next.is_some_and(|(c, _)| set.contains(&c));
    let opens = PAIRS.map(|(open, _)| open);
    let is_open = !left.blank && is_in(left, &opens[..4]);
    let starts = left.next.is_none() || is_bullet(before) || is_open;
    let begins = starts || (left.blank && is_in(left, &ENDS));
    is_enclosed(left, right)
        || (!right.blank && (left.blank || starts) && is_in(right, &CLOSES) && right.next.is_some())
        || (begins && right.blank && (is_in(right, &SEPARATES) || is_written(right, char::is_lowercase)))
        || (!left.blank && is_in(left, &LEADS))
        || ends_open(before, left, right)
        || (!begins && left.blank && right.blank && is_between_words(left, right))
}

/// `“”`, `()`.
fn is_enclosed(left: HoleSide, right: HoleSide) -> bool {
    match (left.next, right.next) {
        (Some((open, _)), Some((close, _))) if !left.blank && !right.blank => PAIRS.contains(&(open, close)),
        _ => false,
    }
}

/// `2 rooms for  EUR`: a word that its author wrote goes up to the hole.
fn is_between_words(left: HoleSide, right: HoleSide) -> bool {
    right.next.is_some() && (is_written(left, char::is_alphanumeric) || is_written(right, char::is_lowercase))
}

fn is_written(side: HoleSide, is: impl Fn(char) -> bool) -> bool {
    side.next.is_some_and(|(c, written)| written && is(c))
}

/// Nothing comes any more, and what stands there leads on: `by`, `with`, a colon.
fn ends_open(before: &[BlockUnit], left: HoleSide, right: HoleSide) -> bool {
    let is_over = match right.next {
        None => true,
        Some((c, _)) => SEPARATES.contains(&c) || CLOSES.contains(&c),
    };
    let Some((last, written)) = left.next.filter(|_| is_over) else { return false };
    if SEPARATES.contains(&last) {
        return written && !is_bullet(before);
    }
    written && left.blank && LINKS.contains(&last_word(before).as_str())
}

fn last_word(before: &[BlockUnit]) -> String {
    let chars = before.iter().rev().filter_map(|unit| match unit {
        BlockUnit::Char(c, _) => Some(*c),
        BlockUnit::Gap(_) => None,
    });
    let word: String = chars.skip_while(|c| c.is_whitespace()).take_while(|c| c.is_alphanumeric()).collect();
    word.chars().rev().flat_map(char::to_lowercase).collect()
}

/// Whether nothing but the sign of a list's item stands there.
fn is_bullet(before: &[BlockUnit]) -> bool {
    let mut chars = before.iter().filter_map(|unit| match unit {
        BlockUnit::Char(c, _) if !c.is_whitespace() => Some(*c),
        _ => None,
    });
    matches!(chars.next(), Some('-' | '*' | '•' | '–' | '·')) && chars.next().is_none()
}

/// The words around a hole, with single blanks.
fn words_around(units: &[BlockUnit], at: usize) -> String {
    let from = at.saturating_sub(SHOWN);
    let mut text = String::new();
    for (place, unit) in units.iter().enumerate().skip(from).take(2 * SHOWN) {
        match unit {
            BlockUnit::Gap(_) if place == at => text.push_str(GAP),
            BlockUnit::Gap(_) => {}
            BlockUnit::Char(c, _) if c.is_whitespace() => {
                if !text.ends_with(' ') {
                    text.push(' ');
                }
            }
            BlockUnit::Char(c, _) => text.push(*c),
        }
    }
    let more = if from + 2 * SHOWN < units.len() { "…" } else { "" };
    format!("{}{}{more}", if from > 0 { "…" } else { "" }, text.trim())
}
