//! What a checked Ready becomes: what is said once, where, and which headers go with it.

use catalogue::Catalogue;
use courier::{Message, mail_returns::ReturnProvider, mime};
use model::{
    AudienceMatch, Channel, Day, EntryKey, EntryReason, EventKey, GeoPoint, Kind, Person, PersonScore,
    PlanName, ReadyId, SubjectRef, Tenant, UtcMillis, Value, VersionedState, WorldSnapshot,
    civil_time::ZoneRules,
    person::profile,
    ready::{Ready, ReadyEntry},
};
use render::MessageRenderer;
use wire::{
    return_path,
    token::{LinkSecret, LinkToken, SECRET_BYTES, read_token},
};

use crate::{
    check::CheckedReady, facts::SenderFacts, links::MailLinks, message::MessageMaker,
    returns::ReturnAddresses,
};

const CATALOGUE: &str = r#"
catalogue: shows
subjects:
  show:  {title: text, maker: ref maker, place: place, one: person, two: person}
  maker: {name: text}
kinds:
  followed_show: {on: show.announced, to: {followers_of: maker}, says: 'f {{ subject.title }}', plans: [daily]}
  near_show:   {like: followed_show, to: {near: place, within: 40 km}, says: 'n {{ subject.title }}'}
  picked:        {like: followed_show, to: listed, says: 'p {{ subject.title }}'}
  matched:       {like: followed_show, to: {mutual: [one, two]}, says: 'm {{ other }}'}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    once_per: ONCE
    from: Shows <news@shows.example>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Followed, kinds: [followed_show], most: 2}
      - {title: Near, kinds: [near_show], most: 2}
      - {title: More, kinds: [picked, matched], most: 2}
"#;

const TEXT: &str = "{% for s in sections %}[{{ s.title }}:{% for i in s.items %} {{ i.says }} ({{ i.why }}{% if i.distance %}; {{ i.distance }}{% endif %}){% if i.maybe %}?{% endif %}{% endfor %}]{% endfor %}{% if unsubscribe %} {{ unsubscribe }}{% endif %}";

/// An entry: its section, its subject, and the kinds it is told under.
type EntryLine = (u16, &'static str, &'static [&'static str]);

fn entry(n: usize, (section, subject, kinds): &EntryLine) -> ReadyEntry {
    let reason = |kind: &&str| {
        let because = match *kind {
            "followed_show" => AudienceMatch::Follows(SubjectRef::new("maker:1").unwrap()),
            "near_show" => AudienceMatch::Near,
            "matched" => AudienceMatch::Mutual(Person::new("ben").unwrap()),
            _ => AudienceMatch::Listed(PersonScore::default()),
        };
        EntryReason { kind: Kind::new(kind).unwrap(), because }
    };
    ReadyEntry {
        section: *section,
        maybe: n == 1,
        ..ReadyEntry::new(
            EntryKey { occurred: UtcMillis(0), event: EventKey([u8::try_from(n).unwrap(); 16]) },
            SubjectRef::new(subject).unwrap(),
            kinds.iter().map(reason).collect(),
        )
    }
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

/// When messages are made: a moment after they were due.
fn now() -> UtcMillis {
    UtcMillis::parse("2026-11-24T08:00:01Z").unwrap()
}

fn ready(entries: Vec<ReadyEntry>) -> Ready {
    Ready {
        id: ReadyId([9; 16]),
        silent: false,
        tenant: tenant(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("daily").unwrap(),
        key: "".into(),
        opening: UtcMillis(0),
        channel: Channel::Email,
        attempt: 0,
        due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap(),
        expires: UtcMillis(i64::MAX),
        entries,
        more: vec![0, 0, 0],
        badge: false,
        renews: None,
    }
}

fn world() -> WorldSnapshot {
    let show = |title: &str| {
        let place = Value::Place(GeoPoint { lat: 52.40, lon: 13.06 });
        VersionedState::from_values(1, [("title", Some(Value::from_text(title))), ("place", Some(place))])
    };
    let maker = VersionedState::from_values(1, [("name", Some(Value::from_text("Mira")))]);
    let subjects = [("show:1", show("Tides")), ("show:2", show("Ink")), ("maker:1", maker)];
    let subject = |(of, state)| (SubjectRef::new(of).unwrap(), state);
    let named = |name: &str| VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text(name)))]);
    let ben = Person::new("ben").unwrap();
    let mut world = WorldSnapshot::default();
    // Somebody of the same name elsewhere is somebody else.
    world.get_or_insert(&Tenant::new("another").unwrap()).persons.insert(ben.clone(), named("Bad"));
    let own = world.get_or_insert(&tenant());
    own.subjects = subjects.map(subject).into();
    own.persons.insert(ben, named("Ben"));
    world
}

