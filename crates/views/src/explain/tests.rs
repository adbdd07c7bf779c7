//! What is explained, case by case: facts in, sentences out.

mod search;

use std::collections::BTreeMap;

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use catalogue::Catalogue;
use house::testing;
use house_facts::edition::Edition;
use model::{
    AudienceMatch, Channel, Day, DayLife, DayRow, EndReason, Entry, EntryReason, Event, EventKey, GeoPoint,
    Kind, Mark, MarkAction, Person, PlanName, ReadyId, SubjectRef, Tenant, UtcMillis, Value, VersionedState,
    WorldSnapshot,
    fold::fold_rows,
    limits::DAY_MS,
    person::{Act, HoldCause, PersonRecord, Window, notes, profile},
};
use store::{JournalClaim, JournalOutcome, JournalRecord, JournalRows};
use tower::ServiceExt as _;

use super::{
    EventExplanation, ExplainTarget, LookupRefusal, check_target,
    editions::EditionEvidence,
    explain_absence as nothing_found, explain_events,
    load::{ExplanationEvidence, describe_cut, load_evidence},
    spans::latest_spans,
};

const CATALOGUE: &str = r"
catalogue: town
subjects:
  maker: {name: text}
  item:  {title: text, maker: ref maker, place: place, owner: person, off: flag}
kinds:
  followed:
    on: item.made
    to: {followers_of: maker}
    while: not subject.off
    says: '{{ subject.title }}'
    thread: maker
    plans: [daily, evening]
  near: {like: followed, to: {near: place, within: 50 km}}
  own: {like: followed, on: item.sold, to: {person: owner}}
  alone: {like: followed, plans: [daily]}
plans:
  daily:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 7d
    from: Town <daily@town.example>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: News, kinds: [followed, near, own, alone], most: 8}
  evening:
    channel: email
    close: {daily: '18:00', zone: person}
    look_back: 7d
    from: Town <daily@town.example>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: News, kinds: [followed, near, own], most: 8}
";

