//! A person's page and what the command line is told: all that is known, also where it is hostile, large or another's.

use axum::http::{Method, StatusCode};
use model::{
    AudienceMatch, Crowd, CrowdEnrolment, Day, DayRow, EntryKey, EntryReason, EventKey, Kind, Person,
    SubjectRef, Tenant, Value as Stated, VersionedState,
    entry::{DayKey, Entry},
    person::profile,
};
use serde_json::{Value, json};
use store::{DayRows, StateKey};
use views::display;

use super::{HouseDoor, door};

const PAGE: &str = "/person?id=ann";

fn ann() -> Person {
    Person::new("ann").unwrap()
}

impl HouseDoor {
    async fn state_facts(&self, facts: &[(&str, Value)]) {
        let fact = |(number, (what, data)): (i64, &(&str, Value))| json!({"id": format!("{what} {data}"), "version": number, "source": "t", "type": format!("tidings.{what}"), "data": data});
        // Later than what was said before.
        let body: Vec<Value> = (self.app.now().0..).zip(facts).map(fact).collect();
        for some in body.chunks(500) {
            let said = self.ask_admin(Method::POST, "/admin/v1/facts", &json!(some).to_string()).await;
            assert!(said.text.contains("\"rejected\":[]"), "{}", said.text);
        }
    }

    async fn get_dossier(&self) -> Value {
        let answer = self.ask_admin(Method::GET, "/admin/person?person=ann", "").await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    }

    /// Writes so many entries into today of ann's.
    async fn write_entries(&self, many: u32) {
        let now = self.app.now();
        let entry = |number: u32| {
            let mut event = [0; 16];
            event[..4].copy_from_slice(&number.to_be_bytes());
            let key = EntryKey {
                occurred: Day::from_instant(now).start().plus(i64::from(number)),
                event: EventKey(event),
            };
            let reason =
                EntryReason { kind: Kind::new("item_offered").unwrap(), because: AudienceMatch::Everyone };
            let subject = SubjectRef::new(&format!("item:{number}")).unwrap();
            DayRow::Entry(Entry { key, reason, subject, actor: None, kept: model::KeptFields::new() })
        };
        let key = DayKey { tenant: self.app.tenant.clone(), person: ann(), day: Day::from_instant(now) };
        let rows = vec![DayRows { key, rows: (0..many).map(entry).collect() }];
        self.ground.house.engines().store.write(rows, now).await.unwrap();
    }

    async fn enrol_follows(&self, tenant: &str, many: i64) {
        let one = |number: i64| CrowdEnrolment {
            tenant: Tenant::new(tenant).unwrap(),
            person: ann(),
            crowd: Crowd::Followers(SubjectRef::new(&format!("maker:{tenant}-{number}")).unwrap()),
            version: 1_790_000_000_000 + number,
            on: true,
        };
        self.ground.house.engines().store.enrol((0..many).map(one).collect()).await.unwrap();
    }
}

