//! The link of a push that says that it was read: by whoever taps it, and for nothing else.

use model::{Channel, Day, ReadyId};
use serde_json::{Value, json};
use wire::mark_right::{MarkRight, read_mark, sign_mark};

use super::*;

/// Ann with a phone, and the items of a maker, each in a push of its own.
async fn door_with_phone() -> HouseDoor {
    let door = door_of(badge_catalogue(), true, true).await;
    door.ground.add_person("ann", "maker:1").await;
    let device = json!({"id": "d", "source": "t", "type": "tidings.device",
        "data": {"person": "ann", "device": "phone", "platform": "ios", "token": "secret"}});
    let told = door.ask_admin(Method::POST, "/admin/v1/facts", &device.to_string()).await;
    assert_eq!(told.status, StatusCode::ACCEPTED, "{}", told.text);
    door.ground.house.settle().await.unwrap();
    door
}

impl HouseDoor {
    async fn push_item(&self, item: usize) -> String {
        let list = || self.ground.outbox.list_newest(100).into_iter().map(|one| one.message_id);
        let before: std::collections::BTreeSet<String> = list().collect();
        self.ground.offer_item(&format!("item:{item}"), "maker:1", &format!("Item {item}")).await;
        self.ground.house.settle().await.unwrap();
        let new: Vec<String> = list().filter(|id| !before.contains(id)).collect();
        let [new] = &new[..] else { panic!("not one message: {new:?}") };
        let told = self.ground.outbox.read_mail(new).await.unwrap().unwrap();
        let raw = String::from_utf8(told.raw).unwrap().replace("=\r\n", "").replace("=3D", "=");
        let (_, link) =
            raw.split_once("\"read\": \"http://127.0.0.1:7280").unwrap_or_else(|| panic!("{raw}"));
        assert!(raw.contains("\"settings\": \"http://127.0.0.1:7280/u/"), "{raw}");
        link.split('"').next().unwrap().to_owned()
    }

    /// What each entry of Ann's feed says, and whether it is unread.
    async fn list_unread(&self) -> Vec<(String, bool)> {
        let key = format!("Bearer {API_KEY}");
        let path = "/v1/people/ann/feed?bundle_by=none";
        let answer = self.ask(Method::GET, path, &[("authorization", &key)], "").await;
        let page: Value = answer.json();
        let item = |one: &Value| (one["says"].as_str().unwrap().to_owned(), one["unread"] == json!(true));
        page["bundles"].as_array().unwrap_or_else(|| panic!("{page}")).iter().map(item).collect()
    }
}

#[tokio::test]
async fn a_push_says_that_it_was_read_and_nothing_else() {
    let door = door_with_phone().await;
    let (first, second) = (door.push_item(1).await, door.push_item(2).await);
    let state = |first: bool, second: bool| {
        vec![("New: Item 2".to_owned(), second), ("New: Item 1".to_owned(), first)]
    };
    // Who looks where it leads changes nothing.
    for method in [Method::GET, Method::HEAD] {
        assert_eq!(door.ask(method, &first, &[], "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    }
    assert_eq!(door.list_unread().await, state(true, true));
    for _ in 0..2 {
        let answer = door.ask(Method::POST, &first, &[("origin", "https://elsewhere.example")], "").await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::NO_CONTENT, ""));
        assert_eq!(door.list_unread().await, state(false, true));
    }
    door.ask(Method::POST, &second, &[], "").await;
    assert_eq!(door.list_unread().await, state(false, false));
    let long = "x".repeat(2_000);
    assert_eq!(
        door.ask(Method::POST, &first, &[], &long).await.status,
        StatusCode::NO_CONTENT,
        "no body is read"
    );
}

#[tokio::test]
async fn a_right_is_for_one_message_of_one_person() {
    let door = door_with_phone().await;
    let link = door.push_item(1).await;
    let secret = LinkSecret::new(SECRET);
    let right = read_mark(link.rsplit('/').next().unwrap(), &secret).unwrap();
    assert_eq!((right.person.as_str(), right.channel), ("ann", Channel::Push));
    let check = async |text: &str, expected: StatusCode| {
        let answer = door.ask(Method::POST, &format!("/u/r/{text}"), &[], "").await;
        assert_eq!(answer.status, expected, "{text}: {}", answer.text);
        assert_eq!(door.list_unread().await, [("New: Item 1".to_owned(), true)], "{text}");
    };
    // Signed, and of something else: nothing is found, and nothing is said of that.
    for other in [
        MarkRight { person: Person::new("eve").unwrap(), ..right.clone() },
        MarkRight { tenant: Tenant::new("other").unwrap(), ..right.clone() },
        MarkRight { ready: ReadyId([7; 16]), ..right.clone() },
        MarkRight { channel: Channel::Email, ..right.clone() },
        MarkRight { first: Day(0), more: u8::MAX, ..right.clone() },
    ] {
        check(&sign_mark(&other, &secret), StatusCode::NO_CONTENT).await;
    }
    check(&sign_mark(&right, &LinkSecret::new([1; 32])), StatusCode::NOT_FOUND).await;
    for text in ["x", "%00", &link[5..link.len() - 1]] {
        check(text, StatusCode::NOT_FOUND).await;
    }
}
