//! The page of all preferences behind the link of a mail.

use axum::http::{Method, StatusCode};
use model::Day;
use serde_json::{Value, json};

use super::{HouseDoor, bundles_catalogue, choices_catalogue, door_of, unsubscribe::link_of};

impl HouseDoor {
    async fn sheet(&self) -> Value {
        self.get("/v1/people/ann/preferences").await.json()
    }

    /// Has a service state choices of somebody, each with the fields of its fact.
    async fn state_choices(&self, person: &str, choices: &[Value]) {
        let fact = |(number, choice): (usize, &Value)| {
            let mut data = choice.clone();
            data["person"] = json!(person);
            json!({"id": format!("{person}-{number}"), "source": "t", "type": "tidings.preference", "version": number + 1, "data": data})
        };
        let facts: Vec<Value> = choices.iter().enumerate().map(fact).collect();
        let lines = [("content-type", "application/json")];
        let answer = self.ask(Method::POST, "/v1/facts", &lines, &json!(facts).to_string()).await;
        assert!(answer.text.contains("\"rejected\":[]"), "{}", answer.text);
    }
}

/// The proof that a page offers to take something back.
fn proof_of(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"proof\" value=\"").unwrap_or_else(|| panic!("{page}"));
    rest.split('"').next().unwrap_or_default()
}

async fn open_page() -> (HouseDoor, String) {
    let door = door_of(choices_catalogue(), true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    door.ground.house.settle().await.unwrap();
    let link = link_of("main", "ann", Some(Day::from_instant(door.app.now())));
    (door, format!("{link}/settings"))
}

/// What the page posts if somebody changes nothing.
const UNCHANGED: &str = "c%3Aemail%2Fkind%20item_offered=on&c%3Apush%2Fkind%20item_offered=on&o%3Aemail=on&o%3Apush=on\
    &p%3Aemail=&hour=&from=&until=";

#[tokio::test]
async fn a_reader_tries_choices_on_last_week_and_saves_them() {
    let (door, link) = open_page().await;
    let page = door.get(&link).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("What you get from Shop") && !page.text.contains("<script"), "{}", page.text);
    assert!(page.text.contains("<li><span>daily</span> <span>1 message</span></li>"), "{}", page.text);
    for usual in ["as usual (09:00)", "as usual (daily)"] {
        assert!(
            page.text.contains(&format!("<option value=\"\">{usual}</option>")),
            "{usual}: {}",
            page.text
        );
    }
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    // The page of the mail's link leads there.
    let first = door.get(link.strip_suffix("/settings").unwrap()).await;
    assert!(first.text.contains(link.strip_prefix("/u/").unwrap()), "{}", first.text);
    let before = door.sheet().await;
    let wanted = UNCHANGED
        .replace("push%2Fkind%20item_offered=on", "push%2Fkind%20item_offered=off")
        .replace("p%3Aemail=", "p%3Aemail=weekly")
        .replace("hour=&from=&until=", "hour=18%3A00&from=22%3A00&until=08%3A00");
    let later = Day::from_instant(door.app.now()).plus(20).to_string();
    let wanted = format!("{wanted}&pause={later}");
    let tried = door.press(&link, &format!("{wanted}&do=try")).await;
    assert!(tried.text.contains("Not saved yet"), "{}", tried.text);
    assert!(
        tried.text.contains("<li><span>Weekly mail</span> <span>1 message</span></li>"),
        "{}",
        tried.text
    );
    assert!(!tried.text.contains("<span>ping</span>"), "{}", tried.text);
    // What was tried is still in the form.
    assert!(tried.text.contains("<option value=\"weekly\" selected>"), "{}", tried.text);
    assert_eq!(door.sheet().await, before);
    let saved = door.press(&link, &format!("{wanted}&do=save")).await;
    assert!(saved.text.contains("<h1>Saved</h1>"), "{}", saved.text);
    let after = door.sheet().await;
    assert_eq!((&after["hour"], &after["quiet"]), (&json!("18:00"), &json!("22:00-08:00")));
    assert_eq!(after["quiet_until"], json!(later));
    let again = door.get(&link).await;
    let pause = format!("name=\"pause\" type=\"date\" value=\"{later}\"");
    assert!(again.text.contains(&pause), "{}", again.text);
    assert_eq!(after["channels"][0]["plan"], "weekly");
    let cells = after["topics"][0]["channels"].as_array().unwrap();
    let choices: Vec<_> = cells.iter().map(|cell| (&cell["choice"], &cell["chosen"])).collect();
    assert_eq!(choices, [(&json!("on"), &json!(false)), (&json!("off"), &json!(true))]);
    assert_eq!(door.sheet().await, after);
}

