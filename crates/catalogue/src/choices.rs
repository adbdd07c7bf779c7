//! What a person wants of an entry in a place, and who says so. The nearest word counts: the person's own of whoever did it,
//! of this kind about this subject, of the subject or its thread, of the kind, of its category, of everything; then the kind's
//! in the catalogue, the one of its category for the person's tenant, and the category's. Of two of one nearness the stricter
//! counts. Nobody turns off what is critical.

use std::collections::{BTreeMap, BTreeSet};

use expression::title_scope;
use model::{
    AudienceMatch, Channel, EntryReason, Kind, Person, SubjectRef, SubjectType, Tenant, VersionedState,
    WorldSnapshot,
    fault::{self, PlantedFault},
    plan::{Plan, PlanSet},
};
use preferences::{PreferenceChoice, PreferenceField, PreferenceScope, ReadingPlace};
use source_text::{
    did_you_mean,
    yaml::{TreeKey, TreeNode, TreePlace},
};

use crate::{
    Audience, Catalogue, KindDef,
    format::{CATEGORY, limits::CATEGORIES_MAX, words::CHOICE},
    hash::CanonicalText,
    inline_text::InlineText,
    kinds::KindDraft,
    mails::read_title,
    plan_choice,
    tree_reader::TreeReader,
    truth::{ReaderFacts, TellableEntry, referred_subjects},
    word_choice::read_word,
};

/// Kinds that people turn on and off together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KindCategory {
    /// What readers call it; may say a message. Empty: its name.
    pub title: String,
    /// How people are told who have not chosen.
    pub unless_chosen: Option<PreferenceChoice>,
    /// The same of the people of some tenants.
    pub tenants: BTreeMap<Tenant, PreferenceChoice>,
    /// Where it stands in the catalogue's file.
    pub line: usize,
}

/// A category whose title is not checked yet.
pub(crate) struct CategoryDraft {
    category: KindCategory,
    title: Option<InlineText>,
}

/// Who says how somebody is told.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChoiceSource {
    /// The person, by these fields of their preferences.
    Person(Vec<String>),
    /// The catalogue, of the kind itself.
    Kind,
    /// The catalogue, of the category for the people of a tenant.
    Tenant,
    /// The catalogue, of the category.
    Category,
    /// The kind is critical.
    Critical,
    Nobody,
}

/// How somebody is told, and who says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundChoice {
    pub choice: PreferenceChoice,
    pub by: ChoiceSource,
}

/// What a choice may be about, beside the kind.
struct EntryThings<'a> {
    actors: Vec<&'a Person>,
    subject: &'a SubjectRef,
    threads: &'a [SubjectRef],
    /// What subscribers may have chosen.
    targets: Vec<&'a SubjectRef>,
}

impl Catalogue {
    /// How a person is told of an entry for a reason, in a place.
    pub fn find_choice(
        &self,
        world: &WorldSnapshot,
        reader: &ReaderFacts<'_>,
        told: &TellableEntry<'_>,
        (reason, kind): (&EntryReason, &KindDef),
    ) -> FoundChoice {
        let by_default = || self.default_choice(reader.tenant, kind);
        if kind.critical {
            return FoundChoice { choice: PreferenceChoice::On, by: ChoiceSource::Critical };
        }
        // Nearly nobody has chosen anything.
        if reader.preferences.is_empty() {
            return by_default();
        }
        let of_kind = || find_word_of_kind(reader.preferences, kind, told.place);
        if fault::is_planted(PlantedFault::FartherWord)
            && let Some(found) = of_kind()
        {
            return found;
        }
        let state = world.state(reader.tenant, told.subject);
        let party = match &reason.because {
            AudienceMatch::Mutual(other) => Some(other),
            _ => None,
        };
        let things = EntryThings {
            actors: told.actor.into_iter().chain(party).collect(),
            subject: told.subject,
            threads: kind.threads(told.subject, state),
            targets: match &kind.to {
                Audience::SubscribersOf(fields) => referred_subjects(told.subject, state, fields),
                _ => Vec::new(),
            },
        };
        let of_thing = things.find_word(reader.preferences, kind, told.place);
        of_thing.or_else(of_kind).unwrap_or_else(by_default)
    }

    /// Whether a person chose to be told of what an entry is about, or hangs on, in a place: they subscribed.
    pub fn is_subscribed(
        &self,
        world: &WorldSnapshot,
        reader: &ReaderFacts<'_>,
        told: &TellableEntry<'_>,
        kind: &KindDef,
        target: &SubjectRef,
    ) -> bool {
        let state = world.state(reader.tenant, told.subject);
        let Audience::SubscribersOf(fields) = &kind.to else { return false };
        let is_meant = referred_subjects(told.subject, state, fields).contains(&target);
        let scopes = [PreferenceScope::About(&kind.name, target), PreferenceScope::Subject(target)];
        let word = scopes.into_iter().find_map(|scope| scope.choice_in(reader.preferences, told.place));
        is_meant && word.is_some_and(|(choice, _)| choice != PreferenceChoice::Off)
    }

