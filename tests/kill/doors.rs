//! The real process with few files, with many who say nothing, and in a directory that others could read.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::{PATIENCE, house::KillHouse, wait_until};

/// Files of a process that has few.
const FILES: u64 = 128;
/// Whoever connects and says half a word.
const STRANGERS: usize = 200;

fn follow_fact(number: usize) -> String {
    json!({"id": format!("f{number}"), "source": "kill", "type": "tidings.follow",
        "data": {"person": format!("p{number}"), "target": "author:a"}})
    .to_string()
}

fn post_event(number: usize) -> String {
    json!({"id": format!("e{number}"), "source": "kill", "type": "post.published", "subject": format!("post:{number}"),
        "data": {"title": "Moon", "author": "author:a", "public": true}})
    .to_string()
}

#[test]
fn a_misspelt_fault_is_refused() {
    let program = || std::process::Command::new(tests::binary().unwrap());
    let refused = program().arg("config").env("TIDINGS_FAULT", "older-win").output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{why}");
    assert!(why.contains("`older-win` of TIDINGS_FAULT is not a fault: did you mean `older-wins`?"), "{why}");
    for fine in ["", "older-wins"] {
        let dir = tempfile::tempdir().unwrap();
        let done =
            program().arg("config").current_dir(dir.path()).env("TIDINGS_FAULT", fine).output().unwrap();
        assert!(done.status.success(), "{fine}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn many_who_say_nothing_break_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let house = KillHouse::start_narrow(dir.path(), FILES).unwrap();
    assert!(house.takes("/v1/facts", &follow_fact(0)));
    let strangers: Vec<TcpStream> = (0..STRANGERS)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(house.host_port()).ok()?;
            stream.write_all(b"GET / HTTP/1.1\r\n").ok()?;
            Some(stream)
        })
        .collect();
    // They hold what they may hold; others are told so, or find a place when the first of them are closed.
    for number in 1..50 {
        let answer = house.post_text("/v1/facts", &follow_fact(number));
        assert!(
            answer
                .as_ref()
                .map_or_else(|why| why.starts_with("io: "), |(status, _)| [202, 503].contains(status)),
            "{answer:?}"
        );
    }
    for mut stream in strangers {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut said = Vec::new();
        // Closed, with a word or without, within seconds: nobody waits for what does not come.
        let read = stream.read_to_end(&mut said);
        assert!(read.is_ok() || said.is_empty() || said.starts_with(b"HTTP/1.1 503"), "{read:?} {said:?}");
    }
    assert_eq!(house.get_text("/health/ready").unwrap().0, 200, "{}", house.drain_log());
    assert!(house.post("/v1/changes", &post_event(1)));
    house.await_all_read();
    assert_eq!(house.days("p0").unwrap()["days"][0]["entries"].as_array().unwrap().len(), 1);
}

/// Files run out under the engines: the house waits as it does on a full disk, and goes on by itself.
#[test]
fn an_engine_without_files_waits_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let house = KillHouse::start(dir.path(), None).unwrap();
    assert!(house.takes("/v1/facts", &follow_fact(0)));
    let pid = Pid::from_raw(i32::try_from(house.pid()).unwrap()).unwrap();
    let usual = getrlimit(Resource::Nofile);
    let limited = |files: Option<u64>| {
        let current = files.or(usual.current);
        prlimit(Some(pid), Resource::Nofile, Rlimit { current, maximum: usual.maximum }).unwrap();
    };
    // Kept open: a new connection is a file too.
    assert_eq!(house.get_text("/health/live").unwrap().0, 200);
    limited(Some(8));
    // The first entry of a day makes its tables, which are files.
    let answer = house.post_text("/v1/changes", &post_event(1));
    assert!(answer.is_err() || answer.as_ref().is_ok_and(|(status, _)| *status >= 202), "{answer:?}");
    let waits = wait_until(|| house.has_logged("Too many open files"));
    limited(None);
    assert!(waits, "the house did not wait: {}", house.drain_log());
    assert!(
        wait_until(|| house.get_text("/health/ready").is_ok_and(|(status, _)| status == 200)),
        "{}",
        house.drain_log()
    );
    assert!(house.takes("/v1/changes", &post_event(2)));
    house.await_all_read();
    let days = house.days("p0").unwrap();
    let found = days["days"][0]["entries"].as_array().map_or(0, Vec::len);
    assert!(found >= 1, "{days}");
}

#[test]
fn nothing_in_it_is_for_others() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let house = KillHouse::start(dir.path(), None).unwrap();
    assert!(house.takes("/v1/facts", &follow_fact(0)));
    assert!(house.takes("/v1/changes", &post_event(1)));
    house.await_all_read();
    house.move_clock("morning");
    house.await_all_read();
    let mut found = vec![dir.path().to_owned()];
    let mut looked = 0;
    while let Some(path) = found.pop() {
        // A file of a table may be gone by now.
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", path.display());
        looked += 1;
        if metadata.is_dir() {
            found.extend(files_within(&path));
        }
    }
    assert!(looked > 10, "{looked}");
}

fn files_within(path: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
}

const _: () = assert!(STRANGERS as u64 > FILES && PATIENCE.as_secs() > Duration::from_secs(60).as_secs());
