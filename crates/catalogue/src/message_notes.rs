//! Notes on messages: what works in one language and not in another, or is not meant by anybody.

use std::collections::{BTreeMap, BTreeSet};

use languages::{
    ArgumentChoice, CountedValues, DifferenceSort, MessageBook, ReaderLanguage, compare_messages,
    find_plural_choices, find_plural_slips,
};
use source_text::TextProblem;

use crate::{
    Catalogue,
    messages::{CatalogueMessages, LanguageMessages},
    notes::build_note,
};

/// A message and a value of it.
type ValueOfMessage = (String, String);

impl Catalogue {
    /// Messages that no text says, values that a language leaves out, plurals that it lacks or never takes, and files that
    /// nobody reads.
    pub(crate) fn note_messages(&self) -> Vec<TextProblem> {
        let Self { messages, languages, .. } = self;
        let Some((_, first)) = messages.by_language.first() else { return Vec::new() };
        let mut notes = messages.note_unsaid();
        notes.extend(messages.unread_files.iter().map(|file| {
            let tags: Vec<&str> = languages.iter().map(ReaderLanguage::tag).collect();
            let help =
                format!("name its language in `languages`, which has {}, or take it away", tags.join(", "));
            build_note(file.clone(), 1, "nobody reads these messages".to_string(), help)
        }));
        let counted = messages.find_counted_values();
        let choosers = messages.find_choosers();
        for (language, own) in &messages.by_language {
            let slips = find_plural_slips(&own.book, language, &counted, false).into_iter();
            notes.extend(slips.map(|slip| own.problem_at(slip.offset, slip.what, slip.help)));
            let left_out = find_left_out(&first.book, &own.book);
            let single = find_single_forms(&own.book, language, &choosers);
            notes.extend(drop_referring(&own.book, &left_out).map(|(name, value)| {
                let what = format!("`{name}` leaves out `${value}`, which `{}` writes", first.file);
                let help = format!("write `{{ ${value} }}`, or choose by it");
                own.problem_of(name, what, Some(help))
            }));
            let single = single.difference(&left_out).cloned().collect();
            notes.extend(drop_referring(&own.book, &single).map(|of| {
                let ((name, value), chooser) = (of, choosers.get(of).copied().unwrap_or_default());
                let what = format!("`{name}` has one form for all of `${value}`, by which `{chooser}` chooses");
                let help = format!(
                    "choose its plural, or write `{{ ${value} ->` with `*[other]` alone, if the form is right for all"
                );
                own.problem_of(name, what, Some(help))
            }));
        }
        notes
    }
}

impl CatalogueMessages {
    /// Messages that no text says in any language, each where it is first.
    fn note_unsaid(&self) -> Vec<TextProblem> {
        let reached_names = |(_, own): &(_, LanguageMessages)| own.book.reached_names(self.said.keys());
        let mut known: BTreeSet<String> = self.by_language.iter().flat_map(reached_names).collect();
        let mut notes = Vec::new();
        for (_, own) in &self.by_language {
            for name in own.book.names().filter(|name| known.insert((*name).to_owned())) {
                let help = Some(format!("`say(\"{name}\")` would say it"));
                notes.push(own.problem_of(name, format!("no text says `{name}`"), help));
            }
        }
        notes
    }

    /// The values that are numbers: a language chooses a plural by it, or a text gives one.
    fn find_counted_values(&self) -> CountedValues {
        let mut counted = CountedValues::new();
        for (_, own) in &self.by_language {
            counted.extend(find_plural_choices(&own.book));
            for (name, numbers) in &self.said {
                for reached in own.book.reached_names([name]) {
                    counted.extend(numbers.iter().map(|value| (reached.clone(), value.clone())));
                }
            }
        }
        counted
    }

    /// The values by which a language chooses a plural, each with the file of the first that does.
    fn find_choosers(&self) -> BTreeMap<ValueOfMessage, &str> {
        let mut choosers = BTreeMap::new();
        for (_, own) in &self.by_language {
            for of in find_plural_choices(&own.book) {
                choosers.entry(of).or_insert(own.file.as_str());
            }
        }
        choosers
    }
}

/// What the first language writes and this one neither writes nor chooses by.
fn find_left_out(first: &MessageBook, book: &MessageBook) -> BTreeSet<ValueOfMessage> {
    let found = compare_messages(first, book).into_iter().filter_map(|found| match found.sort {
        DifferenceSort::NoValue(value) => Some((found.name, value)),
        _ => None,
    });
    found.collect()
}

/// What other languages choose a plural by and this one does not, though it has several.
fn find_single_forms(
    book: &MessageBook,
    language: &ReaderLanguage,
    choosers: &BTreeMap<ValueOfMessage, &str>,
) -> BTreeSet<ValueOfMessage> {
    if language.plural_names().len() < 2 {
        return BTreeSet::new();
    }
    let has_one_form = |(name, value): &&ValueOfMessage| {
        let choice = book.arguments(name).get(value).map(|of| of.choice);
        book.has(name) && choice.unwrap_or_default() == ArgumentChoice::None
    };
    choosers.keys().filter(has_one_form).cloned().collect()
}

/// These without the messages that only refer to another one of them.
fn drop_referring<'f>(
    book: &MessageBook,
    found: &'f BTreeSet<ValueOfMessage>,
) -> impl Iterator<Item = &'f ValueOfMessage> {
    found.iter().filter(|(name, value)| {
        let reached = book.reached_names([name]).into_iter().filter(|other| other != name);
        reached.into_iter().all(|other| !found.contains(&(other, value.clone())))
    })
}
