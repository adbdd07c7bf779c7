//! The sentences of the house, one file for each language. They are in the binary.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::MessageBook;

/// The languages that the house speaks.
pub const HOUSE_LANGUAGES: [&str; 7] = ["en", "de", "fr", "es", "ja", "ar", "ru"];

pub(crate) const FILES: [(&str, &str); 7] = [
    ("en", include_str!("sentences/en.ftl")),
    ("de", include_str!("sentences/de.ftl")),
    ("fr", include_str!("sentences/fr.ftl")),
    ("es", include_str!("sentences/es.ftl")),
    ("ja", include_str!("sentences/ja.ftl")),
    ("ar", include_str!("sentences/ar.ftl")),
    ("ru", include_str!("sentences/ru.ftl")),
];

/// A file that cannot be read would be empty; the tests read each.
static BOOKS: LazyLock<BTreeMap<&str, MessageBook>> = LazyLock::new(|| {
    FILES.iter().map(|(name, text)| (*name, MessageBook::parse(text).unwrap_or_default())).collect()
});
static NOTHING: LazyLock<MessageBook> = LazyLock::new(MessageBook::default);

/// The sentences in a language of the house.
pub fn house_book(name: &str) -> &'static MessageBook {
    BOOKS.get(name).unwrap_or(&NOTHING)
}
