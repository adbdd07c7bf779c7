//! Hooks as an operator and a receiver meet them: the real program, a server that believes what the library of Standard
//! Webhooks believes, and an address that is gone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use engines::{Certificates, python};
use runtime::clock::Stopwatch;
use serde_json::Value;

const SECRET: &str = "correct-horse-battery-staple-and-more";
/// How long a process may take to be ready, or to do what it was told of.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with the test, and what it says.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn start(mut command: Command, errors: bool) -> Self {
        let (out, err) =
            if errors { (Stdio::null(), Stdio::piped()) } else { (Stdio::piped(), Stdio::inherit()) };
        let mut child = command.stdout(out).stderr(err).spawn().unwrap();
        let said: Box<dyn Read + Send> = if errors {
            Box::new(child.stderr.take().unwrap())
        } else {
            Box::new(child.stdout.take().unwrap())
        };
        let (sender, lines) = mpsc::sync_channel(10_000);
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The first line that begins so; what comes before it holds no secret and no address.
    fn line(&self, beginning: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            assert!(!line.contains("correct-horse"), "{line}");
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line("{")).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

struct Site {
    folder: PathBuf,
    ca: PathBuf,
}

impl Site {
    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(line).current_dir(&self.folder).env_clear();
        command.envs([
            ("TIDINGS_HOOKS_CHANNELS", "webhook,chat"),
            ("TIDINGS_HOOKS_SECRET", SECRET),
            ("TIDINGS_HOOKS_CA", self.ca.to_str().unwrap()),
            ("TIDINGS_HOOKS_HOSTS", "127.0.0.1"),
            ("TIDINGS_LISTEN", "127.0.0.1:0"),
        ]);
        command
    }

    fn said(&self, line: &[&str]) -> String {
        let output = self.command(line).output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{line:?}: {out}{err}");
        out
    }

    /// The fates of a person's entry.
    fn fates(&self, person: &str, subject: &str) -> Vec<String> {
        let days: Value = serde_json::from_str(&self.said(&["--json", "days", person])).unwrap();
        let days = days["days"].as_array().unwrap().iter();
        let mut entries = days.flat_map(|day| day["entries"].as_array().unwrap());
        let entry = entries.find(|entry| entry["subject"] == subject);
        let fates = entry.map_or(&[][..], |entry| entry["fates"].as_array().unwrap());
        fates.iter().map(|fate| fate["fate"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for this to become of an entry.
    fn comes_to(&self, person: &str, subject: &str, expected: [&str; 2]) {
        let watch = Stopwatch::start();
        while self.fates(person, subject) != expected {
            assert!(watch.elapsed() < PATIENCE, "{person} {subject}: {:?}", self.fates(person, subject));
        }
    }
}

#[test]
fn a_receiver_believes_what_it_is_called_with_and_one_that_is_gone_is_not_called_again() {
    let folder = tempfile::tempdir().unwrap();
    let made = Certificates::make(folder.path(), &["127.0.0.1"]).unwrap();
    let site = Site { folder: folder.path().to_owned(), ca: made.ca_pem.clone() };
    let key = site.said(&["hooks", "secret", "main"]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/webhook_receiver.py");
    let mut command = Command::new(python().unwrap());
    command.arg(program).arg(&made.nodes_pem).arg(key.trim());
    let receiver = Running::start(command, false);
    let port = receiver.line("ready ").trim_start_matches("ready ").to_owned();
    // At once for programs, and so for chats: nobody waits ten minutes here.
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/catalogues/hooks/catalogue.yaml");
    let text = fs::read_to_string(catalogue).unwrap().replace("close: {after: 10m}", "close: at_once");
    fs::create_dir(folder.path().join("catalogue")).unwrap();
    fs::write(folder.path().join("catalogue/catalogue.yaml"), text).unwrap();
    let house = Running::start(site.command(&["up", "--catalogue", "catalogue"]), true);
    house.line("ready");
    let test = |path: &str, channel: &str| {
        let address = format!("https://127.0.0.1:{port}{path}");
        let output = site.command(&["hooks", "test", &address, "--channel", channel]).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!said.contains(path) && !said.contains(SECRET), "{said}");
        (output.status.code(), receiver.json()["believed"].clone(), said)
    };
    let (code, believed, said) = test("/test", "webhook");
    assert!(code == Some(0) && believed == true && said.starts_with("accepted as <"), "{said}");
    let (code, believed, said) = test("/test", "chat");
    assert!(code == Some(1) && believed == false && said.contains("refused: 401"), "{said}");
    let at = |path: &str| format!("https://127.0.0.1:{port}{path}");
    site.said(&["person", "ann", &format!("webhook={}", at("/ann"))]);
    site.said(&["person", "ben", &format!("webhook={}", at("/gone"))]);
    site.said(&["person", "cem", &format!("chat={}", at("/chat"))]);
    for person in ["ann", "ben", "cem"] {
        site.said(&["follow", person, "room:1"]);
    }
    let say = |id: &str, words: &str| {
        let (id, words) = (format!("message:{id}"), format!("words={words}"));
        site.said(&["publish", "message.sent", &id, &words, "room=room:1", "kept=true"]);
    };
    say("1", "<!here>");
    let mut calls: Vec<Value> = (0..3).map(|_| receiver.json()).collect();
    calls.sort_by_key(|call| call["path"].to_string());
    assert!(calls.iter().all(|call| call["believed"] == true), "{calls:?}");
    let [ann, cem, ben] = calls.try_into().unwrap();
    assert_eq!(
        (&ann["path"], &cem["path"], &ben["path"]),
        (&"/ann".into(), &"/chat".into(), &"/gone".into())
    );
    let data = &ann["says"]["data"];
    assert_eq!((&data["person"], &data["text"]), (&"ann".into(), &"<!here>".into()));
    assert_eq!(data["told"][0]["subject"], "message:1");
    assert_eq!(cem["says"]["text"], "*1 new*\n&lt;!here&gt;");
    site.comes_to("ann", "message:1", ["told", "no address"]);
    site.comes_to("cem", "message:1", ["no address", "told"]);
    site.comes_to("ben", "message:1", ["refused by the channel", "no address"]);
    say("2", "Two");
    let mut paths: Vec<Value> = (0..2).map(|_| receiver.json()["path"].clone()).collect();
    paths.sort_by_key(Value::to_string);
    assert_eq!(paths, ["/ann", "/chat"]);
    site.comes_to("ben", "message:2", ["no address", "no address"]);
    assert!(receiver.lines.try_recv().is_err(), "nobody else was called");
}