fn catalogue() -> Catalogue {
    let template = |name: &str| {
        let mjml = "<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>";
        Ok(if name == "mail.mjml" { mjml } else { "{% for i in items %}{{ i.says }}{% endfor %}" }.to_owned())
    };
    Catalogue::parse_for(DayLife::LEAST, CATALOGUE, "town.yaml", &template)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn now() -> UtcMillis {
    UtcMillis::parse("2026-11-21T12:00:00Z").unwrap()
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

fn event(what: &str) -> Event {
    let berlin = GeoPoint { lat: 52.52, lon: 13.4 };
    Event {
        tenant: tenant(),
        key: EventKey([7; 16]),
        what: what.to_owned(),
        subject: subject("item:1"),
        actor: None,
        occurred: now().plus(-3_600_000),
        persons: Vec::new(),
        state: VersionedState::from_values(
            1,
            [
                ("maker", Some(Value::Ref(subject("maker:7")))),
                ("place", Some(Value::Place(berlin))),
                ("owner", Some(Value::from_text("bob"))),
            ],
        ),
    }
}

/// Ann, of whom nothing is known but that an event happened.
fn bare_evidence() -> ExplanationEvidence {
    let event = event("item.made");
    let mut world = WorldSnapshot::default();
    world.get_or_insert(&tenant()).subjects.insert(event.subject.clone(), event.state.clone());
    ExplanationEvidence { events: vec![event], world, life: DayLife::LEAST, ..ExplanationEvidence::default() }
}

fn with_follow(mut gathered: ExplanationEvidence) -> ExplanationEvidence {
    gathered.world.get_or_insert(&tenant()).set_follow(Person::new("ann").unwrap(), subject("maker:7"), true);
    gathered
}

/// The entry of a follower, with what became of it.
fn entry(gathered: ExplanationEvidence, became: Option<MarkAction>) -> ExplanationEvidence {
    let because = AudienceMatch::Follows(subject("maker:7"));
    entry_under(gathered, &[("followed", because)], became)
}

fn entry_under(
    gathered: ExplanationEvidence,
    reasons: &[(&str, AudienceMatch)],
    became: Option<MarkAction>,
) -> ExplanationEvidence {
    let event = gathered.events[0].clone();
    let row = |(kind, because): &(&str, AudienceMatch)| {
        let reason = EntryReason { kind: Kind::new(kind).unwrap(), because: because.clone() };
        let (subject, actor) = (event.subject.clone(), event.actor.clone());
        DayRow::Entry(Entry {
            key: event.entry_key(),
            reason,
            subject,
            actor,
            kept: model::KeptFields::new(),
        })
    };
    let mut rows: Vec<DayRow> = reasons.iter().map(row).collect();
    if let Some(what) = became {
        let channel = (!matches!(what, MarkAction::Read | MarkAction::Cleared)).then_some(Channel::Email);
        rows.push(DayRow::Mark(Mark::new(channel, what, vec![event.entry_key()], now())));
    }
    ExplanationEvidence { view: fold_rows(&rows), ..gathered }
}

fn check_explanation(case: &str, gathered: &ExplanationEvidence, verdict: &str, expected: &[&str]) {
    let person = Person::new("ann").unwrap();
    let told = explain_events(gathered, (&tenant(), &person), &catalogue(), now());
    let [EventExplanation { steps, verdict: found, .. }] = told.as_slice() else {
        panic!("{case}: {told:?}")
    };
    assert_eq!(found, verdict, "{case}: {steps:?}");
    let said: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
    for part in expected {
        // What begins with an exclamation mark is not said.
        let (part, wanted) = part.strip_prefix('!').map_or((*part, true), |part| (part, false));
        assert_eq!(said.iter().any(|text| text.contains(part)), wanted, "{case}: `{part}` in {said:#?}");
    }
}

fn window(plan: &str) -> Window {
    let opened = Window::new(PlanName::new(plan).unwrap(), 1, "".into(), now());
    Window { due: now().plus(DAY_MS), days: [Day::from_instant(now())].into(), ..opened }
}

/// An entry that waits, with windows open, of somebody with an address who may prefer a plan.
fn with_windows(
    gathered: ExplanationEvidence,
    preferred: Option<&str>,
    windows: &[&str],
) -> ExplanationEvidence {
    let email = [(profile::EMAIL, Some(Value::from_text("ann@example.org")))];
    let plan = preferred.map(|plan| (profile::EMAIL_PLAN, Some(Value::from_text(plan))));
    let windows = windows.iter().map(|plan| window(plan)).collect();
    ExplanationEvidence {
        profile: VersionedState::from_values(1, email.into_iter().chain(plan)),
        record: Some(PersonRecord { windows, ..PersonRecord::default() }),
        ..gathered
    }
}

fn flags(names: &[String]) -> VersionedState {
    VersionedState::from_values(1, names.iter().map(|name| (name.as_str(), Some(Value::Flag(true)))))
}

#[test]
fn who_is_far_away_learns_how_far() {
    let check = |field: &str, expected: &str| {
        let far = Value::Place(GeoPoint { lat: 48.85, lon: 2.35 });
        let profile = VersionedState::from_values(1, [(field, Some(far))]);
        let gathered = ExplanationEvidence { profile, ..bare_evidence() };
        check_explanation(field, &gathered, "not in the audience", &[expected]);
    };
    check(profile::PLACE, "`near`: they are 877.7 km");
    check(
        profile::PLACE_BY_ADDRESS,
        "`near`: they are about 880 km away, by their IP address, not within 50 km",
    );
}

#[test]
fn who_was_not_found_learns_why() {
    let check = check_explanation;
    check(
        "a stranger",
        &bare_evidence(),
        "not in the audience",
        &["`followed`: they do not follow maker:7", "their place is not known"],
    );
    let mut sold = bare_evidence();
    sold.events = vec![event("item.sold")];
    check("somebody else's", &sold, "not in the audience", &["`owner` does not name them"]);
    let mut slip = bare_evidence();
    slip.events[0].what = "item.maid".to_owned();
    check("a slip", &slip, "no kind", &["no kind is on `item.maid`: did you mean `item.made`?"]);
    let mut own = with_follow(bare_evidence());
    own.events[0].actor = Some(Person::new("ann").unwrap().into());
    check("their own doing", &own, "not in the audience", &["they did it themselves"]);
    let mut erased = with_follow(bare_evidence());
    erased.notes = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    check("erased", &erased, "erased", &["was erased"]);
    let mut old = with_follow(bare_evidence());
    old.events[0].occurred = now().plus(-30 * DAY_MS);
    let gone = "its day, 2026-10-22, was archived or has expired";
    check("expired", &old, "the day has expired", &[gone]);
    check(
        "followed too late",
        &with_follow(bare_evidence()),
        "no entry",
        &["they follow maker:7", "were not when it was told"],
    );
    let (older, newer) = (Edition { number: 1, hash: 5 }, Edition { number: 2, hash: 9 });
    let by = |by: Edition, is_aside: bool| {
        let mut gathered = with_follow(bare_evidence());
        let key = gathered.events[0].key;
        gathered.told_by = EditionEvidence {
            own: Some(newer),
            admitted: [(key, by)].into(),
            aside: is_aside.then_some(key).into_iter().collect(),
        };
        gathered
    };
    check(
        "by another catalogue",
        &by(older, false),
        "no entry",
        &["admitted under edition 1", "this is edition 2"],
    );
    check("by the same", &by(newer, false), "no entry", &["were not when it was told"]);
    check(
        "by an older one",
        &by(newer, true),
        "no entry",
        &["told under an older catalogue", "quarantine retry"],
    );
    let day = Day::from_instant(now());
    let gone = "its day, 2026-11-21, was archived or has expired";
    let archived = ExplanationEvidence { gone: [day].into(), ..with_follow(bare_evidence()) };
    check("archived", &archived, "no entry", &["they follow maker:7", gone, "!were not when it was told"]);
    let left = ExplanationEvidence { gone: [day].into(), ..bare_evidence() };
    check("nobody's day", &left, "not in the audience", &["its day, 2026-11-21, is gone"]);
    let behind = ExplanationEvidence { unread: 3, ..with_follow(bare_evidence()) };
    check("not yet", &behind, "no entry", &["3 records still to read"]);
}

#[test]
fn who_was_found_learns_what_became_of_it() {
    let waiting = entry(with_follow(bare_evidence()), None);
    check_explanation(
        "nobody has it in hand",
        &waiting,
        "waiting",
        &["no window of `daily` is open", "not be told: no address"],
    );
    check_explanation(
        "waits",
        &with_windows(waiting, None, &["daily"]),
        "waiting",
        &["found under `followed`: they follow maker:7", "waits for `daily`", "2026-11-22T12:00"],
    );
    let id = ReadyId([9; 16]);
    let mut told = entry(with_follow(bare_evidence()), Some(MarkAction::Taken(id)));
    let (told_keys, plan) = (vec![], None);
    let (at, deadline) = (now(), now());
    let claim = JournalClaim { ready: id, attempt: 1, token: [0; 16], at, deadline, told: told_keys, plan };
    let record = JournalRecord { ready: id, attempt: 1, at: now(), what: JournalOutcome::Sent, left: vec![] };
    told.journal = BTreeMap::from([(id, JournalRows { claims: vec![claim], records: vec![record] })]);
    check_explanation(
        "told",
        &told,
        "told",
        &["the log no longer has", "sent at 2026-11-21T12:00:00.000Z, try 2"],
    );
    told.journal = BTreeMap::from([(id, JournalRows::default())]);
    check_explanation("not tried yet", &told, "told", &["journal: nothing yet", "!tried again"]);
    told.record = Some(PersonRecord {
        waiting: vec![testing::deferred_message("ann", id, now(), now().plus(3_600_000))],
        ..PersonRecord::default()
    });
    let again =
        "no server has taken it yet; it is tried again at 2026-11-21T13:00:00.000Z, until 2026-11-22T12:00";
    check_explanation("refused for now", &told, "not sent yet", &["journal: nothing yet", again]);
    for (what, verdict, part) in [
        (MarkAction::Read, "read before", "they read it"),
        (MarkAction::Cleared, "cleared", "they cleared it"),
        (MarkAction::Ended(EndReason::ToldBefore), "told before", "an earlier message told the same subject"),
        (MarkAction::Ended(EndReason::NoLongerTrue), "no longer true", "`while` does not hold"),
        (MarkAction::Ended(EndReason::Cancelled), "cancelled by hand", "an operator cancelled its window"),
    ] {
        check_explanation(part, &entry(with_follow(bare_evidence()), Some(what)), verdict, &[part]);
    }
    let carried = entry(with_follow(bare_evidence()), Some(MarkAction::Carried(id)));
    check_explanation("carried", &carried, "carried over", &["had no room for it"]);
}

#[test]
fn an_open_window_says_what_it_waits_for() {
    let check_window = |case: &str, change: fn(&mut Window), expected: &[&str]| {
        let mut waiting = with_windows(entry(with_follow(bare_evidence()), None), None, &["daily"]);
        change(&mut waiting.record.as_mut().unwrap().windows[0]);
        check_explanation(case, &waiting, "waiting", expected);
    };
    check_window("its hour", |_| {}, &["12:00:00.000Z", "!12:00:00.000Z ("]);
    check_window("due", |window| window.due = now(), &["12:00:00.000Z, which is due"]);
    check_window("held", |window| window.held = Some(HoldCause::Cap), &["(held, a cap has no room)"]);
    check_window("released", |window| window.act = Some(Act::Release), &["(released by hand, closes now)"]);
    check_window("cancelled", |window| window.act = Some(Act::Cancel), &["(cancelled by hand, "]);
}

#[test]
fn only_the_window_of_its_plan_is_named() {
    let both = ["daily", "evening"];
    let found = || entry(with_follow(bare_evidence()), None);
    check_explanation(
        "the first",
        &with_windows(found(), None, &both),
        "waiting",
        &["for `daily`", "!evening"],
    );
    check_explanation(
        "preferred",
        &with_windows(found(), Some("evening"), &both),
        "waiting",
        &["for `evening`", "!daily"],
    );
    let chosen = with_windows(found(), Some("evening"), &["daily"]);
    check_explanation("chosen since", &chosen, "waiting", &["no window of `evening` is open", "!daily"]);
    let mut another = with_windows(found(), None, &["daily"]);
    another.record.as_mut().unwrap().windows[0].days = [Day::from_instant(now()).plus(-1)].into();
    check_explanation("another day", &another, "waiting", &["no window of `daily` is open", "!waits for"]);
    let gone = entry_under(with_follow(bare_evidence()), &[("bygone", AudienceMatch::Everyone)], None);
    let gone = with_windows(gone, None, &both);
    check_explanation("no kind", &gone, "waiting", &["not be told: kind is gone", "!daily", "!evening"]);
    // Under two kinds whose plans are not the same, one of them muted.
    let maker = || AudienceMatch::Follows(subject("maker:7"));
    let two = entry_under(with_follow(bare_evidence()), &[("followed", maker()), ("alone", maker())], None);
    let mut two = with_windows(two, Some("evening"), &both);
    two.preferences = flags(&[preferences::PreferenceScope::Kind(&Kind::new("alone").unwrap()).field(None)]);
    check_explanation(
        "two plans",
        &two,
        "waiting",
        &["for `daily`", "for `evening`", "told by `daily`: muted: the kind `alone`", "!told by `evening`"],
    );
}

#[test]
fn a_mute_is_named() {
    let ben = Person::new("ben").unwrap();
    let by_ben = || {
        let mut found = with_follow(bare_evidence());
        found.events[0].actor = Some(ben.clone().into());
        found
    };
    let kind = preferences::PreferenceScope::Kind(&Kind::new("followed").unwrap()).field(None);
    let item = preferences::PreferenceScope::Subject(&subject("item:1")).field(None);
    for (names, expected) in [
        (vec![kind.clone()], "muted: the kind `followed`"),
        (vec![preferences::PreferenceScope::Actor(&ben).field(None)], "muted: the actor ben"),
        (vec![item.clone()], "muted: the subject item:1"),
        (
            vec![preferences::PreferenceScope::Thread(&subject("maker:7")).field(None)],
            "muted: the thread maker:7",
        ),
        (vec![item, kind], "muted: the subject item:1"),
    ] {
        let preferences = flags(&names);
        let ended = entry(by_ben(), Some(MarkAction::Ended(EndReason::Muted)));
        let ended = ExplanationEvidence { preferences: preferences.clone(), ..ended };
        check_explanation(expected, &ended, "muted", &[&format!("email: {expected}")]);
        let waiting =
            ExplanationEvidence { preferences, ..with_windows(entry(by_ben(), None), None, &["daily"]) };
        check_explanation(expected, &waiting, "waiting", &[&format!("will not be told: {expected}")]);
    }
    // Who is one of two with somebody mutes them as well.
    let pair = [("followed", AudienceMatch::Mutual(ben.clone()))];
    let mut pair = entry_under(bare_evidence(), &pair, Some(MarkAction::Ended(EndReason::Muted)));
    pair.preferences = flags(&[preferences::PreferenceScope::Actor(&ben).field(None)]);
    check_explanation("a party", &pair, "muted", &["email: muted: the actor ben"]);
    let mut ended = entry(by_ben(), Some(MarkAction::Ended(EndReason::Muted)));
    ended.preferences = flags(&[
        preferences::PreferenceScope::Subject(&subject("item:2")).field(None),
        preferences::PreferenceScope::Actor(&Person::new("cem").unwrap()).field(None),
    ]);
    check_explanation("no more", &ended, "muted", &["email: muted at that time"]);
}

#[test]
fn who_was_near_learns_how_far_it_is_now() {
    let at = |lat: f64, lon: f64| {
        let found = entry_under(bare_evidence(), &[("near", AudienceMatch::Near)], None);
        let place = Value::Place(GeoPoint { lat, lon });
        ExplanationEvidence {
            profile: VersionedState::from_values(1, [(profile::PLACE, Some(place))]),
            ..found
        }
    };
    check_explanation("near", &at(52.55, 13.4), "waiting", &["found under `near`: they are near it: 3.3 km"]);
    let far = "they were near it; 877.7 km away now, not within 50 km";
    check_explanation("moved", &at(48.85, 2.35), "waiting", &[far, "!they are near it"]);
    let by_address = ExplanationEvidence {
        profile: VersionedState::from_values(
            1,
            [(profile::PLACE_BY_ADDRESS, Some(Value::Place(GeoPoint { lat: 52.55, lon: 13.4 })))],
        ),
        ..at(0.0, 0.0)
    };
    let found = "they are near it: less than 11 km, by their IP address";
    check_explanation("near by address", &by_address, "waiting", &[found]);
    let unknown = entry_under(bare_evidence(), &[("near", AudienceMatch::Near)], None);
    check_explanation("nowhere", &unknown, "waiting", &["found under `near`: they were near it"]);
}

#[test]
fn it_is_said_that_nothing_is_known_of_somebody() {
    let note = "nothing is known of `ann`";
    let not = format!("!{note}");
    check_explanation("nobody", &bare_evidence(), "not in the audience", &[note]);
    check_explanation("follows", &with_follow(bare_evidence()), "no entry", &[&not]);
    check_explanation("an entry", &entry(bare_evidence(), Some(MarkAction::Read)), "read before", &[&not]);
    let profile = VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text("Ann")))]);
    check_explanation(
        "a name",
        &ExplanationEvidence { profile, ..bare_evidence() },
        "not in the audience",
        &[&not],
    );
    let preferences = flags(&["kind x".to_owned()]);
    check_explanation(
        "a mute",
        &ExplanationEvidence { preferences, ..bare_evidence() },
        "not in the audience",
        &[&not],
    );
    let elsewhere = ExplanationEvidence { record: Some(PersonRecord::default()), ..bare_evidence() };
    check_explanation("a window once", &elsewhere, "not in the audience", &[&not]);
}

