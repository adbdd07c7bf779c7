//! What is open for a person, and what one does to it: by the command line and on the page.

use axum::http::{Method, StatusCode, header};
use model::{
    Day, Person, PlanName, Tenant,
    person::{HoldCause, PersonRecord, Window},
};
use serde_json::{Value, json};
use topic::{NewRecord, Topics as _};
use wire::topics;

use super::{DoorAnswer, HouseDoor, door};

impl HouseDoor {
    async fn windows(&self, person: &str) -> Value {
        let answer = self.ask_admin(Method::GET, &format!("/admin/windows?person={person}"), "").await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    }

    async fn post_act(&self, body: &Value) -> DoorAnswer {
        self.ask_admin(Method::POST, "/admin/windows", &body.to_string()).await
    }

    /// What became of the entries of a person, in words.
    async fn fates(&self, person: &str) -> Vec<String> {
        let days = self.ask_admin(Method::GET, &format!("/admin/days?person={person}"), "").await.json();
        let days = days["days"].as_array().unwrap().iter();
        let entries = days.flat_map(|day| day["entries"].as_array().unwrap());
        entries.map(|entry| entry["fates"][0]["fate"].as_str().unwrap().to_owned()).collect()
    }

    /// Writes a person's windows, as their owner would; nobody closes them.
    async fn write_windows(&self, person: &str, windows: Vec<Window>) {
        let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(person).unwrap());
        let record = PersonRecord { windows, ..PersonRecord::default() };
        let partitions = self.ground.topics.bounds(topics::WINDOWS).await.unwrap().len();
        let record = NewRecord {
            topic: topics::WINDOWS.into(),
            partition: model::partition::PartitionCount::from_topic_count(partitions)
                .of_person(&tenant, &person),
            key: wire::key::person_key(&tenant, &person),
            value: Some(wire::window::encode(&tenant, &person, &record).unwrap()),
            headers: Vec::new(),
        };
        self.ground.topics.append(vec![record]).await.unwrap();
    }

    fn window(&self, key: &str, opened: i64) -> Window {
        let now = self.app.now();
        let opened = Window::new(PlanName::new("daily").unwrap(), 0, key.into(), now.plus(opened));
        Window { due: now.plus(3_600_000), days: [Day::from_instant(now)].into(), ..opened }
    }
}

#[tokio::test]
async fn what_is_open_is_listed_with_its_reason() {
    let door = door(true, false).await;
    assert_eq!(door.windows("ann").await, json!({"person": "ann", "windows": []}));
    door.offer_item().await;
    let list = door.windows("ann").await;
    let [window] = list["windows"].as_array().unwrap().as_slice() else { panic!("{list}") };
    for (field, expected) in [
        ("plan", json!("daily")),
        ("key", json!("")),
        ("why", json!("not due yet")),
        ("held", json!(null)),
        ("act", json!(null)),
        ("heard", json!(1)),
        ("days", json!([Day::from_instant(door.app.now()).to_string()])),
        ("follows", json!(null)),
    ] {
        assert_eq!(window[field], expected, "{field}: {window}");
    }
    assert!(window["due"].as_str().unwrap().ends_with("T09:00:00.000Z"), "{window}");
    let held = Window { held: Some(HoldCause::Quiet), ..door.window("post:1", 1) };
    door.write_windows("bob", vec![held]).await;
    let list = door.windows("bob").await;
    let window = &list["windows"][0];
    assert_eq!((&window["held"], &window["key"]), (&json!("quiet"), &json!("post:1")), "{window}");
    assert_eq!(window["why"], "held, by quiet hours or a pause");
    let page = door.get("/person?id=bob").await.text;
    assert!(page.contains("held, by quiet hours or a pause") && page.contains("post:1"), "{page}");
}

#[tokio::test]
async fn one_window_is_released() {
    let door = door(true, false).await;
    door.offer_item().await;
    let opened = door.windows("ann").await["windows"][0]["opened"].clone();
    let answer = door.post_act(&json!({"person": "ann", "plan": "daily", "key": "", "act": "release"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.json(), json!({"act": "release", "plan": "daily", "key": "", "opened": opened}));
    door.ground.house.settle().await.unwrap();
    assert_eq!((door.ground.outbox.len(), door.windows("ann").await["windows"].clone()), (1, json!([])));
    assert_eq!(door.fates("ann").await, ["told"]);
}

#[tokio::test]
async fn what_is_cancelled_ends_with_a_fate_and_only_what_was_open() {
    let door = door(true, false).await;
    door.offer_item().await;
    let opened = door.windows("ann").await["windows"][0]["opened"].clone();
    let cancel = json!({"person": "ann", "plan": "daily", "opened": opened, "act": "cancel"});
    assert_eq!(door.post_act(&cancel).await.status, StatusCode::OK);
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.fates("ann").await, ["cancelled by hand"]);
    let told = door.ask_admin(Method::GET, "/admin/explain?person=ann&event=item:1", "").await.json();
    assert_eq!(told[0]["verdict"], "cancelled by hand");
    assert!(told[0]["steps"].to_string().contains("an operator cancelled its window"), "{told}");
    // What comes then has a window of its own, which the same act does not mean.
    door.ground.offer_item("item:2", "maker:1", "Sun").await;
    door.ground.house.settle().await.unwrap();
    let again = door.post_act(&cancel).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND, "{}", again.text);
    assert!(again.text.contains("has closed meanwhile"), "{}", again.text);
    assert_eq!(door.form("/clock", "to=due").await.status, StatusCode::SEE_OTHER);
    assert_eq!(door.ground.outbox.len(), 1);
    let mut fates = door.fates("ann").await;
    fates.sort_unstable();
    assert_eq!(fates, ["cancelled by hand", "told"]);
}

