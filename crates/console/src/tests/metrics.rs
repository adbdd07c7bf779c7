//! The metrics: how many series there are depends on nothing that comes in.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{HouseDoor, door};

/// Subjects, persons, types and paths, each of its own name.
const NAMES: usize = 10_000;
/// Changes of one body.
const BATCH: usize = 500;

/// The names of the series, without what a histogram has beside.
async fn list_series(door: &HouseDoor) -> BTreeSet<String> {
    let text = door.get("/metrics").await.text;
    let series = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    series.map(|(series, _)| series.to_owned()).collect()
}

async fn post_all(door: &HouseDoor, path: &str, make: impl Fn(usize) -> Value) {
    for first in (0..NAMES).step_by(BATCH) {
        let body: Value = (first..first + BATCH).map(&make).collect();
        let json = [("content-type", "application/json")];
        let mut answer = door.ask(Method::POST, path, &json, &body.to_string()).await;
        // The house asks to come later when it is behind.
        while answer.status == StatusCode::TOO_MANY_REQUESTS {
            door.ground.house.settle().await.unwrap();
            answer = door.ask(Method::POST, path, &json, &body.to_string()).await;
        }
        assert!(answer.status.is_success() || answer.status == StatusCode::BAD_REQUEST, "{}", answer.text);
    }
}

#[tokio::test]
async fn no_series_comes_from_what_comes_in() {
    let door = door(true, false).await;
    door.offer_item().await;
    let change = |n: usize| {
        json!({"id": format!("c{n}"), "source": format!("s{n}"), "type": "item.offered", "subject": format!("item:{n}"),
               "maker": format!("maker:{n}"), "title": format!("title {n}"), "offered": true})
    };
    let person = |n: usize| {
        json!({"id": format!("p{n}"), "source": "t", "type": "tidings.profile", "person": format!("person{n}"),
               "email": format!("person{n}@example.org"), "zone": "UTC"})
    };
    let kind = |n: usize| json!({"id": format!("k{n}"), "source": "t", "type": format!("kind{n}.happened"), "subject": "item:1"});
    post_all(&door, "/v1/changes", |_| change(0)).await;
    post_all(&door, "/v1/facts", |_| person(0)).await;
    post_all(&door, "/v1/changes", |_| kind(0)).await;
    assert_eq!(door.get("/v1/nothing").await.status, StatusCode::NOT_FOUND);
    door.ground.house.settle().await.unwrap();
    let before = list_series(&door).await;

    post_all(&door, "/v1/changes", change).await;
    post_all(&door, "/v1/facts", person).await;
    post_all(&door, "/v1/changes", kind).await;
    for n in 0..100 {
        door.get(&format!("/v1/nothing{n}")).await;
        door.get(&format!("/nothing{n}?id={n}")).await;
    }
    door.ground.house.settle().await.unwrap();
    let after = list_series(&door).await;
    // A machine with much to do asks some to come again; of these there is one series for each way in.
    let more = after.difference(&before).filter(|series| !series.contains("status=\"429\""));
    let more: Vec<&String> = more.collect();
    assert!(more.is_empty(), "{more:?}");
    assert!(before.len() < 3_000, "{} series", before.len());
}

#[tokio::test]
async fn what_can_be_counted_is_there_from_the_start() {
    let door = door(true, false).await;
    let series = list_series(&door).await;
    for expected in [
        "tidings_sender_outcomes_total{channel=\"email\",outcome=\"unknown\"}",
        "tidings_sender_waits_total{channel=\"push\",what=\"away\"}",
        "tidings_ingest_refused_total{way=\"http\"}",
        "tidings_fanout_quarantined_total",
        "tidings_store_failures_total{operation=\"write\"}",
        "tidings_log_failures_total{operation=\"append\"}",
        "tidings_due_to_told_seconds_bucket{channel=\"email\",le=\"300\"}",
        "tidings_event_to_told_seconds_bucket{channel=\"email\",le=\"10\"}",
    ] {
        assert!(series.contains(expected), "{expected} is missing in {series:#?}");
    }
}
