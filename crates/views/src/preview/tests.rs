//! Previews of pushes, of plans that tell windows apart, and of audiences that name somebody.

use std::sync::Arc;

use catalogue::Catalogue;
use model::{
    AudienceMatch, DayRow, EntryKey, EntryReason, EventKey, Kind, Person, SubjectRef, Tenant, UtcMillis,
    Value, VersionedState,
    civil_time::ZoneRules,
    device::{self, DevicePlatform},
    entry::{DayKey, Entry},
    person::profile,
};
use store::{DayRows, DayStore as _, StateKey, StateStore as _, Store};
use store_embedded::EmbeddedStore;

use super::{LookupContext, MessagePreview, PreviewError, PreviewRequest, PreviewSource, PreviewStudio};

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

struct PreviewFixture {
    store: EmbeddedStore,
    log: topic::embedded::EmbeddedTopics,
    studio: PreviewStudio,
    _dir: tempfile::TempDir,
}

fn now() -> UtcMillis {
    UtcMillis::parse(NOW).unwrap()
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

async fn preview_fixture(profile: VersionedState) -> PreviewFixture {
    let dir = tempfile::tempdir().unwrap();
    let files = |name: &str| {
        match name {
        "mail.mjml" => Ok("<mjml><mj-body></mj-body></mjml>".to_owned()),
        _ => Ok("{% for s in sections %}{% for i in s.items %}{{ i.says }}; {% endfor %}{{ s.more }} more{% endfor %}".to_owned()),
    }
    };
    let catalogue =
        Catalogue::parse(CATALOGUE, "catalogue.yaml", &files).unwrap_or_else(|problems| panic!("{problems}"));
    let studio =
        PreviewStudio::new(Arc::new(catalogue), ZoneRules::load_bundled(), "http://localhost").unwrap();
    let clock = runtime::Clock::still(now().0);
    let log = topic::embedded::EmbeddedTopics::open(&dir.path().join("topics"), clock).unwrap();
    house::declare_topics(&log, model::partition::PartitionCount::USUAL).await.unwrap();
    let store = EmbeddedStore::open(&dir.path().join("store")).unwrap();
    store.merge(vec![(StateKey::Person(tenant(), Person::new("ann").unwrap()), profile)]).await.unwrap();
    PreviewFixture { store, log, studio, _dir: dir }
}

/// A profile of plain cells.
fn profile(values: &[(&str, Value)]) -> VersionedState {
    VersionedState::from_values(1, values.iter().map(|(name, value)| (*name, Some(value.clone()))))
}

fn device() -> (String, Value) {
    (device::device_field("phone"), device::device_value(DevicePlatform::Android, TOKEN))
}

impl PreviewFixture {
    /// Somebody likes Ann: an entry that waits.
    async fn add_like(&self, number: u8, by: &str, thread: &str) {
        let subject = SubjectRef::new(&format!("like:{number}")).unwrap();
        let state = profile(&[
            ("one", Value::from_text(by)),
            ("two", Value::from_text("ann")),
            ("thread", Value::from_text(thread)),
            ("photo", Value::from_text("https://pair.example/photo.jpg")),
        ]);
        let key =
            EntryKey { occurred: now().plus(-60_000 * i64::from(number)), event: EventKey([number; 16]) };
        let other = Person::new(by).unwrap();
        let reason =
            EntryReason { kind: Kind::new("liked").unwrap(), because: AudienceMatch::Mutual(other.clone()) };
        let row = DayRow::Entry(Entry {
            key,
            reason,
            subject: subject.clone(),
            actor: Some(other.clone().into()),
            kept: model::KeptFields::new(),
        });
        let day = DayKey { tenant: tenant(), person: Person::new("ann").unwrap(), day: key.day() };
        self.store.write(vec![DayRows { key: day, rows: vec![row] }], now()).await.unwrap();
        let name =
            VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text(&by.to_uppercase())))]);
        let states =
            vec![(StateKey::Subject(tenant(), subject), state), (StateKey::Person(tenant(), other), name)];
        self.store.merge(states).await.unwrap();
    }

    async fn ask(&self, asked: PreviewRequest) -> Result<Vec<MessagePreview>, PreviewError> {
        let (store, tenant) = (&self.store as &dyn Store, tenant());
        let place = LookupContext { log: &self.log, store, tenant: &tenant, now: now() };
        self.studio.build_previews(&asked, place).await.unwrap()
    }
}

