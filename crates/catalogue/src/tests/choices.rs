//! Which word of a person, or of the catalogue for them, counts.

use std::collections::BTreeSet;

use model::{
    AudienceMatch, Channel, EntryKey, EntryReason, EventKey, Kind, Person, Tenant, ValueCell, VersionedState,
    WorldSnapshot,
};
use preferences::{PreferenceChoice, PreferenceScope, ReadingPlace};

use super::subject_ref;
use crate::{
    Catalogue,
    choices::ChoiceSource,
    example_moment,
    truth::{ReaderFacts, TellableEntry},
};

const CATALOGUE: &str = "
catalogue: choices
subjects: {page: {title: text, owner: person, book: ref book}, book: {title: text}}
categories:
  edits: {unless_chosen: digest, tenants: {acme: off}}
kinds:
  edited:
    {on: page.edited, to: {person: owner}, thread: book, category: edits, says: edited, plans: [now, daily]}
  linked: {like: edited, unless_chosen: on}
  alarm:  {like: edited, critical: true}
plans:
  now:
    {channel: push, close: at_once, look_back: 2d, headline: h, body: b,
     sections: [{title: All, kinds: [edited, linked, alarm], most: 9, order: newest}]}
  daily:
    {channel: push, close: {daily: '09:00', zone: person}, look_back: 2d, headline: h, body: b,
     sections: [{title: All, kinds: [edited, linked, alarm], most: 9, order: newest}]}
";

fn parse() -> Catalogue {
    let parsed = Catalogue::parse(CATALOGUE, "catalogue.yaml", &|_| Err("no file".to_owned()));
    parsed.unwrap_or_else(|problems| panic!("{problems}"))
}

/// A person, and what is known of the page that an entry is about.
struct ChoiceScene {
    catalogue: Catalogue,
    world: WorldSnapshot,
}

type PreferenceWord<'a> = (PreferenceScope<'a>, Option<ReadingPlace>, PreferenceChoice);

impl ChoiceScene {
    fn new() -> Self {
        let mut world = WorldSnapshot::default();
        let book = model::Value::Ref(subject_ref("book:1"));
        let state = VersionedState::from_values(1, [("book", Some(book))]);
        for tenant in ["main", "acme"] {
            let share = world.get_or_insert(&Tenant::new(tenant).unwrap());
            share.subjects.insert(subject_ref("page:1"), state.clone());
        }
        Self { catalogue: parse(), world }
    }

