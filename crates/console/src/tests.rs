//! The door and the pages, asked as a browser and as a stranger would.

use std::{ops::Range, sync::Arc};

use ::catalogue::Catalogue;
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode, header},
};
use house::person_windows;
use house::{
    Config,
    testing::{
        HouseTestbed, SECRET, asking_catalogue, badge_catalogue, bundles_catalogue, choices_catalogue,
        open_fixture_with, read_response, test_catalogue,
    },
};
use house_facts::KeyScope;
use model::{
    Person, PlanName, Tenant,
    civil_time::ZoneRules,
    person::{PersonRecord, Window},
};
use secrecy::{ExposeSecret as _, SecretString};
use settings::config::{ApiKeyConfig, KeyHash};
use shell::{
    datadir::{DemoClock, random_hex},
    disks::WatchedDisks,
};
use tempfile::TempDir;
use topic::{NewRecord, Topics as _};
use tower::ServiceExt as _;
use views::preview::PreviewStudio;
use web::{RequestGuard, api_key::ApiKeyList, person_access::PersonAccess};
use wire::{token::LinkSecret, topics};

use super::{
    ArchivingService, HttpApp, ShareCountCache, UnsubscribeService, VisitCounter, list_api_keys,
    page::PageTemplates, router,
};

mod access_roles;
mod bell;
mod choices;
mod description;
mod entries;
mod erase;
mod error_pages;
mod feed;
mod languages;
mod metrics;
mod one_number;
mod pauses;
mod person;
mod preferences;
mod preview;
mod push;
mod push_mark;
mod settings_page;
mod shares;
mod sink;
mod slots;
mod tools;
mod unsubscribe;
mod visit;
mod window_acts;

const HOST: &str = "127.0.0.1:7280";
/// As a browser is given it.
const WEB_KEY: &str =
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
const API_KEY: &str = "correct-horse-battery";

/// A house behind its door.
struct HouseDoor {
    ground: HouseTestbed,
    router: Router,
    app: Arc<HttpApp>,
    _dir: TempDir,
}

async fn door(is_demo: bool, is_locked: bool) -> HouseDoor {
    door_of(test_catalogue(), is_demo, is_locked).await
}

async fn door_of(catalogue: Arc<Catalogue>, is_demo: bool, is_locked: bool) -> HouseDoor {
    door_with((catalogue, is_demo, is_locked), |app| app).await
}

/// The same, with something else than usual.
async fn door_with(
    (catalogue, is_demo, is_locked): (Arc<Catalogue>, bool, bool),
    change: impl FnOnce(HttpApp) -> HttpApp,
) -> HouseDoor {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(DemoClock::open(dir.path()).unwrap());
    let ground = open_fixture_with(dir.path(), clock.clock(), catalogue.clone()).await;
    let tenant = Tenant::new("main").unwrap();
    let key = ApiKeyConfig {
        tenant: tenant.clone(),
        hash: KeyHash::from_key(API_KEY),
        scopes: KeyScope::ALL.into(),
    };
    // With all paths that there can be.
    let returns = Some(ingest::ReturnPaths::new("returns.example.org", LinkSecret::new(SECRET)));
    let intake = ingest::Config { returns, ..Config::with_defaults(tenant.clone(), 1_000).ingest };
    let app = Arc::new(change(HttpApp {
        house: ground.house.clone(),
        catalogue: catalogue.clone(),
        outbox: Some(ground.outbox.clone()),
        clock,
        tenants: [tenant.clone()].into(),
        tenant,
        is_demo,
        guard: access_roles::guard(is_locked),
        keys: ApiKeyList::new(list_api_keys(&[key], is_locked)),
        persons: PersonAccess::default(),
        disk_low: Arc::new(|| false),
        disks: WatchedDisks::declare(dir.path(), None, 0, ground.house.metrics()).unwrap(),
        intake,
        pages: PageTemplates::new().unwrap(),
        archive: ArchivingService::new(ground.house.metrics()).unwrap(),
        replays: upkeep::replay::ReplayService::default(),
        counts: ShareCountCache::default(),
        unsubscribe: UnsubscribeService::new(LinkSecret::new(SECRET)),
        studio: PreviewStudio::new(catalogue, ZoneRules::load_bundled(), "http://127.0.0.1:7280").unwrap(),
        web_key: views::devices::WebKey { public: Some(WEB_KEY.to_owned()), is_copy: true },
        visits: VisitCounter::new(LinkSecret::new(SECRET), ground.house.metrics()).unwrap(),
        // What is shown after it must not hang on how busy the machine is.
        rest_time: std::time::Duration::from_secs(30),
    }));
    HouseDoor { ground, router: router(app.clone()), app, _dir: dir }
}

