//! A person's entries, asked as an app would that polls.

use model::UtcMillis;
use serde_json::Value;
use web::{person_access::PersonIssuer, person_token::PersonKeySet, testing::TestLogin};

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

pub(super) const SITE: &str = "https://shop.example";

/// A house with a login of its own, and one of another tenant.
pub(super) async fn door_with_logins(is_locked: bool) -> (HouseDoor, [TestLogin; 2]) {
    door_of_logins(test_catalogue(), is_locked).await
}

pub(super) async fn door_of_logins(
    catalogue: Arc<Catalogue>,
    is_locked: bool,
) -> (HouseDoor, [TestLogin; 2]) {
    let logins = [TestLogin::new(1), TestLogin::new(2)];
    let issuer = |(login, tenant, audience): (&TestLogin, &str, &str)| {
        let origins = vec![SITE.to_owned()];
        let (tenant, issuer) = (Tenant::new(tenant).unwrap(), TestLogin::ISSUER.to_owned());
        let issuer = PersonIssuer::new(tenant, issuer, audience.to_owned(), origins);
        let keys = PersonKeySet::parse(login.key_set().as_bytes()).unwrap();
        issuer.replace_keys(Arc::new(keys));
        Arc::new(issuer)
    };
    let issuers = [(&logins[0], "main", "tidings"), (&logins[1], "other", "others")].map(issuer);
    let door = door_with((catalogue, true, is_locked), |app| HttpApp {
        persons: PersonAccess::new(issuers.into()),
        ..app
    });
    (door.await, logins)
}

