//! Sheets read, changed and read again.

use catalogue::Catalogue;
use model::{
    Channel, Person, Tenant, UtcMillis, Value, ValueCell, VersionedState, civil_time::ZoneRules,
    person::profile,
};
use preferences::PreferenceChoice;
use proptest::prelude::*;
use serde_json::json;

use crate::{
    ChangedSheet, PlanCadence, PreferenceSheet, ReaderState, SheetChange, WeekEntry, change_sheet,
    forecast_week,
};

const CATALOGUE: &str = r#"
catalogue: choices
languages: [en, de]
subjects:
  page:    {title: text, book: ref book, author: person}
  book:    {title: text}
categories:
  edits: {}
  offers: {unless_chosen: off, tenants: {acme: digest}}
kinds:
  linked:
    on: page.linked
    to: {person: author}
    category: edits
    thread: book
    says: 'linked {{ subject.title }}'
    plans: [now, daily, weekly, call]
  quoted:   {like: linked, on: page.quoted, says: 'quoted {{ subject.title }}'}
  praised:  {like: linked, on: page.praised, says: 'praised {{ subject.title }}', unless_chosen: digest}
  offered:  {like: linked, on: page.offered, says: 'offered {{ subject.title }}', category: offers}
  locked:   {like: linked, on: page.locked, says: 'locked {{ subject.title }}', critical: true}
  rated:
    on: page.rated
    to: {person: author}
    says: 'rated {{ subject.title }}'
    plans: [call]
plans:
  now:
    {channel: push, close: at_once, look_back: 3d, headline: x, body: x, sections: [{title: Now, kinds: [linked, quoted, praised, offered, locked], most: 10}]}
  daily:
    {channel: push, close: {daily: "09:00", zone: person}, look_back: 3d, headline: x, body: x, sections: [{title: Now, kinds: [linked, quoted, praised, offered, locked], most: 10}]}
  weekly:
    {channel: push, close: {weekly: "09:00", on: [sun], zone: person}, look_back: 14d, headline: x, body: x, sections: [{title: Now, kinds: [linked, quoted, praised, offered, locked], most: 10}]}
  call:
    {channel: webhook, close: at_once, look_back: 3d, headline: x, body: x, sections: [{title: Now, kinds: [linked, quoted, praised, offered, locked, rated], most: 10}]}
"#;

/// A Friday, and the Monday before.
const NOW: UtcMillis = UtcMillis(1_795_773_600_000);
const MONDAY: UtcMillis = UtcMillis(NOW.0 - 4 * 86_400_000);

fn catalogue() -> Catalogue {
    let none = |name: &str| Err(format!("no {name}"));
    Catalogue::parse(CATALOGUE, "catalogue.yaml", &none).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A person as a test knows them.
#[derive(Clone, Default)]
struct TestReader {
    profile: VersionedState,
    preferences: VersionedState,
}

impl TestReader {
    fn state<'a>(&'a self, catalogue: &'a Catalogue, tenant: &'a Tenant) -> ReaderState<'a> {
        ReaderState { catalogue, tenant, profile: &self.profile, preferences: &self.preferences }
    }

    fn sheet(&self) -> PreferenceSheet {
        let (catalogue, tenant) = (catalogue(), Tenant::new("main").unwrap());
        PreferenceSheet::read(&self.state(&catalogue, &tenant))
    }

    /// Changed, with the facts as they are stated.
    fn change(&self, change: serde_json::Value) -> Result<(Self, Vec<serde_json::Value>), (String, String)> {
        let (catalogue, tenant) = (catalogue(), Tenant::new("main").unwrap());
        let change: SheetChange = serde_json::from_value(change).unwrap();
        let person = Person::new("ann").unwrap();
        let changed = change_sheet(&self.state(&catalogue, &tenant), &person, &change, NOW);
        let ChangedSheet { facts, profile, preferences } = changed.map_err(|why| (why.at, why.reason))?;
        Ok((Self { profile, preferences }, facts.into_iter().map(|fact| fact.data).collect()))
    }
}