#[track_caller]
fn assert_contains(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn all_that_is_known_of_a_person_is_on_one_page() {
    let door = door(true, false).await;
    door.offer_item().await;
    let device = json!({"person": "ann", "device": "phone", "platform": "ios", "token": "0123456789abcdef0123456789abcdef"});
    door.state_facts(&[
        (
            "profile",
            json!({"person": "ann", "name": "Ann Berg", "language": "de",
            "webhook": "https://hooks.example/in/5ec2e7", "email_plan": "daily", "zone": "Europe/Berlin"}),
        ),
        ("mute", json!({"person": "ann", "kind": "item_offered"})),
        ("unmute", json!({"person": "ann", "kind": "item_offered"})),
        ("mute", json!({"person": "ann", "subject": "item:1"})),
        ("mute", json!({"person": "ann", "actor": "bob"})),
        ("unmute", json!({"person": "ann", "subject": "item:1"})),
        ("device", device),
        ("follow", json!({"person": "ann", "target": "maker:2"})),
        ("follow", json!({"person": "ann", "target": "maker:3"})),
        ("unfollow", json!({"person": "ann", "target": "maker:3"})),
    ])
    .await;
    door.ground.house.settle().await.unwrap();
    let page = door.get(PAGE).await.text;
    let today = display::format_whole_date(Day::from_instant(door.app.now()));
    assert_contains(
        &page,
        &[
            "Ann Berg",
            "Will get",
            " for them",
            ">Got<",
            ">Follows and preferences<",
            ">Devices and addresses<",
            ">Windows<",
            ">Days<",
            "Moon",
            "what bob does",
            "maker:2",
            "maker:1",
            "a\u{2026}@example.org",
            "https:&#x2f;&#x2f;hooks.example&#x2f;\u{2026}",
            "token \u{2026}cdef",
            "No message as far back as days are kept",
            "value=\"release\"",
            "1 entry",
            &today,
            "/preview?person=ann&amp;plan=daily",
        ],
    );
    for hidden in ["ann@example.org", "5ec2e7", "0123456789abcdef", "maker:3"] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
    let whole = door.get_dossier().await;
    assert_eq!(
        (&whole["follows"]["count"], &whole["preferences"]["count"]),
        (&json!(2), &json!(1)),
        "{whole}"
    );
    assert_eq!(whole["coming"][0]["message"]["entries"], 1, "{whole}");
    assert!(whole["preferences"]["newest"][0]["since"].is_string(), "{whole}");
}

#[tokio::test]
async fn what_they_got_is_shown_with_the_mail_and_why() {
    let door = door(true, false).await;
    door.offer_item().await;
    door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily","person":"ann"}"#).await;
    door.ground.house.settle().await.unwrap();
    let page = door.get(PAGE).await.text;
    assert_contains(&page, &["Nothing waits for them", "/outbox/mail?id=", "sent, ", ">Moon</a>"]);
    let why = page
        .split_once("/person/why?")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0
        .replace("&amp;", "&")
        .replace("&#x2f;", "/");
    let why = door.get(&format!("/person/why?{why}")).await;
    assert_eq!(why.status, StatusCode::OK, "{}", why.text);
    assert_contains(&why.text, &["they follow maker:1", "So: told", "item:1", "For it:"]);
    let got = &door.get_dossier().await["got"][0];
    assert_eq!(
        (&got["outcome"], &got["about"], &got["entries"]),
        (&json!("sent"), &json!("Moon"), &json!(1))
    );
    assert_eq!(got["headline"], "Moon", "{got}");
}

#[tokio::test]
async fn who_is_unknown_is_not_shown_but_perhaps_meant_somebody() {
    let door = door(true, false).await;
    door.ground.add_person("annabel", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    door.ground.house.settle().await.unwrap();
    let answer = door.ask_admin(Method::GET, "/admin/person?person=anabel", "").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
    assert_contains(&answer.text, &["nothing is known of a person `anabel`", "did you mean `annabel`"]);
    let page = door.get("/person?id=anabel").await.text;
    assert_contains(&page, &["nothing is known of a person", "did you mean", "value=\"annabel\""]);
    assert!(!page.contains("Will get"), "{page}");
    for (path, status) in
        [("/admin/person", StatusCode::BAD_REQUEST), ("/admin/person?person=%00", StatusCode::BAD_REQUEST)]
    {
        assert_eq!(door.ask_admin(Method::GET, path, "").await.status, status, "{path}");
    }
    for (path, status) in [
        ("/person/why", StatusCode::BAD_REQUEST),
        ("/person/why?id=%00&entry=x", StatusCode::BAD_REQUEST),
        ("/person/why?id=ann&entry=%3Cscript%3E", StatusCode::BAD_REQUEST),
        (
            "/person/why?id=ann&entry=2026-11-21T10:00:00.000Z/0123456789abcdef0123456789abcdef",
            StatusCode::NOT_FOUND,
        ),
    ] {
        let answer = door.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert!(!answer.text.contains("<script"), "{path}");
    }
}

/// HTML, marks that turn the direction, and what is too long, wherever somebody else can put it.
#[tokio::test]
async fn hostile_names_of_all_sorts_stay_text() {
    let door = door(true, false).await;
    let harm = "\"><script>alert(1)</script>\u{202e}";
    let id = "ann\"><script>\u{202e}";
    let (store, tenant) = (door.ground.house.engines().store.clone(), door.app.tenant.clone());
    let person = Person::new(id).unwrap();
    let long = format!("{harm}{}", "long".repeat(2_500));
    let text = |text: &str| Some(Stated::from_text(text));
    let known = VersionedState::from_values(
        1_790_000_000_000,
        [
            (profile::NAME, text(&long)),
            (profile::EMAIL, text(harm)),
            (profile::LANGUAGE, text(harm)),
            ("device x<script>", text("web <script>0123456789012345<script>")),
            ("chat", text(harm)),
        ],
    );
    let maker = SubjectRef::new("maker:<script>\u{202e}").unwrap();
    let mute = format!("subject {maker}");
    store
        .merge(vec![
            (StateKey::Person(tenant.clone(), person.clone()), known),
            (
                StateKey::Subject(tenant.clone(), maker.clone()),
                VersionedState::from_values(1, [("name", text(&long))]),
            ),
            (
                StateKey::Preferences(tenant.clone(), person.clone()),
                VersionedState::from_values(2, [(mute.as_str(), Some(Stated::Flag(true)))]),
            ),
        ])
        .await
        .unwrap();
    let crowd = Crowd::Followers(maker);
    store.enrol(vec![CrowdEnrolment { tenant, person, crowd, version: 7, on: true }]).await.unwrap();
    let page = door.get(&format!("/person?id={}", display::urlencode(id))).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(!page.text.contains("<script") && page.text.contains("&lt;script"), "{}", page.text);
    assert!(page.text.len() < 40_000, "{} bytes", page.text.len());
    // A version that is no instant is none.
    assert!(!page.text.contains("1970"), "{}", page.text);
}

#[tokio::test]
async fn a_person_of_the_same_name_of_another_tenant_is_somebody_else() {
    let door = door(true, false).await;
    let other = Tenant::new("other").unwrap();
    let store = door.ground.house.engines().store.clone();
    let known = VersionedState::from_values(1, [(profile::NAME, Some(Stated::from_text("Ann Elsewhere")))]);
    store.merge(vec![(StateKey::Person(other, ann()), known)]).await.unwrap();
    door.enrol_follows("other", 3).await;
    assert_eq!(
        door.ask_admin(Method::GET, "/admin/person?person=ann", "").await.status,
        StatusCode::NOT_FOUND
    );
    door.enrol_follows("main", 1).await;
    let page = door.get(PAGE).await.text;
    assert_contains(&page, &["maker:main-0"]);
    assert!(!page.contains("Elsewhere") && !page.contains("maker:other"), "{page}");
}

#[tokio::test]
async fn of_very_much_the_newest_is_shown_and_the_rest_is_counted() {
    let door = door(true, false).await;
    door.enrol_follows("main", 5_200).await;
    door.write_entries(2_000).await;
    let actors: Vec<_> =
        (0..40).map(|actor| ("mute", json!({"person": "ann", "actor": format!("a{actor}")}))).collect();
    door.state_facts(&actors).await;
    let (page, today) = (door.get(PAGE).await.text, Day::from_instant(door.app.now()));
    assert_contains(
        &page,
        &[
            "Follows 5,200; the newest",
            "maker:main-5199",
            "and 5,170 more",
            "1,950 older entries of this day",
        ],
    );
    assert_contains(&page, &["what a39 does", "and 10 more", "item:1999<"]);
    assert!(!page.contains("item:1949<") && page.len() < 120_000, "{} bytes", page.len());
    let day = door.get(&format!("/person?id=ann&day={today}")).await.text;
    assert_contains(
        &day,
        &[&format!("All of {}", display::format_whole_date(today)), "item:0<", "item:1999<"],
    );
    // No day, or none of hers.
    for day in ["nonsense", "2031-01-01"] {
        assert_eq!(door.get(&format!("/person?id=ann&day={day}")).await.status, StatusCode::OK);
    }
    let whole = door.get_dossier().await;
    assert_eq!((&whole["follows"]["count"], &whole["days"][0]["more"]), (&json!(5_200), &json!(1_950)));
    assert_eq!(whole["days"][0]["entries"].as_array().map(Vec::len), Some(50));
}

#[tokio::test]
async fn who_was_erased_is_said_to_be() {
    let door = door(true, false).await;
    door.offer_item().await;
    let erase = r#"{"person":"ann","deed":"erase"}"#;
    door.ask_admin(Method::POST, "/admin/erase", erase).await;
    door.ground.house.settle().await.unwrap();
    let page = door.get(PAGE).await.text;
    assert_contains(&page, &["This person was erased", "Follows nothing"]);
    let receipt = door.ask_admin(Method::GET, "/admin/erase?person=ann", "").await.json();
    let places = receipt["places"].as_array().unwrap();
    let follows = places.iter().find(|place| place["place"] == "follows").unwrap();
    assert_eq!(follows["removed"], 1, "{receipt}");
    door.ask_admin(Method::POST, "/admin/erase", r#"{"person":"ann","deed":"welcome"}"#).await;
    assert_contains(&door.get(PAGE).await.text, &["erased once and welcomed back"]);
}

#[tokio::test]
async fn what_they_want_stands_beside_their_addresses() {
    let door = door(true, false).await;
    let profile = json!({"person": "ann", "place": "52.5,13.4", "email_plan": "daily", "email_off": true, "zone": "Asia/Tokyo",
        "quiet": "22:00-08:00", "chat": "https://chat.example/5ec2e7"});
    door.state_facts(&[("profile", profile), ("mute", json!({"person": "ann", "thread": "maker:<b>"}))])
        .await;
    let page = door.get(PAGE).await.text;
    let rows = [
        ("Place", "52.5,13.4"),
        ("Mail by plan", "daily"),
        ("No mail, please", "true"),
        ("Zone", "Asia&#x2f;Tokyo"),
        ("Quiet hours", "22:00-08:00"),
        ("chat", "https:&#x2f;&#x2f;chat.example&#x2f;\u{2026}"),
    ];
    for (name, value) in rows {
        assert_contains(&page, &[&format!("<dt>{name}</dt><dd>{value}</dd>")]);
    }
    assert_contains(&page, &["everything about maker:&lt;b&gt;"]);
    door.state_facts(&[("unmute", json!({"person": "ann", "thread": "maker:<b>"}))]).await;
    assert_contains(&door.get(PAGE).await.text, &["No preferences"]);
}
