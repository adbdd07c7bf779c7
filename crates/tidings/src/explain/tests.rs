//! What is explained, case by case: facts in, sentences out.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::{
    Because, Channel, Day, Entry, Event, EventKey, Kind, Mark, Millis, Person, Place, PlanName, ReadyId,
    Reason, Row, State, SubjectRef, Tenant, Value, What, Why, World,
    fold::fold,
    limits::DAY_MS,
    person::{PersonRecord, Window, mutes, notes, profile},
};
use store::{Claim, Journalled, Record, Recorded};

use super::{Asked, Explanation, gather::Gathered, tell};

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
    plans: [daily]
  near: {like: followed, to: {near: place, within: 50 km}}
  own: {like: followed, on: item.sold, to: {person: owner}}
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
      - {title: News, kinds: [followed, near, own], most: 8}
";

fn catalogue() -> Catalogue {
    let template = |name: &str| {
        let mjml = "<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>";
        Ok(if name == "mail.mjml" { mjml } else { "{% for i in items %}{{ i.says }}{% endfor %}" }.to_owned())
    };
    Catalogue::parse(CATALOGUE, "town.yaml", &template).unwrap_or_else(|problems| panic!("{problems}"))
}

fn now() -> Millis {
    Millis::parse("2026-11-21T12:00:00Z").unwrap()
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

fn event(what: &str) -> Event {
    let berlin = Place { lat: 52.52, lon: 13.4 };
    Event {
        tenant: tenant(),
        key: EventKey([7; 16]),
        what: what.to_owned(),
        subject: subject("item:1"),
        actor: None,
        occurred: now().plus(-3_600_000),
        persons: Vec::new(),
        state: State::at(
            1,
            [
                ("maker", Some(Value::Ref(subject("maker:7")))),
                ("place", Some(Value::Place(berlin))),
                ("owner", Some(Value::text("bob"))),
            ],
        ),
    }
}

/// Ann, of whom nothing is known but that an event happened.
fn nothing() -> Gathered {
    let event = event("item.made");
    let mut world = World::default();
    world.subjects.insert((tenant(), event.subject.clone()), event.state.clone());
    Gathered { events: vec![event], world, ..Gathered::default() }
}

fn follows(mut gathered: Gathered) -> Gathered {
    gathered.world.follows.insert((tenant(), Person::new("ann").unwrap(), subject("maker:7")), true);
    gathered
}

/// The entry of a follower, with what became of it.
fn entry(gathered: Gathered, became: Option<What>) -> Gathered {
    let event = gathered.events[0].clone();
    let reason =
        Reason { kind: Kind::new("followed").unwrap(), because: Because::Follows(subject("maker:7")) };
    let mut rows = vec![Row::Entry(Entry {
        key: event.entry_key(),
        reason,
        subject: event.subject.clone(),
        actor: None,
    })];
    if let Some(what) = became {
        let channel = (!matches!(what, What::Read | What::Cleared)).then_some(Channel::Email);
        rows.push(Row::Mark(Mark::new(channel, what, vec![event.entry_key()], now())));
    }
    Gathered { view: fold(&rows), ..gathered }
}

fn check(case: &str, gathered: &Gathered, verdict: &str, expected: &[&str]) {
    let person = Person::new("ann").unwrap();
    let told = tell(gathered, (&tenant(), &person), &catalogue(), now());
    let [Explanation { steps, verdict: found, .. }] = told.as_slice() else { panic!("{case}: {told:?}") };
    assert_eq!(found, verdict, "{case}: {steps:?}");
    let said: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
    for part in expected {
        assert!(said.iter().any(|text| text.contains(part)), "{case}: no `{part}` in {said:#?}");
    }
}

#[test]
fn who_was_not_found_learns_why() {
    check(
        "a stranger",
        &nothing(),
        "not in the audience",
        &["`followed`: they do not follow maker:7", "nobody knows where they are"],
    );
    let mut far = nothing();
    far.profile = State::at(1, [(profile::PLACE, Some(Value::Place(Place { lat: 48.85, lon: 2.35 })))]);
    check("far away", &far, "not in the audience", &["`near`: they are 877.7 km"]);
    let mut sold = nothing();
    sold.events = vec![event("item.sold")];
    check("somebody else's", &sold, "not in the audience", &["`owner` does not name them"]);
    let mut slip = nothing();
    slip.events[0].what = "item.maid".to_owned();
    check("a slip", &slip, "no kind", &["no kind is told on `item.maid`: did you mean `item.made`?"]);
    let mut own = follows(nothing());
    own.events[0].actor = Some(Person::new("ann").unwrap());
    check("their own doing", &own, "not in the audience", &["it is their own doing"]);
    let mut erased = follows(nothing());
    erased.notes = State::at(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    check("erased", &erased, "erased", &["was erased"]);
    let mut old = follows(nothing());
    old.events[0].occurred = now().plus(-30 * DAY_MS);
    check("expired", &old, "the day has expired", &["has expired"]);
    check(
        "followed too late",
        &follows(nothing()),
        "no entry",
        &["they follow maker:7", "were not when it was told"],
    );
    let behind = Gathered { unread: 3, ..follows(nothing()) };
    check("not yet", &behind, "no entry", &["3 records still to read"]);
}

#[test]
fn who_was_found_learns_what_became_of_it() {
    let waiting = entry(follows(nothing()), None);
    check("nobody has it in hand", &waiting, "waiting", &["no window is open", "not be told: no address"]);
    let mut open = entry(follows(nothing()), None);
    open.profile = State::at(1, [(profile::EMAIL, Some(Value::text("ann@example.org")))]);
    let window = Window {
        plan: PlanName::new("daily").unwrap(),
        plan_hash: 1,
        key: "".into(),
        opening: now(),
        due: now().plus(DAY_MS),
        released: false,
        days: [Day::of(now())].into(),
    };
    open.record = Some(PersonRecord { windows: vec![window], ..PersonRecord::default() });
    check(
        "waits",
        &open,
        "waiting",
        &["found under `followed`: they follow maker:7", "waits for `daily`", "2026-11-22T12:00"],
    );
    let mut muted = open;
    muted.mutes = State::at(1, [(mutes::subject(&subject("item:1")).as_str(), Some(Value::Flag(true)))]);
    check("muted meanwhile", &muted, "waiting", &["will not be told: muted"]);
    let id = ReadyId([9; 16]);
    let mut told = entry(follows(nothing()), Some(What::Taken(id)));
    let claim = Claim { ready: id, attempt: 1, token: [0; 16], at: now(), deadline: now(), told: vec![] };
    let record = Record { ready: id, attempt: 1, at: now(), what: Recorded::Sent, left: vec![] };
    told.journal = BTreeMap::from([(id, Journalled { claims: vec![claim], records: vec![record] })]);
    check("told", &told, "told", &["the log no longer has", "sent at 2026-11-21T12:00:00.000Z, try 2"]);
    for (what, verdict, part) in [
        (What::Read, "read before", "they read it"),
        (What::Cleared, "cleared", "they cleared it"),
        (What::Ended(Why::ToldBefore), "told before", "an earlier message told the same subject"),
        (What::Ended(Why::NoLongerTrue), "no longer true", "`while` does not hold"),
    ] {
        check(part, &entry(follows(nothing()), Some(what)), verdict, &[part]);
    }
    let carried = entry(follows(nothing()), Some(What::Carried(id)));
    check("carried", &carried, "carried over", &["had no room for it"]);
}

#[test]
fn an_event_has_several_names() {
    let key = EventKey::of(&tenant(), "shop", "order/17");
    let check = |text: &str, expected: Option<Asked>| {
        assert_eq!(Asked::parse(text, &tenant()), expected, "{text}");
    };
    check(&key.to_string(), Some(Asked::Event(key)));
    check(&format!("2026-11-21T09:00:00.000Z/{key}"), Some(Asked::Event(key)));
    check("item:1", Some(Asked::Subject(subject("item:1"))));
    check("shop/17", Some(Asked::Event(EventKey::of(&tenant(), "shop", "17"))));
    check("nonsense", None);
    check("2026-11-21T09:00:00.000Z/nonsense", None);
}
