//! What is known of a person, and what of it is about a topic.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{Catalogue, KindDef};
use model::{Channel, Kind, Tenant, VersionedState, plan::Plan};
use preferences::{PreferenceChoice, PreferenceField, PreferenceScope};

/// What is known of a person.
#[derive(Clone, Copy, Debug)]
pub struct ReaderState<'a> {
    pub catalogue: &'a Catalogue,
    pub tenant: &'a Tenant,
    pub profile: &'a VersionedState,
    pub preferences: &'a VersionedState,
}

/// A topic of the sheet: a category, or a kind that stands by itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SheetTopic {
    Category(String),
    Kind(Kind),
}

impl SheetTopic {
    pub fn scope(&self) -> PreferenceScope<'_> {
        match self {
            Self::Category(name) => PreferenceScope::Category(name),
            Self::Kind(kind) => PreferenceScope::Kind(kind),
        }
    }
}

impl<'a> ReaderState<'a> {
    /// All topics, each with the kinds that its choice is for. A kind of a category stands by itself where the choice of the
    /// category does not say how it is told: it is critical, or somebody said something of it alone.
    pub(crate) fn topics(&self) -> BTreeMap<SheetTopic, Vec<&'a KindDef>> {
        let mut topics: BTreeMap<SheetTopic, Vec<&'a KindDef>> = BTreeMap::new();
        for kind in self.catalogue.kinds.values() {
            let category = kind.category.as_ref().filter(|_| !self.stands_alone(kind));
            let topic = match category {
                Some(name) => SheetTopic::Category(name.clone()),
                None => SheetTopic::Kind(kind.name.clone()),
            };
            topics.entry(topic).or_default().push(kind);
        }
        topics
    }

    fn stands_alone(&self, kind: &KindDef) -> bool {
        kind.critical
            || kind.unless_chosen.is_some()
            || Channel::ALL
                .iter()
                .any(|channel| self.choice_of(&PreferenceScope::Kind(&kind.name), *channel).is_some())
    }

    /// The person's own word of something on a channel.
    pub(crate) fn choice_of(
        &self,
        scope: &PreferenceScope<'_>,
        channel: Channel,
    ) -> Option<PreferenceChoice> {
        scope.choice_in(self.preferences, channel).map(|(choice, _)| choice)
    }

    /// How the kinds of a topic are told on a channel as far as nothing nearer is said, and whether the person says so.
    pub(crate) fn choice_of_topic(
        &self,
        topic: &SheetTopic,
        kinds: &[&KindDef],
        channel: Channel,
    ) -> (PreferenceChoice, bool) {
        let category = kinds.iter().find_map(|kind| kind.category.as_deref());
        let scopes =
            [Some(topic.scope()), category.map(PreferenceScope::Category), Some(PreferenceScope::All)];
        let is_critical = !kinds.is_empty() && kinds.iter().all(|kind| kind.critical);
        let said = scopes.iter().flatten().find_map(|scope| self.choice_of(scope, channel));
        match said.filter(|_| !is_critical) {
            Some(choice) => (choice, true),
            None if is_critical => (PreferenceChoice::On, false),
            None => (kinds.first().map_or(PreferenceChoice::On, |kind| self.default_of(kind)), false),
        }
    }

    fn default_of(&self, kind: &KindDef) -> PreferenceChoice {
        let category = || {
            let category = self.catalogue.categories.get(kind.category.as_ref()?)?;
            category.tenants.get(self.tenant).copied().or(category.unless_chosen)
        };
        kind.unless_chosen.or_else(category).unwrap_or(PreferenceChoice::On)
    }

    /// The channels on which some of these kinds are told.
    pub(crate) fn channels_of(&self, kinds: &[&KindDef]) -> BTreeSet<Channel> {
        self.catalogue.channels_of(kinds.iter().map(|kind| &kind.name))
    }

    /// The plans by which a kind is told with a choice, one for each channel.
    pub(crate) fn plans_of(&self, kind: &KindDef, choice: PreferenceChoice) -> Vec<&'a Plan> {
        self.catalogue.plans_by_choice(kind, self.profile, |_| choice)
    }

    /// The things of which the person says something: who does it, what it is about, or what it hangs on.
    pub(crate) fn things(&self) -> impl Iterator<Item = (PreferenceField<'a>, PreferenceChoice)> {
        let cells = self.preferences.cells.iter();
        cells.filter_map(|(field, cell)| {
            let choice = PreferenceChoice::from_value(cell.value.as_ref()?)?;
            let field = PreferenceField::parse(field);
            let of_things =
                [preferences::ACTOR, preferences::ABOUT, preferences::SUBJECT, preferences::THREAD];
            of_things.contains(&field.sort).then_some((field, choice))
        })
    }
}
