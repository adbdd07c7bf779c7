//! Says bundles in the person's words, as a mail would: the same sentences, the same reasons.

use std::{collections::BTreeMap, sync::Arc};

use feed_bundles::{FeedBundle, FeedEntry};
use model::{
    EntryKey, EntryReason, Kind, PlanName, SubjectRef, UtcMillis, VersionedState, person::profile,
    world::TenantSnapshot,
};
use render::{ItemInput, ItemWords, ListedItem, MailInput, MessageRenderer, RenderError, SectionInput};
use room::item_words::collect_words;

use crate::{
    deps::Deps,
    facts::{BundleContext, PersonFacts},
    load::FeedOwner,
    report::{PartsReport, WordsReport, list_kept},
    shelf::PersonShelf,
};

/// With what bundles are said.
#[derive(Clone, Copy)]
pub struct TextMaker<'a> {
    pub deps: &'a Deps,
    pub owner: FeedOwner<'a>,
    pub facts: &'a PersonFacts,
    pub shelf: &'a PersonShelf,
    pub context: &'a BundleContext,
    pub now: UtcMillis,
    /// Whether the client says it itself, of its parts.
    pub in_parts: bool,
}

/// What is said: in whose kind's words, of what, for which reasons; and how many more there are, of which nothing is said.
struct SaidThing {
    kind: Kind,
    subject: SubjectRef,
    reasons: Vec<EntryReason>,
    words: ItemWords,
    more: usize,
}

impl TextMaker<'_> {
    /// The words of each bundle.
    pub fn say_bundles(&self, bundles: &[FeedBundle]) -> Vec<WordsReport> {
        let said = bundles.iter().map(|bundle| {
            let (lead, entries) = (bundle.lead(), bundle.entries());
            if bundle.is_told_as_one() {
                return self.said_thing(lead, entries.iter().map(|entry| entry.key).collect());
            }
            // What a client alone wants together has no sentence that is true of all of it: the newest is told, the others are
            // counted.
            SaidThing { more: entries.len() - 1, ..self.said_thing(lead, vec![lead.key]) }
        });
        self.say(&said.collect::<Vec<_>>())
    }

    /// The words of each entry by itself.
    pub fn say_entries(&self, entries: &[Arc<FeedEntry>]) -> Vec<WordsReport> {
        let said = entries.iter().map(|entry| self.said_thing(entry, vec![entry.key]));
        self.say(&said.collect::<Vec<_>>())
    }

    fn said_thing(&self, lead: &FeedEntry, keys: Vec<EntryKey>) -> SaidThing {
        let reasons = self.shelf.get(lead.key).map(|entry| &entry.reasons);
        let own = reasons.into_iter().flatten().filter(|reason| reason.kind == lead.kind);
        let reasons = own.cloned().collect();
        let words = collect_words(lead.key, keys, &|key| self.shelf.get(key), &self.context.erased);
        SaidThing { kind: lead.kind.clone(), subject: lead.subject.clone(), reasons, words, more: 0 }
    }

    fn say(&self, said: &[SaidThing]) -> Vec<WordsReport> {
        if self.in_parts {
            return self.list_pages(said);
        }
        // One that cannot be said must not take the others with it.
        let each = || said.iter().map(|one| self.list_one(one)).collect();
        let listed: Vec<ListedItem> = self.list_items(said).unwrap_or_else(|_| each());
        let words = |(ListedItem { says, why, page }, said): (ListedItem, &SaidThing)| WordsReport {
            says: Some(self.add_more(says, said.more)),
            why: Some(why),
            page,
            parts: None,
        };
        listed.into_iter().zip(said).map(words).collect()
    }

    /// A sentence, and how many more there are. One that could not be said stays empty.
    fn add_more(&self, says: String, more: usize) -> String {
        if more == 0 || says.is_empty() {
            return says;
        }
        let language = self.facts.profile.text(profile::LANGUAGE);
        self.deps.renderer.for_person(self.owner.person).say_more(&says, more, language)
    }

    /// What is said without words.
    fn list_pages(&self, said: &[SaidThing]) -> Vec<WordsReport> {
        let pages = self.with_input(said, |renderer, input| renderer.list_pages(input)).unwrap_or_default();
        let pages = pages.into_iter().chain(std::iter::repeat(None));
        said.iter().zip(pages).map(|(said, page)| self.list_parts(said, page)).collect()
    }

    fn list_parts(&self, said: &SaidThing, page: Option<String>) -> WordsReport {
        let FeedOwner { tenant, person } = self.owner;
        let state = self.context.world.state(tenant, &said.subject);
        let catalogue = self.deps.room.catalogue.for_person(person);
        let name = state.and_then(|state| catalogue.name_of(&said.subject, state)).map(str::to_owned);
        let reasons = said.reasons.iter().map(|reason| reason.because.to_string()).collect();
        let parts = PartsReport { name, kept: list_kept(&said.words.kept), reasons };
        WordsReport { says: None, why: None, page, parts: Some(parts) }
    }

    fn list_one(&self, said: &SaidThing) -> ListedItem {
        let listed = self.list_items(std::slice::from_ref(said));
        if let Err(error) = &listed {
            tracing::warn!(kind = %said.kind, %error, "an entry of a feed cannot be said");
        }
        let nothing = || ListedItem { says: String::new(), why: String::new(), page: None };
        listed.ok().and_then(|listed| listed.into_iter().next()).unwrap_or_else(nothing)
    }

    fn list_items(&self, said: &[SaidThing]) -> Result<Vec<ListedItem>, RenderError> {
        self.with_input(said, |renderer, input| renderer.render_list(input)).unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Nothing of a catalogue without plans.
    fn with_input<T>(
        &self,
        said: &[SaidThing],
        make: impl FnOnce(&MessageRenderer, &MailInput<'_>) -> T,
    ) -> Option<T> {
        let FeedOwner { tenant, person } = self.owner;
        let unknown = TenantSnapshot::default();
        let TenantSnapshot { subjects, persons, .. } = self.context.world.get(tenant).unwrap_or(&unknown);
        let profile = &self.facts.profile;
        let zone = self.deps.room.zones.get_or_utc(profile.text(profile::ZONE));
        let plan = self.any_plan()?;
        let input = MailInput {
            plan,
            name: profile.text(profile::NAME),
            language: profile.text(profile::LANGUAGE),
            zone: &zone,
            due: self.now,
            sections: &[section(said, subjects)],
            related: subjects,
            persons,
            place: profile.place(profile::PLACE),
            variant: 0,
            unsubscribe: None,
            slots: None,
        };
        Some(make(self.deps.renderer.for_person(person), &input))
    }

    /// A list has no layout, so any will do; one of mails knows which addresses are pictures.
    fn any_plan(&self) -> Option<&PlanName> {
        let catalogue = self.deps.room.catalogue.for_person(self.owner.person);
        catalogue.mails.keys().chain(catalogue.plans.by_name.keys()).next()
    }
}

fn section<'a>(
    said: &'a [SaidThing],
    subjects: &'a BTreeMap<SubjectRef, VersionedState>,
) -> SectionInput<'a> {
    static UNKNOWN: std::sync::LazyLock<VersionedState> = std::sync::LazyLock::new(VersionedState::default);
    let item = |said: &'a SaidThing| ItemInput {
        kind: &said.kind,
        subject: &said.subject,
        state: subjects.get(&said.subject).unwrap_or(&UNKNOWN),
        reasons: &said.reasons,
        maybe: false,
        words: &said.words,
    };
    SectionInput { title: "", items: said.iter().map(item).collect(), more: 0 }
}
