//! Commands that know nothing of a house but its address and a token: from a folder of their own, with no settings and no
//! disk in common. The program is the real one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
};

use engines::PushService;
use serde_json::Value;

const OPERATE: &str = "operator-0123456789abcdef";
const READ: &str = "reader-0123456789abcdef";
const METRICS: &str = "scraper-0123456789abcdef";

fn program(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.current_dir(dir).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn read_output(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// A house in a folder, and whoever asks it in another.
struct HouseElsewhere {
    child: Child,
    url: String,
    _home: tempfile::TempDir,
    desk: tempfile::TempDir,
}

impl HouseElsewhere {
    fn start() -> Self {
        let (home, desk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (code, _, why) = read_output(program(home.path()).args(["init", "shop"]).output().unwrap());
        assert_eq!(code, 0, "{why}");
        fs::remove_file(home.path().join("shop/demo.ndjson")).unwrap();
        // The new token, and the one that some still show.
        fs::write(home.path().join("operate"), format!("{OPERATE}\nold-{OPERATE}\n")).unwrap();
        let settings = format!(
            "access_tokens:\n- {{role: operate, token_file: operate}}\n- {{role: read, token: {READ}}}\n\
             - {{role: metrics, token: {METRICS}}}\n"
        );
        fs::write(home.path().join("tidings.yaml"), settings).unwrap();
        for (name, token) in [
            ("operate", OPERATE.to_owned()),
            ("old", format!("old-{OPERATE}")),
            ("read", READ.to_owned()),
            ("metrics", METRICS.to_owned()),
            ("wrong", "nobody-0123456789abcdef".to_owned()),
        ] {
            fs::write(desk.path().join(name), format!("{token}\n")).unwrap();
        }
        let mut command = program(home.path());
        command.args([
            "up",
            "--demo",
            "--listen",
            "127.0.0.1:0",
            "--catalogue",
            "shop",
            "--data-dir",
            "data",
        ]);
        let mut child = command.spawn().unwrap();
        let (mut heard, mut address) = (String::new(), String::new());
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while !heard.lines().any(|line| line.starts_with("ready")) {
            assert!(lines.read_line(&mut heard).unwrap() > 0, "it did not start: {heard}");
        }
        assert!(!heard.contains("0123456789abcdef"), "a token is shown: {heard}");
        std::thread::spawn(move || lines.lines().map_while(Result::ok).for_each(drop));
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let url = address.trim().trim_end_matches('/').to_owned();
        Self { child, url, _home: home, desk }
    }

    fn desk(&self) -> &Path {
        self.desk.path()
    }

    /// Runs a command with the token of a file.
    fn run(&self, token: &str, line: &str) -> (i32, String, String) {
        let mut command = program(self.desk());
        command.args(line.split_whitespace()).args(["--server", &self.url, "--token-file", token]);
        read_output(command.output().unwrap())
    }

    fn run_ok(&self, line: &str) -> String {
        let (code, out, why) = self.run("operate", line);
        assert_eq!(code, 0, "{line}: {out}{why}");
        assert!(!format!("{out}{why}").contains("0123456789abcdef"), "{line}: {out}{why}");
        out
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run_ok(&format!("{line} --json"))).unwrap()
    }

    /// Asks until something is so, for rooms take their time.
    fn wait_for(&self, line: &str, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..600 {
            let found = self.json(line);
            if is(&found) {
                return found;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(100));
        }
        panic!("{line}: waited in vain");
    }

    fn status_of(&self, path: &str, token: &str) -> u16 {
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let agent = ureq::Agent::from(config);
        let asked =
            agent.get(format!("{}{path}", self.url)).header("authorization", format!("Bearer {token}"));
        asked.call().unwrap().status().as_u16()
    }

    /// Everything in the asker's folder.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.desk()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for HouseElsewhere {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_house_is_run_by_address_and_token_alone() {
    let house = HouseElsewhere::start();
    let own = ["metrics", "old", "operate", "read", "wrong"];
    assert_eq!(house.files(), own);

    // What is told to it, and asked of it.
    house.run_ok("person ann name=Ann email=ann@example.org zone=UTC");
    house.run_ok("follow ann author:1");
    house.run_ok("publish author.named author:1 name=Okafor");
    house.run_ok("device ann phone android 9876543210-device-token");
    house.run_ok("publish book.added book:1 title=Harbour author=author:1 available=true");
    fs::write(
        house.desk().join("more.ndjson"),
        "{\"id\":\"m1\",\"source\":\"t\",\"type\":\"book.added\",\"subject\":\"book:2\",\"title\":\"Pier\",\"author\":\"author:1\",\"available\":true}\n",
    )
    .unwrap();
    house.run_ok("publish --file more.ndjson");
    let open = house.wait_for("windows ann", |open| open["windows"][0]["plan"] == "morning");
    assert_eq!(open["windows"].as_array().unwrap().len(), 1, "{open}");
    let days = house
        .wait_for("days ann", |days| days["days"][0]["entries"].as_array().is_some_and(|all| all.len() == 2));
    assert_eq!(days["person"], "ann", "{days}");
    assert!(house.run_ok("explain --person ann --event book:1").contains("book:1"));
    assert!(house.run_ok("preview book_added --person ann").contains("Harbour"));
    assert!(house.run_ok("person ann").contains("Okafor"));
    house.run_ok("mute ann --actor bob");
    house.run_ok("unmute ann --actor bob");
    house.run_ok("unfollow ann author:2");
    for line in
        ["shares", "unknown", "device ann", "suppressions list ann", "state list", "clock", "quarantine list"]
    {
        house.run_ok(line);
    }
    assert_eq!(house.json("release --plan morning --person ann")["released"], 1);
    house.wait_for("windows ann", |open| open["windows"].as_array().is_some_and(Vec::is_empty));
    let entry = days["days"][0]["entries"][0]["entry"].as_str().unwrap().to_owned();
    house.run_ok(&format!("feedback read ann {entry}"));
    settle_what_is_left(&house);
    archive_old_days(&house);
    house.run_ok("erase ann --yes");
    house.wait_for("erase ann --receipt", |receipt| receipt.to_string().contains("done"));
    let files = house.files();
    assert!(!files.iter().any(|name| name.contains("tidings") || name.ends_with("unfinished")), "{files:?}");
}

/// What cannot be used, and what is said once more.
fn settle_what_is_left(house: &HouseElsewhere) {
    fs::write(house.desk().join("bad"), "nonsense").unwrap();
    house.run_ok("publish --upstream bad");
    let items =
        house.wait_for("quarantine list", |items| items.as_array().is_some_and(|all| !all.is_empty()));
    let number = items[0]["number"].as_u64().or(items[0]["item"].as_u64()).unwrap_or(1);
    house.run_ok(&format!("quarantine show {number}"));
    house.run_ok("quarantine drop --all");
    house.run_ok("replay events --last 3h");
    house.run_ok("replay --list");
}

/// Old days leave as a file here; only then the house drops them.
fn archive_old_days(house: &HouseElsewhere) {
    for _ in 0..2 {
        house.run_ok("clock --to week");
    }
    let (code, _, why) = house.run("operate", "archive --before 1d");
    assert_eq!((code, why.contains("may still be told")), (3, true), "{why}");
    let (code, _, why) = house.run("read", "archive --before 9d --out old.avro");
    assert_eq!((code, why.contains("needs the role `operate`")), (3, true), "{why}");
    assert!(!house.desk().join("old.avro").exists());
    let archived = house.json("archive --before 9d --out old.avro");
    let kept = house.desk().join("old.avro");
    let rows =
        wire::archive::open_archive(fs::File::open(&kept).unwrap()).unwrap().map(Result::unwrap).count();
    assert_eq!(
        (archived["rows"].as_u64(), archived["days"].as_array().unwrap().len()),
        (Some(rows as u64), 1)
    );
    assert!(rows >= 3, "two entries and what became of them: {archived}");
    assert!(house.json("days ann --since 21d")["days"].as_array().unwrap().is_empty());
    // Once more, as after an answer that was lost: the file is whole, and nothing is left to drop.
    assert_eq!(house.json("archive --before 9d --out old.avro")["rows"], 0);
    house.run_ok("archive --before 9d --out none.avro");
    assert!(!house.desk().join("none.avro").exists(), "no rows, no file");
    fs::write(house.desk().join("diary"), "dear diary").unwrap();
    assert_eq!(house.run("operate", "archive --before 9d --out diary").0, 3);
    assert_eq!(fs::read_to_string(house.desk().join("diary")).unwrap(), "dear diary");
}

#[test]
fn a_token_opens_what_its_role_is_for() {
    let house = HouseElsewhere::start();
    assert_eq!(house.run("old", "follow ann author:1").0, 0, "the one before is known for a while");
    for line in ["days ann", "shares", "quarantine list", "clock", "unknown", "health"] {
        let (code, out, why) = house.run("read", line);
        assert_eq!(code, 0, "{line}: {out}{why}");
    }
    let changes = [
        "follow ann author:2",
        "person ann zone=UTC",
        "publish author.named author:1 name=O",
        "release --plan morning --person ann",
        "release --plan morning --all",
        "quarantine drop --all",
        "clock --by 1h",
        "erase ann --yes",
        "archive --before 30d --out a.avro",
        "windows ann --release morning",
        "replay events --last 3h --execute",
    ];
    for line in changes {
        let (code, out, why) = house.run("read", line);
        assert_eq!(code, 3, "{line}: {out}{why}");
        assert!(
            why.contains("this token has the role `read`; this needs the role `operate`"),
            "{line}: {why}"
        );
        let (code, out, why) = house.run("metrics", line);
        assert_eq!((code, why.contains("has the role `metrics`")), (3, true), "{line}: {out}{why}");
        let (code, out, why) = house.run("wrong", line);
        assert_eq!(code, 3, "{line}: {out}{why}");
        assert!(why.contains("does not know this token: --token-file"), "{line}: {why}");
        assert!(!why.contains("0123456789abcdef"), "{line}: {why}");
    }
    for (path, token, status) in [
        ("/metrics", METRICS, 200),
        ("/metrics", READ, 200),
        ("/metrics", OPERATE, 200),
        ("/metrics", "nobody-0123456789abcdef", 401),
        ("/admin/stages", METRICS, 403),
        ("/admin/stages", READ, 200),
        ("/v1/people/ann/entries", OPERATE, 401),
        ("/", METRICS, 401),
    ] {
        assert_eq!(house.status_of(path, token), status, "{path} {token}");
    }
}

#[test]
fn what_is_wrong_with_a_house_elsewhere_is_said() {
    let desk = tempfile::tempdir().unwrap();
    fs::write(desk.path().join("token"), READ).unwrap();
    fs::write(desk.path().join("empty"), "\n").unwrap();
    let check = |line: &str, environment: &[(&str, &str)], code: i32, says: &str| {
        let mut command = program(desk.path());
        command.args(line.split_whitespace()).envs(environment.iter().copied());
        let (ended, out, why) = read_output(command.output().unwrap());
        assert_eq!(ended, code, "{line}: {out}{why}");
        assert!(why.contains(says), "{line}: {why}");
        assert!(!why.contains("0123456789abcdef"), "{line}: {why}");
    };
    let dead = "--server http://127.0.0.1:1 --token-file token";
    for line in ["days ann", "clock", "publish a.b x:1", "archive --before 30d", "state list"] {
        check(&format!("{line} {dead}"), &[], 4, "no house answers at http://127.0.0.1:1: ");
    }
    check("health --server http://127.0.0.1:1", &[], 4, "nobody answers at http://127.0.0.1:1");
    check("days ann --server http://127.0.0.1:1", &[], 3, "needs a token: name a file");
    check("days ann --token-file nowhere", &[], 3, "flag --token-file: nowhere: ");
    check("days ann --token-file empty", &[], 3, "at least 16 characters");
    check(&format!("days ann {dead} --ca-file nowhere"), &[], 3, "read nowhere");
    check("days ann --token-file token --server http://news.example.org", &[], 3, "is not encrypted");
    let environment = [("TIDINGS_SERVER", "http://127.0.0.1:1"), ("TIDINGS_TOKEN_FILE", "token")];
    check("days ann", &environment, 4, "no house answers at http://127.0.0.1:1");
    // A proxy of the environment is given no token.
    let proxied = [("HTTP_PROXY", "http://127.0.0.1:2"), ("ALL_PROXY", "http://127.0.0.1:2")];
    check(&format!("days ann {dead}"), &proxied, 4, "no house answers at http://127.0.0.1:1");
    for line in ["up", "run ingest", "migrate", "repartition --to 8", "send-test a@b.example", "bench list"] {
        check(&format!("{line} {dead}"), &[], 2, "");
    }
    check(&format!("migrate {dead}"), &[], 2, "this command asks no house");
}

/// Answers each request with a text; tells what it heard.
fn answer_always(answer: String) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heard) = mpsc::sync_channel(100);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4_096];
            let read = stream.read(&mut bytes).unwrap_or(0);
            drop(sender.send(String::from_utf8_lossy(&bytes[..read]).into_owned()));
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    (address, heard)
}