#[test]
fn a_sheet_shows_what_can_be_chosen_and_what_holds() {
    let sheet = TestReader::default().sheet();
    let topics: Vec<_> = sheet
        .topics
        .iter()
        .map(|line| (line.category.as_deref(), line.kind.as_deref(), line.critical))
        .collect();
    assert_eq!(
        topics,
        [
            (Some("edits"), None, false),
            (Some("offers"), None, false),
            (None, Some("locked"), true),
            (None, Some("praised"), false),
            (None, Some("rated"), false),
        ]
    );
    assert_eq!(sheet.topics[0].kinds, ["linked", "quoted"]);
    let check = |of, channel: &str, expected: &str, offers: &[(&str, Option<PlanCadence>)]| {
        let cell = sheet.cell(of, channel).unwrap();
        assert_eq!((cell.choice.as_str(), cell.chosen), (expected, false), "{of:?} {channel}");
        let offered: Vec<_> =
            cell.offers.iter().map(|offer| (offer.choice.as_str(), offer.cadence)).collect();
        assert_eq!(offered, offers, "{of:?} {channel}");
    };
    let (at_once, daily) = (Some(PlanCadence::AtOnce), Some(PlanCadence::Daily));
    check((Some("edits"), None), "push", "on", &[("on", at_once), ("digest", daily), ("off", None)]);
    check((Some("edits"), None), "webhook", "on", &[("on", at_once), ("off", None)]);
    check((Some("offers"), None), "push", "off", &[("on", at_once), ("digest", daily), ("off", None)]);
    check((None, Some("praised")), "push", "digest", &[("on", at_once), ("digest", daily), ("off", None)]);
    check((None, Some("locked")), "push", "on", &[("on", at_once)]);
    check((None, Some("rated")), "webhook", "on", &[("on", at_once), ("off", None)]);
    let plans: Vec<_> =
        sheet.channels[0].plans.iter().map(|plan| (plan.plan.as_str(), plan.cadence)).collect();
    assert_eq!(
        plans,
        [("daily", PlanCadence::Daily), ("now", PlanCadence::AtOnce), ("weekly", PlanCadence::Weekly),]
    );
    assert_eq!((sheet.channels[1].channel.as_str(), sheet.channels[1].plans.len()), ("webhook", 0));
    assert_eq!((sheet.spoken.as_str(), sheet.languages.len()), ("en", 2));
}

#[test]
fn a_change_is_the_facts_that_say_so_and_no_others() {
    let check = |change: serde_json::Value, expected: &[serde_json::Value]| {
        let (after, facts) = TestReader::default().change(change.clone()).unwrap();
        assert_eq!(facts, expected, "{change}");
        assert_eq!(
            after.change(change.clone()).unwrap().1,
            Vec::<serde_json::Value>::new(),
            "again: {change}"
        );
    };
    check(json!({}), &[]);
    check(
        json!({"language": "de", "hour": "18:00", "quiet": "22:00-08:00", "channels": {"push": {"plan": "weekly", "off": false}}}),
        &[
            json!({"person": "ann", "language": "de", "hour": "18:00", "quiet": "22:00-08:00", "push_plan": "weekly"}),
        ],
    );
    check(json!({"language": null, "hour": null, "channels": {"webhook": {"off": false}}}), &[]);
    check(json!({"channels": {"webhook": {"off": true}}}), &[json!({"person": "ann", "webhook_off": true})]);
    check(
        json!({"choices": [{"category": "edits", "channel": "push", "choice": "off"}]}),
        &[json!({"person": "ann", "category": "edits", "channel": "push", "choice": "off"})],
    );
    // So it is already.
    check(
        json!({"choices": [{"category": "edits", "channel": "push", "choice": "on"}, {"category": "offers", "choice": "off"}]}),
        &[],
    );
    check(
        json!({"choices": [{"category": "edits", "choice": "default"}, {"thread": "book:1", "choice": "default"}]}),
        &[],
    );
    // What is about more comes first, and then the other says something.
    check(
        json!({"choices": [{"category": "edits", "choice": "on"}, {"all": true, "choice": "off"}]}),
        &[
            json!({"person": "ann", "all": true, "choice": "off"}),
            json!({"person": "ann", "category": "edits", "choice": "on"}),
        ],
    );
    check(
        json!({"choices": [{"thread": "book:1", "choice": "off"}, {"kind": "linked", "subject": "page:2", "choice": "on"}]}),
        &[
            json!({"person": "ann", "thread": "book:1", "choice": "off"}),
            json!({"person": "ann", "kind": "linked", "subject": "page:2", "choice": "on"}),
        ],
    );
}

