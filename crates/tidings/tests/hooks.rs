//! Hooks as an operator and a receiver meet them: the real program, a server that believes what the library of Standard
//! Webhooks believes, and an address that is gone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use engines::{HookReceiver, ReceivedCall};
use runtime::clock::SteadyStopwatch;
use serde_json::Value;

const SECRET: &str = "correct-horse-battery-staple-and-more";
/// How long a process may take to be ready, or to do what it was told of.
const PATIENCE: Duration = Duration::from_secs(180);

/// A house that ends with the test.
struct HooksHouse {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl HooksHouse {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::sync_channel(10_000);
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// Waits until it is ready; what it says before that holds no secret.
    fn wait_until_ready(&self) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            assert!(!line.contains(&SECRET[..12]), "{line}");
            if line.starts_with("ready") {
                return;
            }
        }
    }
}

impl Drop for HooksHouse {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The program with its secret and nothing else.
fn program(line: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(line).env_clear().env("TIDINGS_HOOKS_SECRET", SECRET);
    command
}

fn run_to_end(mut command: Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out
}

struct HooksSite {
    folder: PathBuf,
    receiver: HookReceiver,
}

impl HooksSite {
    fn command(&self, line: &[&str]) -> Command {
        let mut command = program(line);
        command.current_dir(&self.folder).envs([
            ("TIDINGS_HOOKS_CHANNELS", "webhook,chat"),
            ("TIDINGS_HOOKS_CA", "receiver.pem"),
            ("TIDINGS_HOOKS_HOSTS", self.receiver.host()),
            ("TIDINGS_LISTEN", "127.0.0.1:0"),
        ]);
        command
    }

    fn run(&self, line: &[&str]) -> String {
        run_to_end(self.command(line))
    }

    /// The fates of a person's entry.
    fn fates(&self, person: &str, subject: &str) -> Vec<String> {
        let days: Value = serde_json::from_str(&self.run(&["--json", "days", person])).unwrap();
        let days = days["days"].as_array().unwrap().iter();
        let mut entries = days.flat_map(|day| day["entries"].as_array().unwrap());
        let entry = entries.find(|entry| entry["subject"] == subject);
        let fates = entry.map_or(&[][..], |entry| entry["fates"].as_array().unwrap());
        fates.iter().map(|fate| fate["fate"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for this to become of an entry.
    fn wait_for_fates(&self, person: &str, subject: &str, expected: [&str; 2]) {
        let watch = SteadyStopwatch::start();
        while self.fates(person, subject) != expected {
            assert!(watch.elapsed() < PATIENCE, "{person} {subject}: {:?}", self.fates(person, subject));
        }
    }
}

#[test]
fn a_receiver_believes_what_it_is_called_with_and_one_that_is_gone_is_not_called_again() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = HookReceiver::start(run_to_end(program(&["hooks", "secret", "main"])).trim()).unwrap();
    fs::write(folder.path().join("receiver.pem"), receiver.ca().unwrap()).unwrap();
    let site = HooksSite { folder: folder.path().to_owned(), receiver };
    let at = |path: &str| site.receiver.url_of(path);
    let mut calls = 0;
    let mut called = |more: usize| {
        calls += more;
        site.receiver.await_calls(calls).unwrap().split_off(calls - more)
    };
    // At once for programs, and so for chats: nobody waits ten minutes here.
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/catalogues/hooks/catalogue.yaml");
    let text = fs::read_to_string(catalogue).unwrap().replace("close: {after: 10m}", "close: at_once");
    fs::create_dir(folder.path().join("catalogue")).unwrap();
    fs::write(folder.path().join("catalogue/catalogue.yaml"), text).unwrap();
    let house = HooksHouse::start(site.command(&["up", "--catalogue", "catalogue"]));
    house.wait_until_ready();
    let mut test = |path: &str, channel: &str| {
        let output = site.command(&["hooks", "test", &at(path), "--channel", channel]).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!said.contains(path) && !said.contains(SECRET), "{said}");
        (output.status.code(), called(1)[0].is_believed, said)
    };
    let (code, is_believed, said) = test("/test", "webhook");
    assert!(code == Some(0) && is_believed && said.starts_with("accepted as <"), "{said}");
    let (code, is_believed, said) = test("/test", "chat");
    assert!(code == Some(1) && !is_believed && said.contains("refused: 401"), "{said}");
    site.run(&["person", "ann", &format!("webhook={}", at("/ann"))]);
    site.run(&["person", "ben", &format!("webhook={}", at("/gone"))]);
    site.run(&["person", "cem", &format!("chat={}", at("/chat"))]);
    for person in ["ann", "ben", "cem"] {
        site.run(&["follow", person, "room:1"]);
    }
    let say = |id: &str, words: &str| {
        let (id, words) = (format!("message:{id}"), format!("words={words}"));
        site.run(&["publish", "message.sent", &id, &words, "room=room:1", "kept=true"]);
    };
    say("1", "<!here>");
    let sorted = |mut calls: Vec<ReceivedCall>| {
        calls.sort_by_key(|call| call.path.clone());
        calls
    };
    let calls = sorted(called(3));
    assert!(calls.iter().all(|call| call.is_believed), "{calls:?}");
    let paths = |calls: &[ReceivedCall]| calls.iter().map(|call| call.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&calls), ["/ann", "/chat", "/gone"]);
    let data = &calls[0].says["data"];
    assert_eq!((&data["person"], &data["text"]), (&"ann".into(), &"<!here>".into()));
    assert_eq!(data["told"][0]["subject"], "message:1");
    assert_eq!(calls[1].says["text"], "*1 new*\n&lt;!here&gt;");
    site.wait_for_fates("ann", "message:1", ["told", "no address"]);
    site.wait_for_fates("cem", "message:1", ["no address", "told"]);
    site.wait_for_fates("ben", "message:1", ["refused by the channel", "no address"]);
    say("2", "Two");
    assert_eq!(paths(&sorted(called(2))), ["/ann", "/chat"]);
    site.wait_for_fates("ben", "message:2", ["no address", "no address"]);
    assert_eq!(site.receiver.read_calls().unwrap().len(), 7, "nobody else was called");
}