#[test]
fn a_token_follows_no_redirect() {
    let desk = tempfile::tempdir().unwrap();
    fs::write(desk.path().join("token"), READ).unwrap();
    let (thief, stolen) = answer_always("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_owned());
    let (guide, asked) =
        answer_always(format!("HTTP/1.1 302 Found\r\nlocation: {thief}/x\r\ncontent-length: 0\r\n\r\n"));
    for line in ["days ann", "clock", "archive --before 30d", "publish a.b x:1"] {
        let mut command = program(desk.path());
        command.args(line.split_whitespace()).args(["--server", &guide, "--token-file", "token"]);
        let (code, _, why) = read_output(command.output().unwrap());
        assert_eq!(code, 3, "{line}: {why}");
        assert!(why.contains(&format!("leads to {thief}/x")) && why.contains("--server"), "{line}: {why}");
        assert!(asked.recv().unwrap().contains(READ));
    }
    assert!(stolen.try_recv().is_err(), "somebody else was shown the token");
    // Whoever is no house is not taken for one.
    let mut command = program(desk.path());
    command.args(["days", "ann", "--server", &thief, "--token-file", "token"]);
    let (code, _, why) = read_output(command.output().unwrap());
    assert_eq!((code, why.contains("does not answer as a house of Tidings does")), (1, true), "{why}");
}

#[test]
fn a_house_behind_tls_is_believed_by_its_authority_alone() {
    let service = PushService::start().unwrap();
    let desk = tempfile::tempdir().unwrap();
    fs::write(desk.path().join("token"), READ).unwrap();
    fs::write(desk.path().join("ca.pem"), service.ca().unwrap()).unwrap();
    let url = format!("https://{}", service.address());
    let run = |more: &[&str]| {
        let mut command = program(desk.path());
        command.args(["days", "ann", "--server", &url, "--token-file", "token"]).args(more);
        read_output(command.output().unwrap())
    };
    let (code, _, why) = run(&[]);
    assert_eq!((code, why.contains("--ca-file names who signed its certificate")), (4, true), "{why}");
    // It is no house, but it is who its certificate says.
    let (code, _, why) = run(&["--ca-file", "ca.pem"]);
    assert!(code != 4 && !why.contains("certificate"), "{code}: {why}");
}
