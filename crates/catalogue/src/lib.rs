//! The catalogue: what is worth telling, to whom, under which rules and in which words, as data.
//!
//! # Tour
//!
//! A catalogue is one YAML file and the templates beside it. [`Catalogue::load`] reads them from a folder
//! and [`Catalogue::parse`] from texts; either gives a catalogue of which everything has been checked, or
//! all [`TextProblems`](source_text::TextProblems) that were found, each with file, line, column and what was probably meant.
//!
//! The crate [`catalogue_format`] is the table of all keys, from which [`schema`] and [`mod@reference`] are made.
//! [`source_text::yaml`] makes a tree in which everything knows its place and [`tree_reader`] takes values from it;
//! [`subjects`], [`kinds`], [`audience`], [`plans`], [`close_rule`] with [`calendar_rule`], [`mails`], [`pushes`], [`slots`] and [`sources`] are the parts of the file;
//! [`source_rules`] is what a checked source makes of a record. [`contradictions`] refuses plans that say what can never come to pass, [`notes`] and [`choice_notes`] say what works and is probably not meant.
//! The crate [`expression`] types the texts and conditions: a misspelt field is found before anything is compiled.
//! [`mod@languages`] are those in which readers are told, [`messages`] what texts say in each, with [`message_notes`]; [`canary`] is a second catalogue that is tried on a share of the persons.
//! [`truth`] asks whether an entry still holds, [`state`] turns JSON into typed cells, [`example`] makes data up.

pub mod truth;

mod audience;
pub mod bundles;
mod calendar_rule;
pub mod canary;
mod choice_notes;
pub mod choices;
mod close_rule;
mod contradictions;
mod example;
pub mod expiry;
mod file_text;
mod groups;
mod hash;
mod holds;
mod inline_text;
mod keeps;
mod kinds;
mod languages;
mod load;
mod mails;
mod message_notes;
mod messages;
mod notes;
mod pace;
mod plan_choice;
mod plans;
mod pushes;
mod slots;
mod sources;
mod state;
mod subjects;
mod time_values;
mod tree_reader;
pub mod windows;
mod word_choice;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Channel, DayLife, Kind, PlanName, SubjectRef, SubjectType, VersionedState,
    plan::{Plan, PlanSet},
};

pub use ::languages::ReaderLanguage;
pub use audience::{Audience, SUBJECT};
use canary::CanaryCatalogue;
use catalogue_format as format;
pub use catalogue_format::{limits, reference, schema, words::SourceFormat};
use choices::KindCategory;
pub use example::example_moment;
pub use kinds::KindDef;
pub use mails::{MailCounting, MailTemplates};
pub use messages::{CatalogueMessages, LanguageMessages};
use preferences::PreferenceChoice;
pub use pushes::PushTemplates;
pub use slots::{SlotBanner, SlotListDef, SlotTable};
pub use source_rules::{RowError, RowStatement, SourceDef, StatementRule, StatementSort};
pub use source_text::units::{format_length, is_web_url, parse_duration_ms};
pub use sources::PROFILE_FIELDS;
pub use state::{PlaceParseError, SubjectFieldError, parse_place};

/// A catalogue that has been checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Catalogue {
    /// Of the house that it is for.
    pub day_life: DayLife,
    pub name: String,
    /// A hash of everything in it, templates included.
    pub hash: u64,
    /// The file it is from, for messages.
    pub file: String,
    pub subjects: BTreeMap<String, SubjectType>,
    pub kinds: BTreeMap<Kind, KindDef>,
    /// What kinds are called together.
    pub categories: BTreeMap<String, KindCategory>,
    pub plans: PlanSet,
    pub mails: BTreeMap<PlanName, MailTemplates>,
    pub pushes: BTreeMap<PlanName, PushTemplates>,
    /// What stands at the slots of mails, by name.
    pub slots: BTreeMap<String, SlotListDef>,
    /// Whether people read what they are told in a feed on the product's own site, too.
    pub feed: bool,
    /// Where whoever sends the mails can be written to.
    pub postal: Option<String>,
    /// In which readers are told; none: in English, as it was before there were others.
    pub languages: Vec<ReaderLanguage>,
    /// What its texts say, in each of these.
    pub messages: CatalogueMessages,
    /// Topics of others, by the source's name.
    pub sources: BTreeMap<String, SourceDef>,
    /// Kinds by the event they are told on.
    by_event: BTreeMap<String, Vec<Kind>>,
    /// Kinds that have plans of one channel of which one gathers and another does not.
    with_digest: BTreeSet<Kind>,
    /// Another one that is tried on a share of the persons.
    pub canary: Option<CanaryCatalogue>,
}

