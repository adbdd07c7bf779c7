//! What the house itself says to readers, and how their language writes lists, dates and numbers.
//!
//! # Tour
//!
//! A [`ReaderLanguage`] is one language in which a message is written from its first word to its last. [`choice`] finds
//! the one for a reader among those that a catalogue has; [`formats`] is what CLDR says of it; [`house_words`] are the
//! sentences of the house, in files beside this one.
//!
//! Those files, and those of a catalogue, are [Fluent](https://projectfluent.org): [`message_file`] reads one and
//! [`parse_problem`] words what its parser found, [`message_check`] says what is wrong with it or differs from the same
//! file in another language, and [`message_text`] fills a message in. [`isolation`] keeps values that are written the
//! other way from turning what stands beside them.

mod choice;
mod direction;
mod formats;
mod house_words;
mod isolation;
mod language;
mod message_check;
mod message_file;
mod message_text;
mod parse_problem;

#[cfg(test)]
mod tests;

pub use choice::{choose_accepted, choose_language};
pub use direction::TextDirection;
pub use house_words::HOUSE_LANGUAGES;
pub use isolation::{ISOLATE_CLOSE, ISOLATE_OPEN, ends_line, strip_isolates, turns_direction};
pub use language::{LanguageError, ReaderLanguage};
pub use message_check::{
    CountedValues, DifferenceSort, MessageDifference, compare_messages, find_plural_choices,
    find_plural_slips,
};
pub use message_file::{ArgumentChoice, ArgumentUse, BYTE_ORDER_MARK, MessageBook, MessageProblem};
pub use message_text::MessageValue;
