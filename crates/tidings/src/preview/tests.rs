//! Previews of pushes, of plans that tell windows apart, and of audiences that name somebody.

use std::sync::Arc;

use catalogue::Catalogue;
use model::{
    Because, EntryKey, EventKey, Kind, Millis, Person, Reason, Row, State, SubjectRef, Tenant, Value,
    civil::Zones,
    device::{self, Platform},
    entry::{DayKey, Entry},
    person::profile,
};
use store::{DayRows, Days as _, StateKey, States as _, Store, embedded::Embedded};

use super::{Asked, Of, Place, Preview, Slip, Studio};

const CATALOGUE: &str = r#"
catalogue: pair
subjects:
  like: {one: person, two: person, photo: url, thread: text}
kinds:
  liked:
    on: like.given
    to: {mutual: [one, two]}
    says: '{{ other }} likes you'
    plans: [nudge, mail]
plans:
  nudge:
    channel: push
    key: subject.thread
    close: {after: 10m}
    look_back: 2d
    badge: true
    headline: '{{ count }} new'
    body: '{{ (items | first).says }}'
    longer: '{{ (items | first).says }}, and that is all'
    image: '{{ (items | first).subject.photo }}'
    opens: 'https://pair.example/'
    sections: [{title: Likes, kinds: [liked], most: 5, order: newest}]
  mail:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: Pair <pair@pair.example>
    headline: '{{ count }} new'
    template: mail.mjml
    text: mail.txt
    sections: [{title: Likes, kinds: [liked], most: 1, order: newest}]
"#;
const NOW: &str = "2026-11-21T10:00:00Z";
const TOKEN: &str = "0123456789abcdef-secret";

struct World {
    store: Embedded,
    log: topic::embedded::Embedded,
    studio: Studio,
    _dir: tempfile::TempDir,
}

