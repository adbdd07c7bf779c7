//! What operators ask of a running house: release, explain, archive.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use axum::http::{Method, StatusCode};
use house::testing::SECRET;
use model::{
    Channel, Day, DayRow, Person, PlanName, Tenant, UtcMillis,
    civil_time::ZoneRules,
    entry::DayKey,
    limits::DAY_MS,
    returns::{AddressHash, ReturnSort, Slip},
};
use runtime::metrics::Metrics;
use serde_json::{Value, json};
use store::StateKey;
use topic::{NewRecord, Topics as _};
use views::preview::PreviewStudio;
use wire::{token::LinkSecret, topics};

use super::{
    ArchivingService, DoorAnswer, HouseDoor, HttpApp, PageTemplates, ShareCountCache, UnsubscribeService,
    VisitCounter, door, router,
};

impl HouseDoor {
    pub(super) async fn ask_admin(&self, method: Method, path: &str, body: &str) -> DoorAnswer {
        let lines = [("authorization", self.bearer()), ("content-type", "application/json".to_owned())];
        let lines: Vec<(&str, &str)> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.ask(method, path, &lines, body).await
    }

    /// Ann follows a maker who offers something.
    pub(super) async fn offer_item(&self) {
        self.ground.add_person("ann", "maker:1").await;
        self.ground.offer_item("item:1", "maker:1", "Moon").await;
        self.ground.house.settle().await.unwrap();
    }
}

impl DoorAnswer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