#[test]
fn a_choice_that_means_nothing_is_refused_with_its_place() {
    let check = |change: serde_json::Value, at: &str, reason: &str| {
        let refused = TestReader::default().change(change.clone()).map(|(_, facts)| facts);
        let (found, why) = refused.expect_err(&change.to_string());
        assert_eq!(found, at, "{change}");
        assert!(why.contains(reason), "{change}: {why}");
    };
    check(
        json!({"language": "fr"}),
        "/language",
        "`fr` is no language of the catalogue: it has `en` or `de`",
    );
    check(json!({"hour": "18:30"}), "/hour", "full hour");
    check(json!({"quiet": "22:00"}), "/quiet", "range of hours");
    check(json!({"channels": {"email": {"off": true}}}), "/channels/email", "nothing is told on `email`");
    check(json!({"channels": {"push": {"plan": "wekly"}}}), "/channels/push/plan", "`weekly`");
    check(json!({"channels": {"webhook": {"plan": "call"}}}), "/channels/webhook/plan", "no choice of plans");
    check(
        json!({"choices": [{"category": "edits", "choice": "never"}]}),
        "/choices/0/choice",
        "`never` is none of",
    );
    check(json!({"choices": [{"category": "edit", "choice": "off"}]}), "/choices/0/category", "`edits`");
    check(json!({"choices": [{"kind": "locked", "choice": "off"}]}), "/choices/0", "critical");
    check(
        json!({"choices": [{"kind": "rated", "channel": "push", "choice": "off"}]}),
        "/choices/0",
        "never told on `push`",
    );
    check(json!({"choices": [{"kind": "linkd", "choice": "off"}]}), "/choices/0/kind", "`linked`");
    check(
        json!({"choices": [{"subject": "spoon:1", "choice": "off"}]}),
        "/choices/0/subject",
        "no subject type `spoon`",
    );
    check(json!({"choices": [{"choice": "off"}]}), "/choices/0", "about one thing");
    check(
        json!({"choices": [{"all": true, "kind": "linked", "choice": "off"}]}),
        "/choices/0",
        "about one thing",
    );
    let twice = json!({"choices": [{"all": true, "choice": "off"}, {"all": true, "choice": "on"}]});
    check(twice, "/choices/1", "twice");
}

#[test]
fn what_a_reader_says_is_newer_than_what_is_known() {
    let (catalogue, tenant) = (catalogue(), Tenant::new("main").unwrap());
    let far = i64::MAX - 1;
    let reader = TestReader {
        profile: VersionedState::from_values(far, [(profile::HOUR, Some(Value::from_text("09:00")))]),
        preferences: VersionedState::default(),
    };
    let change = serde_json::from_value(json!({"hour": "18:00"})).unwrap();
    let person = Person::new("ann").unwrap();
    let changed = change_sheet(&reader.state(&catalogue, &tenant), &person, &change, NOW).unwrap();
    assert_eq!(changed.facts[0].version, i64::MAX);
    assert_eq!(changed.profile.text(profile::HOUR), Some("18:00"));
}

