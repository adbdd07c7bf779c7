//! Pauses, as the command line asks and as the page does.

use axum::http::{Method, StatusCode};
use serde_json::json;

use super::door;

#[tokio::test]
async fn a_pause_holds_what_is_due_until_it_ends() {
    let door = door(true, false).await;
    door.offer_item().await;
    let order = |scope: &str, is_paused: bool| {
        json!({"scope": scope, "is_paused": is_paused, "by": "ops", "why": "<b>"}).to_string()
    };
    let check = async |scope: &str, is_paused: bool, status: StatusCode, part: &str| {
        let answer = door.ask_admin(Method::POST, "/admin/pauses", &order(scope, is_paused)).await;
        assert_eq!(answer.status, status, "{scope}: {}", answer.text);
        assert!(answer.text.contains(part), "{scope}: {}", answer.text);
    };
    check("plan:daly", true, StatusCode::CONFLICT, "did you mean `daily`?").await;
    check("plan:daily", false, StatusCode::CONFLICT, "plan:daily is not paused").await;
    check("plan:daily", true, StatusCode::OK, "\"scope\":\"plan:daily\"").await;
    let page = door.get("/pauses").await.text;
    assert!(page.contains(", by ops: &lt;b&gt;"), "{page}");
    assert!(!page.contains("<option>plan:daily"), "{page}");
    assert!(door.get("/").await.text.contains("has been <a href=\"/pauses\">paused</a>"));
    let told = "tidings_pause_info{name=\"daily\",what=\"plan\"} 1\n";
    assert!(door.get("/metrics").await.text.contains(told));

    // The next morning is over, and nobody is told.
    assert_eq!(door.form("/clock", "to=due").await.status, StatusCode::SEE_OTHER);
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.ground.outbox.len(), 0);
    let ended = door.form("/pauses", "scope=plan:daily&act=end").await;
    assert_eq!(
        (ended.status, &ended.headers["location"]),
        (StatusCode::SEE_OTHER, &"/pauses?done=resumed".parse().unwrap())
    );
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.ground.outbox.len(), 1);
    assert!(!door.get("/metrics").await.text.contains("tidings_pause_info{"));

    let begun = door.form("/pauses", "scope=tenant:main&act=begin&why=tea").await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER);
    let again = door.form("/pauses", "scope=tenant:main&act=begin").await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(again.text.contains("tenant:main is paused already"), "{}", again.text);
    let foreign = door.post("/pauses", "csrf=x&scope=tenant:main&act=end").await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
}
