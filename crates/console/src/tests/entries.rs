//! A person's entries, asked as an app would that polls.

use serde_json::Value;

use super::*;

impl HouseDoor {
    async fn entries(&self, query: &str, lines: &[(&str, &str)]) -> DoorAnswer {
        self.ask(Method::GET, &format!("/v1/people/ann/entries{query}"), lines, "").await
    }
}

fn json(answer: &DoorAnswer) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

async fn offer_items(door: &HouseDoor, items: &[&str]) {
    for item in items {
        door.ground.offer_item(&format!("item:{item}"), "maker:1", &format!("Item {item}")).await;
    }
    door.ground.house.settle().await.unwrap();
}

#[tokio::test]
async fn a_client_polls_and_hears_only_of_what_is_new() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    offer_items(&door, &["1", "2", "3"]).await;
    let first = json(&door.entries("?limit=2", &[]).await);
    assert_eq!((first["entries"].as_array().unwrap().len(), &first["more"]), (2, &Value::Bool(true)));
    let one = &first["entries"][0];
    assert_eq!((&one["subject"], &one["name"]), (&"item:1".into(), &"Item 1".into()), "{one}");
    assert_eq!(one["reasons"], serde_json::json!(["follows maker:1"]), "{one}");
    assert_eq!((&one["kinds"][0], &one["actor"]), (&"item_offered".into(), &Value::Null), "{one}");
    assert_eq!((&one["fates"][0]["channel"], &one["fates"][0]["fate"]), (&"email".into(), &"waiting".into()));
    let next = first["next"].as_str().unwrap();
    let second = json(&door.entries(&format!("?since={next}"), &[]).await);
    assert_eq!((second["entries"].as_array().unwrap().len(), &second["more"]), (1, &Value::Bool(false)));
    let next = second["next"].as_str().unwrap();
    let at_rest = json(&door.entries(&format!("?since={next}"), &[]).await);
    assert_eq!((at_rest["entries"].as_array().unwrap().len(), &at_rest["next"]), (0, &second["next"]));
    offer_items(&door, &["4"]).await;
    let fresh = json(&door.entries(&format!("?since={next}"), &[]).await);
    assert_eq!(fresh["entries"].as_array().unwrap().len(), 1, "{fresh}");
    assert_eq!(fresh["entries"][0]["subject"], "item:4");
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    // Also what is empty has its tag.
    for query in ["", "?days=21", "?limit=500"] {
        let answer = door.entries(query, &[]).await;
        let tag = answer.headers[header::ETAG].to_str().unwrap().to_owned();
        assert!(tag.starts_with('"') && tag.len() > 20, "{tag}");
        assert_eq!(answer.headers[header::CACHE_CONTROL], "private, no-cache");
        assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
        let again = door.entries(query, &[("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert_eq!(again.headers[header::ETAG], tag.as_str());
        assert_eq!(again.headers[header::CACHE_CONTROL], "private, no-cache");
        offer_items(&door, &[&query.len().to_string()]).await;
        let changed = door.entries(query, &[("if-none-match", &tag)]).await;
        assert!(!json(&changed)["entries"].as_array().unwrap().is_empty());
        assert_ne!(changed.headers[header::ETAG], tag.as_str());
    }
    let head = door.ask(Method::HEAD, "/v1/people/ann/entries", &[], "").await;
    let got = door.entries("", &[]).await;
    assert_eq!((head.status, head.text.as_str()), (StatusCode::OK, ""));
    assert_eq!(head.headers[header::ETAG], got.headers[header::ETAG]);
}

#[tokio::test]
async fn strange_questions_have_plain_answers() {
    let door = door(true, false).await;
    let check = async |path: &str, status: u16, says: &str| {
        let answer = door.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.contains(says)),
            (status, true),
            "{path}: {}",
            answer.text
        );
        assert!(serde_json::from_str::<Value>(&answer.text).is_ok(), "{path}: {}", answer.text);
    };
    check("/v1/people/nobody/entries", 200, "{\"entries\":[],").await;
    check("/v1/people/%C3%A4%2Fb%20c/entries", 200, "\"more\":false}").await;
    check("/v1/people/ann/entries?since=", 200, "\"entries\":[]").await;
    check("/v1/people/ann/entries?since=AQ", 200, "\"entries\":[]").await;
    check("/v1/people/ann/entries?since=nonsense", 400, "since: it is not a valid cursor").await;
    check(&format!("/v1/people/ann/entries?since={}", "A".repeat(9_000)), 400, "it is too long").await;
    check("/v1/people/ann/entries?limit=0", 400, "from 1 to 500").await;
    check("/v1/people/ann/entries?limit=501", 400, "from 1 to 500").await;
    check("/v1/people/ann/entries?days=22", 400, "from 0 to 21").await;
    check(
        "/v1/people/ann/entries?foo=1",
        400,
        "there is no parameter `foo`: the parameters are since, limit, days",
    )
    .await;
    check("/v1/people/ann/entries?%FF=1&%22", 400, "there is no parameter").await;
    check("/v1/people/ann/entries?limit=1&limit=2", 400, "limit: it is given twice").await;
    for nothing in ["/v1/people/a/b", "/v1/people/a", "/v1/nothing", "/v1/", "/v1/people/a/b/entries"] {
        check(nothing, 404, "\"detail\":\"there is nothing here\"}").await;
    }
    check("/v1/people/%00/entries", 400, "control character").await;
    check("/v1/people/%FF/entries", 400, "the person's id is not percent-encoded UTF-8").await;
    check(&format!("/v1/people/{}/entries", "a".repeat(129)), 400, "129 bytes").await;
    let posted = door.ask(Method::POST, "/v1/people/ann/entries", &[], "").await;
    assert_eq!(posted.status, StatusCode::METHOD_NOT_ALLOWED);
    let elsewhere = door.ask(Method::GET, "/v1/people/ann/entries", &[("host", "evil.example")], "").await;
    assert_eq!(elsewhere.status, StatusCode::FORBIDDEN);
    assert_eq!(elsewhere.json()["detail"], "the `Host` of the request is not a name of this service");
    let framed = door.entries("", &[("origin", "https://evil.example")]).await;
    assert_eq!(framed.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn with_api_keys_the_key_says_whose_persons_these_are() {
    let door = door(true, true).await;
    let key = format!("Bearer {API_KEY}");
    assert_eq!(json(&door.entries("", &[("authorization", &key)]).await)["more"], false);
    for wrong in ["", "Bearer wrong", &door.bearer()] {
        let answer = door.entries("", &[("authorization", wrong)]).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{wrong}");
        assert!(answer.headers.contains_key(header::WWW_AUTHENTICATE), "{wrong}");
    }
    assert_eq!(door.entries("", &[]).await.status, StatusCode::UNAUTHORIZED);
}