#[test]
fn what_is_named_wrongly_is_refused() {
    let check =
        |case: &str, gathered: &ExplanationEvidence, asked: &str, expected: Result<(), (bool, &str)>| {
            let asked = ExplainTarget::parse(asked).unwrap();
            let person = Person::new("ann").unwrap();
            let found = check_target(gathered, &asked, (&tenant(), &person), &catalogue());
            match (&found, expected) {
                (Ok(()), Ok(())) => {}
                (Err(LookupRefusal::Wrong(text)), Err((true, part)))
                | (Err(LookupRefusal::Absent(text)), Err((false, part))) => {
                    assert!(text.contains(part), "{case}: no `{part}` in {text}");
                }
                _ => panic!("{case}: {found:?}"),
            }
        };
    let key = EventKey([7; 16]);
    let right = bare_evidence().events[0].entry_key();
    let wrong = format!("2026-11-20T11:00:00.000Z/{key}");
    let none = ExplanationEvidence::default();
    // The entry lives longer than the event does in the log.
    let outlived = ExplanationEvidence { events: Vec::new(), ..entry(bare_evidence(), None) };
    let name = format!("that event is of 2026-11-21, and its entry is {right}");
    check("the wrong day", &bare_evidence(), &wrong, Err((true, &name)));
    check("the wrong day of an old one", &outlived, &wrong, Err((true, &name)));
    check("the right day", &bare_evidence(), &right.to_string(), Ok(()));
    check("an unknown entry", &none, &wrong, Ok(()));
    check("a slip", &none, "itme:1", Err((true, "no subjects of type `itme`: did you mean `item`?")));
    check("no slip", &none, "foo:1", Err((true, "no subjects of type `foo`: use `item` or `maker`")));
    check("a type that is gone", &bare_evidence(), "foo:1", Ok(()));
    check("an unknown subject", &none, "item:9", Ok(()));
    for asked in [key.to_string(), right.to_string(), "item:1".to_owned()] {
        check("outlived", &outlived, &asked, Err((false, "`tidings days ann --since 21d`")));
    }
    let cut = ExplanationEvidence { cut: Some(describe_cut(false)), ..ExplanationEvidence::default() };
    check("not all was read", &cut, "shop/1", Err((false, "only the latest")));
}