#[test]
fn last_week_is_counted_as_the_plans_would_have_told_it() {
    let (catalogue, tenant) = (catalogue(), Tenant::new("main").unwrap());
    let zones = ZoneRules::load_bundled();
    let entry = |kind: &str, hours: i64| WeekEntry {
        at: MONDAY.plus(hours * 3_600_000),
        kinds: [model::Kind::new(kind).unwrap()].into(),
        subject: "page:1".to_owned(),
    };
    // Three days of two edits each, and an offer, which nobody asked for.
    let mut entries: Vec<WeekEntry> =
        (0..3).flat_map(|day| [entry("linked", 24 * day), entry("quoted", 24 * day + 1)]).collect();
    entries.push(entry("offered", 5));
    let check = |change: serde_json::Value, expected: &[(&str, &str, usize, usize)]| {
        let (after, _) = TestReader::default().change(change.clone()).unwrap();
        let found = forecast_week(&after.state(&catalogue, &tenant), &entries, &zones);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.channel.as_str(), one.plan.as_str(), one.entries, one.messages))
            .collect();
        assert_eq!(found, expected, "{change}");
    };
    check(json!({}), &[("push", "now", 6, 6), ("webhook", "call", 6, 6)]);
    check(
        json!({"channels": {"webhook": {"off": true}}, "choices": [{"category": "edits", "choice": "digest"}]}),
        &[("push", "daily", 6, 3)],
    );
    check(
        json!({"channels": {"push": {"plan": "weekly"}}, "choices": [{"category": "edits", "channel": "webhook", "choice": "off"}]}),
        &[("push", "weekly", 6, 1)],
    );
    check(
        json!({"choices": [{"category": "edits", "choice": "off"}, {"category": "offers", "channel": "push", "choice": "on"}]}),
        &[("push", "now", 1, 1)],
    );
}

/// A word of a person's, as it may be there already or be asked for.
fn word() -> impl Strategy<Value = (usize, Option<usize>, Option<usize>)> {
    (0_usize..6, prop::option::of(0_usize..2), prop::option::of(0_usize..3))
}

/// What words are about, by the fields of facts.
const SCOPES: [(&str, &str); 6] = [
    ("all", ""),
    ("category", "edits"),
    ("category", "offers"),
    ("kind", "linked"),
    ("kind", "quoted"),
    ("thread", "book:1"),
];
const CHANNELS: [Channel; 2] = [Channel::Push, Channel::Hook(model::hook::Hook::Webhook)];

proptest! {
    /// Whatever somebody said before: what they ask for is what the sheet shows then, and asking again states nothing.
    #[test]
    fn a_sheet_shows_what_was_changed(
        before in prop::collection::vec(word(), 0..8),
        (scope, channel, wanted) in word(),
    ) {
        let mut reader = TestReader::default();
        for (scope, channel, choice) in before {
            let (sort, of) = SCOPES[scope];
            let field = if of.is_empty() { sort.to_owned() } else { format!("{sort} {of}") };
            let field = channel.map_or(field.clone(), |at| format!("{}/{field}", CHANNELS[at]));
            let choice = choice.map(|at| PreferenceChoice::ALL[at]);
            let value = Some(PreferenceChoice::to_value(choice));
            reader.preferences.set(&field, ValueCell { version: 1, value });
        }
        let (sort, of) = SCOPES[scope];
        let word = wanted.map_or("default", |at| PreferenceChoice::ALL[at].name());
        let mut change = json!({"choice": word, sort: of});
        if sort == "all" {
            change["all"] = json!(true);
        }
        if let Some(at) = channel {
            change["channel"] = json!(CHANNELS[at].name());
        }
        let change = json!({"choices": [change]});
        let before = reader.sheet();
        let (after, facts) = reader.change(change.clone()).unwrap();
        prop_assert_eq!(after.change(change).unwrap().1, Vec::<serde_json::Value>::new());
        let sheet = after.sheet();
        if facts.is_empty() {
            prop_assert_eq!(&sheet, &before);
        }
        let channels = channel.map_or(CHANNELS.to_vec(), |at| vec![CHANNELS[at]]);
        let line = match sort {
            "category" => (Some(of), None),
            "kind" => (None, Some(of)),
            _ => return Ok(()),
        };
        for at in channels {
            if let (Some(wanted), Some(cell)) = (wanted, sheet.cell(line, at.name())) {
                prop_assert_eq!(cell.choice.as_str(), PreferenceChoice::ALL[wanted].name());
            }
        }
        // The other channel is told as before.
        for other in CHANNELS.into_iter().filter(|_| channel.is_some()) {
            let is_other = channel.is_some_and(|at| CHANNELS[at] != other);
            if let (true, Some(one), Some(two)) =
                (is_other, before.cell(line, other.name()), sheet.cell(line, other.name()))
            {
                prop_assert_eq!(&one.choice, &two.choice);
            }
        }
    }
}
