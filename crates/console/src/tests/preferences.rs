//! Preferences as programs see and change them.

use serde_json::{Value, json};

use super::{entries::door_with_logins, *};

const PATH: &str = "/v1/people/ann/preferences";

impl HouseDoor {
    pub async fn change_preferences(&self, path: &str, lines: &[(&str, &str)], change: &Value) -> DoorAnswer {
        let json = [("content-type", "application/json")];
        self.ask(Method::PATCH, path, &[lines, &json].concat(), &change.to_string()).await
    }
}

fn json(answer: &DoorAnswer) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

#[tokio::test]
async fn a_change_is_told_to_the_whole_house() {
    let door = door_of(choices_catalogue(), true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    door.ground.house.settle().await.unwrap();
    let first = door.get(PATH).await;
    let sheet = json(&first);
    assert_eq!((&sheet["person"], &sheet["zone"]), (&json!("ann"), &json!("UTC")));
    let topic = &sheet["topics"][0];
    assert_eq!((&topic["kind"], &topic["channels"][0]["choice"]), (&json!("item_offered"), &json!("on")));
    let titles: Vec<_> =
        sheet["channels"][0]["plans"].as_array().unwrap().iter().map(|plan| &plan["title"]).collect();
    assert_eq!(titles, ["daily", "Weekly mail"]);
    let told = |sheet: &Value| {
        let week = sheet["last_week"].as_array().unwrap().iter();
        week.map(|one| format!("{} {}", one["plan"].as_str().unwrap(), one["messages"])).collect::<Vec<_>>()
    };
    assert_eq!(told(&sheet), ["daily 1", "ping 1"]);
    // Whoever has it is not sent it again.
    let tag = first.headers[header::ETAG].to_str().unwrap().to_owned();
    let again = door.ask(Method::GET, PATH, &[("if-none-match", &tag)], "").await;
    assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
    let change = json!({
        "channels": {"email": {"plan": "weekly"}},
        "choices": [{"kind": "item_offered", "channel": "push", "choice": "off"}, {"thread": "maker:2", "choice": "off"}],
    });
    let shown = json(&door.change_preferences(&format!("{PATH}?preview=true"), &[], &change).await);
    assert_eq!(told(&shown), ["weekly 1"]);
    assert_eq!(json(&door.get(PATH).await), sheet, "nothing was stated");
    let changed = json(&door.change_preferences(PATH, &[], &change).await);
    assert_eq!(changed, shown);
    assert_eq!(json(&door.get(PATH).await), changed);
    assert_eq!(
        changed["mutes"],
        json!([{"about": "thread", "id": "maker:2", "choices": [{"channel": null, "choice": "off"}]}])
    );
    let later = door.ask(Method::GET, PATH, &[("if-none-match", &tag)], "").await;
    assert_eq!(later.status, StatusCode::OK);
    // The rooms have heard of it: the next mail is the weekly one, and no push comes.
    door.ground.offer_item("item:2", "maker:1", "Sun").await;
    door.form("/clock", "to=week").await;
    door.ground.house.settle().await.unwrap();
    let mails = door.ground.outbox.list_newest(9);
    assert_eq!(mails.len(), 1);
    let mail = door.ground.outbox.read_mail(&mails[0].message_id).await.unwrap().unwrap();
    assert_eq!(mail.header("List-Id"), Some("weekly.shop.shop.example"));
}

#[tokio::test]
async fn what_cannot_be_chosen_is_refused_with_its_place() {
    let door = door_of(choices_catalogue(), true, false).await;
    let check = async |path: &str, change: Value, status: u16, at: &str, says: &str| {
        let answer = door.change_preferences(path, &[], &change).await;
        assert_eq!(answer.status.as_u16(), status, "{change}: {}", answer.text);
        let problem: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(problem.get("at").and_then(Value::as_str).unwrap_or_default(), at, "{change}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{change}: {problem}");
    };
    check(PATH, json!({"hour": "soon"}), 422, "/hour", "full hour").await;
    check(PATH, json!({"channels": {"email": {"plan": "wekly"}}}), 422, "/channels/email/plan", "weekly")
        .await;
    check(
        PATH,
        json!({"choices": [{"kind": "nothing", "choice": "off"}]}),
        422,
        "/choices/0/kind",
        "no kind",
    )
    .await;
    check(
        PATH,
        json!({"cadence": "weekly"}),
        422,
        "/cadence",
        "there is no field `cadence`, only `language`",
    )
    .await;
    check(PATH, json!({"hour": 18}), 422, "/hour", "a text is expected, not the number 18").await;
    check(PATH, json!({"choices": [{"choise": "off"}]}), 422, "/choices/0/choise", "no field `choise`").await;
    check(PATH, json!({"quiet_until": "2020-01-01"}), 422, "/quiet_until", "a later date is expected").await;
    check(PATH, json!([]), 422, "", "an object is expected, not a list").await;
    check(&format!("{PATH}?preview=maybe"), json!({}), 400, "", "true or false").await;
    check(&format!("{PATH}?foo=1"), json!({}), 400, "", "no parameter").await;
    check("/v1/people/%00/preferences", json!({}), 400, "", "control character").await;
    let long = json!({"language": "x".repeat(70_000)});
    check(PATH, long, 413, "", "the body has more than 65536 bytes").await;
    // Nothing of a change is done where some of it is wrong.
    let half = json!({"hour": "18:00", "choices": [{"kind": "nothing", "choice": "off"}]});
    check(PATH, half, 422, "/choices/0/kind", "no kind").await;
    assert_eq!(json(&door.get(PATH).await)["hour"], Value::Null);
}

#[tokio::test]
async fn a_person_changes_what_is_theirs_and_of_nobody_else() {
    for is_locked in [true, false] {
        let (door, [own, _]) = door_with_logins(is_locked).await;
        let bearer = format!("Bearer {}", own.sign("ann", door.app.now()));
        let token = ("authorization", &*bearer);
        let change = json!({"hour": "18:00"});
        let mut said = Vec::new();
        for person in ["eve", "nobody", "Ann", "a", "annn"] {
            let path = format!("/v1/people/{person}/preferences");
            let read = door.ask(Method::GET, &path, &[token], "").await;
            let changed = door.change_preferences(&path, &[token], &change).await;
            let shown = door.change_preferences(&format!("{path}?preview=true"), &[token], &change).await;
            for answer in [read, changed, shown] {
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}: {}", answer.text);
                said.push(answer.text);
            }
        }
        said.dedup();
        assert_eq!(said.len(), 1, "it says nothing of who there is: {said:?}");
        assert_eq!(json(&door.change_preferences(PATH, &[token], &change).await)["hour"], "18:00");
        assert_eq!(json(&door.ask(Method::GET, PATH, &[token], "").await)["hour"], "18:00");
        let eve = format!("Bearer {}", own.sign("eve", door.app.now()));
        let path = "/v1/people/eve/preferences";
        let other = door.ask(Method::GET, path, &[("authorization", &*eve)], "").await;
        assert_eq!(json(&other)["hour"], Value::Null);
        if is_locked {
            assert_eq!(door.get(PATH).await.status, StatusCode::UNAUTHORIZED);
            assert_eq!(door.change_preferences(PATH, &[], &change).await.status, StatusCode::UNAUTHORIZED);
        }
    }
}

