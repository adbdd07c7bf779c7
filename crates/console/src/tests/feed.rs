//! A person's feed, asked as a bell on a site would.

use std::time::Duration;

use axum::body::BodyDataStream;
use futures::StreamExt as _;
use runtime::retry::wait_real_time;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    entries::{SITE, door_of_logins, door_with_logins},
    *,
};

/// A stream that is not heard of for so long is broken.
const PATIENCE: Duration = Duration::from_secs(30);

async fn feed_door() -> HouseDoor {
    let door = door_of(bundles_catalogue(), true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    door
}

impl HouseDoor {
    /// Items of a maker, each an event of its own.
    async fn offer(&self, items: std::ops::RangeInclusive<usize>) {
        for item in items {
            self.ground.offer_item(&format!("item:{item}"), "maker:1", &format!("Item {item}")).await;
        }
        self.ground.house.settle().await.unwrap();
    }

    async fn note(&self, item: usize) {
        let change = json!({"id": format!("n{item}"), "source": "t", "type": "item.noted", "subject": format!("item:{item}"),
            "data": {"title": format!("Item {item}"), "maker": "maker:1"}});
        house::testing::post_to_intake(&self.ground.intake, "/v1/changes", &change).await;
        self.ground.house.settle().await.unwrap();
    }

    async fn json(&self, path: &str) -> Value {
        let answer = self.get(&format!("/v1/people/ann/{path}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        answer.json()
    }

    async fn mark(&self, order: &Value) -> DoorAnswer {
        let lines = [("content-type", "application/json")];
        self.ask(Method::POST, "/v1/people/ann/marks", &lines, &order.to_string()).await
    }

    /// Marks, and says what the counts are then.
    async fn counts_after(&self, order: &Value) -> [u64; 2] {
        let answer = self.mark(order).await;
        assert_eq!(answer.status, StatusCode::OK, "{order}: {}", answer.text);
        let counts = counts(&answer.json()["counts"]);
        assert_eq!(self::counts(&self.json("counts").await), counts, "{order}");
        assert_eq!(self::counts(&self.json("feed").await["counts"]), counts, "{order}");
        counts
    }
}

fn counts(report: &Value) -> [u64; 2] {
    ["new", "unread"].map(|which| report[which]["number"].as_u64().unwrap())
}

/// Each bundle as what it says, and how many entries it has.
fn says(page: &Value) -> Vec<(&str, u64)> {
    let bundle = |one: &'_ Value| (one["says"].as_str().unwrap().to_owned(), one["count"].as_u64().unwrap());
    let all: Vec<_> = page["bundles"].as_array().unwrap().iter().map(bundle).collect();
    all.into_iter().map(|(says, count)| (&*says.leak(), count)).collect()
}

#[tokio::test]
async fn a_page_has_bundles_and_counts() {
    let door = feed_door().await;
    let empty = door.json("feed").await;
    assert_eq!((&empty["bundles"], &empty["next"]), (&json!([]), &Value::Null));
    assert_eq!(counts(&empty["counts"]), [0, 0]);
    door.offer(1..=3).await;
    door.note(9).await;
    let page = door.json("feed").await;
    assert_eq!(says(&page), [("Noted: Item 9", 1), ("3 things of somebody", 3)], "{page}");
    assert_eq!(counts(&page["counts"]), [2, 2]);
    let bundle = &page["bundles"][1];
    assert_eq!((&bundle["kind"], &bundle["category"]), (&"item_offered".into(), &"news".into()));
    assert_eq!(
        (&bundle["new"], &bundle["unread"], &bundle["saved"]),
        (&json!(true), &json!(true), &json!(false))
    );
    assert_eq!(bundle["entries"].as_array().unwrap().len(), 3);
    assert!(bundle["why"].as_str().unwrap().contains("you follow"), "{bundle}");
    assert_eq!(page["counts"]["categories"]["news"]["new"], json!({"number": 1, "more": false}));
    // The person's names reach nobody by a bundle that others did.
    assert_eq!(bundle["actors"], json!({"named": [], "others": 0, "more": false}));
    let name = bundle["bundle"].as_str().unwrap();
    let opened = door.json(&format!("feed/{name}?limit=2")).await;
    assert_eq!(opened["says"], bundle["says"]);
    let listed = |opened: &Value| -> Vec<Value> {
        opened["items"].as_array().unwrap().iter().map(|item| item["says"].clone()).collect()
    };
    assert_eq!(listed(&opened), ["New: Item 3", "New: Item 2"]);
    let next = opened["next"].as_str().unwrap();
    let rest = door.json(&format!("feed/{name}?since={}", next.replace('+', "%2B"))).await;
    assert_eq!((listed(&rest), &rest["next"]), (vec![json!("New: Item 1")], &Value::Null));
    let gone = door.get("/v1/people/ann/feed/00000000000000000000000000000000-0").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    // By another key, and in parts.
    assert_eq!(door.json("feed?bundle_by=none").await["bundles"].as_array().unwrap().len(), 4);
    assert_eq!(door.json("feed?bundle_by=category").await["bundles"].as_array().unwrap().len(), 2);
    let parts = door.json("feed?parts=true&kind=item_noted").await;
    assert_eq!(parts["bundles"][0]["says"], Value::Null);
    assert_eq!(
        parts["bundles"][0]["parts"],
        json!({"name": "Item 9", "kept": {}, "reasons": ["follows maker:1"]})
    );
}

#[tokio::test]
async fn what_a_client_bundles_is_told_by_its_newest() {
    let door = feed_door().await;
    door.ground.add_person("ann", "maker:2").await;
    door.offer(1..=2).await;
    door.ground.offer_item("item:3", "maker:2", "Item 3").await;
    door.ground.house.settle().await.unwrap();
    door.note(8).await;
    door.note(9).await;
    let check = async |query: &str, expected: &[(&str, u64)]| {
        let page = door.json(&format!("feed{query}")).await;
        assert_eq!(says(&page), expected, "{query}: {page}");
        for bundle in page["bundles"].as_array().unwrap() {
            let name = bundle["bundle"].as_str().unwrap();
            let opened = door.json(&format!("feed/{name}{query}")).await;
            assert_eq!(opened["says"], bundle["says"], "{query}: it is told alike when it is opened");
        }
    };
    let notes = [("Noted: Item 9", 1), ("Noted: Item 8", 1)];
    let own = [notes[0], notes[1], ("New: Item 3", 1), ("2 things of somebody", 2)];
    check("", &own).await;
    // Things of two makers are not as many of one, and a kind without a sentence for several has none.
    check("?bundle_by=kind", &[("Noted: Item 9 (and 1 more)", 2), ("New: Item 3 (and 2 more)", 3)]).await;
    check("?bundle_by=category", &[notes[0], notes[1], ("New: Item 3 (and 2 more)", 3)]).await;
    // What the catalogue would tell as one is.
    door.counts_after(&json!({"mark": "cleared", "thread": "maker:2"})).await;
    check("?bundle_by=kind", &[("Noted: Item 9 (and 1 more)", 2), ("2 things of somebody", 2)]).await;
}

#[tokio::test]
async fn what_a_client_bundles_is_counted_so() {
    let door = feed_door().await;
    door.offer(1..=2).await;
    for item in 3..=6 {
        door.note(item).await;
    }
    let check = async |query: &str, expected: [u64; 2]| {
        assert_eq!(counts(&door.json(&format!("counts{query}")).await), expected, "{query}");
        let page = door.json(&format!("feed{query}")).await;
        assert_eq!(counts(&page["counts"]), expected, "{query}");
        let is_new = |one: &&Value| one["new"] == json!(true);
        let listed = page["bundles"].as_array().unwrap().iter().filter(is_new).count();
        assert_eq!(u64::try_from(listed).unwrap(), expected[0], "{query}: the page lists what is counted");
        let mut reader = NewsReader::open_by(&door, query, &[]).await;
        assert_eq!(reader.next().await.unwrap().1, expected, "{query}");
    };
    check("", [5, 5]).await;
    check("?bundle_by=catalogue", [5, 5]).await;
    check("?bundle_by=kind", [2, 2]).await;
    check("?bundle_by=category", [5, 5]).await;
    check("?bundle_by=none", [6, 6]).await;
    // Also those of a later page, and of one that is chosen from.
    let first = door.json("feed?bundle_by=kind&limit=1").await;
    let since = first["next"].as_str().unwrap();
    let second = door.json(&format!("feed?bundle_by=kind&limit=1&since={since}")).await;
    let chosen = door.json("feed?bundle_by=kind&kind=item_noted").await;
    for page in [&first, &second, &chosen] {
        assert_eq!((says(page).len(), counts(&page["counts"])), (1, [2, 2]), "{page}");
    }
    let categories = &door.json("counts?bundle_by=none").await["categories"];
    assert_eq!(categories["news"]["new"], json!({"number": 2, "more": false}));
    // A mark says them as they are asked for, whatever it is for.
    let marked = door.mark(&json!({"mark": "seen", "shown": first["shown"], "bundle_by": "kind"})).await;
    assert_eq!(counts(&marked.json()["counts"]), [1, 2]);
    check("?bundle_by=kind", [1, 2]).await;
    let marked = door.mark(&json!({"mark": "read", "all": true, "bundle_by": "none"})).await;
    assert_eq!(counts(&marked.json()["counts"]), [0, 0]);
}

#[tokio::test]
async fn what_is_revoked_leaves_its_bundle() {
    let door = feed_door().await;
    door.offer(1..=3).await;
    door.note(9).await;
    assert_eq!(says(&door.json("feed").await), [("Noted: Item 9", 1), ("3 things of somebody", 3)]);
    let revoke = async |data: Value| {
        let said = json!({"id": data.to_string(), "source": "t", "type": "tidings.revoke", "data": data});
        house::testing::post_to_intake(&door.ground.intake, "/v1/changes", &said).await;
        door.ground.house.settle().await.unwrap();
        door.json("feed").await
    };
    // Also where the feed was read a moment ago, and is kept in memory.
    let page = revoke(json!({"subject": "item:2"})).await;
    assert_eq!(says(&page), [("Noted: Item 9", 1), ("2 things of somebody", 2)]);
    let page = revoke(json!({"event": {"source": "t", "id": "n9"}, "subject": "item:9"})).await;
    assert_eq!(says(&page), [("2 things of somebody", 2)]);
    assert_eq!(counts(&page["counts"]), [1, 1]);
}

#[tokio::test]
async fn a_filter_chooses_and_a_cursor_goes_on() {
    let door = feed_door().await;
    door.offer(1..=2).await;
    for item in 3..=6 {
        door.note(item).await;
    }
    let check = async |query: &str, expected: &[u64]| {
        let page = door.json(&format!("feed?{query}")).await;
        let found: Vec<u64> = says(&page).iter().map(|(_, count)| *count).collect();
        assert_eq!(found, expected, "{query}: {page}");
        page
    };
    check("kind=item_offered", &[2]).await;
    check("category=news", &[2]).await;
    check("thread=maker:1&kind=item_offered", &[2]).await;
    check("thread=item:4", &[1]).await;
    check("unread=true", &[1, 1, 1, 1, 2]).await;
    check("saved=true", &[]).await;
    let first = check("limit=2", &[1, 1]).await;
    // What comes meanwhile and what is seen meanwhile moves nothing.
    door.note(7).await;
    door.counts_after(&json!({"mark": "seen", "shown": first["shown"]})).await;
    let since = first["next"].as_str().unwrap();
    let second = check(&format!("limit=2&since={since}"), &[1, 1]).await;
    let since = second["next"].as_str().unwrap();
    let third = check(&format!("limit=2&since={since}"), &[2]).await;
    assert_eq!(third["next"], Value::Null);
    let all: Vec<&str> = [&first, &second, &third].into_iter().flat_map(says).map(|(says, _)| says).collect();
    let notes = [6, 5, 4, 3].map(|item| format!("Noted: Item {item}"));
    assert_eq!(all[..4], notes);
}

#[tokio::test]
async fn a_mark_is_for_what_was_shown_and_no_more() {
    let door = feed_door().await;
    door.offer(1..=2).await;
    let page = door.json("feed").await;
    let name = page["bundles"][0]["bundle"].clone();
    // It is shown, and before the client says so another entry comes.
    door.offer(3..=3).await;
    assert_eq!(door.counts_after(&json!({"mark": "seen", "shown": page["shown"]})).await, [1, 2]);
    let page = door.json("feed").await;
    assert_eq!(says(&page).iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 2], "{page}");
    // The page that was shown can still be opened by the name that it had; what came since is in it too.
    assert_eq!(door.json(&format!("feed/{}", name.as_str().unwrap())).await["count"], 3);
    assert_eq!(
        door.counts_after(&json!({"mark": "read", "bundles": [page["bundles"][1]["bundle"]]})).await,
        [1, 1]
    );
    assert_eq!(
        door.counts_after(&json!({"mark": "unread", "entries": [page["bundles"][1]["entries"][0]]})).await,
        [1, 2]
    );
    assert_eq!(door.counts_after(&json!({"mark": "read", "thread": "maker:1"})).await, [0, 0]);
    // Everything, by one note; what comes then is new.
    door.note(8).await;
    assert_eq!(door.counts_after(&json!({"mark": "cleared", "kind": "item_noted"})).await, [0, 0]);
    assert_eq!(door.json("feed").await["bundles"].as_array().unwrap().len(), 2);
    let entry = &page["bundles"][0]["entries"][0];
    assert_eq!(door.counts_after(&json!({"mark": "saved", "entries": [entry]})).await, [0, 0]);
    assert_eq!(door.json("feed?saved=true").await["bundles"].as_array().unwrap().len(), 1);
    door.counts_after(&json!({"mark": "cleared", "all": true})).await;
    assert_eq!(door.json("feed").await["bundles"], json!([]));
    door.counts_after(&json!({"mark": "restored", "entries": [entry]})).await;
    assert_eq!(door.json("feed").await["bundles"][0]["saved"], true);
    let until = door.app.now().plus(3_600_000).to_string();
    door.counts_after(&json!({"mark": "snoozed", "entries": [entry], "until": until})).await;
    assert_eq!(door.json("feed").await["bundles"], json!([]));
    door.app.clock.clock().advance(3_600_001);
    door.ground.house.settle().await.unwrap();
    let back = door.json("feed").await;
    assert_eq!((counts(&back["counts"]), &back["bundles"][0]["new"]), ([1, 1], &json!(true)), "{back}");
}

#[tokio::test]
async fn what_is_turned_off_is_neither_listed_nor_counted() {
    let door = feed_door().await;
    door.offer(1..=1).await;
    door.note(2).await;
    assert_eq!(counts(&door.json("counts").await), [2, 2]);
    let choose = async |choice: &str| {
        let fact = json!({"id": choice, "source": "t", "type": "tidings.preference",
            "data": {"person": "ann", "choice": choice, "kind": "item_noted"}});
        house::testing::post_to_intake(&door.ground.intake, "/v1/facts", &fact).await;
    };
    choose("off").await;
    let page = door.json("feed").await;
    assert_eq!((page["bundles"].as_array().unwrap().len(), counts(&page["counts"])), (1, [1, 1]), "{page}");
}

#[tokio::test]
async fn nothing_is_sent_twice_that_a_client_has() {
    let door = feed_door().await;
    door.offer(1..=30).await;
    for path in ["feed", "feed?bundle_by=none&limit=3", "counts", "counts?bundle_by=none"] {
        let path = format!("/v1/people/ann/{path}");
        let first = door.get(&path).await;
        let tag = first.headers[header::ETAG].to_str().unwrap().to_owned();
        let again = door.ask(Method::GET, &path, &[("if-none-match", &tag)], "").await;
        assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""), "{path}");
        // Neither because time passes.
        door.app.clock.clock().advance(120_000);
        let again = door.ask(Method::GET, &path, &[("if-none-match", &tag)], "").await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{path}");
    }
}

