//! The links of mails, followed by readers, by the scanners of mailboxes and by strangers.

use axum::http::{Method, StatusCode, header};
use model::{
    Channel, Day, Person, PlanName, Tenant, Value, VersionedState,
    person::{notes, profile},
};
use sender::MailLinks;
use store::StateKey;
use wire::token::{LinkSecret, LinkToken, sign_token};

use super::{DoorAnswer, HouseDoor, SECRET, door};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const CLICK: &str = "List-Unsubscribe=One-Click";

pub fn link(tenant: &str, person: &str) -> String {
    link_of(tenant, person, None)
}

pub fn link_of(tenant: &str, person: &str, day: Option<Day>) -> String {
    let token = LinkToken {
        tenant: Tenant::new(tenant).unwrap(),
        person: Person::new(person).unwrap(),
        plan: PlanName::new("daily").unwrap(),
        channel: Channel::Email,
        day,
    };
    format!("/u/{}", sign_token(&token, &LinkSecret::new(SECRET)))
}

impl HouseDoor {
    pub async fn press(&self, path: &str, body: &str) -> DoorAnswer {
        self.ask(Method::POST, path, &[FORM], body).await
    }

    async fn is_off(&self, tenant: &str, person: &str) -> bool {
        let key = StateKey::Person(Tenant::new(tenant).unwrap(), Person::new(person).unwrap());
        let known = self.app.house.engines().store.states(&[key]).await.unwrap().remove(0);
        known.get(profile::EMAIL_OFF).and_then(Value::as_flag).unwrap_or(false)
    }

    /// How many mails there are when everything that is due by then has come.
    async fn mails_when_due(&self) -> usize {
        self.form("/clock", "to=due").await;
        self.ground.house.settle().await.unwrap();
        self.ground.outbox.list_newest(9).len()
    }
}

#[tokio::test]
async fn the_link_of_a_mail_stops_mail_and_undo_starts_it_again() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    assert_eq!(door.mails_when_due().await, 1);
    let id = door.ground.outbox.list_newest(1)[0].message_id.clone();
    let mail = door.ground.outbox.read_mail(&id).await.unwrap().unwrap();
    assert_eq!(mail.header("List-Unsubscribe-Post"), Some(CLICK));
    // Whoever parses mails leaves the brackets out.
    assert_eq!(mail.header("List-Id"), Some("daily.shop.shop.example"));
    let link = mail.header("List-Unsubscribe").unwrap();
    let link = link.trim_matches(['<', '>']).strip_prefix("http://127.0.0.1:7280").unwrap().to_owned();
    let page = door.get(&link).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("No more mail from Shop?"), "{}", page.text);
    // A scanner looks, and looks again.
    door.get(&link).await;
    door.ask(Method::HEAD, &link, &[], "").await;
    assert!(!door.is_off("main", "ann").await);
    let done = door.press(&link, "do=off").await;
    assert_eq!(done.status, StatusCode::OK);
    assert!(done.text.contains("Done: no more mail") && done.text.contains("value=\"on\""), "{}", done.text);
    assert!(door.is_off("main", "ann").await);
    assert!(door.get(&link).await.text.contains("You get no mail from Shop"));
    door.ground.offer_item("item:2", "maker:1", "Sun").await;
    assert_eq!(door.mails_when_due().await, 1, "no mail to whoever wants none");
    assert!(door.press(&link, "do=on").await.text.contains("again"));
    assert!(!door.is_off("main", "ann").await);
    door.ground.offer_item("item:3", "maker:1", "Star").await;
    assert_eq!(door.mails_when_due().await, 2);
}

