//! The catalogue's own messages: one Fluent file for each of its languages, in a folder beside it. What texts say by
//! `say("key")` is in every one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use expression::{MessageArgument, MessageTypes};
use languages::{
    ArgumentUse, DifferenceSort, MessageBook, ReaderLanguage, compare_messages, find_plural_gaps,
};
use source_text::{SourceText, TextProblem, did_you_mean, yaml::TreePlace};

use crate::{
    Catalogue,
    mails::{ReadFile, load_template},
    tree_reader::TreeReader,
};

/// The messages of one language.
#[derive(Clone, PartialEq, Debug)]
pub struct LanguageMessages {
    pub file: String,
    pub text: String,
    pub book: Arc<MessageBook>,
}

/// All messages of a catalogue, by language in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CatalogueMessages {
    pub by_language: Vec<(ReaderLanguage, LanguageMessages)>,
    /// What its texts say, by name.
    pub said: BTreeSet<String>,
}

impl CatalogueMessages {
    /// The messages of a language.
    pub fn book_of(&self, language: &ReaderLanguage) -> Option<Arc<MessageBook>> {
        let own = self.by_language.iter().find(|(other, _)| other == language);
        own.map(|(_, messages)| messages.book.clone())
    }

    /// What texts may say: the messages of the first language, with the values that they take in any.
    fn types(&self) -> MessageTypes {
        let Some((_, first)) = self.by_language.first() else { return MessageTypes::default() };
        let of = |name: &str| {
            let mut arguments: BTreeMap<String, MessageArgument> = BTreeMap::new();
            let wanted = first.book.arguments(name);
            let used = self.by_language.iter().flat_map(|(_, of)| of.book.arguments(name));
            for (argument, used) in used.filter(|(argument, _)| wanted.contains_key(argument)) {
                let used = match used {
                    ArgumentUse::Any => MessageArgument::Any,
                    ArgumentUse::Number => MessageArgument::Number,
                };
                let known = arguments.entry(argument).or_insert(used);
                *known = used.max(*known);
            }
            arguments
        };
        let messages = first.book.names().map(|name| (name.to_owned(), of(name))).collect();
        MessageTypes { messages, is_partial: false }
    }
}

/// Reads the messages of every language, so that texts can be checked against them.
pub(crate) fn read_messages(
    reader: &mut TreeReader<'_>,
    (folder, at): (&str, TreePlace),
    languages: &[ReaderLanguage],
    read_file: ReadFile<'_>,
) -> CatalogueMessages {
    if languages.is_empty() {
        let help = Some("write `languages: [en, de]` beside it".to_string());
        reader.problem_with(at, "`words` needs the `languages` of the catalogue", help);
    }
    let beside = reader.source.file.rfind('/').map_or("", |at| &reader.source.file[..=at]).to_owned();
    let mut messages = CatalogueMessages::default();
    for language in languages {
        let name = format!("{folder}/{}.ftl", language.tag());
        let Some(text) = load_template(reader, &name, at, read_file) else { continue };
        let file = format!("{beside}{name}");
        match MessageBook::parse(&text) {
            Ok(book) => {
                let own = LanguageMessages { file, text, book: Arc::new(book) };
                messages.by_language.push((language.clone(), own));
            }
            Err(found) => {
                let source = SourceText { file: &file, text: &text };
                for problem in found {
                    reader.push(source.problem_at(problem.offset, problem.what).with_help(problem.help));
                }
            }
        }
    }
    let is_partial = languages.is_empty() || messages.by_language.len() < languages.len();
    let types =
        if is_partial { MessageTypes { is_partial, ..MessageTypes::default() } } else { messages.types() };
    reader.messages = Some(Arc::new(types));
    messages
}

/// That each language has what is said, with the values that the first has.
pub(crate) fn check_messages(reader: &mut TreeReader<'_>, messages: &mut CatalogueMessages) {
    messages.said = std::mem::take(&mut reader.said);
    let Some(((_, first), others)) = messages.by_language.split_first() else { return };
    for (_, other) in others {
        for found in compare_messages(&first.book, &other.book) {
            let source = SourceText { file: &other.file, text: &other.text };
            let name = &found.name;
            let (what, help) = match &found.sort {
                DifferenceSort::Missing if messages.said.contains(name) => {
                    (format!("`{name}` is missing, which texts say"), did_you_mean(name, other.book.names()))
                }
                DifferenceSort::Value(value) => {
                    let values = first.book.arguments(name);
                    let help = did_you_mean(value, values.keys().map(String::as_str));
                    (format!("`{name}` reads `${value}`, which it does not in `{}`", first.file), help)
                }
                // Nobody misses these: they are notes.
                DifferenceSort::Missing | DifferenceSort::Surplus => continue,
            };
            reader.push(source.problem_at(found.offset, what).with_help(help));
        }
    }
}

impl Catalogue {
    /// Messages that no text says, that only some languages have, or that lack a plural of their language.
    pub(crate) fn note_messages(&self) -> Vec<TextProblem> {
        let mut notes = Vec::new();
        let Some((_, first)) = self.messages.by_language.first() else { return notes };
        for (language, own) in &self.messages.by_language {
            let source = SourceText { file: &own.file, text: &own.text };
            let mut note = |offset: usize, what: String, help: Option<String>| {
                notes.push(source.problem_at(offset, what).with_help(help));
            };
            let reached = own.book.reached_names(&self.messages.said);
            for name in own.book.names().filter(|name| !reached.contains(*name)) {
                let help = Some(format!("`say(\"{name}\")` would say it"));
                note(own.book.offset_of(name).unwrap_or_default(), format!("no text says `{name}`"), help);
            }
            for found in compare_messages(&first.book, &own.book) {
                if found.sort == DifferenceSort::Missing && !self.messages.said.contains(&found.name) {
                    note(0, format!("`{}` is missing, and no text says it", found.name), None);
                }
            }
            for gap in find_plural_gaps(&own.book, language, false) {
                note(gap.offset, gap.what, gap.help);
            }
        }
        notes
    }
}
