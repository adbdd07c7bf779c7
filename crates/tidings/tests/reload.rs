//! A catalogue that is taken up without a restart, one that does not pass its check, and the way back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use runtime::clock::SteadyStopwatch;
use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take to come about.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// A house on a folder of its own, with a catalogue that can be changed.
struct ReloadHouse {
    dir: TempDir,
    child: Child,
}

impl ReloadHouse {
    fn start(watches: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scaffold = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/scaffold");
        copy_folder(&scaffold, &dir.path().join("shop"));
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(["up", "--catalogue", "shop", "--listen", "127.0.0.1:0"]).current_dir(dir.path());
        command.env_clear().env("TIDINGS_CATALOGUE_WATCH", watches.to_string());
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let house = Self { dir, child };
        house.wait_until("a house", |house| house.admin().is_some());
        house
    }

    fn admin(&self) -> Option<Value> {
        let text = fs::read_to_string(self.dir.path().join(".tidings/admin.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn catalogue_file(&self) -> PathBuf {
        self.dir.path().join("shop/catalogue.yaml")
    }

    fn write_catalogue(&self, text: &str) {
        fs::write(self.catalogue_file(), text).unwrap();
    }

    fn hang_up(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    }

    /// What the metrics say, or nothing while the rooms begin again.
    fn metrics(&self) -> String {
        let Some(admin) = self.admin() else { return String::new() };
        let address = admin["address"].as_str().unwrap();
        let answer = ureq::get(format!("{address}/metrics")).call();
        answer.ok().and_then(|mut answer| answer.body_mut().read_to_string().ok()).unwrap_or_default()
    }

    fn run(&self, line: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).env_clear();
        let done = command.output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap() + &String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{line}: {said}");
        said
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = SteadyStopwatch::start();
        while !is_so(self) {
            let log = || fs::read_to_string(self.dir.path().join("log")).unwrap();
            assert!(begun.elapsed() < PATIENCE, "{what} did not come: {}\n{}", log(), self.metrics());
            thread::park_timeout(LOOK);
        }
    }

    fn wait_for_line(&self, line: &str) {
        self.wait_until(line, |house| house.metrics().contains(line));
    }
}

impl Drop for ReloadHouse {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(|item| item.unwrap().path()) {
        let target = to.join(item.file_name().unwrap());
        if item.is_dir() {
            copy_folder(&item, &target);
        } else {
            fs::copy(&item, &target).unwrap();
        }
    }
}

#[test]
fn a_catalogue_is_taken_up_checked_and_taken_back_without_a_restart() {
    let house = ReloadHouse::start(false);
    let first = fs::read_to_string(house.catalogue_file()).unwrap();
    house.run("follow ann author:7");
    let pid = house.admin().unwrap()["pid"].clone();

    house.write_catalogue("catalogue: shop\nkinds: {x: {on: y}}\n");
    house.hang_up();
    house.wait_for_line("tidings_reloads_total{outcome=\"refused\"} 1\n");
    assert!(house.metrics().contains("edition=\"1\""), "{}", house.metrics());

    house.write_catalogue(&first.replacen("look_back: 7d", "look_back: 8d", 1));
    assert_ne!(fs::read_to_string(house.catalogue_file()).unwrap(), first);
    house.hang_up();
    house.wait_for_line("edition=\"2\"");
    house.wait_for_line("tidings_reloads_total{outcome=\"taken\"} 1\n");
    let listed = house.run("catalogue list");
    assert_eq!(listed.lines().filter(|line| line.contains("library")).count(), 2, "{listed}");

    let said = house.run("catalogue back");
    assert!(said.contains("as edition 3"), "{said}");
    house.wait_for_line("edition=\"3\"");
    house.wait_for_line("tidings_reloads_total{outcome=\"taken\"} 2\n");
    // The same process, and what it knew it still knows.
    assert_eq!(house.admin().unwrap()["pid"], pid);
    assert!(house.run("person ann").contains("author:7"));
}

#[test]
fn a_changed_file_is_taken_up_by_itself_where_that_is_wanted() {
    let house = ReloadHouse::start(true);
    let first = fs::read_to_string(house.catalogue_file()).unwrap();
    // The folder must have been seen as it was.
    thread::park_timeout(Duration::from_secs(5));
    house.write_catalogue(&first.replacen("look_back: 7d", "look_back: 9d", 1));
    house.wait_for_line("edition=\"2\"");
}
