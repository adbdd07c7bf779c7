//! What is missing in a book: messages and values that the same book in another language has, and plurals.

use std::collections::BTreeSet;

use fluent_syntax::ast::{Expression, Variant, VariantKey};

use crate::{
    MessageBook, MessageProblem, ReaderLanguage,
    message_file::{ArgumentChoice, is_plural_key, key_names, variable_name, visit_expressions},
};

/// Whole numbers by which plurals are sought; what is counted in a message is seldom more.
const COUNTED_MAX: u16 = 1_000;
/// Numbers beyond those for which some languages have a plural of its own.
const RARE: [f64; 2] = [1_000_000.0, 1.5];

/// Values by which a plural is chosen, or which are numbers where a text says the message; with the message's name.
pub type CountedValues = BTreeSet<(String, String)>;

/// How a message of one language differs from that of another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DifferenceSort {
    Missing,
    /// Only this language has it.
    Surplus,
    /// It takes a value that the other does not.
    Value(String),
    /// It leaves out a value that the other writes.
    NoValue(String),
}

/// One difference, at a byte of the file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageDifference {
    pub name: String,
    pub offset: usize,
    pub sort: DifferenceSort,
}

/// In what the messages of `book` differ from those of `first`. A value by which `first` chooses alone, or which it writes
/// in some variants without a star alone, may be left out; and to choose by one is to have it.
pub fn compare_messages(first: &MessageBook, book: &MessageBook) -> Vec<MessageDifference> {
    let mut found = Vec::new();
    let mut add = |name: &str, sort: DifferenceSort| {
        let offset = book.offset_of(name).unwrap_or_default();
        found.push(MessageDifference { name: name.to_owned(), offset, sort });
    };
    for name in first.names() {
        if !book.has(name) {
            add(name, DifferenceSort::Missing);
            continue;
        }
        let (wanted, own) = (first.arguments(name), book.arguments(name));
        for value in own.keys().filter(|value| !wanted.contains_key(*value)) {
            add(name, DifferenceSort::Value(value.clone()));
        }
        for (value, _) in wanted.into_iter().filter(|(value, of)| of.is_written && !own.contains_key(value)) {
            add(name, DifferenceSort::NoValue(value));
        }
    }
    book.names().filter(|name| !first.has(name)).for_each(|name| add(name, DifferenceSort::Surplus));
    found
}

/// What the messages of a book choose plurals by.
pub fn find_plural_choices(book: &MessageBook) -> CountedValues {
    let of = |name: &str| {
        let arguments = book.arguments(name).into_iter();
        let chosen = arguments.filter(|(_, of)| of.choice == ArgumentChoice::Plural);
        chosen.map(|(value, _)| (name.to_owned(), value)).collect::<Vec<_>>()
    };
    book.names().flat_map(of).collect()
}

/// The messages that choose by a number and lack a plural of their language, or have one that it never takes. A plural is
/// lacking if whole numbers take it up to a thousand, or with `rare` any. What is `counted` is a number, whatever the
/// message has for it.
pub fn find_plural_slips(
    book: &MessageBook,
    language: &ReaderLanguage,
    counted: &CountedValues,
    rare: bool,
) -> Vec<MessageProblem> {
    let mut problems = Vec::new();
    for (name, message) in &book.messages {
        visit_expressions(&message.text, &mut |expression| {
            let Expression::Select { selector, variants } = expression else { return };
            let value = variable_name(selector).unwrap_or_default();
            let is_counted = counted.contains(&(name.clone(), value.to_owned()));
            if !is_counted && !variants.iter().any(|variant| is_plural_key(&variant.key)) {
                return;
            }
            let plurals = language.plural_names();
            let strange = find_strange_keys(variants, &plurals);
            let missing = missing_plurals(variants, language, rare);
            // One form for all numbers is meant.
            if strange.is_empty() && (missing.is_empty() || variants.len() == 1) {
                return;
            }
            let missing: Vec<String> = missing.iter().map(|plural| format!("`{plural}`")).collect();
            let strange: Vec<String> = strange.iter().map(|key| format!("`[{key}]`")).collect();
            let (missing, strange_keys) = (missing.join(", "), strange.join(", "));
            let what = match (strange.is_empty(), missing.is_empty()) {
                (true, _) => format!("`{name}` has no {missing} for `${value}`"),
                (_, true) => format!("`{name}` never takes {strange_keys} for `${value}`"),
                _ => format!("`{name}` never takes {strange_keys} for `${value}`, and has no {missing}"),
            };
            let itself = if strange_keys.contains("zero") { "; the number 0 itself is `[0]`" } else { "" };
            let help = format!("the plurals of `{}` are {}{itself}", language.tag(), plurals.join(", "));
            problems.push(MessageProblem { offset: message.offset, what, help: Some(help) });
        });
    }
    problems
}

/// The names of variants that no number of the language has. That of the variant with the star does no harm.
fn find_strange_keys<'v>(variants: &'v [Variant<String>], plurals: &[&str]) -> Vec<&'v str> {
    let named = variants.iter().filter(|variant| !variant.default).filter_map(|variant| match &variant.key {
        VariantKey::Identifier { name } => Some(name.as_str()),
        VariantKey::NumberLiteral { .. } => None,
    });
    named.filter(|name| !plurals.contains(name)).collect()
}

fn missing_plurals(
    variants: &[Variant<String>],
    language: &ReaderLanguage,
    rare: bool,
) -> BTreeSet<&'static str> {
    let keys: Vec<&VariantKey<String>> = variants.iter().map(|variant| &variant.key).collect();
    let names = key_names(&keys);
    let counted = (0..=COUNTED_MAX).map(f64::from).chain(RARE.into_iter().filter(|_| rare));
    let unnamed = counted.filter(|number| !names.contains(&number.to_string()));
    unnamed.map(|number| language.plural_of(number)).filter(|plural| !names.contains(*plural)).collect()
}
