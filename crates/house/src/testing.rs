//! What the tests of this crate share: a small catalogue, and a house on embedded engines in a folder.

use std::{path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
    response::Response,
};
use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use model::{
    Channel, Person, PlanName, ReadyId, Tenant, UtcMillis, civil_time::ZoneRules, limits::DAY_MS,
    person::DeferredReady, ready::Ready,
};
use runtime::{Clock, retry::wait_real_time};
use sender::MailLinks;
use tower::ServiceExt as _;
use wire::{NoSchemaSource, token::LinkSecret};

use crate::{Config, HouseEngines, RunningHouse, declare_topics};

const CATALOGUE: &str = r#"
catalogue: shop
subjects:
  item: {title: text, page: url, maker: ref maker, makers: refs maker, at: place, price: number, offered: flag}
  maker: {name: text}
kinds:
  item_offered:
    on: item.offered
    to: {followers_of: maker}
    while: subject.offered
    says: 'New: {{ subject.title | default("something") }}'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    at_least: 1
    once_per: subject
    from: Shop <shop@shop.example>
    headline: '{{ items | list(2) }}'
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: New, kinds: [item_offered], most: 5, order: newest}
"#;

const MJML: &str = "<mjml><mj-body><mj-section><mj-column><mj-text>\
    {% for section in sections %}<h2>{{ section.title }}</h2>{% for item in section.items %}<p>{{ item.says }}</p>{% endfor %}{% endfor %}\
    </mj-text></mj-column></mj-section></mj-body></mjml>";
const TEXT: &str = "{% for section in sections %}{{ section.title }}\n{% for item in section.items %}- {{ item.says }}\n{% endfor %}{% endfor %}";

/// What the links of its mails are signed with.
pub const SECRET: [u8; 32] = [7; 32];

/// Saturday morning.
pub const START: &str = "2026-11-21T10:00:00Z";

/// A mail that no server has taken: made at an instant, and tried again at another.
#[allow(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a test panics")]
pub fn deferred_message(person: &str, id: ReadyId, made: UtcMillis, at: UtcMillis) -> DeferredReady {
    let ready = Ready {
        id,
        tenant: Tenant::new("main").unwrap(),
        person: Person::new(person).unwrap(),
        plan: PlanName::new("daily").unwrap(),
        key: "".into(),
        opening: made,
        channel: Channel::Email,
        silent: false,
        attempt: 1,
        due: made,
        expires: made.plus(DAY_MS),
        entries: Vec::new(),
        more: Vec::new(),
        badge: false,
        renews: None,
    };
    DeferredReady { at, ready }
}

pub fn test_catalogue() -> Arc<Catalogue> {
    parse_catalogue(CATALOGUE)
}

/// The same with a kind more.
pub fn newer_catalogue() -> Arc<Catalogue> {
    let kind = "  item_noted: {on: item.noted, to: {followers_of: maker}, says: noted, plans: [daily]}";
    let text = CATALOGUE.replace("kinds:\n  item_offered:", &format!("kinds:\n{kind}\n  item_offered:"));
    parse_catalogue(&text.replace("kinds: [item_offered]", "kinds: [item_offered, item_noted]"))
}

/// The same with what a reader can choose among: a weekly mail instead, pushes beside, and what hangs on a maker.
pub fn choices_catalogue() -> Arc<Catalogue> {
    let weekly = r#"plans:
  ping: {channel: push, close: at_once, look_back: 7d, headline: x, body: x, sections: [{title: New, kinds: [item_offered], most: 5}]}
  weekly:
    channel: email
    title: Weekly mail
    close: {weekly: "09:00", on: [sun], zone: person}
    look_back: 14d
    once_per: subject
    from: Shop <shop@shop.example>
    headline: '{{ items | list(2) }}'
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: New, kinds: [item_offered], most: 5, order: newest}
"#;
    let told = "    plans: [daily]\n";
    let text = CATALOGUE.replace(told, "    thread: maker\n    plans: [daily, weekly, ping]\n");
    let text = text.replace("most: 5", "most: 2");
    parse_catalogue(&text.replace("\nplans:\n  daily:", &format!("\n{weekly}  daily:")))
}

/// The same with a category whose entries are told as one for each maker.
pub fn bundles_catalogue() -> Arc<Catalogue> {
    parse_catalogue(&bundles_text())
}

/// The same with pushes that say the number of the bell, of one of the two kinds.
pub fn badge_catalogue() -> Arc<Catalogue> {
    let ping = "plans:\n  ping: {channel: push, close: at_once, badge: true, look_back: 7d, headline: x, body: x, sections: [{title: New, kinds: [item_offered], most: 5}]}\n";
    let text = bundles_text().replacen("    plans: [daily]\n", "    plans: [ping, daily]\n", 1);
    parse_catalogue(&text.replace("\nplans:\n", &format!("\n{ping}")))
}

/// The same with a surface that asks whether somebody is connected.
pub fn asking_catalogue() -> Arc<Catalogue> {
    let surfaces = "\nsurfaces: {app: {online: 15m, ask: live}}\nplans:\n";
    parse_catalogue(&bundles_text().replace("\nplans:\n", surfaces))
}