#[tokio::test]
async fn a_feed_is_of_its_person_alone() {
    let (door, [own, other]) = door_of_logins(bundles_catalogue(), true).await;
    for person in ["ann", "eve"] {
        door.ground.add_person(person, "maker:1").await;
    }
    door.offer(1..=1).await;
    let now = door.app.now();
    let ann = format!("Bearer {}", own.sign("ann", now));
    let claims = json!({"iss": web::testing::TestLogin::ISSUER, "aud": "others", "sub": "ann", "exp": now.0 / 1_000 + 9});
    let stranger = format!("Bearer {}", other.sign_claims(&claims));
    let mark = r#"{"mark":"read","all":true}"#;
    let own_feed = door.ask(Method::GET, "/v1/people/ann/feed", &[("authorization", &ann)], "").await;
    let bundle = own_feed.json()["bundles"][0]["bundle"].as_str().unwrap().to_owned();
    let asks = [
        (Method::GET, "feed".to_owned(), ""),
        (Method::GET, "feed?bundle_by=none&parts=true".to_owned(), ""),
        (Method::GET, format!("feed/{bundle}"), ""),
        (Method::GET, "counts".to_owned(), ""),
        (Method::GET, "live".to_owned(), ""),
        (Method::POST, "marks".to_owned(), mark),
    ];
    let mut said = std::collections::BTreeSet::new();
    for (method, path, body) in asks {
        let ask = async |who: &str, token: &str| {
            let lines = [("authorization", token), ("content-type", "application/json")];
            door.ask(method.clone(), &format!("/v1/people/{who}/{path}"), &lines, body).await
        };
        for who in ["eve", "nobody", "annn", "%C3%A4"] {
            let answer = ask(who, &ann).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{who} {path}: {}", answer.text);
            said.insert(answer.text);
        }
        assert_eq!(ask("ann", "Bearer eyJ.a.b").await.status, StatusCode::UNAUTHORIZED, "{path}");
        if path != "live" {
            // The same name of another tenant is somebody else, who has nothing.
            let answer = ask("ann", &stranger).await;
            assert!(
                !answer.text.contains("item:1") && !answer.text.contains("\"number\":1"),
                "{}",
                answer.text
            );
        }
    }
    assert_eq!(said.len(), 1, "it says nothing of who there is: {said:?}");
    let eve = format!("Bearer {}", own.sign("eve", now));
    let counted = door.ask(Method::GET, "/v1/people/eve/counts", &[("authorization", &eve)], "").await;
    assert_eq!(counts(&counted.json()), [1, 1], "nobody else marked anything of hers");
}

