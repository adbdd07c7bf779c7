//! The real process is killed while an event for many walks through its slices: the walk goes on where it was.
//! That a small event overtakes a large one is shown by the room's own tests.

use runtime::crash_point;
use serde_json::json;

use crate::{PATIENCE, house::KillHouse, wait_until};

/// The first part of them, and what is cut into several.
const FOLLOWERS: usize = 12_000;
/// Persons whom the first slice of a crowd tells.
const FIRST_SLICE: usize = 1_250;
/// Follows of one request.
const AT_ONCE: usize = 1_000;

#[test]
fn a_large_event_resumes_at_its_slice() {
    let dir = tempfile::tempdir().unwrap();
    // In one of the parts that follow the first slice; the event's own turn writes nothing where the audience is large.
    let first = KillHouse::start(dir.path(), Some(&format!("{}:2", crash_point::STORED))).unwrap();
    for some in (0..FOLLOWERS).collect::<Vec<_>>().chunks(AT_ONCE) {
        let lines: String = some.iter().map(|n| follow_fact(&format!("p{n:05}"), "author:1")).collect();
        assert!(first.takes("/v1/facts", &lines), "{}", first.drain_log());
    }
    assert!(first.takes("/v1/changes", &post_event()));
    assert!(first.has_stopped_within(PATIENCE), "it never came to its second slice: {}", first.drain_log());
    let is_told = |n: &usize| count_entries(&first, &format!("p{n:05}")) > 0;
    assert!(!(0..FOLLOWERS).step_by(499).all(|n| is_told(&n)), "everybody was told already");
    first.kill();

    let second = KillHouse::start(dir.path(), None).unwrap();
    for n in [0, 1, 249, 250, 5_249, 5_250, 10_249, 10_250, FOLLOWERS - 2, FOLLOWERS - 1] {
        assert_eq!(await_entries(&second, &format!("p{n:05}")), 1, "entries of follower {n}");
    }
    // Begun again are the parts that were cut off, and not the first slice.
    let (_, metrics) = second.get_text("/metrics").unwrap();
    let told = parse_metric(&metrics, "tidings_fanout_rows_total{outcome=\"written\"}");
    let left = FOLLOWERS - FIRST_SLICE;
    assert!(told <= left as f64, "{told} rows were written after the kill: the walk began anew");
}

fn follow_fact(person: &str, target: &str) -> String {
    let fact = json!({"id": format!("{person}-{target}"), "source": "kill", "type": "tidings.follow",
        "data": {"person": person, "target": target}});
    format!("{fact}\n")
}

fn post_event() -> String {
    let data = json!({"title": "News", "author": "author:1", "public": true});
    json!({"id": "post-1", "source": "kill", "type": "post.published", "subject": "post:1", "data": data})
        .to_string()
}

/// How many entries a person has once there is one.
fn await_entries(house: &KillHouse, person: &str) -> usize {
    let mut entries = 0;
    wait_until(|| {
        entries = count_entries(house, person);
        entries > 0
    });
    entries
}

fn count_entries(house: &KillHouse, person: &str) -> usize {
    let days = house.days(person).unwrap();
    let days = days["days"].as_array().into_iter().flatten();
    days.filter_map(|day| day["entries"].as_array()).map(Vec::len).sum()
}

fn parse_metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().parse().unwrap()
}
