//! What share was told, and how many windows are due: by the command line's path, and on the page.

use axum::http::{Method, StatusCode};
use house::testing::{deferred_message, read_response};
use model::{
    Day, DayRow, Entry, EntryKey, EntryReason, EventKey, Kind, Person, PlanName, ReadyId, SubjectRef, Tenant,
    UtcMillis,
    entry::{AudienceMatch, DayKey},
    person::{PersonRecord, Window},
};
use serde_json::{Value, json};
use store::DayRows;
use topic::{NewRecord, Topics as _};
use views::shares::ToldShares;
use wire::topics;

use super::{super::shares_page::shares_values, DoorAnswer, HouseDoor, door};
use crate::page;

/// A name that means harm where it is not escaped.
const HOSTILE: &str = "</td><script>alert(1)</script>\u{202e}`{{7*7}}";

impl HouseDoor {
    async fn shares(&self, query: &str) -> DoorAnswer {
        self.ask_admin(Method::GET, &format!("/admin/shares{query}"), "").await
    }

    /// Writes entries of a kind, as fan-out would.
    async fn write_kind_entries(&self, person: &str, kind: &str, entries: u8) {
        let day = Day::from_instant(self.app.now());
        let row = |n: u8| {
            DayRow::Entry(Entry {
                key: EntryKey { occurred: day.start().plus(i64::from(n)), event: EventKey([n; 16]) },
                reason: EntryReason { kind: Kind::new(kind).unwrap(), because: AudienceMatch::Named },
                subject: SubjectRef::new("item:1").unwrap(),
                actor: None,
                kept: model::KeptFields::new(),
            })
        };
        let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(person).unwrap());
        let rows = DayRows { key: DayKey { tenant, person, day }, rows: (0..entries).map(row).collect() };
        self.app.house.engines().store.write(vec![rows], self.app.now()).await.unwrap();
    }

    /// Writes a window, as its owner would; nobody closes it.
    async fn write_window(&self, person: &str, plan: &str, due: i64) {
        let opened = Window::new(PlanName::new(plan).unwrap(), 0, "".into(), self.app.now());
        let windows = vec![Window { due: self.app.now().plus(due), ..opened }];
        self.write_record(person, PersonRecord { windows, ..PersonRecord::default() }).await;
    }

    /// A message that no server has taken, which is tried again at an instant.
    async fn write_deferred(&self, person: &str, at: UtcMillis) {
        let waiting = vec![deferred_message(person, ReadyId([9; 16]), self.app.now(), at)];
        self.write_record(person, PersonRecord { waiting, ..PersonRecord::default() }).await;
    }

    async fn write_record(&self, person: &str, record: PersonRecord) {
        let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(person).unwrap());
        let record = NewRecord {
            topic: topics::WINDOWS.into(),
            partition: 0,
            key: wire::key::person_key(&tenant, &person),
            value: Some(wire::window::encode(&tenant, &person, &record).unwrap()),
            headers: Vec::new(),
        };
        self.ground.topics.append(vec![record]).await.unwrap();
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Whatever became of entries, each became one thing.
fn assert_adds_up(tally: &Value) {
    let sum = |names: &[&str], of: &Value| names.iter().map(|name| number(&of[*name])).sum::<u64>();
    assert_eq!(sum(&["told", "waiting", "ended"], tally), number(&tally["entries"]), "{tally}");
    for fates in tally["channels"].as_object().unwrap().values() {
        let ended: u64 = fates["ended"].as_object().unwrap().values().map(number).sum();
        let others = sum(&["told", "read", "cleared", "carried", "waiting"], fates);
        assert_eq!(others + ended, number(&fates["entries"]), "{fates}");
    }
    for share in tally["kinds"].as_object().unwrap().values() {
        assert_eq!(sum(&["told", "waiting", "ended"], share), number(&share["entries"]), "{share}");
    }
}

#[tokio::test]
async fn each_entry_became_one_thing() {
    let door = door(true, false).await;
    let nothing = door.shares("").await.json();
    assert_eq!((&nothing["total"]["entries"], &nothing["total"]["told_percent"]), (&json!(0), &Value::Null));
    assert_eq!(nothing["days"].as_array().unwrap().len(), 8);
    door.offer_item().await;
    door.ground.add_person("bob", "maker:2").await;
    door.ground.offer_item("item:2", "maker:2", "Sun").await;
    door.ground.house.settle().await.unwrap();
    let released = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily","person":"ann"}"#).await;
    assert_eq!(released.status, StatusCode::OK);
    door.ground.house.settle().await.unwrap();
    door.write_kind_entries("zoe", "gone", 3).await;

    let shares = door.shares("?since=1d").await.json();
    let total = &shares["total"];
    let found = ["entries", "told", "waiting", "ended"].map(|name| number(&total[name]));
    assert_eq!((found, &total["told_percent"]), ([5, 1, 4, 0], &json!(100.0)), "{shares}");
    assert_eq!(total["channels"]["email"]["waiting"], 4);
    assert_eq!(
        (&total["kinds"]["item_offered"]["told_percent"], number(&total["kinds"]["gone"]["entries"])),
        (&json!(100.0), 3)
    );
    assert_eq!((&shares["next"], &shares["cut"]), (&Value::Null, &Value::Null));
    // Three rows of entries without marks, two with one mark.
    assert_eq!(number(&shares["rows"]), 6, "{shares}");
    let days = shares["days"].as_array().unwrap();
    assert_eq!(days.len(), 2);
    days.iter().chain([total]).for_each(assert_adds_up);
    assert_eq!(days.iter().map(|day| number(&day["entries"])).sum::<u64>(), 5);
    assert_eq!(number(&shares["due"]["plans"]["daily"]["open"]), 1, "{shares}");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let door = door(true, false).await;
    let future = format!("?from={}", Day::from_instant(door.app.now()).plus(3));
    for query in [
        "?since=-1",
        "?since=10000d",
        "?since=401",
        "?since=soon",
        "?since=",
        "?since=%00",
        "?since=7d&since=1d",
        "?until=7d",
        "?since=99999999999999999999",
        "?from=",
        "?from=nowhere",
        "?from=2026-11-21:",
        "?from=2026-11-21:!!",
        &future,
        &format!("?from=2026-11-21:{}", "A".repeat(4_000)),
    ] {
        let answer = door.shares(query).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}: {}", answer.text);
        assert!(!answer.json()["detail"].as_str().unwrap().is_empty(), "{query}");
    }
    for days in ["-1", "10000d", "8", "", "%3Cscript%3E"] {
        let page = door.get(&format!("/told?days={days}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{days}");
        assert!(!page.text.contains("<script"), "{days}: {}", page.text);
    }
    for query in [
        "?since=0",
        "?since=21d",
        "?from=2020-01-01",
        &format!("?from={}:AAAA", Day::from_instant(door.app.now())),
    ] {
        assert_eq!(door.shares(query).await.status, StatusCode::OK, "{query}");
    }
}