    /// How those are told of a kind who have not chosen.
    fn default_choice(&self, tenant: &Tenant, kind: &KindDef) -> FoundChoice {
        let found = |choice, by| FoundChoice { choice, by };
        if let Some(choice) = kind.unless_chosen {
            return found(choice, ChoiceSource::Kind);
        }
        let Some(category) = kind.category.as_ref().and_then(|name| self.categories.get(name)) else {
            return found(PreferenceChoice::On, ChoiceSource::Nobody);
        };
        match (category.tenants.get(tenant), category.unless_chosen) {
            (Some(choice), _) => found(*choice, ChoiceSource::Tenant),
            (None, Some(choice)) => found(choice, ChoiceSource::Category),
            (None, None) => found(PreferenceChoice::On, ChoiceSource::Nobody),
        }
    }

    /// The plans under which a kind is told to a person who is told of it like this, one for each channel. Whoever wants a
    /// digest has the plan that they prefer if it gathers, else the first of its channel that does, else what all have.
    pub fn plans_by_choice(
        &self,
        kind: &KindDef,
        profile: &VersionedState,
        choice: impl Fn(Channel) -> PreferenceChoice,
    ) -> Vec<&Plan> {
        let offered: Vec<&Plan> = kind.offered_plans(&self.plans).collect();
        plan_choice::choose_plans(&offered, |channel| {
            let preferred = profile.text(channel.plan());
            if choice(channel) != PreferenceChoice::Digest {
                return preferred;
            }
            let gathers = |plan: &&&Plan| plan.channel == channel && plan.gathers();
            let is_preferred = |plan: &&&Plan| preferred == Some(plan.name.as_str());
            let first = || offered.iter().find(gathers);
            let plan = offered.iter().filter(gathers).find(is_preferred).or_else(first);
            plan.map(|plan| plan.name.as_str()).or(preferred)
        })
    }

    /// The plans under which a person may be told of a kind, whatever the entry is about; several of a channel if they have
    /// chosen how to be told of some thing.
    pub fn plans_of_reader(&self, kind: &KindDef, reader: &ReaderFacts<'_>) -> Vec<&Plan> {
        if !self.offers_digest(kind) || kind.critical {
            return self.plans_for(kind, reader.profile);
        }
        let of_kind = |channel| {
            let word = find_word_of_kind(reader.preferences, kind, ReadingPlace::Channel(channel));
            word.unwrap_or_else(|| self.default_choice(reader.tenant, kind)).choice
        };
        let mut plans = self.plans_by_choice(kind, reader.profile, of_kind);
        if has_words_of_things(reader.preferences) {
            for choice in [PreferenceChoice::On, PreferenceChoice::Digest] {
                for plan in self.plans_by_choice(kind, reader.profile, |_| choice) {
                    if plans.iter().all(|one| one.name != plan.name) {
                        plans.push(plan);
                    }
                }
            }
        }
        plans
    }

    /// Whether a kind has plans of one channel of which one gathers and another does not.
    pub fn offers_digest(&self, kind: &KindDef) -> bool {
        self.with_digest.contains(&kind.name)
    }

    /// Whether some kind has.
    pub fn offers_digests(&self) -> bool {
        !self.with_digest.is_empty()
    }
}

impl EntryThings<'_> {
    /// The person's nearest word of these.
    fn find_word(&self, words: &VersionedState, kind: &KindDef, place: ReadingPlace) -> Option<FoundChoice> {
        let Self { actors, subject, threads, targets } = self;
        let things = || threads.iter().chain(targets.iter().copied());
        let about = things().chain([*subject]).map(|of| PreferenceScope::About(&kind.name, of));
        let of_subjects = targets.iter().copied().chain([*subject]).map(PreferenceScope::Subject);
        let nearness: [Vec<PreferenceScope<'_>>; 3] = [
            actors.iter().copied().map(PreferenceScope::Actor).collect(),
            about.collect(),
            of_subjects.chain(threads.iter().map(PreferenceScope::Thread)).collect(),
        ];
        nearness.into_iter().find_map(|scopes| strictest_word(words, &scopes, place))
    }
}

/// The kinds that offer a digest beside what is told at once.
pub(crate) fn find_kinds_with_digest(kinds: &BTreeMap<Kind, KindDef>, plans: &PlanSet) -> BTreeSet<Kind> {
    let offers_digest = |kind: &&KindDef| {
        let mut gathering = kind.offered_plans(plans).filter(|plan| plan.gathers());
        gathering.any(|plan| {
            kind.offered_plans(plans).any(|other| other.channel == plan.channel && !other.gathers())
        })
    };
    kinds.values().filter(offers_digest).map(|kind| kind.name.clone()).collect()
}

/// Whether some word of these is about a person, a subject or a thread, and not only about kinds.
fn has_words_of_things(words: &VersionedState) -> bool {
    let sorts = [preferences::ACTOR, preferences::ABOUT, preferences::SUBJECT, preferences::THREAD];
    words.cells.keys().any(|field| sorts.contains(&PreferenceField::parse(field).sort))
}

