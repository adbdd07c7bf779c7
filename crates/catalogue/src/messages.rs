//! The catalogue's own messages: one Fluent file for each of its languages, in a folder beside it. What texts say by
//! `say("key")` is in every one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use expression::{MessageArgument, MessageTypes};
use languages::{BYTE_ORDER_MARK, DifferenceSort, MessageBook, ReaderLanguage, compare_messages};
use source_text::{SourceText, TextProblem, did_you_mean, yaml::TreePlace};

use crate::{
    mails::{ReadFile, load_template},
    tree_reader::TreeReader,
};

/// So many files of their folder are looked at.
const WORDS_FILES_MAX: usize = 1_000;

/// The messages of one language.
#[derive(Clone, PartialEq, Debug)]
pub struct LanguageMessages {
    pub file: String,
    pub text: String,
    pub book: Arc<MessageBook>,
}

impl LanguageMessages {
    /// Something about a byte of the file.
    pub(crate) fn problem_at(&self, offset: usize, what: String, help: Option<String>) -> TextProblem {
        SourceText { file: &self.file, text: &self.text }.problem_at(offset, what).with_help(help)
    }

    /// Something about a message.
    pub(crate) fn problem_of(&self, name: &str, what: String, help: Option<String>) -> TextProblem {
        self.problem_at(self.book.offset_of(name).unwrap_or_default(), what, help)
    }
}

/// All messages of a catalogue, by language in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CatalogueMessages {
    pub by_language: Vec<(ReaderLanguage, LanguageMessages)>,
    /// What its texts say, by name, with the values that are numbers there.
    pub said: BTreeMap<String, BTreeSet<String>>,
    /// Files beside them that are of no language of the catalogue.
    pub unread_files: Vec<String>,
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
                let used = if used.is_number { MessageArgument::Number } else { MessageArgument::Any };
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
        // Else all places would be off by it.
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text).to_owned();
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

/// Message files beside those that are read. A folder that cannot be listed has none.
pub(crate) fn list_unread_files(messages: &CatalogueMessages) -> Vec<String> {
    let read: Vec<&Path> = messages.by_language.iter().map(|(_, own)| Path::new(&own.file)).collect();
    let entries = read.first().and_then(|file| fs::read_dir(file.parent()?).ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_unread = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "ftl") && !read.contains(&path.as_path())
    };
    let unread = paths.take(WORDS_FILES_MAX).filter(is_unread);
    unread.map(|path| path.display().to_string()).collect()
}

/// That each language has what is said, with the values that the first has. If that could not be read, nothing is known.
pub(crate) fn check_messages(
    reader: &mut TreeReader<'_>,
    messages: &mut CatalogueMessages,
    first: Option<&ReaderLanguage>,
) {
    messages.said = std::mem::take(&mut reader.said);
    let Some(((language, first_own), others)) = messages.by_language.split_first() else { return };
    if first != Some(language) {
        return;
    }
    // What several read and the first alone does not is a slip of the first.
    let is_slip_of_first = |name: &str, value: &str| {
        let having: Vec<_> = others.iter().filter(|(_, other)| other.book.has(name)).collect();
        having.len() > 1 && having.iter().all(|(_, other)| other.book.arguments(name).contains_key(value))
    };
    for (_, other) in others {
        for found in compare_messages(&first_own.book, &other.book) {
            let name = &found.name;
            match &found.sort {
                DifferenceSort::Missing if messages.said.contains_key(name) => {
                    let what = format!("`{name}` is missing, which texts say");
                    reader.push(other.problem_at(found.offset, what, did_you_mean(name, other.book.names())));
                }
                DifferenceSort::Value(value) => {
                    let values = first_own.book.arguments(name);
                    let help = did_you_mean(value, values.keys().map(String::as_str));
                    reader.push(if is_slip_of_first(name, value) {
                        let what = format!("`{name}` does not read `${value}`, which all other languages do");
                        first_own.problem_of(name, what, help)
                    } else {
                        let file = &first_own.file;
                        let what = format!("`{name}` reads `${value}`, which it does not in `{file}`");
                        other.problem_at(found.offset, what, help)
                    });
                }
                // Nobody misses these, or they are notes.
                DifferenceSort::Missing | DifferenceSort::NoValue(_) | DifferenceSort::Surplus => {}
            }
        }
    }
}
