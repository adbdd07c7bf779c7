//! One language, in which a reader gets a whole message.

use std::{collections::BTreeMap, fmt, sync::Arc};

use icu_locale_core::LanguageIdentifier;
use jiff::civil;

use crate::{
    MessageBook, MessageValue,
    choice::name_of,
    direction::TextDirection,
    formats::LocaleFormats,
    house_words::{self, HOUSE_LANGUAGES},
    isolation::isolate_value,
    message_text::MessageFilling,
};

/// Languages that are written from right to left, of all that there are.
const RIGHT_TO_LEFT: [&str; 1] = ["ar"];

/// Why nobody can be told in a language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LanguageError {
    /// It is not the tag of a language.
    NoTag,
    /// The house has no sentences in it.
    Unknown,
}

/// A language with all that is needed to speak it. A copy is cheap.
#[derive(Clone)]
pub struct ReaderLanguage {
    tag: Arc<str>,
    direction: TextDirection,
    /// None for the English of catalogues that name no languages, which is written as it always was.
    formats: Option<Arc<LocaleFormats>>,
    house: &'static MessageBook,
}

impl ReaderLanguage {
    /// The English of catalogues that name no languages.
    pub fn plain_english() -> Self {
        let house = house_words::house_book("en");
        Self { tag: "en".into(), direction: TextDirection::LeftToRight, formats: None, house }
    }

    /// The language of a tag: one of those of the house, perhaps as it is written somewhere (`de-AT`).
    pub fn new(tag: &str) -> Result<Self, LanguageError> {
        let id: LanguageIdentifier = tag.parse().map_err(|_| LanguageError::NoTag)?;
        let tag = id.to_string();
        let name = name_of(&tag);
        if !HOUSE_LANGUAGES.contains(&name) {
            return Err(LanguageError::Unknown);
        }
        let formats = LocaleFormats::new(&tag).map_err(|_| LanguageError::NoTag)?;
        let direction = if RIGHT_TO_LEFT.contains(&name) {
            TextDirection::RightToLeft
        } else {
            TextDirection::LeftToRight
        };
        let house = house_words::house_book(name);
        Ok(Self { tag: tag.as_str().into(), direction, formats: Some(Arc::new(formats)), house })
    }

    /// As BCP 47 has it: `en`, `de-AT`.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    pub fn direction(&self) -> TextDirection {
        self.direction
    }

    /// A sentence of the house.
    pub fn house_sentence(&self, name: &str, values: &[(&str, MessageValue)]) -> String {
        self.say(self.house, name, values).unwrap_or_default()
    }

    /// What the house says in English, in this language: a sentence without values, by its English words.
    pub fn translate_house(&self, english: &str) -> Option<String> {
        let plain = Self::plain_english();
        let name = plain.house.names().find(|name| plain.house_sentence(name, &[]) == english)?;
        Some(self.house_sentence(name, &[]))
    }

    /// A message of a book; nothing if the book does not have it.
    pub fn say(&self, book: &MessageBook, name: &str, values: &[(&str, MessageValue)]) -> Option<String> {
        let message = book.messages.get(name)?;
        let values: BTreeMap<&str, MessageValue> = values.iter().cloned().collect();
        let mut filling = MessageFilling { book, language: self, values: &values, out: String::new() };
        filling.fill(&message.text);
        Some(filling.out)
    }

    /// Names in a row, as one says them.
    pub fn join_names(&self, names: &[String]) -> String {
        let Some(formats) = &self.formats else {
            return match names {
                [] => String::new(),
                [one] => one.clone(),
                [most @ .., last] => format!("{} and {last}", most.join(", ")),
            };
        };
        let isolated: Vec<String> = names.iter().map(|name| self.isolate(name)).collect();
        formats.list(&isolated)
    }

    /// Clauses in a row; `apart` from each other by a comma too if one of them has a row in it.
    pub fn join_clauses(&self, clauses: &[String], apart: bool) -> String {
        let join = |name: &str, first: &str, last: &str| {
            let part = |text: &str| MessageValue::Sentence(text.to_owned());
            self.house_sentence(name, &[("first", part(first)), ("last", part(last))])
        };
        match clauses {
            [one, last] if !apart => join("clauses-two", one, last),
            [first, most @ .., last] => {
                let most = most.iter().fold(first.clone(), |all, next| join("clauses-middle", &all, next));
                join("clauses-last", &most, last)
            }
            _ => clauses.concat(),
        }
    }

    /// The plural that a number takes.
    pub fn plural_of(&self, number: f64) -> &'static str {
        match &self.formats {
            Some(formats) => formats.plural_of(number),
            None => {
                #[allow(clippy::float_cmp, reason = "one is one")]
                let is_one = number == 1.0;
                if is_one { "one" } else { "other" }
            }
        }
    }

    /// Every plural that the language has.
    pub fn plural_names(&self) -> Vec<&'static str> {
        self.formats.as_ref().map_or_else(|| vec!["one", "other"], |formats| formats.plural_names())
    }

    /// A number as it is written in a sentence: `1.234,5`.
    pub fn number(&self, number: f64) -> String {
        self.formats.as_ref().map_or_else(|| number.to_string(), |formats| formats.number(number))
    }

    /// `Fri 27 Nov`, with the year if it does not go without saying.
    pub fn day(&self, date: civil::Date, with_year: bool) -> String {
        let formats = self.formats.as_ref().filter(|_| !self.is_english());
        formats.and_then(|formats| formats.day(date, with_year)).unwrap_or_else(|| {
            date.strftime(if with_year { "%a %-d %b %Y" } else { "%a %-d %b" }).to_string()
        })
    }

    /// `18:00`.
    pub fn time(&self, at: civil::Time) -> String {
        let formats = self.formats.as_ref().filter(|_| !self.is_english());
        formats.and_then(|formats| formats.time(at)).unwrap_or_else(|| at.strftime("%H:%M").to_string())
    }

    /// A value as it may stand in a sentence.
    pub fn isolate(&self, value: &str) -> String {
        if self.formats.is_some() { isolate_value(value, self.direction) } else { value.to_owned() }
    }

    /// English without a region is that of the house: its dates and times name the day before the month, and 24 hours.
    fn is_english(&self) -> bool {
        &*self.tag == "en"
    }
}

impl PartialEq for ReaderLanguage {
    fn eq(&self, other: &Self) -> bool {
        self.tag == other.tag && self.formats.is_some() == other.formats.is_some()
    }
}

impl fmt::Debug for ReaderLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReaderLanguage({})", self.tag)
    }
}