#[tokio::test]
async fn slips_are_refused_with_what_can_be_done() {
    let door = door(true, false).await;
    door.offer_item().await;
    let hostile = "</td><script>alert(1)</script>\u{202e}`{{7*7}}";
    let released = Window { act: Some(model::person::Act::Release), ..door.window("done", 3) };
    door.write_windows("bob", vec![door.window(hostile, 1), door.window("b", 2), released]).await;
    let check = async |body: Value, status: u16, says: &str| {
        let answer = door.post_act(&body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.contains(says)),
            (status, true),
            "{body}: {}",
            answer.text
        );
        let error = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(!error.is_empty() && !error.ends_with('.'), "{error}");
    };
    let of = |person: &str, plan: &str| json!({"person": person, "plan": plan, "act": "cancel"});
    let with = |mut body: Value, field: &str, value: Value| {
        body[field] = value;
        body
    };
    check(of("ann", "dayly"), 400, "did you mean `daily`").await;
    check(of("", "daily"), 400, "").await;
    check(of(&"x".repeat(200), "daily"), 400, "").await;
    check(of("zoe", "daily"), 404, "zoe has no open window of `daily`").await;
    check(with(of("ann", "daily"), "key", json!("x")), 404, "with the key `x`").await;
    check(with(of("ann", "daily"), "key", json!(hostile)), 404, "with the key").await;
    check(with(of("ann", "daily"), "opened", json!("soon")), 400, "`soon` is not an instant").await;
    check(with(of("ann", "daily"), "opened", json!("2001-01-01T00:00:00Z")), 404, "closed meanwhile").await;
    check(with(of("ann", "daily"), "act", json!("delete")), 422, "release").await;
    check(with(of("ann", "daily"), "why", json!("x")), 422, "there is no field `why`").await;
    check(of("bob", "daily"), 409, "3 open windows of `daily`: name one by its key").await;
    let done = with(of("bob", "daily"), "key", json!("done"));
    check(with(done, "act", json!("release")), 409, "was released already").await;
    let broken = door.ask_admin(Method::POST, "/admin/windows", "{").await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    assert!(!broken.json()["detail"].as_str().unwrap().is_empty());
    let nobody = door.ask_admin(Method::GET, "/admin/windows?person=%00", "").await;
    assert_eq!(nobody.status, StatusCode::BAD_REQUEST);
    // Nothing of all that was done, and a key that means harm is text and can be named.
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.fates("ann").await, ["waiting"]);
    let page = door.get("/person?id=bob").await.text;
    assert!(!page.contains("<script") && page.contains("&lt;script"), "{page}");
    let named = with(of("bob", "daily"), "key", json!(hostile));
    assert_eq!(door.post_act(&named).await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_page_has_two_buttons() {
    let door = door(true, false).await;
    door.offer_item().await;
    let page = door.get("/person?id=ann").await.text;
    for part in ["not due yet", "value=\"release\"", "value=\"cancel\"", "as far as announced"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let opened = door.windows("ann").await["windows"][0]["opened"].as_str().unwrap().to_owned();
    let fields = |act: &str| format!("id=ann&plan=daily&key=&opened={opened}&act={act}");
    let unsigned = door.post("/person/windows", &format!("csrf=wrong&{}", fields("cancel"))).await;
    assert_eq!(unsigned.status, StatusCode::FORBIDDEN);
    assert_eq!(door.form("/person/windows", &fields("delete")).await.status, StatusCode::FORBIDDEN);
    assert_eq!(door.fates("ann").await, ["waiting"]);
    let asks = door.form("/person/windows", &fields("cancel")).await;
    let asks = door.get(asks.headers["location"].to_str().unwrap()).await;
    assert!(
        asks.text.contains("Cancel this window?") && asks.text.contains("cannot be undone"),
        "{}",
        asks.text
    );
    assert!(door.get("/person?id=ann").await.text.contains("value=\"cancel\""), "nothing has happened yet");
    let pressed = door.form("/person/windows", &format!("{}&sure=true", fields("cancel"))).await;
    assert_eq!(pressed.status, StatusCode::SEE_OTHER, "{}", pressed.text);
    let back = pressed.headers[header::LOCATION].to_str().unwrap().to_owned();
    assert_eq!(back, "/person?id=ann&done=cancelled");
    let page = door.get(&back).await.text;
    assert!(page.contains("Cancelled: ") && page.contains("cancelled by hand"), "{page}");
    assert!(!page.contains("value=\"cancel\""), "{page}");
    // The same button of a page that was not loaded anew.
    let late = door.form("/person/windows", &fields("release")).await;
    assert_eq!(late.status, StatusCode::NOT_FOUND);
    assert!(late.text.contains("has no open window of"), "{}", late.text);
    assert_eq!(door.ground.outbox.len(), 0);
}
