//! The real process on a small disk that somebody else fills: nothing that was acknowledged is lost, what
//! comes in is refused with 507, and without a restart all goes on when there is room again.
//!
//! The disk is a tmpfs in a namespace of the test's own, so users must be allowed to have namespaces.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use runtime::small_disk::run_on_small_disk;
use serde_json::json;
use shell::datadir::disk_free;

use crate::{PATIENCE, house::KillHouse, load::KillLoad, wait_until};

const RESERVE: u64 = 8 << 20;
/// Events that are published before and while there is no room; the others come after.
const BEFORE: u64 = 24;

#[test]
fn a_full_disk_is_waited_out_and_nothing_is_lost() {
    let test = "full_disk::a_full_disk_is_waited_out_and_nothing_is_lost";
    let disk = match run_on_small_disk(test, "size=96m") {
        Ok(Some(disk)) => disk,
        Ok(None) => return,
        Err(error) => panic!("a small disk needs `unshare` and namespaces for users: {error:#}"),
    };
    let dir = tempfile::tempdir_in(&disk).unwrap();
    let house = KillHouse::start_with(dir.path(), &[("TIDINGS_DISK_RESERVE", "8 MiB")]).unwrap();
    let mut load = KillLoad::default();
    load.send_facts(&house);
    load.publish_first(BEFORE / 2, &house);
    assert_eq!(house.get_text("/health/ready").unwrap().0, 200);

    // Down to less than half of the reserve: the house stops before anything fails.
    let ballast = DiskBallast::fill_disk(RESERVE / 4, &disk);
    println!("{}", run_outage(&house, &mut load, ballast));

    // To the last byte at once, while the rooms have much in hand and everybody writes.
    publish_noise(&house);
    let ballast = DiskBallast::fill_disk(0, &disk);
    println!("{}", run_outage(&house, &mut load, ballast));

    load.send_facts(&house);
    load.publish(&house);
    assert!(load.is_acknowledged(), "intake did not take everything again: {}", house.drain_log());
    for to in ["morning", "hour", "hour", "morning", "hour"] {
        house.await_all_read();
        house.move_clock(to);
    }
    house.await_all_read();
    assert_eq!(load.check_mails(&house, dir.path()), Ok(()), "{}", house.drain_log());
}

/// Writers all the time; the house is seen to wait, gets its room back, and is seen to go on.
/// Gives what happened, in words.
fn run_outage(house: &KillHouse, load: &mut KillLoad, ballast: DiskBallast) -> String {
    let over = AtomicBool::new(false);
    let (answers, seen) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_until_over(house, load, &over));
        let seen = watch_outage(house, ballast);
        over.store(true, Ordering::SeqCst);
        (writer.join().unwrap(), seen)
    });
    let happened = format!("answered in turn: {answers:?}; the process said:\n{}", house.drain_log());
    assert_eq!(seen, Ok(()), "{happened}");
    assert!(answers.iter().any(|answer| answer == "507"), "{answers:?}");
    // Whoever was in the middle of it may hear that an engine failed, or find that the connection was closed
    // behind an answer that came before the body was read; nobody is blamed.
    let harmless = ["202", "507", "500", "503", "io: Peer disconnected"];
    assert!(answers.iter().all(|answer| harmless.contains(&answer.as_str())), "{answers:?}");
    assert!(house.post("/v1/facts", &profile_fact("p0")), "{happened}");
    happened
}

/// Writes until it is over; gives the answers, each as often as it was not the same as the one before.
fn write_until_over(house: &KillHouse, load: &mut KillLoad, over: &AtomicBool) -> Vec<String> {
    let mut answers = Vec::new();
    while !over.load(Ordering::SeqCst) {
        load.publish_first(BEFORE, house);
        let answer = house.post_text("/v1/facts", &profile_fact("p0"));
        let answer = answer.map_or_else(|error| error, |(status, _)| status.to_string());
        if answers.last() != Some(&answer) {
            answers.push(answer);
        }
    }
    answers
}

fn watch_outage(house: &KillHouse, ballast: DiskBallast) -> Result<(), String> {
    let ready = || house.get_text("/health/ready");
    await_condition("the house waits", || {
        ready().is_ok_and(|(status, text)| {
            status == 503 && text.contains("goes on by itself when there is room")
        })
    })?;
    check_waiting(house)?;
    drop(ballast);
    await_condition("the house goes on", || ready().is_ok_and(|(status, _)| status == 200))
}

/// What everybody is told while there is no room.
fn check_waiting(house: &KillHouse) -> Result<(), String> {
    let expected = [
        (house.post_text("/v1/changes", "{}")?, 507, "\"detail\":\"the disk is full"),
        (house.post_text("/admin/v1/facts", "{}")?, 507, "\"detail\":\"the disk is full"),
        (house.get_text("/v1/people/p0/entries")?, 507, "\"detail\":\"the disk is full"),
        (house.get_text("/")?, 503, "No room on the disk"),
        (house.get_text("/health/live")?, 200, "alive"),
    ];
    for ((status, text), expect, says) in expected {
        if (status, text.contains(says)) != (expect, true) {
            return Err(format!("{status}, not {expect} with {says}: {text}"));
        }
    }
    Ok(())
}

fn profile_fact(person: &str) -> String {
    // One version, so that it says the same each time and changes nothing.
    json!({"id": "again", "source": "kill", "type": "tidings.profile", "version": 1,
        "data": {"person": person, "language": "en"}})
    .to_string()
}

/// Events for a crowd of readers without an address, so that fan-out is still at work when the disk is full.
fn publish_noise(house: &KillHouse) {
    let follow = |n: u32| {
        json!({"id": format!("crowd-{n}"), "source": "kill", "type": "tidings.follow",
            "data": {"person": format!("x{n}"), "target": "author:noise"}})
        .to_string()
    };
    let event = |n: u32| {
        json!({"id": format!("noise-{n}"), "source": "kill", "type": "post.published",
            "subject": format!("post:noise{n}"), "data": {"title": "Noise", "author": "author:noise", "public": true}})
        .to_string()
    };
    let lines = |one: &dyn Fn(u32) -> String, count: u32| (0..count).map(one).collect::<Vec<_>>().join("\n");
    assert!(house.takes("/v1/facts", &lines(&follow, 100)));
    assert!(house.takes("/v1/changes", &lines(&event, 200)));
}

fn await_condition(what: &str, holds: impl FnMut() -> bool) -> Result<(), String> {
    if wait_until(holds) { Ok(()) } else { Err(format!("{what}: not seen within {PATIENCE:?}")) }
}

/// Somebody else's file on the disk, for as long as it lives.
struct DiskBallast(PathBuf);

impl DiskBallast {
    /// Fills the disk until so many bytes are left.
    fn fill_disk(left: u64, disk: &Path) -> Self {
        let path = disk.join("ballast");
        let mut file = File::create(&path).unwrap();
        let page = vec![1; 4 << 10];
        while disk_free(disk).unwrap() > left {
            if file.write_all(&page).is_err() {
                break;
            }
        }
        Self(path)
    }
}

impl Drop for DiskBallast {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}