#[test]
fn it_is_said_why_there_is_no_event() {
    let check = |asked: &str, expected: &str| {
        let said = nothing_found(&ExplainTarget::parse(asked).unwrap());
        assert!(
            said.contains(expected)
                && (said.contains("none in the last 14 days, which the log keeps")
                    || said.contains("or the log, which keeps 14 days, no longer has it")),
            "{asked}: {said}"
        );
    };
    let key = EventKey([7; 16]);
    check(&key.to_string(), "never admitted");
    check(&format!("2026-11-21T09:00:00.000Z/{key}"), "never admitted");
    check("shop/17", "never admitted");
    check("item:9", "no event about item:9");
}

#[test]
fn an_event_has_several_names() {
    let key = EventKey::from_source_id(&tenant(), "shop", "order/17");
    let check = |text: &str, expected: Option<ExplainTarget>| {
        assert_eq!(ExplainTarget::parse(text), expected, "{text}");
    };
    check(&key.to_string(), Some(ExplainTarget::Event(key)));
    let occurred = UtcMillis::parse("2026-11-21T09:00:00Z").unwrap();
    let entry = ExplainTarget::Entry(model::EntryKey { occurred, event: key });
    check(&format!("2026-11-21T09:00:00.000Z/{key}"), Some(entry));
    check("item:1", Some(ExplainTarget::Subject(subject("item:1"))));
    check("shop/17", Some(ExplainTarget::Change { source: "shop".to_owned(), id: "17".to_owned() }));
    check("nonsense", None);
    check("2026-11-21T09:00:00.000Z/nonsense", None);
}

