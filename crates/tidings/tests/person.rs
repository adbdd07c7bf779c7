//! Commands beside a house and on a folder on which none runs, as somebody who answers questions meets them: `tidings person`,
//! a cancelled window, `tidings health`. The program is the real one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

fn command(dir: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(line.split_whitespace()).current_dir(dir).env_clear();
    command.env("TIDINGS_DATA_DIR", "data").env("TIDINGS_CATALOGUE", "shop");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run_line(dir: &Path, line: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(dir, line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn run_ok(dir: &Path, line: &str) {
    let (code, out, why) = run_line(dir, line);
    assert_eq!(code, 0, "{line}: {out}{why}");
}

fn start_house(dir: &Path) -> Child {
    let mut child = command(dir, "up --listen 127.0.0.1:0").spawn().unwrap();
    let mut heard = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    while !heard.lines().any(|line| line.starts_with("ready")) {
        assert!(lines.read_line(&mut heard).unwrap() > 0, "it did not start: {heard}");
    }
    std::thread::spawn(move || lines.lines().map_while(Result::ok).for_each(drop));
    child
}

/// Asks until something is so, for rooms take their time.
fn wait_for_json(dir: &Path, line: &str, is: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let (code, out, _) = run_line(dir, line);
        let found = if code == 0 { serde_json::from_str(&out).unwrap() } else { Value::Null };
        if is(&found) {
            return found;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(100));
    }
    panic!("{line}: waited in vain");
}

#[test]
fn what_is_known_of_a_person_is_shown_by_a_house_and_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run_ok(dir, "init shop");
    let mut house = start_house(dir);
    run_ok(dir, "person ann name=Ann email=ann@example.org zone=Europe/Berlin");
    run_ok(dir, "publish author.named author:1 name=Okafor");
    run_ok(dir, "follow ann author:1");
    run_ok(dir, "mute ann --actor bob");
    run_ok(dir, "device ann phone android 0123456789abcdef0123456789abcdef");
    run_ok(dir, "publish book.added book:1 title=Harbour author=author:1 available=true");
    let whole = wait_for_json(dir, "person ann --json", |whole| !whole["coming"][0]["message"].is_null());
    assert_eq!(whole["coming"][0]["message"]["headline"], "Okafor: “Harbour”", "{whole}");
    assert_eq!(whole["follows"]["newest"][0]["name"], "Okafor", "{whole}");
    let known = |out: &str| {
        for part in [
            "ann, Ann",
            "(Europe/Berlin)",
            "a\u{2026}@example.org",
            "token \u{2026}cdef",
            "follows 1",
            "what bob does",
            "morning (email)",
            "Okafor: “Harbour”, 1 entry",
            "no message as far back as days are kept",
            "email: waiting",
        ] {
            assert!(out.contains(part), "{part}: {out}");
        }
        assert!(!out.contains("ann@example") && !out.contains("0123456789abcdef"), "{out}");
    };
    known(&run_line(dir, "person ann").1);
    let (code, _, why) = run_line(dir, "person anna");
    assert_eq!((code, why.contains("did you mean `ann`")), (3, true), "{why}");

    // Nobody is here to be asked.
    let (code, _, why) = run_line(dir, "windows ann --cancel morning");
    assert_eq!((code, why.contains("cannot be undone") && why.contains("--yes")), (2, true), "{why}");
    assert!(run_line(dir, "windows ann").1.contains("morning"), "it was cancelled unasked");
    house.kill().unwrap();
    house.wait().unwrap();

    known(&run_line(dir, "person ann").1);
    let (code, _, why) = run_line(dir, "person anna");
    assert_eq!((code, why.contains("did you mean `ann`")), (3, true), "{why}");
    let (code, out, why) = run_line(dir, "person ann --catalogue nowhere");
    assert_eq!(code, 2, "{out}{why}");
    let (code, out, why) = told_without_catalogue(dir);
    assert_eq!((code, why.contains("without a catalogue")), (0, true), "{why}");
    assert!(out.contains("author:1") && !out.contains("Okafor"), "{out}");
    let (code, _, why) = run_line(dir, "windows ann --cancel morning --yes");
    assert_eq!((code, why.contains("will be cancelled")), (0, true), "{why}");
}

fn told_without_catalogue(dir: &Path) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        command(dir, "person ann").env_remove("TIDINGS_CATALOGUE").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

#[test]
fn a_house_says_whether_it_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run_ok(dir, "init shop");
    let check = |line: &str, code: i32, says: &str| {
        let (ended, out, why) = run_line(dir, line);
        assert_eq!(ended, code, "{line}: {out}{why}");
        assert!(format!("{out}{why}").contains(says), "{line}: {out}{why}");
    };
    let mut house = start_house(dir);
    check("health", 0, "ready");
    check("health --live --json", 0, "\"state\":");
    check("health --url http://127.0.0.1:1", 4, "nobody answers at http://127.0.0.1:1");
    house.kill().unwrap();
    house.wait().unwrap();
    check("health", 4, "nobody answers at");
}
