//! `init` and `check` as whoever writes a catalogue meets them: the real program in a folder of their own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use tempfile::TempDir;

/// How long one look at a catalogue may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(dir: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(line.split_whitespace()).current_dir(dir).env_clear();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run_line(dir: &Path, line: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(dir, line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn shop() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, why) = run_line(dir.path(), "init shop");
    assert_eq!((code, why.as_str()), (0, ""), "{out}");
    // What it says to do next can be done.
    assert!(out.contains("tidings check shop\n") || out.contains("tidings check shop "), "{out}");
    dir
}

#[test]
fn a_canary_is_checked_with_its_catalogue() {
    let dir = shop();
    assert_eq!(run_line(dir.path(), "init next").0, 0);
    let check = |line: &str, code: i32, says: &str| {
        let (found, out, why) = run_line(dir.path(), line);
        assert_eq!(found, code, "{line}: {out}{why}");
        assert!(out.contains(says) || why.contains(says), "{line}: {out}{why}");
    };
    let file = dir.path().join("next/catalogue.yaml");
    let change = |from: &str, to: &str| {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
    };
    check("check shop --canary next", 3, "`catalogue` must be the same in both");
    change("catalogue: next", "catalogue: shop");
    check("check shop --canary next", 0, "the canary next fits, but has the same kinds and plans");
    change("09:00", "10:00");
    check("check shop --canary next", 0, "the canary next fits\n");
    check("check shop --canary nowhere", 3, "nowhere");
    check("check shop --canary nowhere --json", 3, "{\"problems\":[{\"what\":");
}

#[test]
fn a_new_catalogue_is_green_and_nothing_more_is_said() {
    let dir = shop();
    let (code, out, why) = run_line(dir.path(), "check shop");
    let expected = "\
shop: 3 subjects, 2 kinds and 1 plan; all rendered with example data
morning closes every day at 09:00 in the person's time zone
no problems in the catalogue
ok shop/scenarios/one-mail-in-the-morning.txt Everything that is new of an author somebody follows comes in one mail, \
at nine in their own morning.
ok shop/scenarios/only-what-is-still-true.txt What is not true any more in the morning is left out, and so is what \
somebody has seen or does not follow any more.
2 of 2 scenarios passed
";
    // What the messages weigh changes with each word of the templates.
    let (weights, rest): (Vec<&str>, Vec<&str>) = out.lines().partition(|line| line.starts_with("  full: "));
    assert_eq!((code, format!("{}\n", rest.join("\n")).as_str(), why.as_str()), (0, expected, ""));
    let [weights] = weights[..] else { panic!("{out}") };
    for form in ["nearly empty: 1 thing, ", "one of each kind: 2 things, ", "two events of one subject: "] {
        assert!(weights.contains(form), "{weights}");
    }
    let (code, _, why) = run_line(dir.path(), "init shop");
    assert_eq!((code, why.contains("is not empty")), (3, true), "{why}");
}

#[test]
fn some_scenarios_are_played_with_all_that_happens() {
    let dir = shop();
    let (code, out, _) = run_line(dir.path(), "check shop --only still --trace");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("1 of 1 scenario passed") && !out.contains("one-mail-in-the-morning"), "{out}");
    assert!(out.contains("\n  mon 2026-01-05 20:00:00  withdraw book:1\n"), "{out}");
    assert!(out.contains("ann's entry about book:1: no longer true (mail)"), "{out}");
    let (code, _, why) = run_line(dir.path(), "check shop --only snow");
    assert_eq!((code, why.contains("`only-what-is-still-true`")), (3, true), "{why}");
    let (_, out, _) = run_line(dir.path(), "check shop --verbose");
    assert!(out.contains("\n  Asia/Kolkata"), "{out}");
    let (_, out, _) = run_line(dir.path(), "check shop --json");
    assert!(out.contains("Asia/Kolkata") && !out.contains("withdraw book:1"), "{out}");
    let (_, out, _) = run_line(dir.path(), "check shop --json --trace");
    assert!(out.contains("withdraw book:1"), "{out}");
}

