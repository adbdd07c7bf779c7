//! The input of a rendering: the facts of one mail, borrowed.

use std::collections::BTreeMap;

use catalogue::{Catalogue, KindDef};
use model::{
    Actor, EntryReason, GeoPoint, KeptFields, Kind, Person, PlanName, SubjectRef, UtcMillis, VersionedState,
    civil_time::Zone,
};
use source_text::TextProblem;

/// All that one mail is made of. The same input gives the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct MailInput<'a> {
    pub plan: &'a PlanName,
    /// How to greet, if the person has a name.
    pub name: Option<&'a str>,
    /// What the profile states, as BCP 47 has it.
    pub language: Option<&'a str>,
    /// The person's zone: days and times are said in it.
    pub zone: &'a Zone,
    /// When the mail is due.
    pub due: UtcMillis,
    /// In the order of the plan; an empty one is left out.
    pub sections: &'a [SectionInput<'a>],
    /// What the subjects refer to (`Catalogue::related_refs`), and what the reasons name.
    pub related: &'a BTreeMap<SubjectRef, VersionedState>,
    /// The profiles of the persons that reasons speak of. Nothing but their names is said.
    pub persons: &'a BTreeMap<Person, VersionedState>,
    /// Where the reader is, for saying how far something is from them.
    pub place: Option<GeoPoint>,
    /// What texts choose their variants by; the same message has the same.
    pub variant: u64,
    /// The link by which the reader asks for no more mail.
    pub unsubscribe: Option<&'a str>,
    /// The address of its slots; a place stands behind it.
    pub slots: Option<&'a str>,
}

/// A part of a mail.
#[derive(Clone, Debug)]
pub struct SectionInput<'a> {
    pub title: &'a str,
    pub items: Vec<ItemInput<'a>>,
    /// So many more wait for the next digest.
    pub more: usize,
}

/// One thing that is told.
#[derive(Clone, Copy, Debug)]
pub struct ItemInput<'a> {
    /// The kind whose sentence says it.
    pub kind: &'a Kind,
    pub subject: &'a SubjectRef,
    pub state: &'a VersionedState,
    pub reasons: &'a [EntryReason],
    /// It may have been sent before.
    pub maybe: bool,
    pub words: &'a ItemWords,
}

/// What an item says of its event, beside what its subject is by now, and of all for which it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemWords {
    /// Who did the newest of them, if they have a name.
    pub actor: Option<Actor>,
    /// Who did them, as far as they have names: each once, the newest first.
    pub actors: Vec<Actor>,
    /// How many beside whoever did the newest did it, with a name or without; all, if nobody did that one.
    pub others: usize,
    /// What the newest event said.
    pub kept: KeptFields,
    /// How many events they are.
    pub count: usize,
}

impl Default for ItemWords {
    fn default() -> Self {
        Self { actor: None, actors: Vec::new(), others: 0, kept: KeptFields::new(), count: 1 }
    }
}

impl ItemWords {
    /// Those of an example: of one event, or of many more than one counts out. Of what nothing is known, nobody did it.
    pub(crate) fn example(
        catalogue: &Catalogue,
        kind: &KindDef,
        state: &VersionedState,
        is_many: bool,
    ) -> Self {
        let actor =
            |name: &&str| Some(Actor { name: Some((*name).into()), ..Person::new(name).ok()?.into() });
        let named = if state.is_empty() {
            0
        } else if is_many {
            EXAMPLE_NAMES.len()
        } else {
            1
        };
        let actors: Vec<Actor> = EXAMPLE_NAMES.iter().take(named).filter_map(actor).collect();
        Self {
            actor: actors.first().cloned(),
            actors,
            others: if is_many { EXAMPLE_ACTORS - 1 } else { 0 },
            kept: catalogue.keep_of(kind, |name| state.get(name)),
            count: if is_many { EXAMPLE_COUNT } else { 1 },
        }
    }
}

/// Who did what a bundle of an example tells, how many they were, and how often.
const EXAMPLE_NAMES: [&str; 3] = ["Ann", "Ben", "Cleo"];
const EXAMPLE_ACTORS: usize = 7;
const EXAMPLE_COUNT: usize = 150;

/// One thing that is told, in a list without a layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedItem {
    pub says: String,
    pub why: String,
    /// Where it is at home.
    pub page: Option<String>,
}

/// A mail, ready for its headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedMail {
    /// The subject line: one line, without control characters.
    pub headline: String,
    /// What a mailbox shows beside it; the HTML carries it too, if its layout prints it.
    pub preheader: String,
    pub html: String,
    pub text: String,
}

/// A push, in the words of every platform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedPush {
    pub headline: String,
    pub body: String,
    pub longer: String,
    /// Addresses that can be given to a device as they are.
    pub image: Option<String>,
    pub opens: Option<String>,
}

/// How a message ends about what is not there; of which kind, a check knows.
pub(crate) const NOT_THERE: &str = "is not there";

/// Why a message could not be rendered: its parts are not in the catalogue, or a text ran into a limit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RenderError {
    #[error("there are no words for plan `{0}`")]
    NoPlan(PlanName),
    #[error("there is no kind `{0}`")]
    NoKind(Kind),
    #[error("{}:{}:{}: {}", .0.file, .0.line, .0.column, .0.what)]
    Template(Box<TextProblem>),
}
