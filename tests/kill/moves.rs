//! The real process is killed while somebody moves, and nobody says again that they do: what happens after that is
//! told to them, at the one place or at the other.

use runtime::crash_point;
use serde_json::json;

use crate::{PATIENCE, house::KillHouse, wait_until};

/// Two places 22 km apart, with 50 km around each of them; and one near each alone.
const OLD: &str = "52.30,13.40";
const NEW: &str = "52.50,13.40";
const BETWEEN: &str = "52.40,13.40";
const BY_OLD: &str = "51.90,13.40";
const BY_NEW: &str = "52.90,13.40";

#[test]
fn who_moves_is_told_at_one_of_the_two_places_wherever_the_intake_dies() {
    check_kill_point(crash_point::ENTERED, BY_OLD);
    check_kill_point(crash_point::MOVED, BY_NEW);
}

fn check_kill_point(point: &str, told_alone: &str) {
    let dir = tempfile::tempdir().unwrap();
    let stop = format!("{point}:1");
    let first = KillHouse::start_on("catalogues/town", dir.path(), &[("TIDINGS_STOP_AT", &stop)]).unwrap();
    assert!(first.takes("/v1/facts", &profile_fact(OLD)), "{}", first.drain_log());
    assert!(first.takes("/v1/changes", &concert_event(1, BETWEEN)), "{}", first.drain_log());
    expect_subjects(&first, &["concert:1"]);
    let stopped = std::thread::scope(|scope| {
        // Said once, and never again.
        scope.spawn(|| first.post("/v1/facts", &profile_fact(NEW)));
        let stopped = first.has_stopped_within(PATIENCE);
        first.kill();
        stopped
    });
    assert!(stopped, "it never came to `{point}`: {}", first.drain_log());

    let second = KillHouse::start_on("catalogues/town", dir.path(), &[]).unwrap();
    for (number, place) in [(2, BETWEEN), (3, BY_OLD), (4, BY_NEW), (5, BETWEEN)] {
        assert!(second.takes("/v1/changes", &concert_event(number, place)), "{}", second.drain_log());
    }
    let alone = if told_alone == BY_OLD { "concert:3" } else { "concert:4" };
    let mut expected = ["concert:1", "concert:2", alone, "concert:5"];
    expected.sort_unstable();
    second.await_all_read();
    expect_subjects(&second, &expected);
}

fn profile_fact(place: &str) -> String {
    let data = json!({"person": "ann", "email": "ann@example.org", "place": place});
    json!({"id": place, "source": "kill", "type": "tidings.profile", "data": data}).to_string()
}

fn concert_event(number: u32, place: &str) -> String {
    let data = json!({"title": format!("Concert {number}"), "place": place});
    json!({"id": format!("concert-{number}"), "source": "kill", "type": "concert.announced",
        "subject": format!("concert:{number}"), "data": data})
    .to_string()
}

/// Waits until ann has just these.
fn expect_subjects(house: &KillHouse, expected: &[&str]) {
    let mut found = Vec::new();
    let is_so = wait_until(|| {
        found = read_subjects(house);
        found == expected
    });
    assert!(is_so, "expected {expected:?}, found {found:?}");
}

fn read_subjects(house: &KillHouse) -> Vec<String> {
    let days = house.days("ann").unwrap();
    let entries = days["days"].as_array().into_iter().flatten().filter_map(|day| day["entries"].as_array());
    let subjects = entries.flatten().filter_map(|entry| entry["subject"].as_str().map(str::to_owned));
    let mut subjects: Vec<String> = subjects.collect();
    subjects.sort_unstable();
    subjects
}