/// The person's nearest word of a kind as such.
fn find_word_of_kind(words: &VersionedState, kind: &KindDef, place: ReadingPlace) -> Option<FoundChoice> {
    let category = kind.category.as_deref().map(PreferenceScope::Category);
    let scopes = [Some(PreferenceScope::Kind(&kind.name)), category, Some(PreferenceScope::All)];
    scopes.into_iter().flatten().find_map(|scope| strictest_word(words, &[scope], place))
}

fn strictest_word(
    words: &VersionedState,
    scopes: &[PreferenceScope<'_>],
    place: ReadingPlace,
) -> Option<FoundChoice> {
    let found: Vec<_> = scopes.iter().filter_map(|scope| scope.choice_in(words, place)).collect();
    let choice = found.iter().map(|(choice, _)| *choice).max()?;
    let mut fields: Vec<String> =
        found.into_iter().filter(|(of, _)| *of == choice).map(|(_, field)| field).collect();
    fields.sort();
    fields.dedup();
    Some(FoundChoice { choice, by: ChoiceSource::Person(fields) })
}

pub(crate) fn read_categories(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
) -> BTreeMap<String, CategoryDraft> {
    let Some(map) = reader.map(node, "categories") else { return BTreeMap::new() };
    if map.len() > CATEGORIES_MAX {
        reader.problem(node.at, format!("{} categories, more than {CATEGORIES_MAX}", map.len()));
    }
    let mut categories = BTreeMap::new();
    for (key, node) in map {
        reader.name(key, "a category");
        categories.extend(read_category(reader, key, node).map(|category| (key.name.clone(), category)));
    }
    categories
}

fn read_category(reader: &mut TreeReader<'_>, key: &TreeKey, node: &TreeNode) -> Option<CategoryDraft> {
    let fields = reader.fields(node, key.at, &CATEGORY)?;
    let title = match fields.get("title") {
        Some(node) => Some(read_title(reader, node)?),
        None => None,
    };
    let unless_chosen =
        fields.get("unless_chosen").and_then(|node| read_word(reader, node, "`unless_chosen`", &CHOICE));
    let mut tenants = BTreeMap::new();
    for (key, node) in fields.get("tenants").and_then(|node| reader.map(node, "`tenants`")).unwrap_or(&[]) {
        match Tenant::new(&key.name) {
            Ok(tenant) => {
                let what = format!("`{}`", key.name);
                tenants.extend(read_word(reader, node, &what, &CHOICE).map(|choice| (tenant, choice)));
            }
            Err(why) => reader.problem(key.at, why.to_string()),
        }
    }
    let text = title.as_ref().map(|title| title.text.clone()).unwrap_or_default();
    let category = KindCategory { title: text, unless_chosen, tenants, line: key.at.line };
    Some(CategoryDraft { category, title })
}

/// Checks the titles, which may say messages.
pub(crate) fn resolve_categories(
    reader: &mut TreeReader<'_>,
    written: BTreeMap<String, CategoryDraft>,
    subjects: &BTreeMap<String, SubjectType>,
) -> BTreeMap<String, KindCategory> {
    for title in written.values().filter_map(|draft| draft.title.as_ref()) {
        title.check(reader, &title_scope(subjects));
    }
    written.into_iter().map(|(name, draft)| (name, draft.category)).collect()
}

/// The category of a kind must be there, and what is critical cannot be off by itself.
pub(crate) fn check_kind(
    reader: &mut TreeReader<'_>,
    categories: &BTreeMap<String, KindCategory>,
    kind: &KindDraft,
) {
    if let Some((name, at)) = &kind.category
        && !categories.contains_key(name)
    {
        let help = did_you_mean(name, categories.keys().map(String::as_str))
            .unwrap_or_else(|| format!("add it to `categories`: `{name}: {{}}`"));
        reader.problem_with(*at, format!("there is no category `{name}`"), Some(help));
    }
    check_critical(reader, kind.critical, kind.unless_chosen);
}

fn check_critical(
    reader: &mut TreeReader<'_>,
    critical: Option<(bool, TreePlace)>,
    unless_chosen: Option<PreferenceChoice>,
) {
    if let (Some((true, at)), Some(choice)) = (critical, unless_chosen)
        && choice != PreferenceChoice::On
    {
        let what =
            format!("a critical kind is always told, so `unless_chosen: {}` says nothing", choice.name());
        reader.problem(at, what);
    }
}

/// What is not set has no line.
pub(crate) fn write_kind(text: &mut CanonicalText, kind: &KindDef) {
    if let Some(category) = &kind.category {
        text.line("category", category);
    }
    if let Some(choice) = kind.unless_chosen {
        text.line("unless chosen", choice.name());
    }
    if kind.critical {
        text.line("critical", "true");
    }
}

pub(crate) fn write_categories(text: &mut CanonicalText, categories: &BTreeMap<String, KindCategory>) {
    for (name, category) in categories {
        text.line("category", name);
        if !category.title.is_empty() {
            text.line("title", &category.title);
        }
        text.line("unless chosen", category.unless_chosen.map_or("", PreferenceChoice::name));
        for (tenant, choice) in &category.tenants {
            text.line(tenant.as_str(), choice.name());
        }
    }
}
