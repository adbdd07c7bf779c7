//! What operators ask of a running house: release, explain, archive.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Answer, Door, door};

impl Door {
    async fn asked(&self, method: Method, path: &str, body: &str) -> Answer {
        let lines = [("authorization", self.bearer()), ("content-type", "application/json".to_owned())];
        let lines: Vec<(&str, &str)> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.ask(method, path, &lines, body).await
    }

    /// Ann follows a maker who offers something.
    async fn offered(&self) {
        self.ground.person("ann", "maker:1").await;
        self.ground.offer("item:1", "maker:1", "Moon").await;
        self.ground.house.settle().await.unwrap();
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

#[tokio::test]
async fn only_who_shows_the_token_is_served() {
    let door = door(true, false).await;
    for (method, path) in [
        (Method::POST, "/admin/release"),
        (Method::GET, "/admin/explain?person=ann&event=item:1"),
        (Method::GET, "/admin/archive"),
        (Method::POST, "/admin/archive"),
    ] {
        let answer = door.ask(method, path, &[("content-type", "application/json")], "{}").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn a_window_is_released_once() {
    let door = door(true, false).await;
    door.offered().await;
    let misspelt = door.asked(Method::POST, "/admin/release", r#"{"plan":"dayly","person":"ann"}"#).await;
    assert_eq!(misspelt.status, StatusCode::BAD_REQUEST);
    assert!(misspelt.text.contains("did you mean `daily`"), "{}", misspelt.text);
    let nobody = door.asked(Method::POST, "/admin/release", r#"{"plan":"daily","person":"bob"}"#).await;
    assert_eq!(nobody.json()["released"], 0);
    let all = door.asked(Method::POST, "/admin/release", r#"{"plan":"daily"}"#).await;
    assert_eq!((&all.json()["released"], &all.json()["next"]), (&json!(1), &Value::Null));
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.ground.outbox.len(), 1);
    let again = door.asked(Method::POST, "/admin/release", r#"{"plan":"daily"}"#).await;
    assert_eq!(again.json()["released"], 0);
    let lost = door.asked(Method::POST, "/admin/release", r#"{"plan":"daily","from":"nowhere"}"#).await;
    assert_eq!(lost.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_event_is_explained() {
    let door = door(true, false).await;
    door.offered().await;
    let told = door.asked(Method::GET, "/admin/explain?person=ann&event=item:1", "").await.json();
    assert_eq!((&told[0]["verdict"], &told[0]["what"]), (&json!("waiting"), &json!("item.offered")));
    assert!(told[0]["steps"].to_string().contains("they follow maker:1"), "{told}");
    let bob = door.asked(Method::GET, "/admin/explain?person=bob&event=item:1", "").await.json();
    assert_eq!(bob[0]["verdict"], "not in the audience");
    // By its key as well, and by none that there is.
    let path = format!("/admin/explain?person=ann&event={}", told[0]["event"].as_str().unwrap());
    assert_eq!(door.asked(Method::GET, &path, "").await.json()[0]["entry"], told[0]["entry"]);
    let unknown = door.asked(Method::GET, "/admin/explain?person=ann&event=shop/none", "").await;
    assert_eq!(unknown.json(), json!([]));
    let nonsense = door.asked(Method::GET, "/admin/explain?person=ann&event=nonsense", "").await;
    assert_eq!(nonsense.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn days_are_archived_once_nothing_is_told_from_them_any_more() {
    let door = door(true, false).await;
    door.offered().await;
    let first = door.app.now();
    let file = door._dir.path().join("old.avro");
    let body = |before: model::Day| json!({"before": before.to_string(), "file": file}).to_string();
    let nothing = door.asked(Method::GET, "/admin/archive", "").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
    let early = door.asked(Method::POST, "/admin/archive", &body(model::Day::of(first).plus(1))).await;
    assert_eq!(early.status, StatusCode::CONFLICT);
    assert!(early.text.contains("may still be told"), "{}", early.text);
    let relative =
        door.asked(Method::POST, "/admin/archive", r#"{"before":"2026-01-01","file":"a.avro"}"#).await;
    assert_eq!(relative.status, StatusCode::BAD_REQUEST);
    door.app.clock.clock().advance(10 * 86_400_000);
    door.ground.house.settle().await.unwrap();
    let begun = door.asked(Method::POST, "/admin/archive", &body(model::Day::of(first).plus(1))).await;
    assert_eq!(begun.status, StatusCode::ACCEPTED, "{}", begun.text);
    let archived = loop {
        let look = door.asked(Method::GET, "/admin/archive", "").await.json();
        assert_eq!(look["failed"], Value::Null);
        if !look["archived"].is_null() {
            break look["archived"].clone();
        }
        tokio::task::yield_now().await;
    };
    // The entry, and the mark that says that it was told.
    assert_eq!(
        (&archived["rows"], &archived["days"]),
        (&json!(2), &json!([model::Day::of(first).to_string()]))
    );
    let rows: Vec<_> =
        wire::archive::read(std::fs::File::open(&file).unwrap()).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|(key, _)| key.person.as_str() == "ann"), "{rows:?}");
    let explained = door.asked(Method::GET, "/admin/explain?person=ann&event=item:1", "").await.json();
    assert_eq!(explained[0]["verdict"], "no entry");
    let twice = door.asked(Method::POST, "/admin/archive", &body(model::Day::of(first))).await;
    assert_eq!(twice.status, StatusCode::CONFLICT, "{}", twice.text);
}
