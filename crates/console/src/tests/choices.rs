//! The other doors of a mail's foot: another plan, less of something, and what waits.

use axum::http::StatusCode;
use model::{
    Channel, Day, Person, PlanName, Tenant, Value, VersionedState,
    person::{notes, profile},
};
use store::StateKey;
use wire::token::{LinkSecret, LinkToken, sign_token};

use super::{HouseDoor, SECRET, choices_catalogue, door_of, unsubscribe::link, unsubscribe::link_of};

async fn door() -> HouseDoor {
    door_of(choices_catalogue(), true, false).await
}

impl HouseDoor {
    fn today(&self) -> Option<Day> {
        Some(Day::from_instant(self.app.now()))
    }

    async fn stored_value(&self, key: fn(Tenant, Person) -> StateKey, name: &str) -> Option<(i64, Value)> {
        let key = key(Tenant::new("main").unwrap(), Person::new("ann").unwrap());
        let state = self.app.house.engines().store.states(&[key]).await.unwrap().remove(0);
        state.cells.get(name).and_then(|cell| Some((cell.version, cell.value.clone()?)))
    }

    async fn plan(&self) -> Option<(i64, Value)> {
        self.stored_value(StateKey::Person, profile::EMAIL_PLAN).await
    }

    async fn is_muted(&self, name: &str) -> Option<bool> {
        self.stored_value(StateKey::Preferences, name).await.and_then(|(_, value)| value.as_flag())
    }

    async fn count_due_mails(&self) -> usize {
        self.form("/clock", "to=due").await;
        self.ground.house.settle().await.unwrap();
        self.ground.outbox.list_newest(9).len()
    }
}

#[tokio::test]
async fn a_link_asks_and_a_button_chooses_another_plan() {
    let door = door().await;
    door.ground.add_person("ann", "maker:1").await;
    let link = link_of("main", "ann", door.today());
    let asks = door.get(&format!("{link}?plan=weekly")).await;
    assert!(asks.text.contains("Weekly mail instead?") && asks.text.contains("on now"), "{}", asks.text);
    assert_eq!(door.plan().await, None, "a scanner looks at every link");
    let done = door.press(&link, "do=plan&plan=weekly").await;
    assert!(done.text.contains("Done: Weekly mail"), "{}", done.text);
    let first = door.plan().await;
    assert_eq!(first.as_ref().map(|(_, plan)| plan), Some(&Value::from_text("weekly")));
    // What holds is not written again, and not asked about.
    door.press(&link, "do=plan&plan=weekly").await;
    assert_eq!(door.plan().await, first);
    let again = door.get(&format!("{link}?plan=weekly")).await.text;
    assert!(again.contains("Weekly mail is on already") && !again.contains("No more mail from"), "{again}");
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    assert_eq!(door.count_due_mails().await, 1);
    let id = door.ground.outbox.list_newest(1)[0].message_id.clone();
    let mail = door.ground.outbox.read_mail(&id).await.unwrap().unwrap();
    assert_eq!(mail.header("List-Id"), Some("weekly.shop.shop.example"));
    assert!(door.press(&link, "do=plan&plan=daily").await.text.contains("Done: daily"));
}

#[tokio::test]
async fn less_of_something_is_a_mute_that_can_be_taken_back() {
    let door = door().await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    let link = link_of("main", "ann", door.today());
    let asks = door.get(&format!("{link}?less=maker:1")).await.text;
    assert!(asks.contains("Less of “maker 1”?"), "{asks}");
    assert_eq!(door.is_muted("thread maker:1").await, None);
    let done = door.press(&link, "do=less&less=maker:1").await.text;
    assert!(done.contains("Done: less of") && done.contains("value=\"thread maker:1\""), "{done}");
    assert_eq!(door.is_muted("thread maker:1").await, Some(true));
    let again = door.get(&format!("{link}?less=maker:1")).await.text;
    assert!(again.contains("You already hear no more of") && !again.contains("No more mail from"), "{again}");
    assert_eq!(door.count_due_mails().await, 0, "it was all that there was to tell");
    let back = door.press(&link, "do=more&less=thread%20maker:1").await.text;
    assert!(back.contains("You hear of") && !back.contains("value=\"thread maker:1\""), "{back}");
    assert_eq!(door.is_muted("thread maker:1").await, Some(false));
    door.ground.offer_item("item:2", "maker:1", "Sun").await;
    assert_eq!(door.count_due_mails().await, 1);
    for (less, flag) in [("item:1", "subject item:1"), ("item_offered", "kind item_offered")] {
        assert_eq!(door.press(&link, &format!("do=less&less={less}")).await.status, StatusCode::OK);
        assert_eq!(door.is_muted(flag).await, Some(true), "{flag}");
    }
    // The section in which a kind stands alone is what its readers call it.
    let page = door.get(&link).await.text;
    assert!(page.contains("<span>New</span>") && page.contains("<span>Moon</span>"), "{page}");
}

