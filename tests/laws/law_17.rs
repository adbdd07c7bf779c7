//! Law 17: of all that somebody chose the nearest word counts, and nobody turns off what is critical. Words are drawn, and
//! what counts is found by a rank that each of them has.

use std::{collections::BTreeSet, path::Path};

use catalogue::{
    Catalogue,
    choices::{ChoiceSource, FoundChoice},
    example_moment,
    truth::{ReaderFacts, TellableEntry},
};
use model::{AudienceMatch, Channel, EntryReason, Value, ValueCell, VersionedState, WorldSnapshot};
use preferences::{PreferenceChoice, PreferenceScope};
use proptest::{collection::vec, prelude::*};

use crate::{
    names::{LIFE, a_day, entry_key, kind, person, subject, tenant},
    seeds::check_values,
};

/// What is told of a page of a book that ben edited or linked: its kinds, and how those are told it who chose nothing, of
/// the tenant `main` and of `acme`. Whoever subscribed to the book of what was edited chose something of the book, too.
const KINDS: [(&str, [PreferenceChoice; 2]); 5] = [
    ("edited", [PreferenceChoice::On; 2]),
    ("linked", [PreferenceChoice::On; 2]),
    ("quoted", [PreferenceChoice::Digest; 2]),
    ("offered", [PreferenceChoice::Off, PreferenceChoice::Digest]),
    ("locked", [PreferenceChoice::On; 2]),
];
const TENANTS: [&str; 2] = ["main", "acme"];
const CRITICAL: &str = "locked";
const SUBSCRIBED: &str = "edited";

/// Somebody's word: on what it is, for which channel, and what; or that it is taken back.
#[derive(Clone, Debug)]
struct DrawnWord {
    /// The sort of its scope, and which of three things or five kinds.
    sort: &'static str,
    thing: usize,
    kind: usize,
    channel: Option<Channel>,
    choice: Option<PreferenceChoice>,
}

const THINGS: [&str; 3] = ["page:1", "book:1", "page:2"];
const ACTORS: [&str; 3] = ["ben", "cem", "ann"];
const CATEGORIES: [&str; 3] = ["edits", "offers", "others"];

fn draw_word() -> impl Strategy<Value = DrawnWord> {
    let sorts = ["actor", "about", "subject", "thread", "kind", "category", "all"];
    let choices =
        [None, Some(PreferenceChoice::On), Some(PreferenceChoice::Digest), Some(PreferenceChoice::Off)];
    let channels = [None, Some(Channel::Push), Some(Channel::Email)];
    let places = (0..THINGS.len(), 0..KINDS.len());
    let parts = (0..sorts.len(), places, 0..channels.len(), 0..choices.len());
    parts.prop_map(move |(sort, (thing, kind), channel, choice)| DrawnWord {
        sort: sorts[sort],
        thing,
        kind,
        channel: channels[channel],
        choice: choices[choice],
    })
}

impl DrawnWord {
    fn field(&self) -> String {
        let (of_kind, thing) = (kind(KINDS[self.kind].0), subject(THINGS[self.thing]));
        let actor = person(ACTORS[self.thing]);
        let scope = match self.sort {
            "actor" => PreferenceScope::Actor(&actor),
            "about" => PreferenceScope::About(&of_kind, &thing),
            "subject" => PreferenceScope::Subject(&thing),
            "thread" => PreferenceScope::Thread(&thing),
            "kind" => PreferenceScope::Kind(&of_kind),
            "category" => PreferenceScope::Category(CATEGORIES[self.thing]),
            _ => PreferenceScope::All,
        };
        scope.field(self.channel.map(Into::into))
    }

    /// How near it is to what ben did to page 1, of which somebody is told by a kind: the nearest is 0.
    fn rank(&self, told: &str) -> Option<usize> {
        let is_edited = told == SUBSCRIBED;
        let thing = THINGS[self.thing];
        // Its book is what hangs on the page; only who is told as a subscriber may have chosen the book itself.
        match self.sort {
            "actor" => (ACTORS[self.thing] == "ben").then_some(0),
            "about" => (KINDS[self.kind].0 == told && thing != "page:2").then_some(1),
            "subject" => (thing == "page:1" || is_edited && thing == "book:1").then_some(2),
            "thread" => (thing == "book:1").then_some(2),
            "kind" => (KINDS[self.kind].0 == told).then_some(3),
            "category" => (CATEGORIES[self.thing] == category_of(told)).then_some(4),
            _ => Some(5),
        }
    }
}