#[tokio::test]
async fn what_cannot_be_saved_is_said_below_its_field() {
    let (door, link) = open_page().await;
    let stored = UNCHANGED.replace("from=&until=", "from=22%3A30&until=08%3A00");
    assert!(door.press(&link, &format!("{stored}&do=save")).await.text.contains("<h1>Saved</h1>"));
    let before = door.sheet().await;
    let (half, equal) = ("Choose both hours, or no quiet hours at all.", "Choose two different hours.");
    let check = async |fields: &str, field: &str, says: &str, shows: &[&str]| {
        let form = UNCHANGED.replace("from=&until=", fields).replace("hour=&", "hour=18%3A00&");
        for button in ["save", "try"] {
            let page = door.press(&link, &format!("{form}&do={button}")).await;
            assert_eq!(page.status, StatusCode::OK, "{fields}: {}", page.text);
            assert!(page.text.contains("<h1>Not saved yet</h1>"), "{fields}: {}", page.text);
            let marked = format!("aria-invalid=\"true\" aria-describedby=\"{field}.problem\"");
            let problem = format!("<span class=\"problem\" id=\"{field}.problem\">{says}</span>");
            assert_eq!(page.text.matches("aria-invalid").count(), 1, "{fields}: {}", page.text);
            for shown in [&*marked, &*problem, "<option selected>18:00</option>"].iter().chain(shows) {
                assert!(page.text.contains(shown), "{fields}: {shown} in {}", page.text);
            }
        }
        // Nothing of it, not even what was right.
        assert_eq!(door.sheet().await, before, "{fields}");
    };
    check("from=21%3A00&until=", "until", half, &["<option selected>21:00</option>"]).await;
    check("from=&until=07%3A00", "from", half, &["<option selected>07:00</option>"]).await;
    check("from=22%3A30&until=", "until", half, &["<option selected>22:30</option>"]).await;
    check("from=22%3A00", "until", half, &["<option selected>22:00</option>"]).await;
    check("from=22%3A00&until=22%3A00", "until", equal, &["<option selected>22:00</option>"]).await;
    check("from=%3Cb%3E&until=", "until", half, &[]).await;
    let over = "This date is over. Choose a later date.";
    let typed = "name=\"pause\" type=\"date\" value=\"2020-01-01\"";
    check("from=22%3A30&until=08%3A00&pause=2020-01-01", "pause", over, &[typed]).await;
    check("from=&until=&pause=2020-01-01", "pause", over, &[typed]).await;
    let none = door.press(&link, &format!("{UNCHANGED}&do=save")).await;
    assert!(none.text.contains("<h1>Saved</h1>"), "{}", none.text);
    assert_eq!(door.sheet().await["quiet"], Value::Null);
}

