//! A message before it goes: it is the one that then arrives, and looking at it does nothing.

use axum::http::{Method, StatusCode};
use serde_json::json;
use topic::Topics as _;
use wire::topics;

use super::{DoorAnswer, HouseDoor, door};

impl HouseDoor {
    async fn get_preview(&self, query: &str) -> DoorAnswer {
        self.ask_admin(Method::GET, &format!("/admin/preview?{query}"), "").await
    }

    /// Where every topic ends.
    async fn ends(&self) -> Vec<Vec<(u64, u64)>> {
        let mut ends = Vec::new();
        let decided = [topics::EVENTS, topics::PENDING, topics::INBOX, topics::WINDOWS];
        for topic in decided.into_iter().chain(topics::READY_LANES) {
            ends.push(self.ground.topics.bounds(topic).await.unwrap());
        }
        ends
    }
}

#[tokio::test]
async fn a_preview_is_the_mail_that_then_arrives() {
    let door = door(true, false).await;
    door.offer_item().await;
    // One more, which is taken back before it is told.
    door.ground.offer_item("item:2", "maker:1", "Sun").await;
    let withdrawn = r#"{"id":"w","source":"t","type":"item.changed","subject":"item:2","offered":false,
        "version":9000000000000}"#;
    let lines = [("content-type", "application/json")];
    let taken = door.ask(Method::POST, "/v1/changes", &lines, withdrawn).await;
    assert!(taken.text.contains("\"rejected\":[]"), "{}", taken.text);
    door.ground.house.settle().await.unwrap();
    let ends = door.ends().await;
    let said = door.get_preview("kind=item_offered&person=ann").await.json();
    assert_eq!(said.as_array().unwrap().len(), 1, "{said}");
    let preview = &said[0];
    assert_eq!((&preview["of"], &preview["plan"]), (&"waiting".into(), &"daily".into()));
    assert_eq!(
        (&preview["subjects"], &preview["remarks"]),
        (&json!(["item:1"]), &json!(["item:2 would be left out now: no longer true"]))
    );
    assert_eq!((door.ends().await, door.ground.outbox.len()), (ends, 0), "a look changes nothing");

    assert_eq!(door.form("/clock", "to=due").await.status, StatusCode::SEE_OTHER);
    let sent = door.ground.outbox.list_newest(9);
    let sent = door.ground.outbox.read_mail(&sent[0].message_id).await.unwrap().unwrap();
    assert_eq!(preview["headline"].as_str(), sent.header("subject"));
    assert_eq!(preview["text"].as_str().map(str::trim_end), Some(sent.text.trim_end()));
    assert_eq!(preview["html"].as_str().map(str::trim_end), Some(sent.html.trim_end()));
    let header = |name: &str| {
        let mut headers = preview["headers"].as_array().unwrap().iter();
        headers.find(|header| header[0] == name).and_then(|header| header[1].as_str()).map(str::to_owned)
    };
    for name in ["List-ID", "Feedback-ID", "List-Unsubscribe-Post", "From"] {
        assert!(header(name).is_some(), "{name}: {preview}");
        assert_eq!(header(name).as_deref(), sent.header(name), "{name}");
    }
    // The link is one of the house, and is not the one that ends her mails.
    let (link, real) = (header("List-Unsubscribe").unwrap(), sent.header("List-Unsubscribe").unwrap());
    assert!(link.starts_with("http://127.0.0.1:7280/u/") && link != real, "{link}");
    let path = link.strip_prefix("http://127.0.0.1:7280").unwrap();
    let refused = door.post(path, "List-Unsubscribe=One-Click").await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    assert!(!said.to_string().contains("ann@example.org"), "an address is masked: {said}");
}

#[tokio::test]
async fn a_preview_without_a_kind_is_what_a_release_then_sends() {
    let door = door(true, false).await;
    let nothing = door.get_preview("person=ann").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND, "{}", nothing.text);
    door.offer_item().await;
    for number in 2..=30 {
        door.ground.offer_item(&format!("item:{number}"), "maker:1", &format!("Sun {number}")).await;
    }
    door.ground.house.settle().await.unwrap();
    let ends = door.ends().await;
    let said = door.get_preview("person=ann").await.json();
    assert_eq!((&said[0]["of"], said.as_array().unwrap().len()), (&"digest".into(), 1), "{said}");
    assert_eq!((door.ends().await, door.ground.outbox.len()), (ends, 0), "a look changes nothing");
    let frame = door.get("/preview/html?person=ann&plan=daily").await;
    let misspelt = door.get_preview("person=ann&plan=dayly").await;
    assert!(misspelt.text.contains("there is no plan `dayly`: did you mean `daily`?"), "{}", misspelt.text);

    let released = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily","person":"ann"}"#).await;
    assert_eq!(released.status, StatusCode::OK);
    door.ground.house.settle().await.unwrap();
    let sent = door.ground.outbox.list_newest(9);
    let sent = door.ground.outbox.read_mail(&sent[0].message_id).await.unwrap().unwrap();
    assert_eq!(said[0]["headline"].as_str(), sent.header("subject"));
    assert_eq!(said[0]["text"].as_str().map(str::trim_end), Some(sent.text.trim_end()));
    assert_eq!(said[0]["html"].as_str().map(str::trim_end), Some(sent.html.trim_end()));
    assert!(frame.text.starts_with(sent.html.trim_end()), "the page has the same: {}", frame.text);
    // What had no room waits for the next one.
    let rest = door.get_preview("person=ann&plan=daily").await.json();
    assert_ne!(rest[0]["subjects"], said[0]["subjects"], "{rest}");
}

