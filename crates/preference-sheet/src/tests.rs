//! Sheets read, changed and read again.

use catalogue::Catalogue;
use model::{
    Channel, Person, PlanName, Tenant, UtcMillis, Value, ValueCell, VersionedState, civil_time::ZoneRules,
    person::profile,
};
use preferences::{PreferenceChoice, ReadingPlace};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    ChangedSheet, PlanCadence, PreferenceSheet, ReaderState, SheetChange, ThingLine, WeekEntry, change_sheet,
    forecast_week,
};

const CATALOGUE: &str = r#"
catalogue: choices
feed: true
languages: [en, de]
subjects:
  page:    {title: text, book: ref book, author: person}
  book:    {title: text}
categories:
  edits: {title: All edits}
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

/// A category of which one kind has a digest and the other has none.
const NOTICES: &str = r#"
catalogue: notices
subjects:
  page: {title: text, author: person}
categories:
  notices: {}
kinds:
  edited:
    on: page.edited
    to: {person: author}
    category: notices
    says: 'edited {{ subject.title }}'
    plans: [now, daily, weekly]
  welcomed: {like: edited, on: page.welcomed, says: 'welcomed {{ subject.title }}', plans: [greeting]}
plans:
  now:
    {channel: push, close: at_once, look_back: 3d, headline: x, body: x, sections: [{title: Now, kinds: [edited], most: 10}]}
  daily:
    {channel: push, close: {daily: "09:00", zone: person}, look_back: 3d, headline: x, body: x, sections: [{title: Now, kinds: [edited], most: 10}]}
  weekly:
    {channel: push, close: {weekly: "09:00", on: [sun], zone: person}, look_back: 14d, headline: x, body: x, sections: [{title: Now, kinds: [edited], most: 10}]}
  greeting:
    {channel: push, close: at_once, look_back: 3d, headline: x, body: x, sections: [{title: Now, kinds: [welcomed], most: 10}]}
"#;

/// A Friday, and the Monday before.
const NOW: UtcMillis = UtcMillis(1_795_773_600_000);
const MONDAY: UtcMillis = UtcMillis(NOW.0 - 4 * 86_400_000);

fn catalogue() -> Catalogue {
    parse_catalogue(CATALOGUE)
}