fn category_of(told: &str) -> &'static str {
    if told == "offered" { "offers" } else { "edits" }
}

/// What counts of these words: of each scope the channel's own stands before that for all, and of two scopes of one rank the
/// stricter.
fn nearest_choice(words: &[DrawnWord], told: &str, channel: Channel) -> Option<(usize, PreferenceChoice)> {
    let of_scope = |word: &DrawnWord| {
        let same = |other: &&DrawnWord| DrawnWord { channel: None, ..(*other).clone() }.field();
        let scope = same(&word);
        let last_for = |channel| {
            let is_meant = |other: &&DrawnWord| same(other) == scope && other.channel == channel;
            words.iter().rfind(is_meant).and_then(|other| other.choice)
        };
        last_for(Some(channel)).or_else(|| last_for(None))
    };
    let ranked = words.iter().filter_map(|word| Some((word.rank(told)?, of_scope(word)?)));
    ranked.min_by_key(|(rank, choice)| (*rank, std::cmp::Reverse(*choice)))
}

struct ChosenScene {
    catalogue: Catalogue,
    world: WorldSnapshot,
}

impl ChosenScene {
    fn load() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogues/choices");
        let catalogue = Catalogue::load(&folder, LIFE).unwrap_or_else(|problems| panic!("{problems}"));
        let mut world = WorldSnapshot::default();
        let state = VersionedState::from_values(1, [("book", Some(Value::Ref(subject("book:1"))))]);
        for of in TENANTS {
            world.get_or_insert(&tenant(of)).subjects.insert(subject("page:1"), state.clone());
        }
        Self { catalogue, world }
    }

    fn find(&self, words: &[DrawnWord], told: &str, of: &str, channel: Channel) -> FoundChoice {
        let (of, who, ben, page) = (tenant(of), person("ann"), person("ben"), subject("page:1"));
        let (none, mut preferences) = (VersionedState::default(), VersionedState::default());
        for (version, word) in (1..).zip(words) {
            let value = Some(PreferenceChoice::to_value(word.choice));
            preferences.set(&word.field(), ValueCell { version, value });
        }
        let reader = ReaderFacts {
            tenant: &of,
            person: &who,
            profile: &none,
            preferences: &preferences,
            notes: &none,
        };
        let reason = EntryReason { kind: kind(told), because: AudienceMatch::Named };
        let told = TellableEntry {
            subject: &page,
            key: entry_key(a_day(), 0),
            actor: Some(&ben),
            reasons: &BTreeSet::new(),
            place: channel.into(),
            moment: example_moment(),
        };
        let kind = &self.catalogue.kinds[&reason.kind];
        self.catalogue.find_choice(&self.world, &reader, &told, (&reason, kind))
    }

    fn check(
        &self,
        words: &[DrawnWord],
        told: usize,
        of: usize,
        channel: Channel,
    ) -> Result<(), TestCaseError> {
        let (told, unless_chosen) = KINDS[told];
        let found = self.find(words, told, TENANTS[of], channel);
        let nearest = nearest_choice(words, told, channel).filter(|_| told != CRITICAL);
        let expected = nearest.map_or(unless_chosen[of], |(_, choice)| choice);
        prop_assert_eq!(found.choice, expected, "{:?}", &found);
        prop_assert_eq!(matches!(found.by, ChoiceSource::Person(_)), nearest.is_some(), "{:?}", &found);
        // What is farther away than the nearest word may be anything.
        if let Some((rank, _)) = nearest {
            let is_near = |word: &&DrawnWord| word.rank(told).is_some_and(|of| of <= rank);
            let near: Vec<DrawnWord> = words.iter().filter(is_near).cloned().collect();
            prop_assert_eq!(self.find(&near, told, TENANTS[of], channel), found);
        }
        Ok(())
    }
}

#[test]
fn law_17_the_nearest_word_counts() {
    let scene = ChosenScene::load();
    let channels = [Channel::Push, Channel::Email];
    let values = (vec(draw_word(), 0..12), 0..KINDS.len(), 0..TENANTS.len(), 0..channels.len());
    check_values(2_000, values, |(words, told, of, channel)| {
        scene.check(&words, told, of, channels[channel])
    });
}