/// What a house finds, after a change of one subject and one of three.
async fn house_evidence(ground: &testing::HouseTestbed, asked: &str, now: UtcMillis) -> ExplanationEvidence {
    let engines = ground.house.engines();
    let (person, asked) = (Person::new("ann").unwrap(), ExplainTarget::parse(asked).unwrap());
    let whose = (&tenant(), &person);
    load_evidence((&*engines.topics, &*engines.store), whose, &asked, &testing::test_catalogue(), now)
        .await
        .unwrap()
}

#[tokio::test]
async fn every_subject_of_a_change_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let clock = runtime::Clock::still(UtcMillis::parse(testing::START).unwrap().0);
    let ground = testing::open_fixture(dir.path(), &clock).await;
    ground.offer_item("item:9", "maker:1", "Alone").await;
    let change = serde_json::json!(
        {"id": "many", "source": "t", "type": "item.offered", "subjects": ["item:1", "item:2", "item:3"], "maker": "maker:1"}
    );
    let request = Request::post("/v1/changes").header("content-type", "application/json");
    let request = request.body(Body::from(change.to_string())).unwrap();
    assert_eq!(ground.intake.clone().oneshot(request).await.unwrap().status(), StatusCode::ACCEPTED);
    ground.house.settle().await.unwrap();
    let now = UtcMillis(clock.now());
    for (asked, expected) in [
        ("t/many", &["item:1", "item:2", "item:3"][..]),
        ("t/item:9", &["item:9"]),
        ("item:2", &["item:2"]),
        ("t/manya", &[]),
        ("u/many", &[]),
    ] {
        let found = house_evidence(&ground, asked, now).await;
        let mut subjects: Vec<&str> = found.events.iter().map(|event| event.subject.as_str()).collect();
        subjects.sort_unstable();
        assert_eq!(subjects, expected, "{asked}");
    }
    ground.close();
}