/// A break that a service states may be over, and so is one that the person stated once.
#[tokio::test]
async fn a_break_that_is_over_is_not_shown_and_keeps_nobody_from_saving() {
    let (door, link) = open_page().await;
    let fact = json!({"id": "break", "source": "t", "type": "tidings.profile", "person": "ann", "quiet_until": "2020-01-01"});
    let lines = [("content-type", "application/json")];
    let answer = door.ask(Method::POST, "/v1/facts", &lines, &fact.to_string()).await;
    assert!(answer.text.contains("\"rejected\":[]"), "{}", answer.text);
    assert_eq!(door.sheet().await["quiet_until"], "2020-01-01");
    let page = door.get(&link).await.text;
    assert!(page.contains("name=\"pause\" type=\"date\" value=\"\""), "{page}");
    // A page that still shows it.
    let kept = door.press(&link, &format!("{UNCHANGED}&pause=2020-01-01&do=save")).await;
    assert!(kept.text.contains("<h1>Saved</h1>"), "{}", kept.text);
    assert_eq!(door.sheet().await["quiet_until"], "2020-01-01");
    door.press(&link, &format!("{UNCHANGED}&pause=&do=save")).await;
    assert_eq!(door.sheet().await["quiet_until"], Value::Null);
}

#[tokio::test]
async fn saving_what_holds_states_nothing_and_is_never_too_often() {
    let (door, link) = open_page().await;
    let before = door.sheet().await;
    for _ in 0..20 {
        assert_eq!(door.press(&link, &format!("{UNCHANGED}&do=save")).await.status, StatusCode::OK);
    }
    assert_eq!(door.sheet().await, before);
    let mut last = StatusCode::OK;
    for number in 0..12 {
        let hour = UNCHANGED.replace("hour=", &format!("hour={number:02}%3A00"));
        last = door.press(&link, &format!("{hour}&do=save")).await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(door.sheet().await["hour"], "09:00");
}

#[tokio::test]
async fn what_was_muted_is_shown_and_comes_again() {
    let (door, link) = open_page().await;
    let short = link.strip_suffix("/settings").unwrap();
    door.press(short, "do=less&less=maker:1").await;
    let page = door.get(&link).await.text;
    assert!(page.contains("value=\"thread maker:1\""), "{page}");
    let again = door.press(&link, "thing=thread+maker%3A1&do=again").await.text;
    assert!(again.contains("<h1>You hear of") && !again.contains("value=\"thread maker:1\""), "{again}");
    assert_eq!(door.sheet().await["mutes"], json!([]));
    // And it can be muted once more.
    assert!(again.contains("name=\"u:thread maker:1\" value=\"off\""), "{again}");
    door.press(&link, &format!("do=undo&u%3Athread%20maker%3A1=off&proof={}", proof_of(&again))).await;
    let choices = json!([{"channel": null, "choice": "off"}]);
    assert_eq!(
        door.sheet().await["mutes"],
        json!([{"about": "thread", "id": "maker:1", "choices": choices}])
    );
}

#[tokio::test]
async fn what_somebody_subscribed_to_is_listed_ended_and_taken_back() {
    let (door, link) = open_page().await;
    assert!(!door.get(&link).await.text.contains("You are subscribed to"));
    door.ground.add_person("bob", "maker:1").await;
    door.ground.offer_item("item:2", "maker:2", "<i>Sun & \"Sea\"</i>").await;
    let hostile = "item:\"><b>\u{202e}";
    let choices = [
        json!({"choice": "on", "subject": "item:2"}),
        json!({"choice": "on", "channel": "push", "kind": "item_offered", "subject": "item:2"}),
        json!({"choice": "off", "channel": "email", "kind": "item_offered", "subject": "item:2"}),
        json!({"choice": "on", "subject": hostile}),
        json!({"choice": "off", "actor": "<b>eve"}),
    ];
    door.state_choices("ann", &choices).await;
    door.state_choices("bob", &choices).await;
    let before = door.sheet().await;
    assert_eq!(
        (before["subscriptions"].as_array().unwrap().len(), &before["mutes"][0]["id"]),
        (3, &json!("<b>eve"))
    );
    let page = door.get(&link).await.text;
    assert!(
        page.contains("You are subscribed to") && !page.contains("<b>") && !page.contains("<i>"),
        "{page}"
    );
    // By its name, though no mail told of it: whoever subscribed is told.
    let name = "&lt;i&gt;Sun &amp; &quot;Sea&quot;&lt;&#x2f;i&gt;";
    assert!(page.contains(&format!("<bdi>{name}</bdi>")), "{page}");
    assert!(page.contains(&format!("<bdi>{name} (New) · Push</bdi>")), "{page}");
    assert!(page.contains("<bdi>item &quot;&gt;&lt;b&gt;"), "{page}");
    let ended = door.press(&link, "do=end&thing=about+item_offered+item%3A2").await.text;
    assert!(ended.contains("<h1>Unsubscribed: "), "{ended}");
    assert!(!ended.contains("value=\"about item_offered item:2\""), "{ended}");
    for (field, choice) in [("email", "off"), ("push", "on")] {
        let word = format!("name=\"u:{field}&#x2f;about item_offered item:2\" value=\"{choice}\"");
        assert!(ended.contains(&word), "{word}: {ended}");
    }
    assert_eq!(door.sheet().await["subscriptions"].as_array().unwrap().len(), 2);
    let of_bob = door.get("/v1/people/bob/preferences").await.json();
    assert_eq!(of_bob["subscriptions"], before["subscriptions"], "it is Ann's link");
    // Again, and there is nothing to undo.
    let twice = door.press(&link, "do=end&thing=about+item_offered+item%3A2").await.text;
    assert!(twice.contains("<h1>Saved</h1>") && !twice.contains("value=\"undo\""), "{twice}");
    let undo =
        "do=undo&u%3Aemail%2Fabout+item_offered+item%3A2=off&u%3Apush%2Fabout+item_offered+item%3A2=on";
    let undo = format!("{undo}&proof={}", proof_of(&ended));
    for _ in 0..2 {
        let undone = door.press(&link, &undo).await;
        assert_eq!(undone.status, StatusCode::OK, "{}", undone.text);
        let after = door.sheet().await;
        let mut things = after["subscriptions"].as_array().unwrap().clone();
        things.sort_by_key(Value::to_string);
        let mut expected = before["subscriptions"].as_array().unwrap().clone();
        expected.sort_by_key(Value::to_string);
        assert_eq!(things, expected);
        // What was said last comes first.
        assert_eq!(after["subscriptions"][0]["about"], "about");
    }
}

#[tokio::test]
async fn what_has_no_title_is_called_by_its_bare_name() {
    let door = door_of(bundles_catalogue(), true, false).await;
    door.ground.add_person("ann", "maker:1").await;
    let choices = [
        json!({"choice": "on", "kind": "item_noted", "subject": "item:never"}),
        json!({"choice": "off", "subject": "maker:7"}),
    ];
    door.state_choices("ann", &choices).await;
    let link = link_of("main", "ann", Some(Day::from_instant(door.app.now())));
    let page = door.get(&format!("{link}/settings")).await.text;
    for has in ["<bdi>item never · item noted</bdi>", "<bdi>maker 7</bdi>"] {
        assert!(page.contains(has), "{has} in {page}");
    }
}

#[tokio::test]
async fn a_link_subscribes_to_nothing_new() {
    let (door, link) = open_page().await;
    let choices =
        [json!({"choice": "on", "subject": "item:2"}), json!({"choice": "off", "subject": "item:3"})];
    door.state_choices("ann", &choices).await;
    // Muted by the link, and heard of again: that much the page offers to take back, and for as long as nothing else is said.
    let short = link.strip_suffix("/settings").unwrap();
    door.press(short, "do=less&less=item:9").await;
    let muted = door.sheet().await["mutes"][0]["about"].as_str().unwrap().to_owned();
    let again = door.press(&link, &format!("thing={muted}+item%3A9&do=again")).await.text;
    let (field, proof) = (format!("u%3A{muted}%20item%3A9"), proof_of(&again));
    let before = door.sheet().await;
    for body in [
        // Never said, said of another channel alone, and said otherwise since.
        "do=undo&u%3Asubject%20item%3A8=on".to_owned(),
        "do=undo&u%3Apush%2Fsubject%20item%3A2=on".to_owned(),
        "do=undo&u%3Asubject%20item%3A2=off".to_owned(),
        "do=undo&u%3Asubject%20item%3A3=on".to_owned(),
        // Not what was offered, and without the proof of it, or with a part of it.
        format!("do=undo&{field}=on&proof={proof}"),
        format!("do=undo&{field}=off"),
        format!("do=undo&{field}=off&proof={}", &proof[..4]),
    ] {
        assert_eq!(door.press(&link, &body).await.status, StatusCode::BAD_REQUEST, "{body}");
    }
    assert_eq!(door.sheet().await, before);
    let undo = format!("do=undo&{field}=off&proof={proof}");
    assert_eq!(door.press(&link, &undo).await.status, StatusCode::OK);
    door.press(&link, &format!("thing={muted}+item%3A9&do=again")).await;
    assert_eq!(door.press(&link, &undo).await.status, StatusCode::BAD_REQUEST, "it was said anew since");
}

#[tokio::test]
async fn no_end_is_too_often_and_what_is_not_shown_is_counted() {
    let (door, link) = open_page().await;
    let choice = |number: usize| json!({"choice": "on", "subject": format!("item:{}", 100 + number)});
    let choices: Vec<Value> = (0..112).map(choice).collect();
    door.state_choices("ann", &choices).await;
    let page = door.get(&link).await.text;
    assert_eq!(page.matches("value=\"end\"").count(), 100);
    assert!(page.contains("Not shown here: 12"), "{page}");
    // The newest is there, and the oldest is not.
    assert!(
        page.contains("value=\"subject item:211\"") && !page.contains("value=\"subject item:100\""),
        "{page}"
    );
    let mut proofs = Vec::new();
    for number in 0..12 {
        let ended = door.press(&link, &format!("do=end&thing=subject+item%3A{}", 100 + number)).await;
        assert_eq!(ended.status, StatusCode::OK, "{number}: {}", ended.text);
        proofs.push(proof_of(&ended.text).to_owned());
    }
    let page = door.get(&link).await.text;
    assert!(page.matches("value=\"end\"").count() == 100 && !page.contains("Not shown here"), "{page}");
    let mut last = StatusCode::OK;
    for (number, proof) in proofs.iter().enumerate() {
        let undo = format!("do=undo&u%3Asubject+item%3A{}=on&proof={proof}", 100 + number);
        last = door.press(&link, &undo).await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_form_that_is_not_the_pages_changes_nothing() {
    let (door, link) = open_page().await;
    let before = door.sheet().await;
    for body in [
        "",
        "do=save&do=save",
        "do=other",
        "do=save&hour=soon",
        "do=save&pause=soon",
        "do=save&c%3Apush%2Fkind%20nothing=off",
        "do=save&c%3Apush%2Fall=off",
        "do=save&p%3Aemail=ping",
        "do=save&o%3Asmoke=off",
        "do=save&language=tlh",
        "do=again&thing=kind%20item_offered",
        "do=again&thing=",
        "do=end&thing=kind%20item_offered",
        "do=end&thing=subject%20spoon%3A1",
        "do=undo",
        "do=save&c%3Apush%2Fkind%20item_offered=never",
        "\u{fffd}\0",
    ] {
        assert_eq!(door.press(&link, body).await.status, StatusCode::BAD_REQUEST, "{body}");
    }
    assert_eq!(door.press(&link, &"x".repeat(70_000)).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(door.sheet().await, before);
    // An old mail may be in other hands, and a token that is none opens nothing.
    let old = link_of("main", "ann", Some(Day::from_instant(door.app.now()).plus(-31)));
    for (method, body) in [(Method::GET, ""), (Method::POST, UNCHANGED)] {
        let answer = door.ask(method.clone(), &format!("{old}/settings"), &[], body).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method}");
        let answer = door.ask(method, "/u/x/settings", &[], body).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
    }
}
