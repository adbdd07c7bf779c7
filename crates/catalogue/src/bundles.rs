//! Bundles: by what entries of a kind are told as one, and the sentence that says so.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use expression::{KeptTypes, says_many_scope};
use model::{Actor, KeptFields, SubjectRef, SubjectType, VersionedState};
use source_text::{
    did_you_mean,
    yaml::{TreeNode, TreePlace},
};

use crate::{KindDef, audience::SUBJECT, inline_text::InlineText, tree_reader::TreeReader, windows};

/// How entries of a kind are told as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KindBundle {
    /// What those of one bundle have in common, beside the kind.
    pub by: Vec<BundlePart>,
    /// The template of the sentence for several.
    pub says_many: String,
    /// The line of that sentence in the file, for messages.
    pub line: usize,
}

/// What entries of a bundle have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BundlePart {
    /// Nothing else: all of the kind are one bundle.
    Kind,
    Subject,
    Actor,
    /// What it hangs on.
    Thread,
    /// What this field says: as the event said it, where the kind keeps it, else as it is now.
    Field(String),
}

/// The two keys of a kind that make bundles.
pub(crate) const BUNDLE_BY: &str = "bundle_by";
pub(crate) const SAYS_MANY: &str = "says_many";

const KIND: &str = "kind";
const ACTOR: &str = "actor";
const THREAD: &str = "thread";

impl BundlePart {
    fn from_word(word: &str) -> Self {
        match word {
            KIND => Self::Kind,
            SUBJECT => Self::Subject,
            ACTOR => Self::Actor,
            THREAD => Self::Thread,
            field => Self::Field(field.to_owned()),
        }
    }

    /// As a catalogue writes it.
    pub fn text(&self) -> &str {
        match self {
            Self::Kind => KIND,
            Self::Subject => SUBJECT,
            Self::Actor => ACTOR,
            Self::Thread => THREAD,
            Self::Field(field) => field,
        }
    }
}

/// What is told, as far as bundles depend on it.
#[derive(Clone, Copy, Debug)]
pub struct BundleEntry<'a> {
    pub subject: &'a SubjectRef,
    pub actor: Option<&'a Actor>,
    pub kept: &'a KeptFields,
    /// The subject as it is known.
    pub state: &'a VersionedState,
}

impl KindDef {
    /// What an entry has in common with those that are told with it as one; nothing if it is told by itself, as is one that
    /// lacks a part: those that lack it have nothing in common that a sentence could say.
    pub fn bundle_of(&self, entry: BundleEntry<'_>) -> Option<Arc<str>> {
        let bundle = self.bundle.as_ref()?;
        let parts = bundle.by.iter().map(|part| self.bundle_part(part, entry));
        let parts: Vec<Cow<'_, str>> = parts.collect::<Option<_>>()?;
        Some(windows::join_key(std::iter::once(Cow::Borrowed(self.name.as_str())).chain(parts)))
    }

    /// Whether that depends on what is known of the subject.
    pub fn bundles_by_state(&self) -> bool {
        let asks = |part: &BundlePart| match part {
            BundlePart::Kind | BundlePart::Subject | BundlePart::Actor => false,
            BundlePart::Thread => true,
            BundlePart::Field(name) => !self.keeps.contains(name),
        };
        self.bundle.as_ref().is_some_and(|bundle| bundle.by.iter().any(asks))
    }

    fn bundle_part<'a>(&'a self, part: &'a BundlePart, entry: BundleEntry<'a>) -> Option<Cow<'a, str>> {
        let BundleEntry { subject, actor, kept, state } = entry;
        let text: Cow<'a, str> = match part {
            BundlePart::Kind => return Some(Cow::Borrowed("")),
            BundlePart::Subject => Cow::Borrowed(subject.as_str()),
            BundlePart::Actor => actor?.id.to_string().into(),
            BundlePart::Thread => {
                let threads = self.threads(subject, Some(state)).iter();
                threads.map(SubjectRef::as_str).collect::<Vec<_>>().join(",").into()
            }
            // What the event did not say is not what the subject says by now.
            BundlePart::Field(name) if self.keeps.contains(name) => {
                kept.get(name.as_str())?.to_string().into()
            }
            BundlePart::Field(name) => state.get(name)?.to_string().into(),
        };
        (!text.trim().is_empty()).then_some(text)
    }
}

/// A bundle as it is written.
pub(crate) struct BundleDraft {
    by: Vec<(String, TreePlace)>,
    says_many: InlineText,
}

/// What `bundle_by` and `says_many` say together: one without the other says nothing.
pub(crate) fn read_bundle(
    reader: &mut TreeReader<'_>,
    by: Option<&TreeNode>,
    says_many: Option<&TreeNode>,
) -> Result<Option<BundleDraft>, ()> {
    let lacks = |reader: &mut TreeReader<'_>, node: &TreeNode, one: &str, other: &str| {
        reader.problem(node.at, format!("`{one}` goes with `{other}`, which is not there"));
        Err(())
    };
    match (by, says_many) {
        (None, None) => Ok(None),
        (Some(by), None) => lacks(reader, by, BUNDLE_BY, SAYS_MANY),
        (None, Some(says_many)) => lacks(reader, says_many, SAYS_MANY, BUNDLE_BY),
        (Some(by), Some(says_many)) => {
            let texts = reader.texts(by, "`bundle_by`");
            if texts.is_empty() {
                if by.is_empty() {
                    reader.problem(by.at, "`bundle_by` names nothing");
                }
                return Err(());
            }
            for (number, (text, at)) in texts.iter().enumerate() {
                if texts[..number].iter().any(|(before, _)| before == text) {
                    reader.problem(*at, format!("`{text}` is given twice"));
                }
            }
            let by = texts.into_iter().map(|(text, at)| (text.to_string(), at)).collect();
            let says_many = InlineText::read_sentence(reader, says_many, "`says_many`").ok_or(())?;
            Ok(Some(BundleDraft { by, says_many }))
        }
    }
}

impl BundleDraft {
    /// Checks its parts and its sentence.
    pub(crate) fn resolve(
        &self,
        reader: &mut TreeReader<'_>,
        (subject, subjects): (&SubjectType, &BTreeMap<String, SubjectType>),
        has_thread: bool,
        (is_mutual, kept): (bool, &KeptTypes),
    ) -> KindBundle {
        for (text, at) in &self.by {
            match BundlePart::from_word(text) {
                BundlePart::Kind | BundlePart::Subject | BundlePart::Actor => {}
                BundlePart::Thread if has_thread => {}
                BundlePart::Thread => {
                    reader.problem(*at, "`thread` in `bundle_by` needs the `thread` of the kind");
                }
                BundlePart::Field(field) if subject.fields.contains_key(&field) => {}
                BundlePart::Field(field) => {
                    let fields = subject.fields.keys().map(String::as_str);
                    let help = did_you_mean(&field, fields.chain([KIND, SUBJECT, ACTOR, THREAD]));
                    reader.problem_with(*at, format!("`{}` has no field `{field}`", subject.name), help);
                }
            }
        }
        let scope = says_many_scope(subjects, &subject.name, is_mutual, kept);
        for finding in &reader.check_text(&self.says_many.text, &scope) {
            reader.push(self.says_many.problem(reader.source, finding));
        }
        KindBundle {
            by: self.by.iter().map(|(text, _)| BundlePart::from_word(text)).collect(),
            says_many: self.says_many.text.clone(),
            line: self.says_many.at.line,
        }
    }
}