    /// What counts for ann of what ben did to the page, and by which plan she is told.
    fn check(&self, kind: &str, tenant: &str, words: &[PreferenceWord<'_>], expected: &str) {
        let Self { catalogue, world } = self;
        let (page, ben, ann) =
            (subject_ref("page:1"), Person::new("ben").unwrap(), Person::new("ann").unwrap());
        let (tenant, none) = (Tenant::new(tenant).unwrap(), VersionedState::default());
        let mut preferences = VersionedState::default();
        for (scope, place, choice) in words {
            let value = Some(PreferenceChoice::to_value(Some(*choice)));
            preferences.set(&scope.field(*place), ValueCell { version: 1, value });
        }
        let reader = ReaderFacts {
            tenant: &tenant,
            person: &ann,
            profile: &none,
            preferences: &preferences,
            notes: &none,
        };
        let reason = EntryReason { kind: Kind::new(kind).unwrap(), because: AudienceMatch::Named };
        let told = TellableEntry {
            subject: &page,
            key: EntryKey { occurred: example_moment().now, event: EventKey([0; 16]) },
            actor: Some(&ben),
            reasons: &BTreeSet::new(),
            place: Channel::Push.into(),
            moment: example_moment(),
        };
        let found = catalogue.find_choice(world, &reader, &told, (&reason, &catalogue.kinds[kind]));
        let by = match &found.by {
            ChoiceSource::Person(fields) => fields.join(" and "),
            other => format!("{other:?}").to_lowercase(),
        };
        assert_eq!(format!("{} by {by}", found.choice.name()), expected, "{kind} {words:?}");
        let plans = catalogue.plans_by_choice(&catalogue.kinds[kind], &none, |_| found.choice);
        let plan = if found.choice == PreferenceChoice::Digest { "daily" } else { "now" };
        assert_eq!(plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>(), [plan]);
    }
}

#[test]
fn the_nearest_word_counts() {
    let scene = ChoiceScene::new();
    let (page, book, ben) = (subject_ref("page:1"), subject_ref("book:1"), Person::new("ben").unwrap());
    let (edited, linked) = (Kind::new("edited").unwrap(), Kind::new("linked").unwrap());
    let (on, digest, off) = (PreferenceChoice::On, PreferenceChoice::Digest, PreferenceChoice::Off);
    scene.check("edited", "main", &[], "digest by category");
    scene.check("edited", "acme", &[], "off by tenant");
    scene.check("linked", "acme", &[], "on by kind");
    scene.check("alarm", "acme", &[(PreferenceScope::All, None, off)], "on by critical");
    // Each is nearer than those before it.
    let nearer = [
        (PreferenceScope::All, off),
        (PreferenceScope::Category("edits"), on),
        (PreferenceScope::Kind(&edited), digest),
        (PreferenceScope::Thread(&book), off),
        (PreferenceScope::About(&edited, &page), on),
        (PreferenceScope::Actor(&ben), off),
    ];
    for many in 1..=nearer.len() {
        let words: Vec<_> = nearer[..many].iter().map(|(scope, choice)| (*scope, None, *choice)).collect();
        let (scope, choice) = nearer[many - 1];
        scene.check("edited", "acme", &words, &format!("{} by {scope}", choice.name()));
    }
    // Of two that are equally near the stricter counts, and a word for the channel comes before one for all.
    let both = [(PreferenceScope::Thread(&book), None, digest), (PreferenceScope::Subject(&page), None, on)];
    scene.check("edited", "main", &both, "digest by thread book:1");
    let same = [(PreferenceScope::Thread(&book), None, off), (PreferenceScope::Subject(&page), None, off)];
    scene.check("edited", "main", &same, "off by subject page:1 and thread book:1");
    let kind = PreferenceScope::Kind(&edited);
    let channels = [
        (kind, None, off),
        (kind, Some(Channel::Push.into()), on),
        (kind, Some(Channel::Email.into()), digest),
    ];
    scene.check("edited", "main", &channels, "on by push/kind edited");
    // Words about other kinds, channels, things and people say nothing.
    let (other, cem) = (subject_ref("page:2"), Person::new("cem").unwrap());
    let others = [
        (PreferenceScope::Kind(&linked), None, off),
        (PreferenceScope::Kind(&edited), Some(Channel::Email.into()), off),
        (PreferenceScope::Subject(&other), None, off),
        (PreferenceScope::About(&linked, &page), None, off),
        (PreferenceScope::Thread(&page), None, off),
        (PreferenceScope::Actor(&cem), None, off),
        (PreferenceScope::Category("others"), None, off),
    ];
    scene.check("edited", "main", &others, "digest by category");
}

#[test]
fn a_choice_that_changes_nothing_says_why() {
    let catalogue = parse();
    let check = |field: &str, expected: &str| {
        assert_eq!(catalogue.explain_idle_choice(field).unwrap_or_default(), expected, "{field}");
    };
    let fields = ["all", "kind edited", "category edits", "actor ben", "push/kind edited", "subject page:1"];
    for field in fields.into_iter().chain(["thread book:1", "about edited page:1", "about edited book:1"]) {
        check(field, "");
    }
    check("kind alarm", "`alarm` is critical, so it is told whatever people choose");
    check("about alarm page:1", "`alarm` is critical, so it is told whatever people choose");
    check("email/kind edited", "`edited` is never told on `email`");
    check("feed/kind edited", "");
    check("email/all", "all that it is about is never told on `email`");
    check("subject book:1", "no kind is about a `book`");
    check("thread page:1", "no kind has a `page` as its thread");
    check("about edited work:1", "`edited` is not about a `work`");
    check("category others", "no kind is in the category `others`");
    // Only one who subscribed to it is found by a critical kind of subscribers.
    let text = CATALOGUE.replace("to: {person: owner}", "to: {subscribers_of: [subject, book]}");
    let catalogue = Catalogue::parse(&text, "catalogue.yaml", &|_| Err("no file".to_owned())).unwrap();
    for field in ["about alarm page:1", "about alarm book:1", "subject book:1"] {
        assert_eq!(catalogue.explain_idle_choice(field), None, "{field}");
    }
}
