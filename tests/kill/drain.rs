//! The real process with a real mail server, asked to end while events come in and mails go out, and started again. Each
//! time it ends in good order and in time; nothing is lost, and no mail arrives twice.
//!
//! `TIDINGS_DRAINED` says how many events, 10,000 unless it is set.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use engines::{MailOptions, PythonMailServer};
use mail_parser::MessageParser;
use serde_json::json;

use crate::{house::KillHouse, wait_until};

const EVENTS: u64 = 10_000;
const PERSONS: u64 = 100;
/// Events of one request.
const BATCH: u64 = 20;
/// How often it is asked to end.
const ENDS: u64 = 3;
/// How often it is looked, once a second, for mails that are late.
const LOOKS: usize = 150;
/// What is allowed to a Pod that ends.
const GRACE: Duration = Duration::from_secs(30);

#[test]
fn soak_ended_under_load_it_loses_nothing_and_tells_nothing_twice() {
    let events = std::env::var("TIDINGS_DRAINED").ok().map_or(EVENTS, |text| text.parse().unwrap());
    let server = PythonMailServer::start(MailOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ways = format!("smtp+plain://{}:{}", server.host(), server.port());
    let start = || KillHouse::start_on("kill/drained", dir.path(), &[("TIDINGS_MAIL_WAYS", &ways)]).unwrap();
    let mut house = start();
    let profiles = (0..PERSONS).map(|p| {
        json!({"id": format!("profile-{p}"), "source": "drain", "type": "tidings.profile",
            "data": {"person": format!("p{p}"), "email": format!("p{p}@example.org")}})
        .to_string()
    });
    assert!(house.post("/v1/facts", &profiles.collect::<Vec<_>>().join("\n")));

    let next = AtomicU64::new(0);
    for life in 0..=ENDS {
        let (until, is_ending) = (events * (life + 1) / (ENDS + 1), AtomicBool::new(false));
        // In the last life everything is said; in the others it goes on until the end comes in between.
        let last = if life == ENDS { events } else { events * (life + 2) / (ENDS + 1) };
        std::thread::scope(|scope| {
            let (house, next, is_ending) = (&house, &next, &is_ending);
            scope.spawn(move || publish_events(house, next, last, is_ending));
            if life < ENDS {
                assert!(wait_until(|| next.load(Ordering::SeqCst) >= until), "{}", house.drain_log());
                let (code, took) = house.end();
                is_ending.store(true, Ordering::SeqCst);
                let log = house.drain_log();
                assert_eq!(code, Some(0), "{log}");
                assert!(took < GRACE, "it took {took:?}");
                assert!(!log.contains("left to the journal"), "the mail server took too long: {log}");
            }
        });
        if life < ENDS {
            house = start();
        }
    }
    assert_eq!(next.load(Ordering::SeqCst), events);
    house.await_all_read();
    // What waits for another try goes out later than all is read.
    let mut told = list_told(&server);
    for _ in 0..LOOKS {
        if told.len() as u64 >= events {
            break;
        }
        std::thread::park_timeout(Duration::from_secs(1));
        told = list_told(&server);
    }
    let wrong: Vec<_> = told.iter().filter(|(_, mails)| mails.len() != 1).collect();
    assert!(wrong.is_empty() && told.len() as u64 == events, "{} told, these oddly: {wrong:?}", told.len());
}

/// Says one batch after the other, each until it is acknowledged or the process ends.
fn publish_events(house: &KillHouse, next: &AtomicU64, last: u64, is_ending: &AtomicBool) {
    loop {
        let first = next.load(Ordering::SeqCst);
        if first >= last || is_ending.load(Ordering::SeqCst) {
            return;
        }
        let lines = (first..last.min(first + BATCH)).map(|n| {
            json!({"id": format!("event-{n}"), "source": "drain", "type": "post.published", "subject": format!("post:{n}"),
                "data": {"title": format!("Title{n}."), "owner": format!("p{}", n % PERSONS)}})
            .to_string()
        });
        let lines: Vec<String> = lines.collect();
        if house.post("/v1/changes", &lines.join("\n")) {
            next.fetch_add(lines.len() as u64, Ordering::SeqCst);
        } else {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

/// By title, the mails that tell of it.
fn list_told(server: &PythonMailServer) -> BTreeMap<String, Vec<String>> {
    let (mut told, mut ids): (BTreeMap<String, Vec<String>>, _) = (BTreeMap::new(), BTreeSet::new());
    for mail in server.arrived_mails().unwrap() {
        let parsed = MessageParser::default().parse(&mail.bytes).unwrap();
        let id = parsed.message_id().unwrap().to_owned();
        assert!(ids.insert(id.clone()), "{id} arrived twice");
        let text = parsed.body_text(0).unwrap_or_default().into_owned();
        for part in text.split("Title").skip(1) {
            let number = part.split('.').next().unwrap_or_default();
            told.entry(number.to_owned()).or_default().push(id.clone());
        }
    }
    told
}