#[tokio::test]
async fn a_script_of_a_listed_site_marks_with_a_token() {
    let (door, [own, _]) = door_with_logins(true).await;
    let token = format!("Bearer {}", own.sign("ann", door.app.now()));
    let asks = [
        ("origin", SITE),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    let path = "/v1/people/ann/marks";
    let asked = door.ask(Method::OPTIONS, path, &asks, "").await;
    assert_eq!(asked.status, StatusCode::NO_CONTENT, "{}", asked.text);
    assert!(asked.headers[header::ACCESS_CONTROL_ALLOW_METHODS].to_str().unwrap().contains("POST"));
    assert!(asked.headers[header::ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap().contains("content-type"));
    let lines = [("origin", SITE), ("authorization", &*token), ("content-type", "application/json")];
    let marked = door.ask(Method::POST, path, &lines, r#"{"mark":"seen","all":true}"#).await;
    assert_eq!(marked.status, StatusCode::OK, "{}", marked.text);
    assert_eq!(marked.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], SITE);
}

#[tokio::test]
async fn strange_marks_and_pages_have_plain_answers() {
    let door = feed_door().await;
    door.offer(1..=1).await;
    let check = async |order: Value, status: u16, says: &str| {
        let answer = door.mark(&order).await;
        let found = (answer.status.as_u16(), answer.text.contains(says));
        assert_eq!(found, (status, true), "{order}: {}", answer.text);
    };
    let key = "2026-11-21T10:00:00.000Z/0123456789abcdef0123456789abcdef";
    check(json!({"mark": "read"}), 422, "it must have one of `bundles`, `entries`, `kind`").await;
    check(json!({"mark": "read", "all": true, "kind": "item_noted"}), 422, "it must have one of").await;
    check(json!({"mark": "read", "all": false}), 422, "\"at\":\"/all\"").await;
    check(json!({"mark": "liked", "all": true}), 422, "`liked` is not one of `seen`").await;
    check(json!({"mark": "liked", "all": true}), 422, "\"at\":\"/mark\"").await;
    check(json!({"mark": 1, "all": true}), 422, "\"at\":\"/mark\"").await;
    check(json!({"mark": "read", "all": true, "person": "eve"}), 422, "there is no field `person`").await;
    check(json!({"mark": "read", "kind": "nothing"}), 422, "there is no kind `nothing`").await;
    check(json!({"mark": "read", "bundles": []}), 422, "it must have 1 to 100").await;
    check(json!({"mark": "read", "bundles": ["x"]}), 422, "\"at\":\"/bundles/0\"").await;
    check(json!({"mark": "read", "entries": [key, "x"]}), 422, "\"at\":\"/entries/").await;
    check(json!({"mark": "read", "shown": "?"}), 422, "it is not base64url").await;
    check(json!({"mark": "read", "shown": "A".repeat(20_000)}), 422, "it is too long").await;
    check(json!({"mark": "restored", "all": true}), 422, "name the entries to restore").await;
    check(json!({"mark": "snoozed", "all": true}), 422, "\"at\":\"/until\"").await;
    check(
        json!({"mark": "snoozed", "all": true, "until": "2020-01-01T00:00:00Z"}),
        422,
        "it is over already",
    )
    .await;
    check(json!({"mark": "snoozed", "all": true, "until": "9999-01-01T00:00:00Z"}), 422, "put it off until")
        .await;
    check(
        json!({"mark": "read", "all": true, "until": "2027-01-01T00:00:00Z"}),
        422,
        "it goes with the mark",
    )
    .await;
    check(json!({"mark": "read", "kind": "x".repeat(70_000)}), 413, "more than 65536 bytes").await;
    let lines = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let order = r#"{"mark":"read","all":true}"#;
    let packed = door.ask(Method::POST, "/v1/people/ann/marks", &lines, order).await;
    assert_eq!(packed.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{}", packed.text);
    for (query, says) in [
        ("limit=0", "from 1 to 100"),
        ("since=x", "it is not a valid cursor"),
        ("unread=maybe", "it must be true or false"),
        ("bundle_by=colour", "it must be one of `catalogue`"),
        ("foo=1", "there is no parameter `foo`"),
        ("limit=1&limit=2", "limit: it is given twice"),
    ] {
        let answer = door.get(&format!("/v1/people/ann/feed?{query}")).await;
        let found = (answer.status, answer.text.contains(says));
        assert_eq!(found, (StatusCode::BAD_REQUEST, true), "{query}: {}", answer.text);
    }
    let answer = door.get("/v1/people/ann/feed/zz").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
}

#[tokio::test]
async fn a_name_that_the_catalogue_lacks_is_refused_with_the_nearest() {
    let door = feed_door().await;
    let check = async |field: &str, name: &str, says: &str| {
        let page = door.get(&format!("/v1/people/ann/feed?{field}={name}")).await;
        let found = (page.status, page.text.contains(&format!("{field}: {says}")));
        assert_eq!(found, (StatusCode::BAD_REQUEST, true), "{field}={name}: {}", page.text);
        for mark in ["read", "saved"] {
            let marked = door.mark(&json!({"mark": mark, field: name})).await;
            let at = format!("\"at\":\"/{field}\"");
            let found = (marked.status, marked.text.contains(says), marked.text.contains(&at));
            assert_eq!(found, (StatusCode::UNPROCESSABLE_ENTITY, true, true), "{field}: {}", marked.text);
        }
    };
    check("kind", "item_note", "there is no kind `item_note`: did you mean `item_noted`?").await;
    check("kind", "nope", "there is no kind `nope`: use `item_noted` or `item_offered`").await;
    check("kind", "", "it is empty: name a kind").await;
    check("category", "newz", "there is no category `newz`: did you mean `news`?").await;
    check("category", "", "it is empty: name a category").await;
    check("thread", "itm:1", "there is no type of subject `itm`: did you mean `item`?").await;
    check("thread", "x", "`x` is not of the form type:id").await;
    check("thread", "", "it is empty: name a subject").await;
    // What nobody has heard of is a subject all the same.
    assert_eq!(door.json("feed?thread=item:none").await["bundles"], json!([]));
}

#[tokio::test]
async fn a_parameter_that_there_is_not_is_refused_everywhere() {
    let door = feed_door().await;
    let check = async |method: Method, path: &str, says: &str| {
        let lines = [("content-type", "application/json")];
        let body = if method == Method::POST { r#"{"mark":"read","all":true}"# } else { "" };
        let answer = door.ask(method, &format!("/v1/people/ann/{path}"), &lines, body).await;
        let found = (answer.status, answer.text.contains(says));
        assert_eq!(found, (StatusCode::BAD_REQUEST, true), "{path}: {}", answer.text);
    };
    for path in ["counts", "live"] {
        let unknown = "there is no parameter `x`: the only parameter is bundle_by";
        check(Method::GET, &format!("{path}?x=1"), unknown).await;
        check(Method::GET, &format!("{path}?bundle_by=kind&x"), unknown).await;
        check(Method::GET, &format!("{path}?bundle_by=colour"), "bundle_by: it must be one of").await;
        check(Method::GET, &format!("{path}?bundle_by="), "bundle_by: it must be one of").await;
        check(Method::GET, &format!("{path}?bundle_by=kind&bundle_by=kind"), "it is given twice").await;
    }
    let unknown = "there is no parameter `bundle_by`: there are none here";
    check(Method::POST, "marks?bundle_by=kind", unknown).await;
}

/// What a stream has said so far, event by event.
struct NewsReader(BodyDataStream, String);

impl NewsReader {
    async fn open(door: &HouseDoor, lines: &[(&str, &str)]) -> Self {
        Self::open_by(door, "", lines).await
    }

    /// One that counts other bundles than the catalogue's.
    async fn open_by(door: &HouseDoor, query: &str, lines: &[(&str, &str)]) -> Self {
        let path = format!("/v1/people/ann/live{query}");
        let mut request = Request::builder().uri(path).header(header::HOST, HOST);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let answer = door.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
        Self(answer.into_body().into_data_stream(), String::new())
    }

    /// The next event: its id, and the counts that it has; nothing at the end.
    async fn next(&mut self) -> Option<(String, [u64; 2])> {
        loop {
            if let Some((event, rest)) = self.1.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.1 = rest;
                let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let Some(data) = line("data:") else { continue };
                assert_eq!(line("event:"), Some("feed"), "{event}");
                let data: Value = serde_json::from_str(data).unwrap();
                return Some((line("id:").unwrap().to_owned(), counts(&data["counts"])));
            }
            let more = timeout(PATIENCE, self.0.next()).await.expect("the stream says nothing")?;
            self.1.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
        }
    }
}

#[tokio::test]
async fn a_connection_hears_of_news_and_a_client_that_comes_back_misses_none() {
    let door = feed_door().await;
    let mut reader = NewsReader::open(&door, &[]).await;
    assert_eq!(reader.next().await.unwrap().1, [0, 0], "what there is comes at once");
    door.offer(1..=1).await;
    assert_eq!(reader.next().await.unwrap().1, [1, 1]);
    door.counts_after(&json!({"mark": "seen", "all": true})).await;
    let (last, found) = reader.next().await.unwrap();
    assert_eq!(found, [0, 1]);
    drop(reader);
    // While it was away nothing happened; and then something did.
    let mut reader = NewsReader::open(&door, &[("last-event-id", &last)]).await;
    door.note(2).await;
    let (last_own, found) = reader.next().await.unwrap();
    assert_eq!(found, [1, 2], "the first thing that it hears");
    drop(reader);
    // Who counts by another key now does not know that number.
    let mut reader = NewsReader::open_by(&door, "?bundle_by=none", &[("last-event-id", &last_own)]).await;
    assert_eq!(reader.next().await.unwrap().1, [1, 2]);
    drop(reader);
    door.counts_after(&json!({"mark": "read", "all": true})).await;
    let mut reader = NewsReader::open(&door, &[("last-event-id", &last)]).await;
    assert_eq!(reader.next().await.unwrap().1, [0, 0], "what it missed comes at once");
    door.ground.house.end_streams();
    assert_eq!(reader.next().await, None, "a process that stops lets go of it");
}

#[tokio::test]
async fn a_stream_ends_when_the_token_that_opened_it_is_no_longer_taken() {
    let (door, [own, _]) = door_of_logins(bundles_catalogue(), true).await;
    door.ground.add_person("ann", "maker:1").await;
    let token = format!("Bearer {}", own.sign("ann", door.app.now()));
    let line = ("authorization", &*token);
    let status = async || door.ask(Method::GET, "/v1/people/ann/counts", &[line], "").await.status;
    let mut reader = NewsReader::open(&door, &[line]).await;
    assert_eq!(reader.next().await.unwrap().1, [0, 0]);
    // Half a minute later than it says it is taken, and so the stream goes on.
    door.app.clock.clock().advance(10 * 60_000 + 30_000);
    assert_eq!(status().await, StatusCode::OK);
    door.offer(1..=1).await;
    assert_eq!(reader.next().await.unwrap().1, [1, 1]);
    door.app.clock.clock().advance(30_000);
    assert_eq!(reader.next().await, None);
    assert_eq!(status().await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn what_is_saved_outlives_its_day() {
    let door = feed_door().await;
    door.offer(1..=3).await;
    let entries = async || {
        let page = door.json("feed?bundle_by=none").await;
        let entry = |one: &Value| {
            let flags = ["new", "unread", "saved"].map(|flag| one[flag] == json!(true));
            (one["says"].as_str().unwrap().to_owned(), flags)
        };
        page["bundles"].as_array().unwrap().iter().map(entry).collect::<Vec<_>>()
    };
    let names = || async {
        let page = door.json("feed?bundle_by=none").await;
        let name = |one: &Value| one["entries"][0].as_str().unwrap().to_owned();
        page["bundles"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let all = names().await;
    // One by HTTP, two by a fact; of these one is let go of while its day lives.
    assert_eq!(door.counts_after(&json!({"mark": "saved", "entries": [all[0]]})).await, [1, 1]);
    let fact = |what: &str, entries: &[String]| json!({"id": what, "source": "t", "type": what, "data": {"person": "ann", "entries": entries}});
    let state = async |fact: Value| {
        let answer = door.ask_admin(Method::POST, "/admin/v1/feedback", &fact.to_string()).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
        door.ground.house.settle().await.unwrap();
    };
    state(fact("tidings.saved", &all[1..])).await;
    door.mark(&json!({"mark": "cleared", "entries": [all[2]]})).await;
    let listed = |n: usize, flags: [bool; 3]| (format!("New: Item {n}"), flags);
    assert_eq!(entries().await, [listed(3, [true, true, true]), listed(2, [true, true, true])]);

    // The log keeps nothing for so long: what is told in it has been read by then.
    door.ground.house.settle().await.unwrap();
    door.app
        .clock
        .advance(i64::from(door.app.catalogue.day_life.days() + 1) * model::limits::DAY_MS)
        .unwrap();
    let saved = [listed(3, [false, false, true]), listed(2, [false, false, true])];
    assert_eq!(entries().await, saved);
    assert_eq!(door.json("feed?saved=true").await["counts"]["unread"]["number"], 0);
    // No word but one changes it, and none is refused.
    for mark in ["read", "unread", "seen", "saved"] {
        assert_eq!(door.counts_after(&json!({"mark": mark, "entries": [all[0]]})).await, [0, 0], "{mark}");
        assert_eq!(entries().await, saved, "{mark}");
    }
    let late = door.mark(&json!({"mark": "read", "entries": [all[2]]})).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", late.text);
    let change = json!({"id": "r", "source": "t", "type": "tidings.revoke", "data": {"subject": "item:2"}});
    house::testing::post_to_intake(&door.ground.intake, "/v1/changes", &change).await;
    door.ground.house.settle().await.unwrap();
    assert_eq!(entries().await, saved[..1], "what is revoked is not there any more");
    state(fact("tidings.unsaved", &all[..1])).await;
    assert_eq!(entries().await, []);
    let owner = store::StateKey::Saved(door.app.tenant.clone(), Person::new("ann").unwrap());
    let held = door.app.house.engines().store.states(&[owner]).await.unwrap().remove(0);
    assert!(held.is_empty(), "what was let go of or revoked is forgotten: {held:?}");
}

#[tokio::test]
async fn all_that_is_read_at_once_keeps_its_bundles() {
    let door = feed_door().await;
    let all = json!({"mark": "read", "all": true});
    door.offer(1..=2).await;
    assert_eq!(door.counts_after(&all).await, [0, 0]);
    door.offer(3..=3).await;
    let apart = [("New: Item 3", 1), ("2 things of somebody", 2)];
    assert_eq!(says(&door.json("feed").await), apart);
    assert_eq!(door.counts_after(&all).await, [0, 0]);
    assert_eq!(says(&door.json("feed").await), apart, "what was read stays as it was seen");
    // Unread again is not new again.
    let newest = door.json("feed").await["bundles"][0]["entries"].clone();
    assert_eq!(door.counts_after(&json!({"mark": "unread", "entries": newest})).await, [0, 1]);
    assert_eq!(door.counts_after(&json!({"mark": "cleared", "all": true})).await, [0, 0]);
    assert_eq!(door.counts_after(&json!({"mark": "restored", "entries": newest})).await, [0, 1]);
}

/// What is heard of late counts as seen when all until then was read; a look at it later leaves it where it was shown.
#[tokio::test]
async fn what_came_late_stays_in_its_bundle_when_it_is_looked_at() {
    let door = feed_door().await;
    door.offer(1..=2).await;
    let before = door.app.now();
    assert_eq!(door.counts_after(&json!({"mark": "read", "all": true})).await, [0, 0]);
    let late = json!({"id": "late", "source": "t", "type": "item.noted", "subject": "item:9",
        "time": before.plus(-60_000).to_string(), "data": {"title": "Item 9", "maker": "maker:1"}});
    house::testing::post_to_intake(&door.ground.intake, "/v1/changes", &late).await;
    door.ground.house.settle().await.unwrap();
    let page = door.json("feed").await;
    let bundle = page["bundles"].as_array().unwrap().iter().find(|one| one["subject"] == "item:9").unwrap();
    let name = bundle["bundle"].as_str().unwrap();
    for mark in ["seen", "read", "unread"] {
        door.counts_after(&json!({"mark": mark, "shown": page["shown"]})).await;
        let opened = door.get(&format!("/v1/people/ann/feed/{name}")).await;
        assert_eq!(opened.status, StatusCode::OK, "{mark}: {}", opened.text);
    }
}

#[tokio::test]
async fn shown_limits_a_mark_of_entries_too() {
    let door = feed_door().await;
    door.offer(1..=1).await;
    let page = door.json("feed").await;
    door.note(2).await;
    let entries: Vec<Value> = door.json("feed").await["bundles"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|bundle| bundle["entries"].as_array().unwrap().clone())
        .collect();
    assert_eq!(entries.len(), 2);
    let order = json!({"mark": "read", "entries": entries, "shown": page["shown"]});
    assert_eq!(door.counts_after(&order).await, [1, 1]);
}

#[tokio::test]
async fn who_has_a_stream_open_is_connected() {
    let door = door_of(asking_catalogue(), true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    let persons = ["ann", "eve"].map(|name| Person::new(name).unwrap());
    let (store, clock) = (door.app.house.engines().store.clone(), door.app.clock.clock().clone());
    let live = house::stream_connections::StreamConnections { store, clock };
    let become_connected = async |expected: &[&str]| {
        for _ in 0..600 {
            let found =
                live::LiveConnections::find_connected(&live, &door.app.tenant, &persons).await.unwrap();
            if found.iter().map(Person::as_str).eq(expected.iter().copied()) {
                return;
            }
            wait_real_time(Duration::from_millis(100)).await;
        }
        panic!("not {expected:?} within a minute");
    };
    become_connected(&[]).await;
    let (first, second) = (NewsReader::open(&door, &[]).await, NewsReader::open(&door, &[]).await);
    become_connected(&["ann"]).await;
    drop(first);
    wait_real_time(Duration::from_secs(3)).await;
    become_connected(&["ann"]).await;
    drop(second);
    become_connected(&[]).await;
    let key = store::StateKey::Streams(door.app.tenant.clone(), persons[0].clone());
    let held = live.store.states(&[key]).await.unwrap().remove(0);
    assert!(held.is_empty(), "nothing is left of streams that ended: {held:?}");
}