#[tokio::test]
async fn a_person_reads_what_is_theirs_and_of_nobody_else() {
    for is_locked in [true, false] {
        let (door, [own, other]) = door_with_logins(is_locked).await;
        for person in ["ann", "eve"] {
            door.ground.add_person(person, "maker:1").await;
        }
        offer_items(&door, &["1"]).await;
        let now = door.app.now();
        let check = async |token: &str, path: &str, status: u16, says: &str| {
            let answer =
                door.ask(Method::GET, path, &[("authorization", &format!("Bearer {token}"))], "").await;
            assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.text);
            assert!(answer.text.contains(says), "{path}: {}", answer.text);
            assert_eq!(answer.text.contains("item:1"), status == 200, "{path}: {}", answer.text);
            answer
        };
        let ann = own.sign("ann", now);
        check(&ann, "/v1/people/ann/entries", 200, "Item 1").await;
        check(&own.sign("eve", now), "/v1/people/eve/entries", 200, "Item 1").await;
        // Another id in each way to ask, whether or not there is such a person.
        let mut said = Vec::new();
        for person in ["eve", "nobody", "Ann", "ann%C3%A4", "a", "annn"] {
            for query in ["", "?days=21", "?since=AQ", "?limit=1", "?since=&limit=500&days=0"] {
                let path = format!("/v1/people/{person}/entries{query}");
                said.push(
                    check(&ann, &path, 403, "this token is not for the person of this path").await.text,
                );
            }
        }
        said.dedup();
        assert_eq!(said.len(), 1, "it says nothing of who there is: {said:?}");
        let line = ("authorization", &*format!("Bearer {ann}"));
        let head =
            door.ask(Method::HEAD, "/v1/people/eve/entries", &[line, ("if-none-match", "*")], "").await;
        assert_eq!(head.status, StatusCode::FORBIDDEN);
        // The same id of another tenant is another person.
        let claims = serde_json::json!({"iss": TestLogin::ISSUER, "aud": "others", "sub": "ann", "exp": now.0 / 1_000 + 9});
        let path = "/v1/people/ann/entries";
        let line = ("authorization", &*format!("Bearer {}", other.sign_claims(&claims)));
        let answer = door.ask(Method::GET, path, &[line], "").await;
        assert_eq!(json(&answer)["entries"], serde_json::json!([]));
        check(&own.sign_claims(&claims), path, 401, "a key that is not known").await;
        let expired = check(&own.sign("ann", UtcMillis(0)), path, 401, "the token has expired").await;
        let challenge = expired.headers[header::WWW_AUTHENTICATE].to_str().unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        // A person does nothing else here.
        let lines = [("authorization", &*format!("Bearer {ann}")), ("content-type", "application/json")];
        let body = r#"{"id":"1","source":"t","type":"tidings.read","data":{"person":"eve","all":true}}"#;
        let sent = door.ask(Method::POST, "/v1/feedback", &lines, body).await;
        assert_eq!(sent.status == StatusCode::UNAUTHORIZED, is_locked, "{}", sent.text);
        assert_eq!(door.ask(Method::GET, "/admin/stages", &lines, "").await.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_script_of_a_listed_site_reads_with_a_token() {
    for is_locked in [true, false] {
        let (door, [own, _]) = door_with_logins(is_locked).await;
        let bearer = format!("Bearer {}", own.sign("ann", door.app.now()));
        let check = async |method: Method, path: &str, lines: &[(&str, &str)], status: u16, allowed: bool| {
            let answer = door.ask(method, path, lines, "").await;
            assert_eq!(answer.status.as_u16(), status, "{path} {lines:?}: {}", answer.text);
            let origin = answer.headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(
                origin.map(|value| value.to_str().unwrap()),
                allowed.then_some(SITE),
                "{path} {lines:?}"
            );
            assert!(!answer.headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
        };
        let (entries, site, token) =
            ("/v1/people/ann/entries", ("origin", SITE), ("authorization", &*bearer));
        let (asks, evil) = (("access-control-request-method", "GET"), ("origin", "https://evil.example"));
        check(Method::OPTIONS, entries, &[site, asks], 204, true).await;
        check(Method::OPTIONS, entries, &[evil, asks], 403, false).await;
        check(Method::GET, entries, &[site, token], 200, true).await;
        // What went wrong a script may read, too.
        check(Method::GET, "/v1/people/eve/entries", &[site, token], 403, true).await;
        check(Method::GET, entries, &[site, ("authorization", "Bearer eyJ.a.b")], 401, true).await;
        // Without a token no site reads anything, also where no key is needed.
        check(Method::GET, entries, &[site], 401, true).await;
        check(Method::GET, entries, &[evil], if is_locked { 401 } else { 403 }, false).await;
        check(Method::GET, entries, &[evil, token], 200, false).await;
        // No other path knows of other sites.
        check(Method::OPTIONS, "/v1/changes", &[site, asks], 405, false).await;
        check(Method::GET, "/metrics", &[site], if is_locked { 401 } else { 200 }, false).await;
    }
}

#[tokio::test]
async fn a_key_reads_if_it_is_for_that() {
    let check = async |scopes: &[KeyScope], path: &str, status: u16, says: &str| {
        let key = ApiKeyConfig {
            tenant: Tenant::new("main").unwrap(),
            hash: KeyHash::from_key(API_KEY),
            scopes: scopes.iter().copied().collect(),
        };
        let keys = ApiKeyList::new(list_api_keys(&[key], true));
        let door = door_with((test_catalogue(), true, true), |app| HttpApp { keys, ..app }).await;
        let answer =
            door.ask(Method::GET, path, &[("authorization", &format!("Bearer {API_KEY}"))], "").await;
        assert_eq!(answer.status.as_u16(), status, "{scopes:?} {path}: {}", answer.text);
        assert!(answer.text.contains(says), "{}", answer.text);
    };
    let scope = "does not have the scope `read`";
    check(&[KeyScope::Read], "/v1/people/ann/entries", 200, "").await;
    check(&[KeyScope::Changes, KeyScope::Feedback], "/v1/people/ann/entries", 403, scope).await;
    check(&[KeyScope::Read], "/metrics", 200, "").await;
    check(&[KeyScope::Changes], "/metrics", 403, scope).await;
}

#[tokio::test]
async fn keys_that_are_replaced_count_without_a_new_door() {
    let door = door(true, true).await;
    let ask = async |key: &str| {
        let line = ("authorization", &*format!("Bearer {key}"));
        let read = door.entries("", &[line]).await.status;
        let json = ("content-type", "application/json");
        let body = r#"{"id":"1","source":"t","type":"maker.changed","subject":"maker:1","name":"M"}"#;
        let sent = door.ask(Method::POST, "/v1/changes", &[line, json], body).await.status;
        (read.as_u16(), sent.as_u16())
    };
    let new = "another-horse-battery";
    assert_eq!((ask(API_KEY).await, ask(new).await), ((200, 202), (401, 401)));
    // Of a tenant that nobody knew when the door was made.
    let key =
        |key: &str, tenant: &str| web::ApiKey::new(&SecretString::from(key), Tenant::new(tenant).unwrap());
    door.app.keys.replace(Some(vec![key(API_KEY, "main"), key(new, "later")]));
    assert_eq!((ask(API_KEY).await, ask(new).await), ((200, 202), (200, 202)));
    door.app.keys.replace(Some(vec![key(new, "later")]));
    assert_eq!((ask(API_KEY).await, ask(new).await), ((401, 401), (200, 202)));
}
