//! What is known of a person, and what of it is about a topic.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{Catalogue, KindDef};
use model::{
    Channel, Day, Kind, SubjectRef, Tenant, UtcMillis, VersionedState,
    civil_time::{ZoneRules, local_date},
    person::profile,
    plan::Plan,
};
use preferences::{PreferenceChoice, PreferenceField, PreferenceScope, ReadingPlace};

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
    /// The date that it is where the person is.
    pub fn today(&self, (now, zones): (UtcMillis, &ZoneRules)) -> Day {
        Day(local_date(now, &zones.get_or_utc(self.profile.text(profile::ZONE))))
    }

    /// Whether a break until this date would be over before it begins. What is stated already may grow old.
    pub fn is_break_over(&self, date: &str, clock: (UtcMillis, &ZoneRules)) -> bool {
        let is_stated = self.profile.text(profile::QUIET_UNTIL) == Some(date);
        !is_stated && Day::parse(date).is_some_and(|date| date < self.today(clock))
    }

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
            || ReadingPlace::ALL
                .iter()
                .any(|place| self.choice_of(&PreferenceScope::Kind(&kind.name), *place).is_some())
    }

    /// The person's own word of something for a place.
    pub(crate) fn choice_of(
        &self,
        scope: &PreferenceScope<'_>,
        place: ReadingPlace,
    ) -> Option<PreferenceChoice> {
        scope.choice_in(self.preferences, place).map(|(choice, _)| choice)
    }

    /// How the kinds of a topic are told in a place as far as nothing nearer is said, and whether the person says so. Where they
    /// say nothing of the feed, it has what is on for some channel.
    pub(crate) fn choice_of_topic(
        &self,
        topic: &SheetTopic,
        kinds: &[&KindDef],
        place: ReadingPlace,
    ) -> (PreferenceChoice, bool) {
        let category = kinds.iter().find_map(|kind| kind.category.as_deref());
        let scopes =
            [Some(topic.scope()), category.map(PreferenceScope::Category), Some(PreferenceScope::All)];
        let is_critical = !kinds.is_empty() && kinds.iter().all(|kind| kind.critical);
        let said_for = |place| {
            let said = scopes.iter().flatten().find_map(|scope| scope.choice_in(self.preferences, place));
            said.filter(|_| !is_critical)
        };
        let by_default = || match kinds.first() {
            Some(kind) if !is_critical => self.default_of(kind),
            _ => PreferenceChoice::On,
        };
        let choice_for = |place| match said_for(place) {
            Some((choice, _)) => (choice, true),
            None => (by_default(), false),
        };
        if place != ReadingPlace::Feed {
            return choice_for(place);
        }
        match said_for(place) {
            Some((choice, field)) if PreferenceField::parse(&field).is_of_feed() => {
                (place.limit_choice(choice), true)
            }
            _ => {
                let is_on = |channel: Channel| choice_for(channel.into()).0 != PreferenceChoice::Off;
                let choice = if Channel::ALL.into_iter().any(is_on) {
                    PreferenceChoice::On
                } else {
                    PreferenceChoice::Off
                };
                (choice, false)
            }
        }
    }

    pub(crate) fn default_of(&self, kind: &KindDef) -> PreferenceChoice {
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

    /// The places where some of these kinds are read.
    pub(crate) fn places_of(&self, kinds: &[&KindDef]) -> BTreeSet<ReadingPlace> {
        let feed = (self.catalogue.feed && !kinds.is_empty()).then_some(ReadingPlace::Feed);
        feed.into_iter().chain(self.channels_of(kinds).into_iter().map(ReadingPlace::Channel)).collect()
    }

    /// The plans by which a kind is told with a choice, one for each channel.
    pub(crate) fn plans_of(&self, kind: &KindDef, choice: PreferenceChoice) -> Vec<&'a Plan> {
        self.catalogue.plans_by_choice(kind, self.profile, |_| choice)
    }

    /// The things of which the person says something, as far as the catalogue knows them: who does it, what it is about, or what
    /// it hangs on; with the version of what they say.
    pub(crate) fn things(&self) -> impl Iterator<Item = (PreferenceField<'a>, PreferenceChoice, i64)> {
        let catalogue = self.catalogue;
        self.preferences.cells.iter().filter_map(move |(field, cell)| {
            let choice = PreferenceChoice::from_value(cell.value.as_ref()?)?;
            let field = PreferenceField::parse(field);
            is_known_thing(field, catalogue).then_some((field, choice, cell.version))
        })
    }
}

/// Whether a field is about one thing that can still be. Of another no fact is taken, not even that it is to end.
fn is_known_thing(field: PreferenceField<'_>, catalogue: &Catalogue) -> bool {
    let has_type = |id: &str| SubjectRef::new(id).is_ok_and(|of| catalogue.subjects.contains_key(of.kind()));
    match field.sort {
        preferences::ACTOR => true,
        preferences::SUBJECT | preferences::THREAD => has_type(field.of),
        preferences::ABOUT => field.of.split_once(' ').is_some_and(|(kind, subject)| {
            has_type(subject) && catalogue.kinds.keys().any(|known| known.as_str() == kind)
        }),
        _ => false,
    }
}