fn preview_request(plan: &str) -> PreviewRequest {
    let (kind, person) = (Some("liked".to_owned()), "ann".to_owned());
    PreviewRequest {
        kind,
        person,
        plan: (!plan.is_empty()).then(|| plan.to_owned()),
        ..PreviewRequest::default()
    }
}

#[tokio::test]
async fn a_push_has_a_card_for_each_platform_and_no_token() {
    let (name, value) = device();
    let world = preview_fixture(profile(&[(&name, value)])).await;
    world.add_like(1, "ben", "a").await;
    world.add_like(2, "cem", "b").await;
    let previews = world.ask(preview_request("nudge")).await.unwrap();
    let push = &previews[0];
    // The newest window alone.
    assert_eq!((push.of, push.subjects.as_slice()), (PreviewSource::Waiting, &["like:1".to_owned()][..]));
    assert_eq!((push.headline.as_str(), push.to.as_str()), ("1 new", "phone (android)"));
    let bodies: Vec<(&str, &str)> =
        push.cards.iter().map(|card| (card.platform.as_str(), card.body.as_str())).collect();
    let (short, long) = ("BEN likes you", "BEN likes you, and that is all");
    assert_eq!(bodies, [("android", short), ("ios", long), ("web", long)]);
    // The number of the bell, on which both are new.
    assert_eq!(
        (push.cards[0].badge, push.cards[0].opens.as_deref()),
        (Some(2), Some("https://pair.example/"))
    );
    assert_eq!(push.remarks, Vec::<String>::new());
    assert!(!serde_json::to_string(&previews).unwrap().contains(TOKEN));
}

#[tokio::test]
async fn what_stands_against_a_message_is_said_and_it_is_shown_all_the_same() {
    let check = async |values: &[(&str, Value)], plan: &str, remarks: &[&str]| {
        let world = preview_fixture(profile(values)).await;
        world.add_like(1, "ben", "a").await;
        world.add_like(2, "cem", "a").await;
        let previews = world.ask(preview_request(plan)).await.unwrap();
        assert_eq!(previews[0].remarks, remarks, "{values:?}");
        assert!(previews[0].headline.ends_with(" new"), "{}", previews[0].headline);
        previews
    };
    let email = (profile::EMAIL, Value::from_text("ann@example.org"));
    check(&[("name", Value::from_text("Ann"))], "nudge", &["nothing can be sent to them: no address"]).await;
    check(&[("name", Value::from_text("Ann"))], "mail", &["nothing can be sent to them: no address"]).await;
    let off = (profile::EMAIL_OFF, Value::Flag(true));
    let mails = check(&[email.clone(), off], "mail", &["nothing can be sent to them: unsubscribed"]).await;
    // What has no room is counted, and nobody is told where she is written to.
    assert_eq!(
        (mails[0].text.trim_end(), mails[0].to.as_str()),
        ("BEN likes you; 1 more", "a\u{2026}@example.org")
    );
    check(&[email], "mail", &[]).await;
}

#[tokio::test]
async fn each_plan_of_the_kind_has_its_message() {
    let world = preview_fixture(profile(&[(profile::EMAIL, Value::from_text("ann@example.org"))])).await;
    let plans = |previews: Vec<MessagePreview>| {
        previews.into_iter().map(|one| (one.plan, one.of)).collect::<Vec<_>>()
    };
    let found = plans(world.ask(preview_request("")).await.unwrap());
    assert_eq!(
        found,
        [("nudge".to_owned(), PreviewSource::Example), ("mail".to_owned(), PreviewSource::Example)]
    );
    let of_mail = PreviewRequest { channel: Some("email".to_owned()), ..preview_request("") };
    assert_eq!(
        plans(world.ask(of_mail.clone()).await.unwrap()),
        [("mail".to_owned(), PreviewSource::Example)]
    );
    let neither = world.ask(PreviewRequest { plan: Some("nudge".to_owned()), ..of_mail }).await.unwrap_err();
    assert!(
        neither.at == "channel" && neither.reason().contains("no plan on email in `nudge`"),
        "{neither:?}"
    );
    world.add_like(3, "cem", "a").await;
    let named = world
        .ask(PreviewRequest { subject: Some("like:3".to_owned()), ..preview_request("mail") })
        .await
        .unwrap();
    assert_eq!((named[0].of, named[0].text.trim_end()), (PreviewSource::Subject, "CEM likes you; 0 more"));
}