#[tokio::test]
async fn without_anything_that_waits_it_is_made_up() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    let said = door.get_preview("kind=item_offered&person=ann").await.json();
    assert_eq!(said[0]["of"], "example");
    assert!(said[0]["text"].as_str().unwrap().contains("- New: Example title"), "{said}");
    // What is there comes as if it came now, and what speaks against it is said.
    door.ground.offer_item("item:2", "maker:2", "Tides").await;
    let said = door.get_preview("kind=item_offered&person=ann&subject=item:2").await.json();
    assert_eq!((&said[0]["of"], &said[0]["headline"]), (&"subject".into(), &"Tides".into()));
    assert_eq!(said[0]["remarks"][0], "item:2 would be left out now: unfollowed");
    door.ground.offer_item("item:3", "maker:1", "Moon").await;
    let said = door.get_preview("kind=item_offered&person=ann&subject=item:3").await.json();
    assert_eq!(said[0]["remarks"], json!([]), "{said}");
}

#[tokio::test]
async fn what_cannot_be_shown_is_said_with_what_was_meant() {
    let door = door(true, false).await;
    door.offer_item().await;
    let check = async |query: &str, status: StatusCode, says: &str| {
        let answer = door.get_preview(query).await;
        assert_eq!((answer.status, answer.text.contains(says)), (status, true), "{query}: {}", answer.text);
    };
    let (bad, absent) = (StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND);
    check("kind=item_ofered&person=ann", bad, "there is no kind `item_ofered`: did you mean `item_offered`?")
        .await;
    check("kind=nonsense&person=ann", bad, "there is no kind `nonsense`: use `item_offered`").await;
    check("kind=item_offered&person=an", absent, "nothing is known of a person `an`: did you mean `ann`?")
        .await;
    check("kind=item_offered&person=zoe", absent, "nothing is known of a person `zoe`").await;
    check("kind=item_offered&person=", bad, "").await;
    check("kind=item_offered", bad, "person").await;
    check("kind=item_offered&person=ann&sort=x", bad, "sort").await;
    let of_ann = "kind=item_offered&person=ann";
    check(&format!("{of_ann}&plan=dayly"), bad, "not told under `dayly`: did you mean `daily`?").await;
    check(&format!("{of_ann}&channel=push"), bad, "has no plan on push in `daily`").await;
    check(&format!("{of_ann}&channel=mail"), bad, "there is no channel `mail`: did you mean `email`?").await;
    check(&format!("{of_ann}&subject=maker:1"), bad, "tells of a subject of type `item`, not of maker:1")
        .await;
    check(&format!("{of_ann}&subject=itm:1"), bad, "did you mean `item`?").await;
    check(&format!("{of_ann}&subject=item"), bad, "").await;
    check(&format!("{of_ann}&subject=item:9"), absent, "nothing is known of item:9").await;
}

#[tokio::test]
async fn the_page_shows_the_mail_in_its_sandbox() {
    let door = door(true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "<script>alert(1)</script>").await;
    door.ground.house.settle().await.unwrap();
    let query = "kind=item_offered&person=ann";
    for show in ["phone", "desk", "text", "headers", "nonsense"] {
        let page = door.get(&format!("/preview?{query}&show={show}")).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(!page.text.contains("<script") && page.text.contains("&lt;script"), "{show}: {}", page.text);
        assert!(!page.text.contains("ann@example.org"), "an address is masked");
        let frames = page.text.matches("<iframe class=\"mail").count();
        assert_eq!(frames, if matches!(show, "text" | "headers") { 0 } else { 2 }, "{show}");
        assert_eq!(frames, page.text.matches(" sandbox src=\"/preview/html?").count(), "{show}");
    }
    let html = door.get(&format!("/preview/html?{query}&plan=daily")).await;
    assert_eq!(html.status, StatusCode::OK);
    assert!(html.policy().starts_with("sandbox; default-src 'none'"), "{}", html.policy());
    assert!(html.text.contains("New:") && !html.text.contains("<script"), "{}", html.text);
    for path in [
        "/preview/html",
        "/preview/html?kind=nonsense&person=ann",
        "/preview/html?kind=item_offered&person=zoe",
    ] {
        assert_eq!(door.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let misspelt = door.get("/preview?kind=item_ofered&person=%3Cscript%3E").await.text;
    assert!(misspelt.contains("did you mean `item_offered`") && !misspelt.contains("<script"), "{misspelt}");
    // Whose page links here.
    let person = door.get("/person?id=ann").await.text;
    assert!(person.contains("/preview?kind=item_offered&amp;person=ann&amp;subject=item%3A1"), "{person}");
}
