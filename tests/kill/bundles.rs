//! The real process is killed at every point of a message that tells more than a record can name: before its lists, between
//! them and the commit, before its marks, before and after it leaves. Each entry is told by one message, and what came
//! meanwhile by the next.

use runtime::crash_point;
use serde_json::{Value, json};

use crate::{PATIENCE, house::KillHouse, load, wait_until};

const CATALOGUE: &str = "../examples/wiki";
const EDITS: usize = 300;

#[test]
fn a_bundle_is_told_once_wherever_the_process_dies() {
    for point in [crash_point::LISTED, crash_point::COMMITTED, crash_point::CLAIMED, crash_point::SENT] {
        let dir = tempfile::tempdir().unwrap();
        let open = |settings: &[(&str, &str)]| KillHouse::start_on(CATALOGUE, dir.path(), settings).unwrap();
        let first = open(&[]);
        assert!(first.takes("/v1/facts", &reader_facts()), "{}", first.drain_log());
        assert!(first.takes("/v1/changes", &edit_lines(0, EDITS)), "{}", first.drain_log());
        assert!(wait_until(|| list_fates(&first).len() == EDITS), "{point}: not all were told of");
        first.await_all_read();
        first.kill();

        let second = open(&[("TIDINGS_STOP_AT", &format!("{point}:1"))]);
        std::thread::scope(|scope| {
            scope.spawn(|| second.move_clock("morning"));
            assert!(second.has_stopped_within(PATIENCE), "it never came to {point}: {}", second.drain_log());
            second.kill();
        });

        let third = open(&[]);
        assert!(third.takes("/v1/changes", &edit_lines(EDITS, EDITS + 1)), "{}", third.drain_log());
        third.await_all_read();
        for to in ["morning", "hour", "hour", "morning", "hour"] {
            third.move_clock(to);
            third.await_all_read();
        }
        let told = || list_fates(&third).iter().filter(|(fate, _)| fate == "told").count();
        assert!(wait_until(|| told() == EDITS + 1), "{point}: {:?}", list_fates(&third));
        // What became of a claim without a record the outbox can say.
        let mails = load::read_mails(dir.path()).unwrap().remove("zoe@example.org").unwrap_or_default();
        let words = |mail: &String| mail.split_whitespace().collect::<Vec<_>>().join(" ");
        let mails: Vec<String> = mails.iter().map(words).collect();
        let times = |words: &str| mails.iter().filter(|mail| mail.contains(words)).count();
        assert_eq!(times("edited Moon 99+ times"), 1, "{point}: {mails:?}");
        // Before the commit nothing names what it tells: the last one may be there before the message is made anew.
        let has_joined = point == crash_point::LISTED && mails.len() == 1;
        assert_eq!(times("edited Moon: “the last”"), usize::from(!has_joined), "{point}: {mails:?}");
        assert_eq!(mails.len(), if has_joined { 1 } else { 2 }, "{point}: {mails:?}");
    }
}

fn reader_facts() -> String {
    let facts = [
        json!({"id": "zoe", "source": "kill", "type": "tidings.profile",
            "data": {"person": "zoe", "email": "zoe@example.org", "email_plan": "daily"}}),
        json!({"id": "follow", "source": "kill", "type": "tidings.follow", "data": {"person": "zoe", "target": "page:1"}}),
    ];
    facts.map(|fact| format!("{fact}\n")).concat()
}

fn edit_lines(from: usize, to: usize) -> String {
    let summary = |n: usize| if n == EDITS { "the last" } else { "one of many" };
    let edit = |n: usize| {
        json!({"id": n.to_string(), "source": "kill", "type": "page.edited", "subject": "page:1",
            "actor": format!("u{}", n % 7), "actorname": format!("U{}", n % 7),
            "data": {"title": "Moon", "summary": summary(n)}})
    };
    (from..to).map(|n| format!("{}\n", edit(n))).collect()
}

/// Of each entry its fate and the message that told it.
fn list_fates(house: &KillHouse) -> Vec<(String, String)> {
    let days = house.days("zoe").unwrap();
    let days = days["days"].as_array().into_iter().flatten();
    let entries = days.filter_map(|day| day["entries"].as_array()).flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries.map(|entry| (text(&entry["fates"][0]["fate"]), text(&entry["fates"][0]["ready"]))).collect()
}