#[tokio::test]
async fn windows_are_counted_by_when_they_are_due() {
    let door = door(true, false).await;
    // What is there before the owner has come is the owner's, and closed.
    door.ground.house.settle().await.unwrap();
    for (person, due) in
        [("a", -5), ("b", 0), ("c", 30_000), ("d", 1_800_000), ("e", 7_200_000), ("f", i64::MAX / 2)]
    {
        door.write_window(person, "daily", due).await;
    }
    door.write_deferred("g", door.app.now().plus(3_600_000)).await;
    let due = &door.shares("").await.json()["due"];
    let daily = json!({"open": 6, "now": 2, "minute": 1, "hour": 1, "day": 1, "later": 1});
    assert_eq!(*due, json!({"cut": null, "deferred": 1, "total": daily, "plans": {"daily": daily}}));
    let report = door.get("/told").await.text;
    assert!(report.contains("1 message that no server has taken yet is sent again."), "{report}");
    let first = door.get("/").await.text;
    assert!(first.contains("<b>1</b> message could not be handed to a mail server"), "{first}");
    assert!(first.contains("is tried again, next at "), "{first}");
    // Who goes on counting is not told again.
    let more = door.shares(&format!("?from={}", Day::from_instant(door.app.now()))).await.json();
    assert_eq!(more["due"], Value::Null);
}

#[tokio::test]
async fn the_page_draws_what_was_told() {
    let door = door(true, false).await;
    let empty = door.get("/told").await.text;
    assert!(empty.contains("No entries in these days"), "{empty}");
    assert!(empty.contains("Nobody is waiting for a message"), "{empty}");
    door.offer_item().await;
    door.write_kind_entries("zoe", HOSTILE, 2).await;
    door.write_window("zoe", HOSTILE, -1).await;
    // What was counted is shown again for a moment.
    assert_eq!(door.get("/told").await.text, empty);
    door.app.clock.clock().advance(5_000);
    let page = door.get("/told").await;
    for part in [
        "<svg class=\"bar\"",
        "<rect class=\"waiting\"",
        "<rect class=\"due-now\"",
        "all waiting",
        "&lt;script",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    // Nothing runs, and there are no styles but those of our own sheet, which is all that the policy allows.
    assert!(!page.text.contains("<script") && !page.text.contains("style="), "{}", page.text);
    assert!(page.policy().contains("style-src 'self'"), "{}", page.policy());
}

#[tokio::test]
async fn what_was_not_looked_at_is_not_said_to_be_nothing() {
    let door = door(true, false).await;
    let counted = json!({"entries": 2, "told": 1, "waiting": 0, "ended": 1, "told_percent": 50.0});
    let kinds: serde_json::Map<_, _> = (0..30).map(|n| (format!("{n}{HOSTILE}"), counted.clone())).collect();
    let mut tally = counted.clone();
    tally["channels"] = json!({});
    tally["kinds"] = kinds.into();
    tally["arms"] = json!({"base": counted, "canary": counted});
    let mut day = tally.clone();
    day["day"] = json!("2026-11-20");
    let soon = json!({"open": 1, "now": 1, "minute": 0, "hour": 0, "day": 0, "later": 0});
    let plans: serde_json::Map<_, _> = (0..30).map(|n| (format!("{n}{HOSTILE}"), soon.clone())).collect();
    let shares: ToldShares = serde_json::from_value(json!({
        "since": "2026-11-14", "until": "2026-11-20", "rows": 50_000, "cut": "2026-11-20", "next": "2026-11-20:AA",
        "total": tally, "days": [day], "due": {"cut": 20_000, "total": soon, "plans": plans},
    }))
    .unwrap();
    let page = door
        .app
        .render_page("told.html", &page::PageQuery::default(), shares_values(&shares, 7))
        .ok()
        .unwrap();
    let (_, text) = read_response(page).await;
    for part in [
        "the first 50,000 rows",
        "Fri 20 Nov and the days before have more",
        "the first 20,000 records",
        "50.0 %",
        "And 10 more.",
        "And 10 more plans.",
        "By catalogue",
        "canary",
        "1 window is due now",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("<script") && text.contains("&lt;script"), "{text}");
}