fn make_message(once: &str, lines: &[EntryLine], links: Option<&MailLinks>) -> Message {
    let own = |ready: Ready| ready;
    make_changed_message(once, lines, links, &own)
}

/// The mail that a Ready becomes, once it was changed.
fn make_changed_message(
    once: &str,
    lines: &[EntryLine],
    links: Option<&MailLinks>,
    change: &dyn Fn(Ready) -> Ready,
) -> Message {
    make_message_with(once, lines, (links, None), change)
}

/// The same with a return path.
fn make_message_with(
    once: &str,
    lines: &[EntryLine],
    (links, returns): (Option<&MailLinks>, Option<&ReturnAddresses>),
    change: &dyn Fn(Ready) -> Ready,
) -> Message {
    let files = |name: &str| match name {
        "mail.mjml" => Ok("<mjml><mj-body></mj-body></mjml>".to_owned()),
        _ => Ok(TEXT.to_owned()),
    };
    let catalogue = Catalogue::parse(&CATALOGUE.replace("ONCE", once), "catalogue.yaml", &files);
    let catalogue = catalogue.unwrap_or_else(|problems| panic!("{problems}"));
    let renderer = MessageRenderer::new(&catalogue).unwrap();
    let ready = change(ready(lines.iter().enumerate().map(|(n, line)| entry(n, line)).collect()));
    let place = Value::Place(GeoPoint { lat: 52.52, lon: 13.405 });
    let email = Value::from_text("ann@example.com");
    let profile =
        VersionedState::from_values(1, [(profile::EMAIL, Some(email)), (profile::PLACE, Some(place))]);
    let facts = SenderFacts { profile, ..SenderFacts::default() };
    let checked = CheckedReady { told: ready.entries.clone(), left: Vec::new() };
    let (zones, world) = (ZoneRules::load_bundled(), world());
    let world = &world;
    let (catalogue, renderer, zones, now) = (&catalogue, &renderer, &zones, now());
    let making = MessageMaker { catalogue, renderer, zones, world, links, returns, now };
    making.message(&ready, &facts, &checked).unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn mails_of_one_key_are_one_talk() {
    let of = |key: &str, opening: i64| {
        let change = |ready: Ready| Ready { key: key.into(), opening: UtcMillis(opening), ..ready };
        let message = make_changed_message("subject", &[(0, "show:1", &["followed_show"])], None, &change);
        let found = |name: &str| {
            let mut headers = message.mail().unwrap().headers.iter();
            headers.find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        assert_eq!(found("References"), found("In-Reply-To"));
        found("References")
    };
    assert_eq!(of("", 1), None);
    assert!(of("post:1", 1).is_some_and(|first| first.ends_with("@shows.example>")));
    assert_eq!(of("post:1", 1), of("post:1", 2));
    assert_ne!(of("post:1", 1), of("post:2", 1));
}

#[test]
fn what_is_one_thing_is_said_once_with_every_reason() {
    let check = |once: &str, lines: &[EntryLine], expected: &str| {
        // As one line, however it was wrapped.
        let text = make_message(once, lines, None).text.trim_end().replace('\n', " ");
        assert_eq!(text, expected, "{once} {lines:?}");
    };
    let followed: EntryLine = (0, "show:1", &["followed_show"]);
    let near: EntryLine = (1, "show:1", &["near_show"]);
    let other: EntryLine = (1, "show:2", &["near_show"]);
    let far = "27 km from you";
    let both = format!("[Followed: f Tides (you follow Mira and it is {far}; {far})?]");
    check("subject", &[followed, near], &both);
    check("mail", &[followed, near], &both);
    check("subject", &[(0, "show:1", &["near_show", "followed_show"])], &both.replace('?', ""));
    check(
        "event",
        &[followed, near],
        &format!("[Followed: f Tides (you follow Mira)][Near: n Tides (it is {far}; {far})?]"),
    );
    check(
        "subject",
        &[followed, other],
        &format!("[Followed: f Tides (you follow Mira)][Near: n Ink (it is {far}; {far})?]"),
    );
    // It was taken as a followed show, and by now it is only near: then it is said as such.
    check("subject", &[(0, "show:1", &["near_show"])], &format!("[Near: n Tides (it is {far}; {far})]"));
    check("subject", &[(7, "show:1", &["picked"])], "[More: p Tides (picked for you)]");
    check("subject", &[(2, "show:1", &["matched"])], "[More: m Ben (you and Ben)]");
}

#[test]
fn headers_say_which_list_it_is_and_how_to_leave_it() {
    let secret = LinkSecret::new([7; SECRET_BYTES]);
    let links = MailLinks::new("https://mail.shows.example/out/", secret.clone());
    let with = make_message("subject", &[(0, "show:1", &["followed_show"])], Some(&links));
    let without = make_message("subject", &[(0, "show:1", &["followed_show"])], None);
    let header = |message: &Message, name: &str| {
        let found = message.mail().unwrap().headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.clone())
    };
    for message in [&with, &without] {
        assert_eq!(header(message, "Auto-Submitted").as_deref(), Some("auto-generated"));
        assert_eq!(header(message, "List-Id").as_deref(), Some("<daily.shows.shows.example>"));
        assert_eq!(header(message, "Feedback-ID").as_deref(), Some("daily:shows:main:tidings"));
    }
    assert_eq!(header(&with, "List-Unsubscribe-Post").as_deref(), Some("List-Unsubscribe=One-Click"));
    assert_eq!(without.mail().unwrap().headers.len(), 3);
    let link = header(&with, "List-Unsubscribe").unwrap();
    let link = link.trim_matches(['<', '>']);
    assert!(with.text.contains(link), "{}", with.text);
    let token = link.strip_prefix("https://mail.shows.example/out/u/").unwrap();
    let expected = LinkToken {
        tenant: tenant(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("daily").unwrap(),
        channel: Channel::Email,
        day: Some(Day::parse("2026-11-24").unwrap()),
    };
    assert_eq!(read_token(token, &secret), Some(expected));
    // Nobody's mail but theirs: what goes out can be written, and names no secret.
    assert!(!format!("{links:?}").contains('7'), "{links:?}");
}

#[test]
fn the_longest_names_still_make_a_mail_that_can_be_written() {
    let long = |c: &str| c.repeat(model::limits::ID_BYTES_MAX);
    let links =
        MailLinks::new(&format!("https://{}.example", "x".repeat(130)), LinkSecret::new([1; SECRET_BYTES]));
    let ready = Ready {
        tenant: Tenant::new(&long("t")).unwrap(),
        person: Person::new(&long("p")).unwrap(),
        plan: PlanName::new(&long("q")).unwrap(),
        ..ready(Vec::new())
    };
    let message = make_message("subject", &[(0, "show:1", &["followed_show"])], None);
    let link = ("List-Unsubscribe".to_owned(), format!("<{}>", links.unsubscribe(&ready)));
    let message = message.with_mail(|mail| mail.headers.push(link));
    courier::mime::write_message(&message).unwrap_or_else(|unfit| panic!("{unfit}"));
}

#[test]
fn a_mail_says_its_word_wherever_it_may_be_said_again() {
    let secret = LinkSecret::new([1; SECRET_BYTES]);
    let lines: &[EntryLine] = &[(0, "show:1", &["followed_show"])];
    let own = |ready: Ready| ready;
    let check = |provider: Option<ReturnProvider>, more: Option<(&str, &str)>| {
        let returns = ReturnAddresses::new("returns.example.com", secret.clone(), provider);
        let message = make_message_with("subject", lines, (None, Some(&returns)), &own);
        let mail = message.mail().unwrap();
        let path = mail.return_path.clone().unwrap();
        let (word, domain) = path.split_once('@').unwrap();
        assert_eq!(
            (domain, return_path::read_return_path(word, &secret)),
            ("returns.example.com", Some(message.ready))
        );
        let said = |name: &str| {
            mail.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.replace(word, "WORD"))
        };
        assert_eq!(said("X-Tidings-Return").as_deref(), Some("WORD"));
        for name in ["X-SES-MESSAGE-TAGS", "X-PM-Metadata-tidings", "X-SMTPAPI"] {
            let expected = more.filter(|(own, _)| *own == name).map(|(_, value)| value);
            assert_eq!(said(name).as_deref(), expected, "{provider:?}");
        }
        let written = mime::write_message(&message).unwrap();
        assert_eq!(written.return_path, path);
        assert_ne!(written.from, path, "its sender stays who it was");
    };
    check(None, None);
    check(Some(ReturnProvider::Ses), Some(("X-SES-MESSAGE-TAGS", "tidings=WORD")));
    check(Some(ReturnProvider::Postmark), Some(("X-PM-Metadata-tidings", "WORD")));
    check(Some(ReturnProvider::SendGrid), Some(("X-SMTPAPI", r#"{"unique_args":{"tidings":"WORD"}}"#)));
    let without = make_message("subject", lines, None);
    assert_eq!(without.mail().unwrap().return_path, None);
    let written = mime::write_message(&without).unwrap();
    assert_eq!(written.return_path, written.from);
}

#[test]
fn what_cannot_be_written_is_found_among_the_others() {
    let text = CATALOGUE
        .replace("ONCE", "subject")
        .replace("'f {{ subject.title }}'", "'f {{ 6 % (subject.left | default(1)) }}'");
    let text = text.replace("show:  {title: text,", "show:  {title: text, left: number,");
    let files = |name: &str| match name {
        "mail.mjml" => Ok("<mjml><mj-body></mj-body></mjml>".to_owned()),
        _ => Ok(TEXT.to_owned()),
    };
    let catalogue = Catalogue::parse(&text, "catalogue.yaml", &files);
    let catalogue = catalogue.unwrap_or_else(|problems| panic!("{problems}"));
    let renderer = MessageRenderer::new(&catalogue).unwrap();
    let mut world = world();
    for (show, left) in [("show:1", 4.0), ("show:2", 0.0)] {
        let show = world.get_or_insert(&tenant()).subjects.get_mut(&SubjectRef::new(show).unwrap()).unwrap();
        show.merge(&VersionedState::from_values(2, [("left", Some(Value::Number(left)))]));
    }
    let profile =
        VersionedState::from_values(1, [(profile::EMAIL, Some(Value::from_text("ann@example.com")))]);
    let facts = SenderFacts { profile, ..SenderFacts::default() };
    let (zones, links, returns) = (ZoneRules::load_bundled(), None, None);
    let (catalogue, renderer, zones, world, now) = (&catalogue, &renderer, &zones, &world, now());
    let making = MessageMaker { catalogue, renderer, zones, world, links, returns, now };
    let lines: [EntryLine; 2] = [(0, "show:1", &["followed_show"]), (0, "show:2", &["followed_show"])];
    let ready = ready(lines.iter().enumerate().map(|(n, line)| entry(n, line)).collect());
    let mut checked = CheckedReady { told: ready.entries.clone(), left: Vec::new() };
    assert!(making.message(&ready, &facts, &checked).is_err(), "nobody divides by nothing");
    let unwritten = making.unwritable_entries(&ready, &facts, &checked);
    assert_eq!(unwritten.into_iter().collect::<Vec<_>>(), [ready.entries[1].key]);
    checked.told.pop();
    assert!(making.message(&ready, &facts, &checked).unwrap().text.contains("f 2"));
}

#[test]
fn a_message_that_leaves_late_has_the_date_of_its_leaving() {
    let check = |late: i64, is_due: bool| {
        let lines: [EntryLine; 1] = [(0, "show:1", &["followed_show"])];
        let message =
            make_changed_message("subject", &lines, None, &|ready| Ready { due: now().plus(-late), ..ready });
        assert_eq!(message.date, if is_due { now().plus(-late) } else { now() }, "{late} ms late");
    };
    check(-5_000, true);
    check(0, true);
    check(86_400_000, true);
    check(86_400_001, false);
}
