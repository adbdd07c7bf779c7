//! A catalogue that is taken up without a restart, one that does not pass its check, and the way back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use geoip::DatabaseWriter;
use model::{GeoPoint, UtcMillis};
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
        Self::start_in(tempfile::tempdir().unwrap(), watches)
    }

    fn start_in(dir: TempDir, watches: bool) -> Self {
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

/// A database in which these addresses are at a place.
fn write_addresses(path: &Path, at: GeoPoint) {
    let network = "203.0.113.0/24".parse().unwrap();
    let file = DatabaseWriter::new("Test-City", UtcMillis(1_764_000_000_000)).with_place(network, at, 20);
    fs::write(path, file.finish()).unwrap();
}

#[test]
fn a_database_of_addresses_is_taken_up_when_its_file_changes_and_not_if_it_is_broken() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cities.mmdb");
    write_addresses(&file, GeoPoint { lat: 52.52, lon: 13.4 });
    fs::write(dir.path().join("tidings.yaml"), "geoip: {database: cities.mmdb}\n").unwrap();
    let house = ReloadHouse::start_in(dir, false);
    let place_of = |person: &str| {
        let fact = format!(
            "{{\"id\":\"{person}\",\"source\":\"t\",\"type\":\"tidings.profile\",\"person\":\"{person}\",\"ip_address\":\"203.0.113.7\"}}\n"
        );
        fs::write(house.dir.path().join("facts"), fact).unwrap();
        house.run("publish --file facts");
        let dossier: Value = serde_json::from_str(&house.run(&format!("person {person} --json"))).unwrap();
        dossier["profile"][0].clone()
    };
    let place = |value: &str| serde_json::json!({"field": "place_by_address", "value": value});
    let loads = |outcome: &str| format!("tidings_address_database_loads_total{{outcome=\"{outcome}\"}}");
    house.wait_for_line("tidings_address_database_built_timestamp_seconds 1764000000\n");
    assert_eq!(place_of("ann"), place("52.5,13.4"));
    fs::write(&file, "no database").unwrap();
    house.wait_for_line(&format!("{} 1\n", loads("refused")));
    assert_eq!(place_of("ben"), place("52.5,13.4"), "the one before stays");
    write_addresses(&file, GeoPoint { lat: 48.86, lon: 2.35 });
    house.wait_for_line(&format!("{} 2\n", loads("taken")));
    assert_eq!(place_of("cem"), place("48.9,2.4"));
    // The rooms went on meanwhile.
    house.wait_for_line("tidings_reloads_total{outcome=\"taken\"} 0\n");
    // What the settings say is read at a signal, and refused as a whole if the file is not there.
    fs::write(house.dir.path().join("tidings.yaml"), "geoip: {database: none.mmdb}\n").unwrap();
    house.hang_up();
    house.wait_for_line("tidings_reloads_total{outcome=\"refused\"} 1\n");
    assert_eq!(place_of("dia"), place("48.9,2.4"));
    let log = fs::read_to_string(house.dir.path().join("log")).unwrap();
    assert!(log.contains("none.mmdb") && log.contains("Test-City") && !log.contains("203.0.113"), "{log}");
}

#[test]
fn a_house_does_not_start_without_the_database_that_its_settings_name() {
    let check = |bytes: Option<&[u8]>, expected: &str| {
        let dir = tempfile::tempdir().unwrap();
        copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/scaffold"), &dir.path().join("shop"));
        if let Some(bytes) = bytes {
            fs::write(dir.path().join("cities.mmdb"), bytes).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(["up", "--catalogue", "shop", "--listen", "127.0.0.1:0"]).current_dir(dir.path());
        let done = command.env_clear().env("TIDINGS_GEOIP_DATABASE", "cities.mmdb").output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && said.contains(expected) && said.contains("cities.mmdb"), "{said}");
    };
    check(None, "No such file");
    check(Some(b"ip,lat,lon\n"), "in the format of MaxMind");
    let network = "203.0.113.0/24".parse().unwrap();
    let country = DatabaseWriter::new("GeoLite2-Country", UtcMillis(0))
        .with_record(network, &serde_json::json!({"country": {"iso_code": "DE"}}));
    check(Some(&country.finish()), "it has no places: it is `GeoLite2-Country`");
}

#[test]
fn a_share_of_the_persons_is_told_by_a_canary() {
    let house = ReloadHouse::start(false);
    let persons: Vec<String> = (0..24).map(|number| format!("p{number}")).collect();
    let said = |one: &String| {
        format!(
            "{{\"id\":\"a{one}\",\"source\":\"t\",\"type\":\"tidings.profile\",\"person\":\"{one}\",\"email\":\"{one}@example.org\"}}\n\
             {{\"id\":\"b{one}\",\"source\":\"t\",\"type\":\"tidings.follow\",\"person\":\"{one}\",\"target\":\"author:1\"}}\n"
        )
    };
    fs::write(house.dir.path().join("facts"), persons.iter().map(said).collect::<String>()).unwrap();
    house.run("publish --file facts");

    copy_folder(&house.dir.path().join("shop"), &house.dir.path().join("next"));
    let text = fs::read_to_string(house.catalogue_file()).unwrap();
    let tried = text.replacen("{{ items[0].says }}", "On trial: {{ items[0].says }}", 1);
    assert_ne!(tried, text);
    let next = house.dir.path().join("next/catalogue.yaml");
    let settings = house.dir.path().join("tidings.yaml");
    fs::write(&settings, "canary: {catalogue: next, share: 50%}\n").unwrap();
    // One that does not fit is refused, and everything stays as it was.
    fs::write(&next, tried.replacen("author:  {name: text}", "author:  {name: text, born: time}", 1))
        .unwrap();
    house.hang_up();
    house.wait_for_line("tidings_reloads_total{outcome=\"refused\"} 1\n");
    house.wait_for_line("tidings_catalogue_canary_ratio 0\n");
    fs::write(&next, &tried).unwrap();
    house.hang_up();
    house.wait_for_line("tidings_catalogue_canary_ratio 0.5\n");
    assert!(house.run("catalogue list").contains("library, canary for 50 %"));

    house.run("publish book.added book:1 title=North author=author:1 available=true");
    house.wait_until("an entry of each", |house| {
        persons.iter().all(|one| house.run(&format!("windows {one}")).contains("morning"))
    });
    house.run("release --plan morning --all");
    let headline = |house: &ReloadHouse, one: &String| {
        let dossier: Value = serde_json::from_str(&house.run(&format!("person {one} --json"))).unwrap();
        dossier["got"][0]["headline"].as_str().map(str::to_owned)
    };
    house.wait_until("a mail of each", |house| persons.iter().all(|one| headline(house, one).is_some()));
    let on_trial = |one: &&String| headline(&house, one).is_some_and(|line| line.starts_with("On trial: "));
    let count = persons.iter().filter(on_trial).count();
    assert!((4..=20).contains(&count), "{count} of 24 at a share of a half");
    // Both side by side, and as many as were told so.
    let shares: Value = serde_json::from_str(&house.run("shares --json")).unwrap();
    let entries = |arm: &str| shares["total"]["arms"][arm]["told"].as_u64().unwrap();
    assert_eq!((entries("canary"), entries("base")), (count as u64, 24 - count as u64));

    // Without a canary everybody has the one catalogue again.
    fs::write(&settings, "").unwrap();
    house.hang_up();
    house.wait_for_line("tidings_catalogue_canary_ratio 0\n");
    let shares: Value = serde_json::from_str(&house.run("shares --json")).unwrap();
    assert_eq!(shares["total"].get("arms"), None);
}
