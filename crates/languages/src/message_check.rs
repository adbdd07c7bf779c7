//! What is missing in a book: messages and values that the same book in another language has, and plurals.

use std::collections::BTreeSet;

use fluent_syntax::ast::{Expression, Variant, VariantKey};

use crate::{
    MessageBook, MessageProblem, ReaderLanguage,
    message_file::{is_plural_key, key_names, variable_name, visit_expressions},
};

/// Whole numbers by which plurals are sought; what is counted in a message is seldom more.
const COUNTED_MAX: u16 = 1_000;
/// Numbers beyond those for which some languages have a plural of its own.
const RARE: [f64; 2] = [1_000_000.0, 1.5];

/// How a message of one language differs from that of another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DifferenceSort {
    Missing,
    /// Only this language has it.
    Surplus,
    /// It takes a value that the other does not.
    Value(String),
}

/// One difference, at a byte of the file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageDifference {
    pub name: String,
    pub offset: usize,
    pub sort: DifferenceSort,
}

/// In what the messages of `book` differ from those of `first`. Values that it does not take are none: not every language
/// needs them.
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
        let wanted = first.arguments(name);
        for value in book.arguments(name).into_keys().filter(|value| !wanted.contains_key(value)) {
            add(name, DifferenceSort::Value(value));
        }
    }
    book.names().filter(|name| !first.has(name)).for_each(|name| add(name, DifferenceSort::Surplus));
    found
}

/// The messages that choose by a number and lack a plural of their language: one that whole numbers take up to a thousand,
/// or with `rare` any.
pub fn find_plural_gaps(book: &MessageBook, language: &ReaderLanguage, rare: bool) -> Vec<MessageProblem> {
    let mut problems = Vec::new();
    for (name, message) in &book.messages {
        visit_expressions(&message.text, &mut |expression| {
            let Expression::Select { selector, variants } = expression else { return };
            let missing = missing_plurals(variants, language, rare);
            if missing.is_empty() {
                return;
            }
            let value = variable_name(selector).unwrap_or_default();
            let missing: Vec<String> = missing.iter().map(|plural| format!("`{plural}`")).collect();
            let what = format!("`{name}` has no {} for `${value}`", missing.join(", "));
            let plurals = language.plural_names().join(", ");
            let help = Some(format!("the plurals of `{}` are {plurals}", language.tag()));
            problems.push(MessageProblem { offset: message.offset, what, help });
        });
    }
    problems
}

fn missing_plurals(
    variants: &[Variant<String>],
    language: &ReaderLanguage,
    rare: bool,
) -> BTreeSet<&'static str> {
    let keys: Vec<&VariantKey<String>> = variants.iter().map(|variant| &variant.key).collect();
    if !keys.iter().any(|key| is_plural_key(key)) {
        return BTreeSet::new();
    }
    let names = key_names(&keys);
    let counted = (0..=COUNTED_MAX).map(f64::from).chain(RARE.into_iter().filter(|_| rare));
    let unnamed = counted.filter(|number| !names.contains(&number.to_string()));
    unnamed.map(|number| language.plural_of(number)).filter(|plural| !names.contains(*plural)).collect()
}