struct DoorAnswer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl HouseDoor {
    async fn ask(&self, method: Method, path: &str, lines: &[(&str, &str)], body: &str) -> DoorAnswer {
        let mut request = Request::builder().method(method).uri(path);
        if !lines.iter().any(|(name, _)| *name == "host") {
            request = request.header(header::HOST, HOST);
        }
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let answer =
            self.router.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
        let headers = answer.headers().clone();
        let (status, text) = read_response(answer).await;
        DoorAnswer { status, headers, text }
    }

    async fn get(&self, path: &str) -> DoorAnswer {
        self.ask(Method::GET, path, &[], "").await
    }

    /// A form as our own page sends it.
    async fn form(&self, path: &str, fields: &str) -> DoorAnswer {
        let body = format!("csrf={}&{fields}", self.app.guard.csrf);
        self.post(path, &body).await
    }

    async fn post(&self, path: &str, body: &str) -> DoorAnswer {
        let lines =
            [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://127.0.0.1:7280")];
        self.ask(Method::POST, path, &lines, body).await
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.app.guard.token.expose_secret())
    }
}

impl DoorAnswer {
    fn policy(&self) -> &str {
        self.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap()
    }
}

#[tokio::test]
async fn every_page_answers_and_lets_nothing_run() {
    let door = door(true, false).await;
    for path in [
        "/",
        "/pipeline",
        "/outbox",
        "/person",
        "/person?id=ann",
        "/preview",
        "/preview?kind=item_offered&person=ann",
        "/told",
        "/told?days=21",
        "/publish",
        "/publish?event=maker.changed",
        "/quarantine",
        "/clock",
    ] {
        let answer = door.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        assert!(answer.policy().starts_with("default-src 'none'"), "{path}");
        assert!(!answer.text.contains("<script"), "{path}");
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
    for path in
        ["/nothing", "/outbox/mail?id=nothing", "/outbox/html?id=nothing", "/outbox/mail?id=../../admin.json"]
    {
        assert_eq!(door.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    // A page that loads itself again takes the place and the voice from whoever reads it.
    assert!(!door.get("/").await.text.contains("http-equiv"));
    assert_eq!(door.get("/style.css").await.headers[header::CONTENT_TYPE], "text/css; charset=utf-8");
    assert_eq!(door.get("/person?id=%00").await.status, StatusCode::OK);
}

#[tokio::test]
async fn pages_say_that_there_is_no_outbox() {
    let door = door_with((test_catalogue(), true, false), |app| HttpApp { outbox: None, ..app }).await;
    door.offer_item().await;
    for (path, says) in [
        ("/", "This house has no outbox"),
        ("/outbox", "This house has no outbox"),
        ("/pipeline", "there is none: messages leave by their ways"),
        ("/person?id=ann", "ann"),
    ] {
        let answer = door.get(path).await;
        assert!(answer.status.is_success() && answer.text.contains(says), "{path}: {}", answer.text);
    }
    assert_eq!(door.get("/outbox/mail?id=x").await.status, StatusCode::NOT_FOUND);
    assert_eq!(door.get("/outbox/html?id=x").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_a_look_does_not_reach_is_not_counted() {
    let door = door(true, false).await;
    let persons = person_windows::RECORDS_MAX as u64;
    remember(&door, 0..persons).await;
    let whole = door.get("/").await.text;
    assert!(whole.contains("20,000 open</span>"), "{whole}");
    remember(&door, persons..persons + 1).await;
    let cut = door.get("/").await.text;
    assert!(cut.contains("20,000 or more open</span>"), "{cut}");
}

/// Writes records of persons with an open window, as their owner would.
async fn remember(door: &HouseDoor, persons: Range<u64>) {
    let tenant = Tenant::new("main").unwrap();
    let opened = Window::new(PlanName::new("daily").unwrap(), 0, "".into(), door.app.now());
    let window = Window { due: door.app.now().plus(3_600_000), ..opened };
    let record = |number: u64| {
        let person = Person::new(&format!("p{number}")).unwrap();
        let record = PersonRecord { windows: vec![window.clone()], ..PersonRecord::default() };
        NewRecord {
            topic: topics::WINDOWS.into(),
            partition: 0,
            key: wire::key::person_key(&tenant, &person),
            value: Some(wire::window::encode(&tenant, &person, &record).unwrap()),
            headers: Vec::new(),
        }
    };
    let records: Vec<NewRecord> = persons.map(record).collect();
    for some in records.chunks(1_000) {
        door.ground.topics.append(some.to_vec()).await.unwrap();
    }
}

#[tokio::test]
async fn a_name_that_was_made_to_point_here_is_not_answered() {
    let door = door(true, false).await;
    for (path, method) in [
        ("/", Method::GET),
        ("/v1/changes", Method::POST),
        ("/metrics", Method::GET),
        ("/admin/stages", Method::GET),
    ] {
        let answer = door.ask(method, path, &[("host", "evil.example:7280")], "{}").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn only_our_own_forms_change_anything() {
    let door = door(true, false).await;
    let before = door.app.now();
    let foreign = [("content-type", "application/x-www-form-urlencoded"), ("origin", "https://evil.example")];
    let body = format!("csrf={}&to=day", door.app.guard.csrf);
    assert_eq!(door.ask(Method::POST, "/clock", &foreign, &body).await.status, StatusCode::FORBIDDEN);
    for path in ["/clock", "/publish", "/quarantine", "/person/windows", "/push"] {
        let fields = "csrf=wrong&to=day&event=item.offered&item=0&verdict=drop";
        for fields in [fields, fields.split_once('&').unwrap().1, "csrf=", ""] {
            let answer = door.post(path, fields).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {fields}");
            assert!(answer.text.contains("This form is too old"), "{path} {fields}: {}", answer.text);
        }
    }
    assert!(door.app.now().since(before) < 3_600_000);
    assert_eq!(door.form("/clock", "to=hour").await.status, StatusCode::SEE_OTHER);
    assert!(door.app.now().since(before) >= 3_600_000);
    let json = [("content-type", "application/json"), ("sec-fetch-site", "cross-site")];
    assert_eq!(door.ask(Method::POST, "/v1/changes", &json, "{}").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn time_moves_only_in_a_demo() {
    let door = door(false, false).await;
    let before = door.app.now();
    assert_eq!(door.form("/clock", "to=day").await.status, StatusCode::FORBIDDEN);
    assert!(door.app.now().since(before) < 3_600_000);
}

#[tokio::test]
async fn the_demo_brings_tomorrows_mail_now() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    let fields = "event=item.offered&subject=item:1&field.title=%3Cscript%3Ealert(1)%3C/script%3E&field.maker=maker:1&field.offered=true";
    let answer = door.form("/publish", fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let way = door.get("/").await.text;
    assert!(way.contains("/person?id=ann"), "{way}");
    assert_eq!(door.form("/clock", "to=due").await.headers[header::LOCATION], "/clock?done=moved");
    let mails = door.ground.outbox.list_newest(9);
    assert_eq!(mails.len(), 1);
    let id = mails[0].message_id.trim_matches(['<', '>']).to_owned();
    for (path, escaped) in [
        ("/outbox".to_owned(), true),
        (format!("/outbox/mail?id={id}"), true),
        (format!("/outbox/mail?id={id}&show=text"), true),
        (format!("/outbox/mail?id={id}&show=headers"), true),
        ("/person?id=ann".to_owned(), true),
    ] {
        let text = door.get(&path).await.text;
        assert!(!text.contains("<script"), "{path}: {text}");
        assert_eq!(text.contains("&lt;script"), escaped, "{path}: {text}");
    }
    let html = door.get(&format!("/outbox/html?id={id}")).await;
    assert!(html.policy().starts_with("sandbox; default-src 'none'"), "{}", html.policy());
    assert!(html.text.contains("New:"), "{}", html.text);
    let person = door.get("/person?id=ann").await.text;
    assert!(person.contains("told") && person.contains("sent"), "{person}");
    assert!(!person.contains("ann@example.org"), "an address is masked");
}

#[tokio::test]
async fn what_is_refused_is_told_in_the_form() {
    let door = door(true, false).await;
    let fields = "event=item.offered&subject=item:1&field.price=%3Cb%3Emany";
    let answer = door.form("/publish", fields).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        answer.text.contains("Not published.") && answer.text.contains("This must be a number"),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("&lt;b&gt;many") && !answer.text.contains("<b>many"), "{}", answer.text);
}

#[tokio::test]
async fn hostile_names_stay_text() {
    let door = door(true, false).await;
    let text = door.get("/person?id=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await.text;
    assert!(!text.contains("<script") && text.contains("&lt;script"), "{text}");
    let text = door.get("/publish?event=%22%3E%3Cscript%3E&done=%3Cscript%3E").await.text;
    assert!(!text.contains("<script"), "{text}");
}

#[tokio::test]
async fn the_quarantine_is_listed_retried_and_dropped() {
    let door = door(true, false).await;
    for text in ["nonsense <script>", "more <script>"] {
        let record = NewRecord {
            topic: topics::CHANGES.into(),
            partition: 0,
            key: vec![],
            value: Some(text.into()),
            headers: Vec::new(),
        };
        door.ground.topics.append(vec![record]).await.unwrap();
    }
    door.ground.house.settle().await.unwrap();
    let page = door.get("/quarantine").await.text;
    assert!(page.contains("2 records could not be used") && !page.contains("<script"), "{page}");
    assert_eq!(
        door.form("/quarantine", "item=0&verdict=drop").await.headers[header::LOCATION],
        "/quarantine?done=dropped"
    );
    assert_eq!(door.form("/quarantine", "item=0&verdict=drop").await.status, StatusCode::CONFLICT);
    // Put back, it is as bad as before and comes again, under another number.
    assert_eq!(
        door.form("/quarantine", "item=1&verdict=retry").await.headers[header::LOCATION],
        "/quarantine?done=retried"
    );
    door.ground.house.settle().await.unwrap();
    let bearer = door.bearer();
    let list = door.ask(Method::GET, "/admin/quarantine", &[("authorization", &bearer)], "").await;
    let list: serde_json::Value = serde_json::from_str(&list.text).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    assert!(list[0]["number"].as_u64().unwrap() > 1, "{list}");
}

#[tokio::test]
async fn what_a_topic_refuses_waits_in_quarantine() {
    let door = door(true, false).await;
    let bearer = door.bearer();
    let lines = [("authorization", bearer.as_str()), ("content-type", "application/octet-stream")];
    let taken = door.ask(Method::POST, "/admin/upstream", &lines, "nonsense").await;
    assert_eq!(taken.status, StatusCode::ACCEPTED, "{}", taken.text);
    door.ground.house.settle().await.unwrap();
    let list = door.ask(Method::GET, "/admin/quarantine", &lines[..1], "").await.text;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[0]["value"], "nonsense", "{list}");
    assert!(!list[0]["reason"].as_str().unwrap().is_empty(), "{list}");
    let most = "x".repeat(super::UPSTREAM_BYTES_MAX);
    for (body, status) in [
        (String::new(), StatusCode::BAD_REQUEST),
        (format!("{most}x"), StatusCode::PAYLOAD_TOO_LARGE),
        (most, StatusCode::ACCEPTED),
    ] {
        assert_eq!(door.ask(Method::POST, "/admin/upstream", &lines, &body).await.status, status);
    }
}

#[tokio::test]
async fn admin_needs_the_token() {
    let door = door(true, false).await;
    for (path, method) in [
        ("/admin/stages", Method::GET),
        ("/admin/days?person=ann", Method::GET),
        ("/admin/v1/changes", Method::POST),
        ("/admin/upstream", Method::POST),
    ] {
        let ask = async |authorization: &str| {
            let lines = [("authorization", authorization), ("content-type", "application/json")];
            door.ask(method.clone(), path, &lines, "[]").await.status
        };
        assert_eq!(ask("").await, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(ask("Bearer wrong").await, StatusCode::UNAUTHORIZED, "{path}");
        assert_ne!(ask(&door.bearer()).await, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn an_operator_moves_the_demos_clock_too() {
    let door = door(true, false).await;
    let bearer = door.bearer();
    let lines = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let before = door.app.now();
    let moved = door.ask(Method::POST, "/admin/clock", &lines, r#"{"to": "day"}"#).await;
    assert!(moved.text.contains("\"settled\":true"), "{}", moved.text);
    assert!(door.app.now().since(before) >= 86_400_000);
    let moved = door.ask(Method::POST, "/admin/clock", &lines, r#"{"to": "week"}"#).await;
    assert!(moved.text.contains("\"settled\":true"), "{}", moved.text);
    assert!(door.app.now().since(before) >= 8 * 86_400_000);
    let before = door.app.now();
    let moved = door.ask(Method::POST, "/admin/clock", &lines, r#"{"by_ms": 7200000}"#).await;
    assert!(moved.text.contains("\"settled\":true"), "{}", moved.text);
    assert!((7_200_000..7_260_000).contains(&door.app.now().since(before)));
    for nowhere in [
        r#"{"to": "yesterday"}"#,
        r#"{"by_ms": -1}"#,
        r#"{"by_ms": 691200001}"#,
        r#"{}"#,
        r#"{"to": "day", "by_ms": 1}"#,
    ] {
        let answer = door.ask(Method::POST, "/admin/clock", &lines, nowhere).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{nowhere}");
    }
}

#[tokio::test]
async fn only_a_demos_clock_moves() {
    let door = door(false, false).await;
    let bearer = door.bearer();
    let lines = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let answer = door.ask(Method::POST, "/admin/clock", &lines, r#"{"to": "day"}"#).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.text.contains("tidings up --demo"), "{}", answer.text);
    let shown = door.ask(Method::GET, "/admin/clock", &lines, "").await;
    assert!(shown.text.contains("\"demo\":false") && shown.text.contains("\"due\":null"), "{}", shown.text);
}

#[tokio::test]
async fn with_api_keys_everything_is_locked() {
    let door = door(true, true).await;
    assert_eq!(door.get("/").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(door.get("/?token=wrong").await.status, StatusCode::UNAUTHORIZED);
    let token = door.app.guard.token.expose_secret().to_owned();
    let shown = door.get(&format!("/person?token={token}&id=ann")).await;
    assert_eq!(
        (shown.status, &shown.headers[header::LOCATION]),
        (StatusCode::SEE_OTHER, &"/person?id=ann".parse().unwrap())
    );
    let cookie = shown.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(&token),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(door.ask(Method::GET, "/", &[("cookie", cookie)], "").await.status, StatusCode::OK);
    let json = ("content-type", "application/json");
    let body = r#"{"id":"1","source":"t","type":"maker.changed","subject":"maker:1","name":"M"}"#;
    assert_eq!(door.ask(Method::POST, "/v1/changes", &[json], body).await.status, StatusCode::UNAUTHORIZED);
    let key = format!("Bearer {API_KEY}");
    assert_eq!(
        door.ask(Method::POST, "/v1/changes", &[json, ("authorization", &key)], body).await.status,
        StatusCode::ACCEPTED
    );
    assert_eq!(door.get("/metrics").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(door.get("/health/live").await.status, StatusCode::OK);
    for shown in [("authorization", key.as_str()), ("authorization", &door.bearer()), ("cookie", cookie)] {
        assert_eq!(door.ask(Method::GET, "/metrics", &[shown], "").await.status, StatusCode::OK);
    }
    let wrong = ("authorization", "Bearer wrong");
    assert_eq!(door.ask(Method::GET, "/metrics", &[wrong], "").await.status, StatusCode::UNAUTHORIZED);
    // A key of a service opens neither the page nor the admin paths.
    assert_eq!(
        door.ask(Method::GET, "/admin/stages", &[("authorization", &key)], "").await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn machines_are_told_lag_and_health() {
    let door = door(true, false).await;
    assert_eq!(door.get("/health/live").await.status, StatusCode::OK);
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.get("/health/ready").await.text, "ready\n");
    let lag = "tidings_consumergroup_lag{consumergroup=\"digest\",partition=\"0\",topic=\"inbox\"} 0";
    let measured = async {
        while !door.get("/metrics").await.text.contains(lag) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(120), measured).await.expect("no lag is told");
    let due = "tidings_digest_due_windows{partition=\"0\"} 0";
    assert!(door.get("/metrics").await.text.contains(due), "nobody says what is due");
    door.ground.house.stop().await.unwrap();
    assert_eq!(door.get("/health/ready").await.status, StatusCode::SERVICE_UNAVAILABLE);
}