#[tokio::test]
async fn a_person_ends_their_own_subscription_and_nobody_elses() {
    let (door, [own, _]) = door_with_logins(true).await;
    let now = door.app.now();
    let [ann, eve] = ["ann", "eve"].map(|person| format!("Bearer {}", own.sign(person, now)));
    let of_eve = "/v1/people/eve/preferences";
    let word = |choice: &str| json!({"choices": [{"subject": "item:1", "choice": choice}]});
    let subscribed =
        json!([{"about": "subject", "id": "item:1", "choices": [{"channel": null, "choice": "on"}]}]);
    for (path, bearer) in [(PATH, &ann), (of_eve, &eve)] {
        let token = ("authorization", bearer.as_str());
        let changed = json(&door.change_preferences(path, &[token], &word("on")).await);
        assert_eq!((&changed["subscriptions"], &changed["mutes"]), (&subscribed, &json!([])));
    }
    let token = ("authorization", ann.as_str());
    let other = door.change_preferences(of_eve, &[token], &word("default")).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN, "{}", other.text);
    let ended = json(&door.change_preferences(PATH, &[token], &word("default")).await);
    assert_eq!((&ended["subscriptions"], &ended["mutes"]), (&json!([]), &json!([])));
    let of_eve = door.ask(Method::GET, of_eve, &[("authorization", eve.as_str())], "").await;
    assert_eq!(json(&of_eve)["subscriptions"], subscribed);
    // What ended comes back by the same way.
    let again = json(&door.change_preferences(PATH, &[token], &word("on")).await);
    assert_eq!(again["subscriptions"], subscribed);
}

#[tokio::test]
async fn a_key_changes_if_it_is_for_facts() {
    for (scope, reads, changes) in
        [(KeyScope::Read, 200, 403), (KeyScope::Facts, 403, 200), (KeyScope::Changes, 403, 403)]
    {
        let key = ApiKeyConfig {
            tenant: Tenant::new("main").unwrap(),
            hash: KeyHash::from_key(API_KEY),
            scopes: [scope].into(),
        };
        let keys = ApiKeyList::new(list_api_keys(&[key], true));
        let door = door_with((test_catalogue(), true, true), |app| HttpApp { keys, ..app }).await;
        let bearer = format!("Bearer {API_KEY}");
        let line = ("authorization", &*bearer);
        assert_eq!(door.ask(Method::GET, PATH, &[line], "").await.status.as_u16(), reads, "{scope:?}");
        let changed = door.change_preferences(PATH, &[line], &json!({"hour": "18:00"})).await;
        assert_eq!(changed.status.as_u16(), changes, "{scope:?}: {}", changed.text);
    }
}
