//! Erasing a person, as the command line and programs ask for it.

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{DoorAnswer, HouseDoor, door};

const PATH: &str = "/admin/erase";

impl HouseDoor {
    async fn deed(&self, deed: &str) -> DoorAnswer {
        self.ask_admin(Method::POST, PATH, &json!({"person": "ann", "deed": deed}).to_string()).await
    }

    /// What is told of ann: each with its state and how much of her profile went.
    async fn receipts(&self) -> Vec<(String, Option<u64>)> {
        let seen = self.ask_admin(Method::GET, "/admin/erase?person=ann", "").await.json();
        let earlier = seen["earlier"].as_array().cloned().unwrap_or_default();
        let told = |one: &Value| (one["state"].as_str().unwrap().to_owned(), removed_count(one, "removed"));
        std::iter::once(&seen).chain(&earlier).map(told).collect()
    }
}

/// How much of the profile, by the line of a receipt.
fn removed_count(seen: &Value, field: &str) -> Option<u64> {
    let places = seen["places"].as_array().unwrap();
    places.iter().find(|line| line["place"] == "profile")?[field].as_u64()
}

#[tokio::test]
async fn receipts_stay_whatever_is_asked_for_later() {
    let door = door(true, false).await;
    let nobody = door.deed("welcome").await;
    assert_eq!(nobody.status, StatusCode::CONFLICT, "{}", nobody.text);
    door.ground.add_person("ann", "maker:1").await;
    let receipt = |cells| ("done".to_owned(), Some(cells));
    let lifted = || ("lifted".to_owned(), None);
    assert_eq!(door.deed("erase").await.status, StatusCode::ACCEPTED);
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.receipts().await, [receipt(2)]);
    assert_eq!(door.deed("welcome").await.json()["state"], "lifted");
    assert_eq!(door.receipts().await, [lifted(), receipt(2)]);
    assert_eq!(door.deed("erase").await.json()["state"], "asked");
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.receipts().await, [receipt(0), lifted(), receipt(2)]);
}

#[tokio::test]
async fn nobody_is_welcome_before_they_are_erased_to_the_end() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    // No keeper is there to do it.
    door.ground.house.stop().await.unwrap();
    assert_eq!(door.deed("erase").await.status, StatusCode::ACCEPTED);
    let early = door.deed("welcome").await;
    assert_eq!(early.status, StatusCode::CONFLICT, "{}", early.text);
    assert!(early.text.contains("is not done yet"), "{}", early.text);
    assert_eq!(door.receipts().await, [("asked".to_owned(), None)]);
}

#[tokio::test]
async fn whoever_only_looks_hears_what_would_be_removed() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    let seen = door.deed("look").await.json();
    assert_eq!(
        (&seen["state"], removed_count(&seen, "would_be_removed")),
        (&json!("looked"), Some(2)),
        "{seen}"
    );
    assert_eq!(removed_count(&seen, "removed"), None, "{seen}");
    assert_eq!(door.ask_admin(Method::GET, "/admin/erase?person=ann", "").await.json(), Value::Null);
}

#[tokio::test]
async fn what_is_refused_is_refused_in_json() {
    let door = door(true, false).await;
    for (method, path, body, status) in [
        (Method::POST, PATH, "", 400),
        (Method::POST, PATH, "nonsense", 400),
        (Method::POST, PATH, "{}", 422),
        (Method::POST, PATH, r#"{"person":"ann","deed":"eras"}"#, 422),
        (Method::POST, PATH, r#"{"person":"ann","deed":"look","now":true}"#, 422),
        (Method::POST, PATH, r#"{"person":"","deed":"look"}"#, 400),
        (Method::GET, PATH, "", 400),
        (Method::GET, "/admin/erase?person=", "", 400),
        // So does every path beside it.
        (Method::POST, "/admin/suppressions", "{}", 422),
        (Method::GET, "/admin/days", "", 400),
    ] {
        let answer = door.ask_admin(method, path, body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text);
        assert_eq!(answer.headers[header::CONTENT_TYPE], "application/problem+json", "{path} {body}");
        assert!(answer.json()["detail"].as_str().is_some_and(|why| !why.is_empty()), "{}", answer.text);
    }
}