fn bundles_text() -> String {
    let told = "    plans: [daily]\n";
    let bundled = "    category: news\n    thread: maker\n    bundle_by: maker\n    says_many: '{{ count }} things of {{ subject.maker.name | default(\"somebody\") }}'\n    plans: [daily]\n";
    let text = CATALOGUE.replace(told, bundled);
    let kinds = "categories: {news: {}}\nkinds:\n  item_noted: {on: item.noted, to: {followers_of: maker}, says: 'Noted: {{ subject.title }}', plans: [daily]}\n";
    let text = text.replace("kinds:\n  item_offered:", &format!("{kinds}  item_offered:"));
    text.replace("kinds: [item_offered]", "kinds: [item_offered, item_noted]")
}

fn parse_catalogue(text: &str) -> Arc<Catalogue> {
    let read = |name: &str| match name {
        "mail.mjml" => Ok(MJML.to_owned()),
        "mail.txt" => Ok(TEXT.to_owned()),
        other => Err(format!("no {other}")),
    };
    Arc::new(Catalogue::parse(text, "catalogue.yaml", &read).unwrap_or_else(|problems| panic!("{problems}")))
}

/// A house in a folder, and what is below it.
pub struct HouseTestbed {
    pub house: Arc<RunningHouse>,
    pub topics: topic::embedded::EmbeddedTopics,
    pub outbox: Arc<OutboxCourier>,
    pub intake: Router,
}

pub async fn open_fixture(dir: &Path, clock: &Clock) -> HouseTestbed {
    open_fixture_with(dir, clock, test_catalogue()).await
}

/// The same with another catalogue.
pub async fn open_fixture_with(dir: &Path, clock: &Clock, catalogue: Arc<Catalogue>) -> HouseTestbed {
    let topics = topic::embedded::EmbeddedTopics::open(&dir.join("topics"), clock.clone()).unwrap();
    let store = Arc::new(store_embedded::EmbeddedStore::open(&dir.join("store")).unwrap());
    let outbox = Arc::new(OutboxCourier::open(&dir.join("outbox")).unwrap());
    let engines = HouseEngines {
        topics: Arc::new(topics.clone()),
        store,
        courier: outbox.clone(),
        live: Arc::new(live::UnknownConnections),
        schemas: Arc::new(NoSchemaSource),
    };
    let mut config = Config::with_defaults(Tenant::new("main").unwrap(), 1_000);
    declare_topics(&topics, config.partitions).await.unwrap();
    // Once, at the beginning.
    config.measure_lag = Some(Duration::from_secs(3_600));
    config.secret = LinkSecret::new(SECRET);
    config.sender.links = Some(MailLinks::new("http://127.0.0.1:7280", config.secret.clone()));
    let house =
        RunningHouse::start(engines, catalogue, clock.clone(), ZoneRules::load_bundled(), config.clone())
            .await
            .unwrap();
    let house = Arc::new(house);
    let intake = intake_router(&house, config.ingest);
    HouseTestbed { house, topics, outbox, intake }
}

/// The way in to a house.
pub fn intake_router(house: &RunningHouse, config: ingest::Config) -> Router {
    let deps = house.intake().clone();
    ingest::router(ingest::HttpIntake { deps, config, keys: None.into(), disk_low: Arc::new(|| false) })
}

impl HouseTestbed {
    /// A person who follows a maker.
    pub async fn add_person(&self, person: &str, maker: &str) {
        let email = format!("{person}@example.org");
        self.post_json("/v1/facts", &serde_json::json!([
            {"id": format!("p-{person}"), "source": "t", "type": "tidings.profile", "person": person, "email": email, "zone": "UTC"},
            {"id": format!("f-{person}"), "source": "t", "type": "tidings.follow", "person": person, "target": maker},
        ])).await;
    }

    pub async fn offer_item(&self, item: &str, maker: &str, title: &str) {
        self.post_json("/v1/changes", &serde_json::json!(
            {"id": item, "source": "t", "type": "item.offered", "subject": item, "maker": maker, "title": title, "offered": true}
        )).await;
        // What comes in one millisecond has no order that a test could know.
        wait_real_time(Duration::from_millis(2)).await;
    }

    async fn post_json(&self, path: &str, body: &serde_json::Value) {
        post_to_intake(&self.intake, path, body).await;
    }

    /// Lets go of the folder.
    pub fn close(self) {
        let Self { house, topics, outbox, intake } = self;
        drop((house, outbox, intake));
        topics.close();
    }
}

pub async fn post_to_intake(intake: &Router, path: &str, body: &serde_json::Value) {
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let answer = intake.clone().oneshot(request).await.unwrap();
    let (status, text) = read_response(answer).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{text}");
    assert!(text.contains("\"rejected\":[]"), "{text}");
}

pub async fn read_response(answer: Response) -> (StatusCode, String) {
    let status = answer.status();
    let bytes = to_bytes(answer.into_body(), 1 << 22).await.unwrap();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}