/// The same catalogue with another piece in it.
fn change_catalogue(dir: &Path, piece: &str, by: &str) {
    let file = dir.join("shop/catalogue.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(piece), "`{piece}` is not in it");
    fs::write(&file, text.replace(piece, by)).unwrap();
}

#[test]
fn what_a_reader_would_see_is_judged_and_written() {
    let dir = shop();
    let (code, out, why) = run_line(dir.path(), "check shop --strict --html looks");
    assert_eq!(code, 0, "{out}{why}");
    for form in ["full", "nearly-empty", "one-of-each-kind", "two-events-of-one-subject"] {
        let html = fs::read_to_string(dir.path().join(format!("looks/morning-{form}.html"))).unwrap();
        assert!(html.contains("<html") && !html.contains("{{"), "{form}");
        assert!(dir.path().join(format!("looks/morning-{form}.txt")).is_file(), "{form}");
    }
    change_catalogue(dir.path(), "headline: >-\n", "headline: >-\n      News for {{ name }},{{ \" \" }}\n");
    // The other scenario asks for the headline as it was.
    let hole = "headline of `morning` has a gap if `name` is missing: “News for ___,";
    let (code, out, _) = run_line(dir.path(), "check shop --only still");
    assert_eq!(
        (code, out.contains("note: shop/catalogue.yaml:"), out.contains(hole)),
        (0, true, true),
        "{out}"
    );
    let (code, out, why) = run_line(dir.path(), "check shop --strict --only still");
    assert_eq!((code, out.contains(hole)), (3, true), "{out}");
    assert!(why.contains("1 note, and --strict allows none"), "{why}");
    let (_, out, _) = run_line(dir.path(), "check shop --json --only still");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let note = &found["notes"][0];
    assert_eq!((note["about"].as_str(), note["plan"].as_str()), (Some("hole"), Some("morning")), "{note}");
    let full = &found["forms"][0];
    assert_eq!((full["plan"].as_str(), full["form"].as_str()), (Some("morning"), Some("full")), "{full}");
    assert!(full["html_bytes"].as_u64().is_some_and(|bytes| bytes > 1_000), "{full}");
}

#[test]
fn what_is_no_catalogue_gets_a_sentence_of_ours() {
    let dir = shop();
    let check = |line: &str, part: &str| {
        let (code, out, why) = run_line(dir.path(), line);
        assert_eq!(
            (code, why.contains(part), why.contains("os error")),
            (3, true, false),
            "{line}: {out}{why}"
        );
    };
    check("check zzz", "there is no folder `zzz`");
    check("check zzz --watch", "there is no folder `zzz`");
    check("check shop/catalogue.yaml", "`shop/catalogue.yaml` is a file and not a folder");
    check("check shop/catalogue.yaml", "name the folder that it is in: `shop`");
    check("check shop/mail", "this folder has no `catalogue.yaml`");
    fs::remove_file(dir.path().join("shop/mail/morning.txt")).unwrap();
    check("check shop", "`mail/morning.txt` cannot be read: there is no such file");
}

/// A check that goes on, and its lines as they come.
struct WatchingCheck {
    child: Child,
    lines: Receiver<String>,
}

impl WatchingCheck {
    fn begin(dir: &Path, line: &str) -> Self {
        let mut child = command(dir, line).spawn().unwrap();
        let (to, lines) = mpsc::sync_channel(1_000);
        let streams: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in streams {
            let to = to.clone();
            thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| to.send(line))
            });
        }
        Self { child, lines }
    }

    /// Waits for a line with each of these, in any order, for the two streams have none.
    fn expect_lines(&self, wanted: &[&str]) {
        let mut missing = wanted.to_vec();
        let mut heard = Vec::new();
        while !missing.is_empty() {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("{missing:?} was not said, but {heard:#?}"));
            missing.retain(|part| !line.contains(part));
            heard.push(line);
        }
    }
}

#[test]
fn a_changed_file_is_checked_again_until_somebody_ends_it() {
    let dir = shop();
    let mut watching = WatchingCheck::begin(dir.path(), "check shop --watch");
    watching.expect_lines(&["2 of 2 scenarios passed", "waiting for a change in shop"]);
    let file = dir.path().join("shop/catalogue.yaml");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, good.replacen("subject.available", "subject.availabel", 1)).unwrap();
    watching.expect_lines(&[
        "catalogue.yaml has changed",
        "did you mean `available`?",
        "waiting for a change",
    ]);
    fs::write(&file, good).unwrap();
    watching.expect_lines(&["2 of 2 scenarios passed", "waiting for a change"]);
    let pid = watching.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(watching.child.wait().unwrap().code(), Some(0));
}