#[tokio::test]
async fn an_archived_day_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let clock = runtime::Clock::still(UtcMillis::parse(testing::START).unwrap().0);
    let ground = testing::open_fixture(dir.path(), &clock).await;
    let first = Day::from_instant(UtcMillis(clock.now()));
    ground.add_person("ann", "maker:1").await;
    ground.offer_item("item:9", "maker:1", "Old").await;
    ground.house.settle().await.unwrap();
    let later = UtcMillis(clock.now()).plus(10 * DAY_MS);
    assert!(house_evidence(&ground, "item:9", later).await.gone.is_empty());
    ground.house.engines().store.drop_before(first.plus(1)).await.unwrap();
    // As long as nothing can be archived of it, an empty day is only that.
    assert!(house_evidence(&ground, "item:9", UtcMillis(clock.now())).await.gone.is_empty());
    assert_eq!(house_evidence(&ground, "item:9", later).await.gone, [first].into());
    ground.close();
}

#[test]
fn the_latest_of_a_long_log_is_looked_at() {
    let check = |bounds: &[(u64, u64)], most: u64, expected: &[(u32, u64, u64)], is_cut: bool| {
        let (mut looks, found) = latest_spans((0..).zip(bounds.iter().copied()).collect(), most);
        looks.sort_unstable();
        let looks: Vec<_> = looks.into_iter().map(|(number, (from, end))| (number, from, end)).collect();
        assert_eq!((looks.as_slice(), found), (expected, is_cut), "{bounds:?} {most}");
    };
    check(&[], 10, &[], false);
    check(&[(0, 10)], 10, &[(0, 0, 10)], false);
    check(&[(0, 11)], 10, &[(0, 1, 11)], true);
    check(&[(7, 7), (5, 9)], 4, &[(0, 7, 7), (1, 5, 9)], false);
    // Each has its share, and what a short one leaves.
    check(&[(0, 100), (0, 100)], 10, &[(0, 95, 100), (1, 95, 100)], true);
    check(&[(0, 100), (90, 92)], 10, &[(0, 92, 100), (1, 90, 92)], true);
    check(&[(0, u64::MAX), (9, 3)], 0, &[(0, u64::MAX, u64::MAX), (1, 9, 3)], true);
}

#[test]
fn it_is_said_that_not_all_was_looked_at() {
    let found = ExplanationEvidence { cut: Some(describe_cut(true)), ..with_follow(bare_evidence()) };
    check_explanation(
        "cut",
        &found,
        "no entry",
        &["only the latest 500000 events of the subject's partition"],
    );
    assert_eq!(found.cut_reason(), None);
    let unknown = ExplanationEvidence { cut: Some(describe_cut(false)), ..ExplanationEvidence::default() };
    assert!(unknown.cut_reason().unwrap().contains("name its subject"), "{unknown:?}");
    assert_eq!(ExplanationEvidence::default().cut_reason(), None);
}