#[tokio::test]
async fn only_who_shows_the_token_is_served() {
    let door = door(true, false).await;
    for (method, path) in [
        (Method::POST, "/admin/release"),
        (Method::GET, "/admin/windows?person=ann"),
        (Method::POST, "/admin/windows"),
        (Method::GET, "/admin/shares?since=7d"),
        (Method::GET, "/admin/explain?person=ann&event=item:1"),
        (Method::GET, "/admin/preview?person=ann&kind=item_offered"),
        (Method::GET, "/admin/devices?person=ann"),
        (Method::GET, "/admin/suppressions?person=ann"),
        (Method::POST, "/admin/suppressions"),
        (Method::GET, "/admin/archive"),
        (Method::POST, "/admin/archive"),
    ] {
        let answer = door.ask(method, path, &[("content-type", "application/json")], "{}").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn a_window_is_released_once() {
    let door = door(true, false).await;
    door.offer_item().await;
    let misspelt = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"dayly","person":"ann"}"#).await;
    assert_eq!(misspelt.status, StatusCode::BAD_REQUEST);
    assert!(misspelt.text.contains("did you mean `daily`"), "{}", misspelt.text);
    let nobody = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily","person":"bob"}"#).await;
    assert_eq!(nobody.json()["released"], 0);
    let all = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily"}"#).await;
    assert_eq!((&all.json()["released"], &all.json()["next"]), (&json!(1), &Value::Null));
    door.ground.house.settle().await.unwrap();
    assert_eq!(door.ground.outbox.len(), 1);
    let again = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily"}"#).await;
    assert_eq!(again.json()["released"], 0);
    let lost = door.ask_admin(Method::POST, "/admin/release", r#"{"plan":"daily","from":"nowhere"}"#).await;
    assert_eq!(lost.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_event_is_explained() {
    let door = door(true, false).await;
    door.offer_item().await;
    let told = door.ask_admin(Method::GET, "/admin/explain?person=ann&event=item:1", "").await.json();
    assert_eq!((&told[0]["verdict"], &told[0]["what"]), (&json!("waiting"), &json!("item.offered")));
    assert!(told[0]["steps"].to_string().contains("they follow maker:1"), "{told}");
    let bob = door.ask_admin(Method::GET, "/admin/explain?person=bob&event=item:1", "").await.json();
    assert_eq!(bob[0]["verdict"], "not in the audience");
    // By its key as well, and by none that there is.
    let path = format!("/admin/explain?person=ann&event={}", told[0]["event"].as_str().unwrap());
    assert_eq!(door.ask_admin(Method::GET, &path, "").await.json()[0]["entry"], told[0]["entry"]);
    let unknown = door.ask_admin(Method::GET, "/admin/explain?person=ann&event=shop/none", "").await;
    assert_eq!(unknown.json(), json!([]));
    let nonsense = door.ask_admin(Method::GET, "/admin/explain?person=ann&event=nonsense", "").await;
    assert_eq!(nonsense.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn devices_are_listed_without_their_tokens() {
    let door = door(true, false).await;
    let device = |id: &str, token: Value| {
        json!({"id": format!("{id}{token}"), "source": "t", "type": "tidings.device",
            "data": {"person": "ann", "device": id, "platform": "ios", "token": token}})
    };
    for fact in [device("phone", json!("secret-1")), device("tablet", json!("secret-2"))] {
        let told = door.ask_admin(Method::POST, "/admin/v1/facts", &fact.to_string()).await;
        assert_eq!(told.status, StatusCode::ACCEPTED, "{}", told.text);
    }
    let gone = device("tablet", Value::Null);
    door.ask_admin(Method::POST, "/admin/v1/facts", &gone.to_string()).await;
    let listed = door.ask_admin(Method::GET, "/admin/devices?person=ann", "").await;
    assert!(!listed.text.contains("secret"), "{}", listed.text);
    let listed = listed.json();
    let devices = listed["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1, "{listed}");
    assert_eq!((&devices[0]["device"], &devices[0]["platform"]), (&json!("phone"), &json!("ios")));
    assert!(devices[0]["since"].as_str().unwrap().ends_with('Z'), "{listed}");
    assert_eq!(
        door.ask_admin(Method::GET, "/admin/devices?person=bob", "").await.json()["devices"],
        json!([])
    );
}

impl HouseDoor {
    async fn begin_archiving(&self, before: Day, file: &Path) -> DoorAnswer {
        let body = json!({"before": before.to_string(), "file": file}).to_string();
        self.ask_admin(Method::POST, "/admin/archive", &body).await
    }

    /// What became of the archiving that was begun.
    async fn wait_for_archive(&self) -> Result<Value, String> {
        loop {
            let look = self.ask_admin(Method::GET, "/admin/archive", "").await.json();
            if let Some(why) = look["failed"].as_str() {
                return Err(why.to_owned());
            }
            if !look["archived"].is_null() {
                return Ok(look["archived"].clone());
            }
            tokio::task::yield_now().await;
        }
    }

    /// The same house behind a door that finds the disk down to its reserve.
    fn without_room(self) -> Self {
        let Self { ground, app, _dir, .. } = self;
        let app = Arc::new(HttpApp {
            house: app.house.clone(),
            catalogue: app.catalogue.clone(),
            outbox: app.outbox.clone(),
            clock: app.clock.clone(),
            tenant: app.tenant.clone(),
            tenants: app.tenants.clone(),
            is_demo: app.is_demo,
            guard: app.guard.clone(),
            keys: app.keys.clone(),
            persons: app.persons.clone(),
            disk_low: Arc::new(|| true),
            disks: app.disks.clone(),
            intake: app.intake.clone(),
            pages: PageTemplates::new().unwrap(),
            archive: ArchivingService::new(app.house.metrics()).unwrap(),
            replays: upkeep::replay::ReplayService::default(),
            counts: ShareCountCache::default(),
            unsubscribe: UnsubscribeService::new(LinkSecret::new(SECRET)),
            studio: PreviewStudio::new(
                app.catalogue.clone(),
                ZoneRules::load_bundled(),
                "http://127.0.0.1:7280",
            )
            .unwrap(),
            web_key: app.web_key.clone(),
            visits: VisitCounter::new(LinkSecret::new(SECRET), &Metrics::default()).unwrap(),
            rest_time: app.rest_time,
        });
        Self { ground, router: router(app.clone()), app, _dir }
    }
}

fn rows_in(file: &Path) -> Vec<(DayKey, DayRow)> {
    wire::archive::open_archive(File::open(file).unwrap()).unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn days_are_archived_once_nothing_is_told_from_them_any_more() {
    let door = door(true, false).await;
    door.offer_item().await;
    let first = Day::from_instant(door.app.now());
    let file = door._dir.path().join("old.avro");
    let nothing = door.ask_admin(Method::GET, "/admin/archive", "").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
    let early = door.begin_archiving(first.plus(1), &file).await;
    assert_eq!(early.status, StatusCode::CONFLICT);
    assert!(early.text.contains("may still be told"), "{}", early.text);
    let relative = door.begin_archiving(first.plus(-300), Path::new("a.avro")).await;
    assert_eq!(relative.status, StatusCode::BAD_REQUEST);
    door.app.clock.clock().advance(10 * DAY_MS);
    // The mail has been due for days, and nobody waited for it: whoever archives does.
    let begun = door.begin_archiving(first.plus(1), &file).await;
    assert_eq!(begun.status, StatusCode::ACCEPTED, "{}", begun.text);
    assert_eq!(door.ground.outbox.len(), 1);
    let archived = door.wait_for_archive().await.unwrap();
    // The entry, and the mark that says that it was told.
    assert_eq!((&archived["rows"], &archived["days"]), (&json!(2), &json!([first.to_string()])));
    let rows = rows_in(&file);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|(key, _)| key.person.as_str() == "ann"), "{rows:?}");
    let explained = door.ask_admin(Method::GET, "/admin/explain?person=ann&event=item:1", "").await.json();
    assert_eq!(explained[0]["verdict"], "no entry");
    for (case, before) in [("nothing is left", first.plus(1)), ("nor before", first)] {
        let twice = door.begin_archiving(before, &file).await;
        assert_eq!(twice.status, StatusCode::CONFLICT, "{case}: {}", twice.text);
        assert!(twice.text.contains("exists already"), "{case}: {}", twice.text);
    }
}

/// The last of the lines that are told while days are dropped.
fn last_line(answer: &DoorAnswer) -> Value {
    serde_json::from_str(answer.text.lines().last().unwrap_or_default()).unwrap()
}

#[tokio::test]
async fn days_are_dropped_for_whoever_shows_their_rows() {
    let door = door(true, false).await;
    door.offer_item().await;
    let first = Day::from_instant(door.app.now());
    let ask = async |path: &str, body: &Value| door.ask_admin(Method::POST, path, &body.to_string()).await;
    let (export, drop_path) = ("/admin/archive/export", "/admin/archive/drop");
    let digest = json!([{"day": first.to_string(), "rows": 2, "digest": "00"}]);
    let next = first.plus(1).to_string();
    let check = async |path: &str, body: Value, status: u16, says: &str| {
        let answer = ask(path, &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.contains(says)),
            (status, true),
            "{body}: {}",
            answer.text
        );
    };
    check(export, json!({"before": next}), 409, "may still be told").await;
    check(drop_path, json!({"before": next, "days": digest}), 409, "may still be told").await;
    door.app.clock.clock().advance(10 * DAY_MS);
    check(export, json!({"before": "soon"}), 400, "is not a day").await;
    check(export, json!({"before": next, "file": "/x"}), 422, "there is no field `file`").await;
    check(export, json!({}), 422, "before").await;
    check(drop_path, json!({"before": next, "days": []}), 400, "must have 1 to").await;
    check(drop_path, json!({"before": next, "days": vec![digest[0].clone(); 1_001]}), 400, "must have 1 to")
        .await;
    check(drop_path, json!({"before": next, "days": [{"day": "x"}]}), 422, "rows").await;
    let sent = ask(export, &json!({"before": next})).await;
    assert_eq!((sent.status, sent.text.starts_with("Obj")), (StatusCode::OK, true), "{}", sent.text);
    assert_eq!(sent.headers["content-type"], "application/octet-stream");
    let rows = async || {
        let days = door.ask_admin(Method::GET, "/admin/days?person=ann", "").await.json();
        days["days"][0]["entries"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(rows().await, 1, "sending drops nothing");
    let refused = ask(drop_path, &json!({"before": next, "days": digest})).await;
    let why = last_line(&refused);
    assert!(why["failed"].as_str().unwrap().contains("does not hold the 2 rows"), "{why}");
    assert_eq!(rows().await, 1);
    // What a caller would make of the file.
    let file = door._dir.path().join("received.avro");
    let (sender, mut pieces) = tokio::sync::mpsc::channel(100);
    let range = (first.plus(1), door.app.now());
    upkeep::archive::export_days(&*door.app.house.engines().store, range, &sender).await.unwrap();
    drop(sender);
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.recv().await {
        bytes.extend(piece);
    }
    let days = upkeep::archive::receive_archive(&bytes[..], &file, |_| {}).unwrap();
    let dropped = ask(drop_path, &json!({"before": next, "days": days})).await;
    assert_eq!(last_line(&dropped)["archived"]["rows"], 2, "{}", dropped.text);
    assert_eq!(rows().await, 0);
}

#[tokio::test]
async fn nothing_is_archived_while_something_is_unread() {
    let door = door(true, false).await;
    door.offer_item().await;
    let first = Day::from_instant(door.app.now());
    // Nobody reads what comes in now.
    door.ground.house.stop().await.unwrap();
    let record = NewRecord {
        topic: topics::SLICES.into(),
        partition: 0,
        key: vec![],
        value: Some(vec![1]),
        headers: Vec::new(),
    };
    door.ground.topics.append(vec![record]).await.unwrap();
    door.app.clock.clock().advance(2 * 3_600_000);
    let file = door._dir.path().join("old.avro");
    let busy = door.begin_archiving(first.plus(-9), &file).await;
    assert_eq!(busy.status, StatusCode::CONFLICT, "{}", busy.text);
    assert!(busy.text.contains("the house is still busy with what is due; try again"), "{}", busy.text);
    assert_eq!(door.ask_admin(Method::GET, "/admin/archive", "").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_interrupted_archiving_is_finished_by_asking_again() {
    let door = door(true, false).await;
    door.offer_item().await;
    let first = Day::from_instant(door.app.now());
    door.app.clock.clock().advance(10 * DAY_MS);
    door.ground.house.settle().await.unwrap();
    // As if it had come so far that the file has its name, and no further.
    let file = door._dir.path().join("old.avro");
    let store = &*door.app.house.engines().store;
    let part = store.scan(first, None, 100).await.unwrap();
    let mut writer = wire::archive::ArchiveWriter::new(File::create(&file).unwrap()).unwrap();
    for of in &part.rows {
        of.rows.iter().for_each(|row| writer.append(&of.key, row).unwrap());
    }
    writer.finish().unwrap();
    let begun = door.begin_archiving(first.plus(1), &file).await;
    assert_eq!(begun.status, StatusCode::ACCEPTED, "{}", begun.text);
    assert_eq!(door.wait_for_archive().await.unwrap()["rows"], 2);
    assert_eq!(rows_in(&file).len(), 2);
    assert_eq!(store.scan(first, None, 100).await.unwrap().rows, []);
}

#[tokio::test]
async fn a_disk_at_its_reserve_takes_neither_records_nor_archives() {
    let door = door(true, false).await;
    door.offer_item().await;
    let door = door.without_room();
    let refused = door.ask_admin(Method::POST, "/admin/upstream", "nonsense").await;
    assert_eq!(refused.status, StatusCode::INSUFFICIENT_STORAGE);
    assert!(refused.text.contains("the disk is down to its reserve"), "{}", refused.text);
    let first = Day::from_instant(door.app.now());
    door.app.clock.clock().advance(10 * DAY_MS);
    let folder = door._dir.path().join("backup");
    fs::create_dir(&folder).unwrap();
    let begun = door.begin_archiving(first.plus(1), &folder.join("old.avro")).await;
    assert_eq!(begun.status, StatusCode::ACCEPTED, "{}", begun.text);
    let why = door.wait_for_archive().await.unwrap_err();
    assert!(why.contains("the disk is down to its reserve"), "{why}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let store = &*door.app.house.engines().store;
    assert_eq!(store.scan(first, None, 100).await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn what_keeps_mails_from_somebody_is_shown_and_lifted() {
    let door = door(true, false).await;
    door.offer_item().await;
    let (tenant, ann) = (Tenant::new("main").unwrap(), Person::new("ann").unwrap());
    let slip = |address: &str, stream: &str| Slip {
        tenant: tenant.clone(),
        person: ann.clone(),
        plan: PlanName::new("daily").unwrap(),
        stream: stream.into(),
        channel: Channel::Email,
        address: AddressHash::from_address(&tenant, &ann, address),
        at: UtcMillis::parse("2026-11-20T09:00:00Z").unwrap(),
    };
    let mut notes = slip("ann@example.org", "offers").notes(ReturnSort::Complaint, "abuse");
    notes.merge(&slip("ann@example.org", "general").notes(ReturnSort::Hard, "5.1.1"));
    notes.merge(&slip("ann@before.example", "general").notes(ReturnSort::Hard, "5.1.2"));
    let key = StateKey::Notes(tenant.clone(), ann.clone());
    door.ground.house.engines().store.merge(vec![(key, notes)]).await.unwrap();

    let list = door.ask_admin(Method::GET, "/admin/suppressions?person=ann", "").await;
    let found = list.json();
    let found = found["suppressions"].as_array().unwrap();
    let said: Vec<_> =
        found.iter().map(|one| json!([one["what"], one["stream"], one["code"], one["holds"]])).collect();
    assert_eq!(said.len(), 3, "{}", list.text);
    assert!(said.contains(&json!(["hard", null, "5.1.1", true])), "{}", list.text);
    assert!(said.contains(&json!(["hard", null, "5.1.2", false])), "{}", list.text);
    assert!(said.contains(&json!(["complaint", "offers", "abuse", true])), "{}", list.text);
    assert!(!list.text.contains('@'), "{}", list.text);
    let page = door.ask(Method::GET, "/person?id=ann", &[], "").await;
    assert!(page.text.contains("of the stream offers") && page.text.contains("5.1.1"), "{}", page.text);
    assert!(!page.text.contains("5.1.2"), "an address that she had before keeps nothing back");

    let lift = async |body: &str| {
        door.ask_admin(Method::POST, "/admin/suppressions", body).await.json()["lifted"].clone()
    };
    assert_eq!(lift(r#"{"person":"ann","stream":"general"}"#).await, 0);
    assert_eq!(lift(r#"{"person":"ann","stream":"offers"}"#).await, 1);
    assert_eq!(lift(r#"{"person":"ann"}"#).await, 2);
    assert_eq!(lift(r#"{"person":"ann"}"#).await, 0);
    let none = door.ask_admin(Method::GET, "/admin/suppressions?person=ann", "").await;
    assert_eq!(none.json()["suppressions"], json!([]));
    assert_eq!(
        door.ask_admin(Method::GET, "/admin/suppressions?person=", "").await.status,
        StatusCode::BAD_REQUEST
    );
}
