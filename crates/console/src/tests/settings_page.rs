//! The page of all preferences behind the link of a mail.

use axum::http::{Method, StatusCode};
use model::Day;
use serde_json::{Value, json};

use super::{HouseDoor, choices_catalogue, door_of, unsubscribe::link_of};

impl HouseDoor {
    async fn sheet(&self) -> Value {
        self.get("/v1/people/ann/preferences").await.json()
    }
}

async fn open_page() -> (HouseDoor, String) {
    let door = door_of(choices_catalogue(), true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    door.ground.house.settle().await.unwrap();
    let link = link_of("main", "ann", Some(Day::from_instant(door.app.now())));
    (door, format!("{link}/settings"))
}

/// What the page posts if somebody changes nothing.
const UNCHANGED: &str = "c%3Aemail%2Fkind%20item_offered=on&c%3Apush%2Fkind%20item_offered=on&o%3Aemail=on&o%3Apush=on\
    &p%3Aemail=&hour=&from=&until=";

#[tokio::test]
async fn a_reader_tries_choices_on_last_week_and_saves_them() {
    let (door, link) = open_page().await;
    let page = door.get(&link).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("What you get from Shop") && !page.text.contains("<script"), "{}", page.text);
    assert!(page.text.contains("<li><span>daily</span> <span>1 message</span></li>"), "{}", page.text);
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    // The page of the mail's link leads there.
    let first = door.get(link.strip_suffix("/settings").unwrap()).await;
    assert!(first.text.contains(link.strip_prefix("/u/").unwrap()), "{}", first.text);
    let before = door.sheet().await;
    let wanted = UNCHANGED
        .replace("push%2Fkind%20item_offered=on", "push%2Fkind%20item_offered=off")
        .replace("p%3Aemail=", "p%3Aemail=weekly")
        .replace("hour=&from=&until=", "hour=18%3A00&from=22%3A00&until=08%3A00");
    let tried = door.press(&link, &format!("{wanted}&do=try")).await;
    assert!(tried.text.contains("Not saved yet"), "{}", tried.text);
    assert!(
        tried.text.contains("<li><span>Weekly mail</span> <span>1 message</span></li>"),
        "{}",
        tried.text
    );
    assert!(!tried.text.contains("<span>ping</span>"), "{}", tried.text);
    // What was tried is still in the form.
    assert!(tried.text.contains("<option value=\"weekly\" selected>"), "{}", tried.text);
    assert_eq!(door.sheet().await, before);
    let saved = door.press(&link, &format!("{wanted}&do=save")).await;
    assert!(saved.text.contains("<h1>Saved</h1>"), "{}", saved.text);
    let after = door.sheet().await;
    assert_eq!((&after["hour"], &after["quiet"]), (&json!("18:00"), &json!("22:00-08:00")));
    assert_eq!(after["channels"][0]["plan"], "weekly");
    let cells = after["topics"][0]["channels"].as_array().unwrap();
    let choices: Vec<_> = cells.iter().map(|cell| (&cell["choice"], &cell["chosen"])).collect();
    assert_eq!(choices, [(&json!("on"), &json!(false)), (&json!("off"), &json!(true))]);
    assert_eq!(door.sheet().await, after);
}

#[tokio::test]
async fn saving_what_holds_states_nothing_and_is_never_too_often() {
    let (door, link) = open_page().await;
    let before = door.sheet().await;
    for _ in 0..20 {
        assert_eq!(door.press(&link, &format!("{UNCHANGED}&do=save")).await.status, StatusCode::OK);
    }
    assert_eq!(door.sheet().await, before);
    let mut last = StatusCode::OK;
    for number in 0..12 {
        let hour = UNCHANGED.replace("hour=", &format!("hour={number:02}%3A00"));
        last = door.press(&link, &format!("{hour}&do=save")).await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(door.sheet().await["hour"], "09:00");
}

#[tokio::test]
async fn what_was_muted_is_shown_and_comes_again() {
    let (door, link) = open_page().await;
    let short = link.strip_suffix("/settings").unwrap();
    door.press(short, "do=less&less=maker:1").await;
    let page = door.get(&link).await.text;
    assert!(page.contains("value=\"thread maker:1\""), "{page}");
    let again = door.press(&link, "thing=thread+maker%3A1&do=again").await.text;
    assert!(again.contains("<h1>Saved</h1>") && !again.contains("value=\"thread maker:1\""), "{again}");
    assert_eq!(door.sheet().await["things"], json!([]));
}

#[tokio::test]
async fn a_form_that_is_not_the_pages_changes_nothing() {
    let (door, link) = open_page().await;
    let before = door.sheet().await;
    for body in [
        "",
        "do=save&do=save",
        "do=other",
        "do=save&hour=soon",
        "do=save&c%3Apush%2Fkind%20nothing=off",
        "do=save&c%3Apush%2Fall=off",
        "do=save&p%3Aemail=ping",
        "do=save&o%3Asmoke=off",
        "do=save&language=tlh",
        "do=again&thing=kind%20item_offered",
        "do=again&thing=",
        "do=save&c%3Apush%2Fkind%20item_offered=never",
        "\u{fffd}\0",
    ] {
        assert_eq!(door.press(&link, body).await.status, StatusCode::BAD_REQUEST, "{body}");
    }
    assert_eq!(door.press(&link, &"x".repeat(70_000)).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(door.sheet().await, before);
    // An old mail may be in other hands, and a token that is none opens nothing.
    let old = link_of("main", "ann", Some(Day::from_instant(door.app.now()).plus(-31)));
    for (method, body) in [(Method::GET, ""), (Method::POST, UNCHANGED)] {
        let answer = door.ask(method.clone(), &format!("{old}/settings"), &[], body).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method}");
        let answer = door.ask(method, "/u/x/settings", &[], body).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
    }
}
