//! The languages in which readers are told: the first is that of everybody who reads none of them.

use languages::{HOUSE_LANGUAGES, LanguageError, ReaderLanguage, choose_accepted, choose_language};
use source_text::{did_you_mean, list_choices, yaml::TreeNode};

use crate::{Catalogue, limits::LANGUAGES_MAX, tree_reader::TreeReader};

impl Catalogue {
    /// The language of somebody whose profile states this one.
    pub fn language_for(&self, stated: Option<&str>) -> ReaderLanguage {
        choose_language(stated, &self.languages).cloned().unwrap_or_else(ReaderLanguage::plain_english)
    }

    /// The language for a page: the one that the profile states, else what the browser accepts.
    pub fn page_language(&self, stated: Option<&str>, accepted: Option<&str>) -> ReaderLanguage {
        match (stated, accepted) {
            (None, Some(accepted)) => choose_accepted(accepted, &self.languages).cloned(),
            _ => None,
        }
        .unwrap_or_else(|| self.language_for(stated))
    }

    /// Each language in which messages are made, one at least.
    pub fn spoken_languages(&self) -> Vec<ReaderLanguage> {
        if self.languages.is_empty() { vec![ReaderLanguage::plain_english()] } else { self.languages.clone() }
    }
}

pub(crate) fn read_languages(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<ReaderLanguage> {
    let texts = reader.texts(node, "`languages`");
    if texts.len() > LANGUAGES_MAX || (texts.is_empty() && node.is_empty()) {
        reader.problem(node.at, format!("`languages` names 1 to {LANGUAGES_MAX} languages"));
    }
    let mut languages: Vec<ReaderLanguage> = Vec::new();
    for (text, at) in texts {
        match ReaderLanguage::new(text) {
            Ok(language) if languages.iter().any(|other| other.tag() == language.tag()) => {
                reader.problem(at, format!("`{text}` is given twice"));
            }
            Ok(language) => languages.push(language),
            Err(LanguageError::NoTag) => {
                let what = format!("`{text}` is not the tag of a language");
                reader.problem_with(at, what, Some("write it as `de` or `de-AT`".to_string()));
            }
            Err(LanguageError::Unknown) => {
                let what = format!("the house does not speak `{text}`");
                let help = did_you_mean(text, HOUSE_LANGUAGES)
                    .unwrap_or_else(|| format!("it speaks {}", list_choices(HOUSE_LANGUAGES)));
                reader.problem_with(at, what, Some(help));
            }
        }
    }
    languages
}