impl Catalogue {
    /// The kinds that are told on an event, by the event's name.
    pub fn kinds_on(&self, what: &str) -> impl Iterator<Item = &KindDef> {
        self.by_event.get(what).into_iter().flatten().filter_map(|kind| self.kinds.get(kind))
    }

    /// The topics of others that are read, as they are called in the log.
    pub fn foreign_topics(&self) -> BTreeSet<String> {
        self.sources.values().map(|source| source.topic.clone()).collect()
    }

    /// The names of all events that a kind is told on, in order.
    pub fn events(&self) -> impl Iterator<Item = &str> {
        self.by_event.keys().map(String::as_str)
    }

    /// The plans under which a kind is told to a person, one for each channel: of those that the kind offers
    /// the one that the person prefers, else the first. One that follows counts only where one that it follows tells
    /// them, for otherwise its windows would never open.
    pub fn plans_for(&self, kind: &KindDef, profile: &VersionedState) -> Vec<&Plan> {
        self.plans_by_choice(kind, profile, |_| PreferenceChoice::On)
    }

    /// The plans that a reader of this one may have instead, by the catalogue's names: those of its channel which a
    /// kind names beside it. A plan that follows another cannot be chosen.
    pub fn alternatives(&self, of: &PlanName) -> Vec<&Plan> {
        let Some(own) = self.plans.by_name.get(of).filter(|plan| plan.follows.is_none()) else {
            return Vec::new();
        };
        let beside = |other: &PlanName| {
            self.kinds.values().any(|kind| kind.plans.contains(of) && kind.plans.contains(other))
        };
        let others =
            self.plans.by_name.values().filter(|plan| plan.name != *of && plan.channel == own.channel);
        others.filter(|plan| plan.follows.is_none() && beside(&plan.name)).collect()
    }

    /// What readers call the messages of a plan.
    pub fn title_of(&self, plan: &PlanName) -> String {
        let title = self.mails.get(plan).map(|mail| mail.title.clone()).filter(|title| !title.is_empty());
        title.unwrap_or_else(|| plan.as_str().replace('_', " "))
    }

    /// What readers call a category.
    pub fn title_of_category(&self, name: &str) -> String {
        let title = self.categories.get(name).map(|category| category.title.clone());
        title.filter(|title| !title.is_empty()).unwrap_or_else(|| name.replace('_', " "))
    }

    /// Whether somebody can have less of all that hangs on this, rather than of this alone.
    pub fn is_thread(&self, subject: &SubjectRef) -> bool {
        self.kinds.values().any(|kind| self.hangs_on(kind, subject))
    }

    /// The channels on which these kinds are told.
    pub fn channels_of<'a>(&self, kinds: impl IntoIterator<Item = &'a Kind>) -> BTreeSet<Channel> {
        let kinds = kinds.into_iter().filter_map(|kind| self.kinds.get(kind));
        kinds.flat_map(|kind| kind.offered_plans(&self.plans)).map(|plan| plan.channel).collect()
    }

    /// The subjects that texts and conditions about this one may read, so that they can be loaded in one
    /// batch: each once, in order.
    pub fn related_refs(&self, state: &VersionedState) -> Vec<SubjectRef> {
        let values = state.cells.values().filter_map(|cell| cell.value.as_ref());
        let mut refs: Vec<SubjectRef> = values
            .flat_map(|value| value.refs().iter().cloned())
            .filter(|to| self.subjects.contains_key(to.kind()))
            .collect();
        refs.sort_unstable();
        refs.dedup();
        refs
    }

    /// What a subject is called, if its state says.
    pub fn name_of<'s>(&self, subject: &SubjectRef, state: &'s VersionedState) -> Option<&'s str> {
        let called = self.subjects.get(subject.kind())?.called.as_ref()?;
        state.text(called).filter(|name| !name.trim().is_empty())
    }
}