#[tokio::test]
async fn one_click_comes_from_anywhere_and_needs_no_key() {
    for is_locked in [false, true] {
        let door = door(true, is_locked).await;
        let parts =
            "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
        let multipart = ("content-type", "multipart/form-data; boundary=x");
        for (person, form, body) in [("ann", FORM, CLICK), ("ben", multipart, parts)] {
            let link = link("main", person);
            let lines = [
                form,
                ("host", "mail.shop.example"),
                ("origin", "https://mailbox.example"),
                ("sec-fetch-site", "cross-site"),
            ];
            let answer = door.ask(Method::POST, &link, &lines, body).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
            assert!(door.is_off("main", person).await, "{person}");
            let page = door.ask(Method::GET, &link, &lines[1..2], "").await;
            assert_eq!(page.status, StatusCode::OK);
            assert!(page.policy().starts_with("default-src 'none'") && !page.text.contains("<script"));
            assert_eq!(page.headers["referrer-policy"], "no-referrer");
            assert_eq!(page.headers["x-robots-tag"], "noindex, nofollow");
        }
        let style = door.ask(Method::GET, "/u/style.css", &[("host", "mail.shop.example")], "").await;
        assert_eq!(style.headers[header::CONTENT_TYPE], "text/css; charset=utf-8");
    }
}

#[tokio::test]
async fn a_link_of_somebody_erased_has_nothing_to_do() {
    let door = door(true, false).await;
    let key = StateKey::Notes(Tenant::new("main").unwrap(), Person::new("ann").unwrap());
    let erased = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    door.app.house.engines().store.merge(vec![(key, erased)]).await.unwrap();
    let link = link_of("main", "ann", Some(Day::from_instant(door.app.now())));
    let mut answers = vec![door.get(&link).await];
    for body in ["do=off", "do=on", CLICK] {
        answers.push(door.press(&link, body).await);
    }
    for DoorAnswer { status, text, .. } in answers {
        assert_eq!(status, StatusCode::OK, "{text}");
        assert!(text.contains("There is nothing to do") && !text.contains("<form"), "{text}");
        assert!(!text.contains("You get mail") && !text.contains("Done:"), "{text}");
    }
    assert!(!door.is_off("main", "ann").await);
    assert!(door.get(&self::link("main", "bob")).await.text.contains("No more mail from"));
}