fn parse_catalogue(text: &str) -> Catalogue {
    let none = |name: &str| Err(format!("no {name}"));
    Catalogue::parse(text, "catalogue.yaml", &none).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A person as a test knows them.
#[derive(Clone, Default)]
struct TestReader {
    profile: VersionedState,
    preferences: VersionedState,
}

impl TestReader {
    /// Somebody who said this: by which field, in which version, and what.
    fn from_words(words: &[(&str, i64, Option<PreferenceChoice>)]) -> Self {
        let mut reader = Self::default();
        for (field, version, choice) in words {
            let value = Some(PreferenceChoice::to_value(*choice));
            reader.preferences.set(field, ValueCell { version: *version, value });
        }
        reader
    }

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
        let zones = ZoneRules::load_bundled();
        let changed = change_sheet(&self.state(&catalogue, &tenant), &person, &change, (NOW, &zones));
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
    let titles: Vec<&str> = sheet.topics.iter().map(|line| line.title.as_str()).collect();
    assert_eq!(titles, ["All edits", "offers", "locked", "praised", "rated"]);
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
    check((Some("edits"), None), "feed", "on", &[("on", at_once), ("off", None)]);
    check((Some("offers"), None), "feed", "off", &[("on", at_once), ("off", None)]);
    check((None, Some("praised")), "feed", "on", &[("on", at_once), ("off", None)]);
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
fn a_digest_is_as_quick_as_what_gathers() {
    let (catalogue, tenant) = (parse_catalogue(NOTICES), Tenant::new("main").unwrap());
    let check = |preferred: Option<&str>, choice: &str, plans: &[&str], cadence: Option<PlanCadence>| {
        let preferred = [(profile::PUSH_PLAN, preferred.map(Value::from_text))];
        let profile = VersionedState::from_values(1, preferred);
        let reader = TestReader { profile, ..TestReader::default() };
        let sheet = PreferenceSheet::read(&reader.state(&catalogue, &tenant));
        let cell = sheet.cell((Some("notices"), None), "push").unwrap();
        let offer = cell.offers.iter().find(|offer| offer.choice == choice).unwrap();
        let found: Vec<&str> = offer.plans.iter().map(String::as_str).collect();
        assert_eq!((found.as_slice(), offer.cadence), (plans, cadence), "{choice}");
    };
    check(None, "on", &["greeting", "now"], Some(PlanCadence::AtOnce));
    check(None, "digest", &["greeting", "daily"], Some(PlanCadence::Daily));
    check(Some("weekly"), "digest", &["greeting", "weekly"], Some(PlanCadence::Weekly));
    check(None, "off", &[], None);
}

#[test]
fn what_is_usual_is_said_where_it_is_one_thing() {
    let tenant = Tenant::new("main").unwrap();
    let check = |text: &str, time: Option<&str>, push: Option<&str>| {
        let (catalogue, nobody) = (parse_catalogue(text), TestReader::default());
        let reader = nobody.state(&catalogue, &tenant);
        let found = reader.find_usual_time().map(|time| format!("{:02}:{:02}", time.hour, time.minute));
        assert_eq!(found.as_deref(), time, "{text}");
        assert_eq!(reader.find_usual_plan(Channel::Push).map(PlanName::as_str), push, "{text}");
        assert_eq!(reader.find_usual_plan(Channel::Email), None, "{text}");
    };
    check(NOTICES, Some("09:00"), Some("now"));
    let weekly = |close: &str| NOTICES.replace("{weekly: \"09:00\", on: [sun], zone: person}", close);
    check(&weekly("{weekly: \"18:30\", on: [sun], zone: person}"), None, Some("now"));
    check(&weekly("{weekly: \"18:30\", on: [sun], zone: Europe/Berlin}"), Some("09:00"), Some("now"));
    check(&weekly("{weekly: [\"08:00\", \"18:30\"], on: [sun], zone: person}"), Some("09:00"), Some("now"));
    check(&NOTICES.replace("notices: {}", "notices: {unless_chosen: digest}"), Some("09:00"), Some("daily"));
    check(&NOTICES.replace("notices: {}", "notices: {unless_chosen: off}"), Some("09:00"), Some("now"));
    // Some kinds come at once there, and one as a digest.
    check(CATALOGUE, Some("09:00"), None);
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
        json!({"language": "de", "hour": "18:00", "quiet": "22:00-08:00", "quiet_until": "2026-12-24", "channels": {"push": {"plan": "weekly", "off": false}}}),
        &[
            json!({"person": "ann", "language": "de", "hour": "18:00", "quiet": "22:00-08:00", "quiet_until": "2026-12-24", "push_plan": "weekly"}),
        ],
    );
    check(json!({"language": null, "hour": null, "channels": {"webhook": {"off": false}}}), &[]);
    check(json!({"channels": {"webhook": {"off": true}}}), &[json!({"person": "ann", "webhook_off": true})]);
    check(
        json!({"choices": [{"category": "edits", "channel": "push", "choice": "off"}]}),
        &[json!({"person": "ann", "category": "edits", "channel": "push", "choice": "off"})],
    );
    check(
        json!({"choices": [{"category": "edits", "channel": "feed", "choice": "off"}]}),
        &[json!({"person": "ann", "category": "edits", "channel": "feed", "choice": "off"})],
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
    check(json!({"quiet_until": "24.12.2026"}), "/quiet_until", "not a date");
    check(json!({"quiet_until": "2026-2-30"}), "/quiet_until", "not a date");
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
    check(
        json!({"choices": [{"kind": "linked", "channel": "feed", "choice": "digest"}]}),
        "/choices/0/choice",
        "a feed has no digest",
    );
    check(json!({"choices": [{"kind": "linkd", "choice": "off"}]}), "/choices/0/kind", "`linked`");
    check(
        json!({"choices": [{"subject": "spoon:1", "choice": "off"}]}),
        "/choices/0/subject",
        "no type of subject `spoon`: use",
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
fn a_break_ends_today_or_later_where_the_person_is() {
    // It is noon in Berlin, and on Kiritimati the next day begins.
    let check = |zone: &str, stated: Option<&str>, until: Option<&str>, expected: Result<usize, String>| {
        let stated = (profile::QUIET_UNTIL, stated.map(Value::from_text));
        let profile = VersionedState::from_values(1, [(profile::ZONE, Some(Value::from_text(zone))), stated]);
        let reader = TestReader { profile, ..TestReader::default() };
        let changed = reader.change(json!({"quiet_until": until}));
        let found = changed.map(|(_, facts)| facts.len()).map_err(|(at, reason)| format!("{at} {reason}"));
        assert_eq!(found, expected, "{zone} {until:?}");
    };
    let over = |date: &str| format!("/quiet_until `{date}` is over: a later date is expected");
    check("Europe/Berlin", None, Some("2026-11-27"), Ok(1));
    check("Europe/Berlin", None, Some("2026-11-26"), Err(over("2026-11-26")));
    check("Pacific/Kiritimati", None, Some("2026-11-27"), Err(over("2026-11-27")));
    check("Pacific/Kiritimati", None, Some("2026-11-28"), Ok(1));
    check("nowhere", None, Some("2020-01-01"), Err(over("2020-01-01")));
    check("UTC", None, Some("9999-12-31"), Ok(1));
    // What is there already is stated by nobody anew, and can be taken back.
    check("UTC", Some("2020-01-01"), Some("2020-01-01"), Ok(0));
    check("UTC", Some("2020-01-01"), Some("2020-01-02"), Err(over("2020-01-02")));
    check("UTC", Some("2020-01-01"), None, Ok(1));
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
    let clock = (NOW, &ZoneRules::load_bundled());
    let changed = change_sheet(&reader.state(&catalogue, &tenant), &person, &change, clock).unwrap();
    assert_eq!(changed.facts[0].version, i64::MAX);
    assert_eq!(changed.profile.text(profile::HOUR), Some("18:00"));
}

/// Each thing with what is said of it.
fn list_lines(lines: &[ThingLine]) -> Vec<String> {
    let line = |line: &ThingLine| {
        let words: Vec<String> = line.words().map(|(field, choice)| format!("{field}={choice}")).collect();
        words.join(", ")
    };
    lines.iter().map(line).collect()
}

#[test]
fn a_thing_is_subscribed_to_or_muted_and_what_was_said_last_comes_first() {
    use PreferenceChoice::{Digest, Off, On};
    let check = |words: &[(&str, i64, Option<PreferenceChoice>)], subscriptions: &[&str], mutes: &[&str]| {
        let sheet = TestReader::from_words(words).sheet();
        assert_eq!(list_lines(&sheet.subscriptions), subscriptions, "{words:?}");
        assert_eq!(list_lines(&sheet.mutes), mutes, "{words:?}");
    };
    check(&[], &[], &[]);
    check(
        &[
            ("subject page:1", 1, Some(On)),
            ("about linked page:2", 3, Some(Digest)),
            ("actor bob", 2, Some(On)),
        ],
        &["about linked page:2=digest", "actor bob=on", "subject page:1=on"],
        &[],
    );
    check(
        &[("thread book:1", 1, Some(Off)), ("subject page:9", 1, Some(Off)), ("actor bob", 2, Some(Off))],
        &[],
        &["actor bob=off", "subject page:9=off", "thread book:1=off"],
    );
    // Whoever is told on one channel is told.
    check(
        &[("subject page:1", 1, Some(Off)), ("push/subject page:1", 5, Some(On)), ("actor bob", 2, Some(On))],
        &["subject page:1=off, push/subject page:1=on", "actor bob=on"],
        &[],
    );
    // What was taken back is said no more, and topics are no things.
    check(&[("subject page:1", 1, None), ("kind linked", 1, Some(Off)), ("all", 1, Some(On))], &[], &[]);
    // What the catalogue no longer has can be no more.
    check(
        &[
            ("subject spoon:1", 1, Some(On)),
            ("about gone page:1", 1, Some(On)),
            ("about linked", 1, Some(Off)),
        ],
        &[],
        &[],
    );
}

#[test]
fn what_ends_is_as_before_once_it_is_stated_again() {
    use PreferenceChoice::{Digest, Off, On};
    let check = |words: &[(&str, i64, Option<PreferenceChoice>)], end: serde_json::Value, facts: usize| {
        let before = TestReader::from_words(words);
        let (ended, stated) = before.change(json!({"choices": [end]})).unwrap();
        assert_eq!(stated.len(), facts, "{words:?}: {stated:?}");
        assert!(stated.iter().all(|fact| fact["choice"] == "default"), "{words:?}: {stated:?}");
        let sheet = ended.sheet();
        assert_eq!((sheet.subscriptions, sheet.mutes), (Vec::new(), Vec::new()), "{words:?}");
        let again: Vec<serde_json::Value> = words
            .iter()
            .map(|(field, _, choice)| {
                let mut one = end.clone();
                one["choice"] = json!(choice.map_or("default", PreferenceChoice::name));
                one["channel"] = json!(field.split_once('/').map(|(channel, _)| channel));
                one
            })
            .collect();
        let (again, _) = ended.change(json!({"choices": again})).unwrap();
        assert_eq!(again.sheet(), before.sheet(), "{words:?}");
    };
    let page = json!({"subject": "page:1", "choice": "default"});
    check(&[("subject page:1", 7, Some(On))], page.clone(), 1);
    check(&[("push/subject page:1", 7, Some(Digest))], page.clone(), 1);
    check(&[("subject page:1", 7, Some(On)), ("push/subject page:1", 9, Some(Off))], page, 2);
    let linked = json!({"kind": "linked", "subject": "page:1", "choice": "default"});
    check(&[("about linked page:1", 7, Some(Digest))], linked, 1);
    check(&[("thread book:1", 7, Some(Off))], json!({"thread": "book:1", "choice": "default"}), 1);
    check(&[("actor bob", 7, Some(Off))], json!({"actor": "bob", "choice": "default"}), 1);
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

/// Whoever says `on` of a subject belongs to its subscribers, and whoever ends it for all places does not: of the facts about one
/// subject the newest stands, as the way in has it.
#[test]
fn whoever_wants_a_thing_anywhere_is_asked_about_it() {
    use PreferenceChoice::{Off, On};
    let check = |words: &[(&str, i64, Option<PreferenceChoice>)],
                 choices: serde_json::Value,
                 belongs: bool| {
        let reader = TestReader::from_words(words);
        let (catalogue, tenant) = (catalogue(), Tenant::new("main").unwrap());
        let change = serde_json::from_value(json!({"choices": choices})).unwrap();
        let person = Person::new("ann").unwrap();
        let clock = (NOW, &ZoneRules::load_bundled());
        let facts = change_sheet(&reader.state(&catalogue, &tenant), &person, &change, clock).unwrap().facts;
        let versions: std::collections::BTreeSet<i64> = facts.iter().map(|fact| fact.version).collect();
        assert_eq!(versions.len(), facts.len(), "{words:?}: {facts:?}");
        let says = |data: &serde_json::Value| data["choice"] == "on" || data.get("channel").is_none();
        let newest = facts.iter().filter(|fact| says(&fact.data)).max_by_key(|fact| fact.version);
        assert_eq!(newest.map(|fact| fact.data["choice"] == "on"), Some(belongs), "{words:?}: {facts:?}");
    };
    let word =
        |place: Option<&str>, choice: &str| json!({"subject": "page:1", "channel": place, "choice": choice});
    check(&[], json!([word(None, "off"), word(Some("push"), "on")]), true);
    check(&[], json!([word(Some("push"), "on"), word(None, "off")]), true);
    check(&[("push/subject page:1", 7, Some(On))], json!([word(None, "off")]), false);
    check(&[("subject page:1", 7, Some(On))], json!([word(Some("push"), "default")]), true);
    check(&[("subject page:1", NOW.0 + 5, Some(Off))], json!([word(Some("push"), "on")]), true);
}

/// A word of a person's, as it may be there already or be asked for.
fn word() -> impl Strategy<Value = (usize, Option<usize>, Option<usize>)> {
    (0_usize..6, prop::option::of(0_usize..PLACES.len()), prop::option::of(0_usize..3))
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
const PLACES: [ReadingPlace; 3] = [
    ReadingPlace::Feed,
    ReadingPlace::Channel(Channel::Push),
    ReadingPlace::Channel(Channel::Hook(model::hook::Hook::Webhook)),
];

proptest! {
    /// Whatever somebody said before: what they ask for is what the sheet shows then, and asking again states nothing.
    #[test]
    fn a_sheet_shows_what_was_changed(
        before in prop::collection::vec(word(), 0..8),
        (scope, place, wanted) in word(),
    ) {
        let mut reader = TestReader::default();
        for (scope, place, choice) in before {
            let (sort, of) = SCOPES[scope];
            let field = if of.is_empty() { sort.to_owned() } else { format!("{sort} {of}") };
            let field = place.map_or(field.clone(), |at| format!("{}/{field}", PLACES[at].name()));
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
        if let Some(at) = place {
            change["channel"] = json!(PLACES[at].name());
        }
        let change = json!({"choices": [change]});
        let before = reader.sheet();
        if place.is_some_and(|at| PLACES[at] == ReadingPlace::Feed) && word == "digest" {
            prop_assert!(reader.change(change).is_err());
            return Ok(());
        }
        let (after, facts) = reader.change(change.clone()).unwrap();
        prop_assert_eq!(after.change(change).unwrap().1, Vec::<serde_json::Value>::new());
        let sheet = after.sheet();
        if facts.is_empty() {
            prop_assert_eq!(&sheet, &before);
        }
        let places = place.map_or(PLACES.to_vec(), |at| vec![PLACES[at]]);
        let line = match sort {
            "category" => (Some(of), None),
            "kind" => (None, Some(of)),
            _ => return Ok(()),
        };
        for at in places {
            if let (Some(wanted), Some(cell)) = (wanted, sheet.cell(line, at.name())) {
                prop_assert_eq!(cell.choice.as_str(), at.limit_choice(PreferenceChoice::ALL[wanted]).name());
            }
        }
        // The others are told as before. A feed of which nothing is said has what is on for some channel.
        for other in PLACES.into_iter().filter(|_| place.is_some()) {
            let is_other = place.is_some_and(|at| PLACES[at] != other);
            let says = |sheet: &PreferenceSheet| sheet.cell(line, other.name()).is_some_and(|one| one.chosen);
            let is_said = other != ReadingPlace::Feed || says(&before) && says(&sheet);
            if let (true, Some(one), Some(two)) =
                (is_other && is_said, before.cell(line, other.name()), sheet.cell(line, other.name()))
            {
                prop_assert_eq!(&one.choice, &two.choice);
            }
        }
    }
}