#[tokio::test]
async fn what_is_none_of_the_catalogues_is_no_choice() {
    let door = door().await;
    let link = link_of("main", "ann", door.today());
    let long = "x".repeat(10_000);
    for query in [
        "plan=ping",
        "plan=hourly",
        "less=spoon:1",
        "less=nothing",
        "less=%3Cscript%3Ealert(1)%3C/script%3E",
        "less=maker:1%0D%0ASet-Cookie:%20x",
        "plan=weekly%0A",
        &format!("less=maker:{long}"),
        "%ff=%ff",
        "do=off",
    ] {
        let page = door.get(&format!("{link}?{query}")).await;
        assert_eq!(page.status, StatusCode::OK, "{query}");
        // Who asks for less must not be led to the end of all mail.
        let is_of_ours = query.starts_with("plan") || query.starts_with("less");
        let heading = if is_of_ours { "This link is out of date" } else { "No more mail from Shop?" };
        assert!(page.text.contains(heading), "{query}: {}", page.text);
        assert!(!page.text.contains("<script") && !page.text.contains("Set-Cookie"), "{}", page.text);
        // Whatever stands beside it, no mail is no mail.
        if query == "do=off" {
            continue;
        }
        let act = if query.starts_with("plan") { "plan" } else { "less" };
        let pressed = door.press(&link, &format!("do={act}&{query}")).await.status;
        let is_long = query.len() > 5_000;
        let refused = if is_long { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
        assert_eq!(pressed, refused, "{query}");
    }
    assert_eq!(door.plan().await, None);
    // A name from upstream is text, and is said to nobody who does not know it.
    let name = r#"{"id":"1","source":"t","type":"maker.named","subject":"maker:9","name":"<b onload=x>\"&"}"#;
    let json = [("content-type", "application/json")];
    door.ask(axum::http::Method::POST, "/v1/changes", &json, name).await;
    let stranger = door.get(&format!("{link}?less=maker:9")).await.text;
    assert!(stranger.contains("“maker 9”") && !stranger.contains("onload"), "{stranger}");
    door.ground.add_person("ann", "maker:9").await;
    let page = door.get(&format!("{link}?less=maker:9")).await.text;
    assert!(page.contains("&lt;b onload") && !page.contains("<b onload"), "{page}");
}

#[tokio::test]
async fn an_old_link_chooses_nothing_and_nobody_chooses_for_ever() {
    let door = door().await;
    door.ground.add_person("ann", "maker:1").await;
    let old = link("main", "ann");
    let wishes = ["do=plan&plan=weekly", "do=less&less=maker:1"];
    for wish in wishes {
        assert_eq!(door.press(&old, wish).await.status, StatusCode::FORBIDDEN, "{wish}");
    }
    let page = door.get(&format!("{old}?plan=weekly")).await.text;
    assert!(page.contains("This link is out of date") && !page.contains("value=\"plan\""), "{page}");
    assert_eq!(door.get(&format!("{old}/rest")).await.status, StatusCode::FORBIDDEN);
    let young = link_of("main", "ann", door.today());
    for _ in 0..5 {
        for wish in ["do=less&less=maker:1", "do=more&less=thread+maker:1"] {
            assert_eq!(door.press(&young, wish).await.status, StatusCode::OK, "{wish}");
        }
    }
    assert_eq!(door.press(&young, wishes[0]).await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(door.press(&young, "do=off").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_rest_is_what_waits_now() {
    let door = door().await;
    door.ground.add_person("ann", "maker:1").await;
    for (item, title) in [("item:1", "Moon"), ("item:2", "<i>Sun</i>"), ("item:3", "Star")] {
        door.ground.offer_item(item, "maker:1", title).await;
    }
    assert_eq!(door.count_due_mails().await, 1);
    let rest = format!("{}/rest", link_of("main", "ann", door.today()));
    let page = door.get(&rest).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("Waiting for your next mail"), "{}", page.text);
    assert!(page.text.contains("New: Moon") && page.text.contains("you follow"), "{}", page.text);
    assert!(!page.text.contains("Star") && !page.text.contains("<i>"), "{}", page.text);
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    assert_eq!(door.ground.outbox.list_newest(9).len(), 1, "looking changes nothing");
    // What came since waits too.
    door.ground.offer_item("item:4", "maker:1", "Comet").await;
    door.ground.house.settle().await.unwrap();
    assert!(door.get(&rest).await.text.contains("New: Comet"));
    let others = format!("{}/rest", link_of("main", "ben", door.today()));
    assert!(door.get(&others).await.text.contains("Nothing waits for you"));
    let pressed = door.press(&rest, "do=off").await;
    assert_eq!(pressed.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(door.count_due_mails().await, 2);
    assert!(door.get(&rest).await.text.contains("Nothing waits for you"), "all of it came");
    assert_eq!(door.get(&format!("{rest}x")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(door.get("/u/x/rest").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn nothing_waits_for_whoever_is_gone_or_wants_no_mail() {
    let door = door().await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.offer_item("item:1", "maker:1", "Moon").await;
    door.ground.house.settle().await.unwrap();
    let link = link_of("main", "ann", door.today());
    let rest = format!("{link}/rest");
    assert!(door.get(&rest).await.text.contains("New: Moon"));
    door.press(&link, "do=off").await;
    let page = door.get(&rest).await.text;
    assert!(page.contains("You get no mail from Shop") && !page.contains("Moon"), "{page}");
    let key = StateKey::Notes(Tenant::new("main").unwrap(), Person::new("ann").unwrap());
    let erased = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    door.app.house.engines().store.merge(vec![(key, erased)]).await.unwrap();
    let page = door.get(&rest).await.text;
    assert!(page.contains("was removed") && !page.contains("Moon"), "{page}");
    for query in ["?plan=weekly", "?less=maker:1"] {
        assert!(door.get(&format!("{link}{query}")).await.text.contains("There is nothing to do"));
    }
    assert_eq!(door.press(&link, "do=plan&plan=weekly").await.status, StatusCode::OK);
    assert_eq!(door.plan().await, None);
}

const CLICK: &str = "List-Unsubscribe=One-Click";

/// One click ends what the mail is about, if its link says so, and never more than that.
#[tokio::test]
async fn one_click_ends_what_the_link_is_about() {
    let door = door().await;
    let off = async || door.stored_value(StateKey::Person, profile::EMAIL_OFF).await;
    // Also of an old mail: it is less for whoever clicks.
    for (day, less, flag) in [
        (door.today(), "maker:1", "thread maker:1"),
        (door.today().map(|day| day.plus(-300)), "item:1", "subject item:1"),
        (None, "item_offered", "kind item_offered"),
    ] {
        let link = link_of("main", "ann", day);
        let done = door.press(&format!("{link}?less={less}"), CLICK).await;
        assert_eq!(done.status, StatusCode::OK, "{less}: {}", done.text);
        assert_eq!((door.is_muted(flag).await, off().await), (Some(true), None), "{less}");
    }
    // A thing that the catalogue does not have any more: nothing comes of it, and all the rest goes on.
    for less in ["spoon:1", "nothing", "maker:1%0D%0A", ""] {
        let done = door.press(&format!("{}?less={less}", link("main", "ann")), CLICK).await;
        assert_eq!((done.status, off().await), (StatusCode::OK, None), "{less}: {}", done.text);
    }
    // A button says itself what it is about.
    let link = link_of("main", "ann", door.today());
    door.press(&format!("{link}?less=maker:2"), "do=off").await;
    assert_eq!(off().await.map(|(_, value)| value), Some(Value::Flag(true)));
    assert_eq!(door.is_muted("thread maker:2").await, None);
}

/// A push or a hook carries such a link too; what it ends is its own channel.
#[tokio::test]
async fn the_link_of_another_channel_is_about_that_channel() {
    let door = door().await;
    let token = |day| LinkToken {
        tenant: Tenant::new("main").unwrap(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("ping").unwrap(),
        channel: Channel::Push,
        day,
    };
    let link = |day| format!("/u/{}", sign_token(&token(day), &LinkSecret::new(SECRET)));
    let page = door.get(&link(door.today())).await;
    assert!(
        page.text.contains("What you get from") && page.text.contains("href=\"style.css\""),
        "{}",
        page.text
    );
    assert!(!page.text.contains("No more mail"), "{}", page.text);
    let done = door.press(&link(None), CLICK).await;
    assert!(done.status == StatusCode::OK && done.text.contains("Saved"), "{}", done.text);
    let off = async |name| door.stored_value(StateKey::Person, name).await.map(|(_, value)| value);
    assert_eq!(off(profile::PUSH_OFF).await, Some(Value::Flag(true)));
    assert_eq!(off(profile::EMAIL_OFF).await, None);
    assert_eq!(door.press(&link(door.today()), "do=on").await.status, StatusCode::OK);
    assert_eq!(off(profile::PUSH_OFF).await, Some(Value::Flag(false)));
}