/// Whoever has a link can say the same as often as they like, and change their mind now and then.
#[tokio::test]
async fn what_holds_is_not_written_again_and_a_mind_is_not_changed_for_ever() {
    let door = door(true, false).await;
    let today = Some(Day::from_instant(door.app.now()));
    let link = link_of("main", "ann", today);
    let written = async || {
        let key = StateKey::Person(Tenant::new("main").unwrap(), Person::new("ann").unwrap());
        let known = door.app.house.engines().store.states(&[key]).await.unwrap().remove(0);
        known.cells.get(profile::EMAIL_OFF).map(|cell| cell.version)
    };
    assert_eq!(door.press(&link, "do=on").await.status, StatusCode::OK);
    assert_eq!(written().await, None, "mail was on");
    door.press(&link, CLICK).await;
    let first = written().await;
    for _ in 0..100 {
        assert_eq!(door.press(&link, CLICK).await.status, StatusCode::OK);
    }
    assert_eq!(written().await, first);
    for _ in 0..10 {
        assert_eq!(door.press(&link, "do=on").await.status, StatusCode::OK);
        assert_eq!(door.press(&link, "do=off").await.status, StatusCode::OK);
    }
    let last = written().await;
    assert_eq!(door.press(&link, "do=on").await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(door.press(&link, "do=off").await.status, StatusCode::OK);
    assert_eq!(written().await, last);
    assert!(door.is_off("main", "ann").await);
    // Of others it is not their fault.
    let other = link_of("main", "ben", today);
    door.press(&other, "do=off").await;
    assert_eq!(door.press(&other, "do=on").await.status, StatusCode::OK);
}

/// A mail may be in other hands by then. It ends mails forever, and does not begin them again.
#[tokio::test]
async fn an_old_link_only_turns_mail_off() {
    let door = door(true, false).await;
    let today = Day::from_instant(door.app.now());
    for (day, may) in
        [(Some(today), true), (Some(today.plus(-30)), true), (Some(today.plus(-31)), false), (None, false)]
    {
        let link = link_of("main", "ann", day);
        let off = door.press(&link, "do=off").await;
        assert_eq!((off.status, off.text.contains("value=\"on\"")), (StatusCode::OK, may), "{day:?}");
        let expected = if may { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!(door.press(&link, "do=on").await.status, expected, "{day:?}");
        assert_eq!(door.is_off("main", "ann").await, !may, "{day:?}");
    }
}

#[tokio::test]
async fn only_the_person_of_the_link_is_meant() {
    let door = door(true, false).await;
    door.press(&link("main", "ann"), "do=off").await;
    door.press(&link("other", "ben"), "do=off").await;
    let mut off = Vec::new();
    for (tenant, person) in [("main", "ann"), ("main", "ben"), ("other", "ann"), ("other", "ben")] {
        off.push(door.is_off(tenant, person).await);
    }
    assert_eq!(off, [true, false, false, true]);
}

#[tokio::test]
async fn what_a_reader_says_is_newer_than_whatever_a_service_counts() {
    let door = door(true, false).await;
    let far = i64::MAX - 1;
    let body = format!(
        r#"{{"id":"1","source":"t","type":"tidings.profile","version":{far},"person":"ann","email_off":false}}"#
    );
    let json = [("content-type", "application/json")];
    assert_eq!(door.ask(Method::POST, "/v1/facts", &json, &body).await.status, StatusCode::ACCEPTED);
    door.press(&link("main", "ann"), CLICK).await;
    assert!(door.is_off("main", "ann").await);
}

#[tokio::test]
async fn a_link_that_is_not_ours_opens_nothing() {
    let door = door(true, false).await;
    let good = link("main", "ann");
    let foreign = MailLinks::new("https://x.example", LinkSecret::new([1; 32]));
    let foreign = sign_token(
        &LinkToken {
            tenant: Tenant::new("main").unwrap(),
            person: Person::new("ann").unwrap(),
            plan: PlanName::new("daily").unwrap(),
            channel: Channel::Email,
            day: None,
        },
        foreign.secret(),
    );
    let cut = &good[..good.len() - 1];
    for path in [cut, &format!("{good}A"), &format!("/u/{foreign}"), "/u/x", "/u/%00", "/u/%ff", "/u/"] {
        for (method, body) in [(Method::GET, ""), (Method::POST, CLICK)] {
            let answer = door.ask(method.clone(), path, &[FORM], body).await;
            assert!(answer.status.is_client_error(), "{method} {path}: {}", answer.status);
            assert!(!answer.text.contains("Shop"), "{}", answer.text);
        }
    }
    assert!(!door.is_off("main", "ann").await);
    for (body, status) in [
        ("", StatusCode::BAD_REQUEST),
        ("do=maybe", StatusCode::BAD_REQUEST),
        (&format!("do=off&{}", "x".repeat(5_000)), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        assert_eq!(door.press(&good, body).await.status, status);
        assert!(!door.is_off("main", "ann").await);
    }
    assert_eq!(door.ask(Method::PUT, &good, &[FORM], CLICK).await.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn beside_the_link_everything_stays_guarded() {
    let evil = ("host", "evil.example");
    let json = ("content-type", "application/json");
    for is_locked in [false, true] {
        let door = door(true, is_locked).await;
        for path in [
            "/v1/facts",
            "/u/../v1/facts",
            "/u/%2e%2e/v1/facts",
            "/u//v1/facts",
            "//u/v1/facts",
            "/u/x/v1/facts",
            "/admin/stages",
            "/",
        ] {
            for method in [Method::GET, Method::POST] {
                let answer = door.ask(method.clone(), path, &[evil, json], "{}").await;
                assert!(answer.status.is_client_error(), "{method} {path}: {}", answer.status);
                assert!(answer.headers.contains_key("content-security-policy"), "{path}");
            }
        }
    }
}