fn now() -> Millis {
    Millis::parse(NOW).unwrap()
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

async fn world(profile: State) -> World {
    let dir = tempfile::tempdir().unwrap();
    let files = |name: &str| {
        match name {
        "mail.mjml" => Ok("<mjml><mj-body></mj-body></mjml>".to_owned()),
        _ => Ok("{% for s in sections %}{% for i in s.items %}{{ i.says }}; {% endfor %}{{ s.more }} more{% endfor %}".to_owned()),
    }
    };
    let catalogue =
        Catalogue::parse(CATALOGUE, "catalogue.yaml", &files).unwrap_or_else(|problems| panic!("{problems}"));
    let studio = Studio::new(Arc::new(catalogue), Zones::bundled(), "http://localhost").unwrap();
    let clock = runtime::Clock::still(now().0);
    let log = topic::embedded::Embedded::open(&dir.path().join("topics"), clock).unwrap();
    crate::house::declare(&log, model::partition::Partitions::USUAL).await.unwrap();
    let store = Embedded::open(&dir.path().join("store")).unwrap();
    store.merge(vec![(StateKey::Person(tenant(), Person::new("ann").unwrap()), profile)]).await.unwrap();
    World { store, log, studio, _dir: dir }
}

/// A profile of plain cells.
fn profile(values: &[(&str, Value)]) -> State {
    State::at(1, values.iter().map(|(name, value)| (*name, Some(value.clone()))))
}

fn device() -> (String, Value) {
    (device::field("phone"), device::value(Platform::Android, TOKEN))
}

impl World {
    /// Somebody likes Ann: an entry that waits.
    async fn liked(&self, number: u8, by: &str, thread: &str) {
        let subject = SubjectRef::new(&format!("like:{number}")).unwrap();
        let state = profile(&[
            ("one", Value::text(by)),
            ("two", Value::text("ann")),
            ("thread", Value::text(thread)),
            ("photo", Value::text("https://pair.example/photo.jpg")),
        ]);
        let key =
            EntryKey { occurred: now().plus(-60_000 * i64::from(number)), event: EventKey([number; 16]) };
        let other = Person::new(by).unwrap();
        let reason = Reason { kind: Kind::new("liked").unwrap(), because: Because::Mutual(other.clone()) };
        let row = Row::Entry(Entry { key, reason, subject: subject.clone(), actor: Some(other.clone()) });
        let day = DayKey { tenant: tenant(), person: Person::new("ann").unwrap(), day: key.day() };
        self.store.write(vec![DayRows { key: day, rows: vec![row] }], now()).await.unwrap();
        let name = State::at(1, [(profile::NAME, Some(Value::text(&by.to_uppercase())))]);
        let states =
            vec![(StateKey::Subject(tenant(), subject), state), (StateKey::Person(tenant(), other), name)];
        self.store.merge(states).await.unwrap();
    }

    async fn ask(&self, asked: Asked) -> Result<Vec<Preview>, Slip> {
        let (store, tenant) = (&self.store as &dyn Store, tenant());
        let place = Place { log: &self.log, store, tenant: &tenant, now: now() };
        self.studio.previews(&asked, place).await.unwrap()
    }
}

fn asked(plan: &str) -> Asked {
    let (kind, person) = (Some("liked".to_owned()), "ann".to_owned());
    Asked { kind, person, plan: (!plan.is_empty()).then(|| plan.to_owned()), ..Asked::default() }
}

#[tokio::test]
async fn a_push_has_a_card_for_each_platform_and_no_token() {
    let (name, value) = device();
    let world = world(profile(&[(&name, value)])).await;
    world.liked(1, "ben", "a").await;
    world.liked(2, "cem", "b").await;
    let previews = world.ask(asked("nudge")).await.unwrap();
    let push = &previews[0];
    // The newest window alone.
    assert_eq!((push.of, push.subjects.as_slice()), (Of::Waiting, &["like:1".to_owned()][..]));
    assert_eq!((push.headline.as_str(), push.to.as_str()), ("1 new", "phone (android)"));
    let bodies: Vec<(&str, &str)> =
        push.cards.iter().map(|card| (card.platform.as_str(), card.body.as_str())).collect();
    let (short, long) = ("BEN likes you", "BEN likes you, and that is all");
    assert_eq!(bodies, [("android", short), ("ios", long), ("web", long)]);
    assert_eq!(
        (push.cards[0].badge, push.cards[0].opens.as_deref()),
        (Some(1), Some("https://pair.example/"))
    );
    assert_eq!(push.remarks, Vec::<String>::new());
    assert!(!serde_json::to_string(&previews).unwrap().contains(TOKEN));
}

#[tokio::test]
async fn what_stands_against_a_message_is_said_and_it_is_shown_all_the_same() {
    let check = async |values: &[(&str, Value)], plan: &str, remarks: &[&str]| {
        let world = world(profile(values)).await;
        world.liked(1, "ben", "a").await;
        world.liked(2, "cem", "a").await;
        let previews = world.ask(asked(plan)).await.unwrap();
        assert_eq!(previews[0].remarks, remarks, "{values:?}");
        assert!(previews[0].headline.ends_with(" new"), "{}", previews[0].headline);
        previews
    };
    let email = (profile::EMAIL, Value::text("ann@example.org"));
    check(&[("name", Value::text("Ann"))], "nudge", &["nothing goes to them: no address"]).await;
    check(&[("name", Value::text("Ann"))], "mail", &["nothing goes to them: no address"]).await;
    let off = (profile::EMAIL_OFF, Value::Flag(true));
    let mails = check(&[email.clone(), off], "mail", &["nothing goes to them: unsubscribed"]).await;
    // What has no room is counted, and nobody is told where she is written to.
    assert_eq!(
        (mails[0].text.trim_end(), mails[0].to.as_str()),
        ("BEN likes you; 1 more", "a\u{2026}@example.org")
    );
    check(&[email], "mail", &[]).await;
}

#[tokio::test]
async fn each_plan_of_the_kind_has_its_message() {
    let world = world(profile(&[(profile::EMAIL, Value::text("ann@example.org"))])).await;
    let plans =
        |previews: Vec<Preview>| previews.into_iter().map(|one| (one.plan, one.of)).collect::<Vec<_>>();
    let found = plans(world.ask(asked("")).await.unwrap());
    assert_eq!(found, [("nudge".to_owned(), Of::Example), ("mail".to_owned(), Of::Example)]);
    let of_mail = Asked { channel: Some("email".to_owned()), ..asked("") };
    assert_eq!(plans(world.ask(of_mail.clone()).await.unwrap()), [("mail".to_owned(), Of::Example)]);
    let neither = world.ask(Asked { plan: Some("nudge".to_owned()), ..of_mail }).await.unwrap_err();
    assert!(
        neither.at == "channel" && neither.why().contains("no plan of channel email in `nudge`"),
        "{neither:?}"
    );
    world.liked(3, "cem", "a").await;
    let named = world.ask(Asked { subject: Some("like:3".to_owned()), ..asked("mail") }).await.unwrap();
    assert_eq!((named[0].of, named[0].text.trim_end()), (Of::Subject, "CEM likes you; 0 more"));
}
