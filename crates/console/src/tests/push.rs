//! Pushes in a browser: a page with a script, and what it tells.

use axum::http::{StatusCode, header};
use model::{
    Person, Tenant,
    device::{self, DevicePlatform, PushDevice},
};
use store::StateKey;
use views::display::urlencode;

use super::{HouseDoor, WEB_KEY, door};

const ENDPOINT: &str = "https://push.example/send/abc";

fn subscription(endpoint: &str) -> String {
    format!(
        r#"{{"endpoint":"{endpoint}","expirationTime":null,"keys":{{"p256dh":"key","auth":"auth"}},"more":1}}"#
    )
}

impl HouseDoor {
    async fn devices(&self) -> Vec<PushDevice> {
        let key = StateKey::Person(Tenant::new("main").unwrap(), Person::new("ann").unwrap());
        let states = self.ground.house.engines().store.states(&[key]).await.unwrap();
        device::read_devices(&states[0])
    }

    async fn post_subscription(&self, person: &str, what: &str, subscription: &str) -> (StatusCode, String) {
        let fields = format!("person={person}&what={what}&subscription={}", urlencode(subscription));
        let answer = self.form("/push", &fields).await;
        (answer.status, answer.text)
    }
}

#[tokio::test]
async fn the_page_that_subscribes_may_run_scripts_of_ours() {
    let door = door(true, false).await;
    let page = door.get("/push?person=%22%3E%3Cscript%3E").await;
    assert_eq!(page.status, StatusCode::OK);
    let policy = page.policy();
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("script-src 'self';") && policy.contains("worker-src 'self';"), "{policy}");
    assert_eq!(page.text.matches("<script").count(), 1, "{}", page.text);
    assert!(page.text.contains("<script src=\"/push-page.js\" defer></script>"));
    assert!(page.text.contains(&format!("data-key=\"{WEB_KEY}\"")), "{}", page.text);
    // The worker says that a push was read wherever the house's public address is; it may do nothing else.
    let worker = "default-src 'none'; connect-src https: http:; base-uri 'none'; frame-ancestors 'none'";
    for (script, begin) in [("/push.js", worker), ("/push-page.js", "default-src 'none'; style-src 'self'")] {
        let answer = door.get(script).await;
        assert_eq!(answer.headers[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert!(answer.policy().starts_with(begin), "{script}: {}", answer.policy());
    }
    assert!(door.get("/person?id=ann").await.text.contains("Find"));
}

#[tokio::test]
async fn a_browser_becomes_a_device_until_it_ends() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    for _ in 0..2 {
        assert_eq!(door.post_subscription("ann", "begin", &subscription(ENDPOINT)).await.0, StatusCode::OK);
    }
    let devices = door.devices().await;
    assert_eq!(devices.len(), 1, "the same browser is the same device");
    assert_eq!(devices[0].platform, DevicePlatform::Web);
    let token = format!(r#"{{"endpoint":"{ENDPOINT}","keys":{{"p256dh":"key","auth":"auth"}}}}"#);
    assert_eq!(devices[0].token, token);
    let other = subscription("https://push.example/send/other");
    assert_eq!(door.post_subscription("ann", "begin", &other).await.0, StatusCode::OK);
    assert_eq!(door.devices().await.len(), 2);
    assert_eq!(door.post_subscription("ann", "end", &other).await.0, StatusCode::OK);
    assert_eq!(door.devices().await, devices);
}

#[tokio::test]
async fn what_is_no_subscription_is_refused() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    let check = async |person: &str, what: &str, subscription: &str, status: StatusCode, says: &str| {
        let (found, text) = door.post_subscription(person, what, subscription).await;
        assert_eq!((found, text.contains(says)), (status, true), "{subscription}: {text}");
    };
    let bad = StatusCode::BAD_REQUEST;
    check("ann", "begin", "", bad, "not the subscription of a browser").await;
    check(
        "ann",
        "begin",
        r#"{"endpoint":"https://push.example/"}"#,
        bad,
        "not the subscription of a browser",
    )
    .await;
    check(
        "ann",
        "begin",
        &subscription("https://push.example/ with blanks"),
        bad,
        "visible ASCII characters",
    )
    .await;
    check(
        "ann",
        "begin",
        &subscription(&format!("https://push.example/{}", "x".repeat(5_000))),
        bad,
        "visible ASCII characters",
    )
    .await;
    check("", "begin", &subscription(ENDPOINT), bad, "\"detail\"").await;
    check("ann", "else", &subscription(ENDPOINT), StatusCode::FORBIDDEN, "too old").await;
    let foreign = [("content-type", "application/x-www-form-urlencoded"), ("origin", "https://evil.example")];
    let body = format!("csrf={}&person=ann&what=begin&subscription=x", door.app.guard.csrf);
    assert_eq!(
        door.ask(axum::http::Method::POST, "/push", &foreign, &body).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(door.devices().await, []);
}
