//! A real `tidings up` with a catalogue of the examples, and how a test talks to it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use runtime::clock::SteadyStopwatch;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::judges::run_json;

/// How long the process may take to open its page.
const OPENING: Duration = Duration::from_secs(180);
/// How long one request may take.
const ANSWER: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(50);

pub struct ExampleHouse {
    child: Child,
    folder: TempDir,
    pub address: String,
    token: String,
    agent: ureq::Agent,
}

/// A folder of the examples.
pub fn example_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

impl ExampleHouse {
    /// Starts one, with some things set in its environment.
    pub fn start(catalogue: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        Self::start_as(catalogue, settings, &[])
    }

    /// The same, with more words on its command line.
    pub fn start_as(catalogue: &Path, settings: &[(&str, &str)], words: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(tests::binary()?);
        command.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path());
        command.arg("--catalogue").arg(catalogue).args(words).env_remove("TIDINGS_FAULT");
        command.envs(settings.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("start the process")?;
        let said = BufReader::new(child.stderr.take().context("no standard error")?);
        let agent = ureq::Agent::config_builder().timeout_global(Some(ANSWER)).http_status_as_error(false);
        let (address, token) = (String::new(), String::new());
        let mut house = Self { child, folder, address, token, agent: agent.max_redirects(0).build().into() };
        let has_world = words.contains(&"--demo") && catalogue.join("demo.ndjson").exists();
        house.open(said, if has_world { "demo data is in" } else { "ready" })?;
        Ok(house)
    }

    /// Waits until the process says so, and reads where it is.
    fn open(&mut self, said: BufReader<std::process::ChildStderr>, ready: &str) -> Result<()> {
        let (sender, lines) = mpsc::sync_channel(10_000);
        std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut before = Vec::new();
        loop {
            match lines.recv_timeout(OPENING) {
                Ok(line) if line.starts_with(ready) => break,
                Ok(line) => before.push(line),
                Err(_) => bail!("the process did not open: {}", before.join("\n")),
            }
        }
        // Somebody has to hear the rest, or the process would wait for that.
        std::thread::spawn(move || lines.iter().for_each(drop));
        let note: Value = serde_json::from_slice(&fs::read(self.folder.path().join("admin.json"))?)?;
        self.address = note["address"].as_str().context("no address")?.to_owned();
        self.token = note["token"].as_str().context("no token")?.to_owned();
        Ok(())
    }

    /// Says things: facts or changes, all of which are taken.
    pub fn say(&self, path: &str, lines: &[Value]) -> Result<()> {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let request = self.agent.post(format!("{}{path}", self.address));
        let mut answer = request.header("content-type", "application/x-ndjson").send(lines)?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status() == 202 && text.contains("\"rejected\":[]"), "{path}: {text}");
        Ok(())
    }

    /// What a page says to anybody.
    pub fn page(&self, path: &str) -> Result<String> {
        let mut answer = self.agent.get(format!("{}{path}", self.address)).call()?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status() == 200, "{path}: {text}");
        Ok(text)
    }

    /// Presses a button of a page.
    pub fn press(&self, path: &str, fields: &[(&str, &str)]) -> Result<()> {
        let request = self.agent.post(format!("{}{path}", self.address)).header("origin", &self.address);
        let mut answer = request.send_form(fields.iter().copied())?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status() == 200, "{path}: {text}");
        Ok(())
    }

    /// A mailbox's one click on the link of a mail (RFC 8058), wherever the link says that the house is.
    pub fn click(&self, link: &str) -> Result<()> {
        let path = link.splitn(4, '/').nth(3).with_context(|| format!("{link} leads to no path"))?;
        let request = self.agent.post(format!("{}/{path}", self.address));
        let mut answer = request.send_form([("List-Unsubscribe", "One-Click")])?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status() == 200, "{link}: {text}");
        Ok(())
    }

    /// Waits until all that was said has come to the windows of those who hear of it.
    pub fn settle(&self) -> Result<()> {
        let mut idle = 0;
        wait_for("the rooms", || {
            let stages = self.get_json("/admin/stages")?;
            let lags = || stages.as_array().into_iter().flatten().map(|stage| &stage["lag"]);
            // Looked at one after the other: only what is so twice is so.
            idle = if lags().count() > 0 && lags().all(|lag| *lag == 0) { idle + 1 } else { 0 };
            Ok((idle == 2).then_some(()))
        })
    }

    /// Waits until the little world that a demo begins with has come to somebody's windows.
    pub fn wait_begun(&self, person: &str) -> Result<()> {
        wait_for("the demo's world", || {
            let known = self.get_json(&format!("/admin/windows?person={person}"))?;
            let is_open = known["windows"].as_array().is_some_and(|windows| !windows.is_empty());
            Ok(is_open.then_some(()))
        })?;
        self.settle()
    }

    /// Has everybody's windows of a plan told now.
    pub fn release(&self, plan: &str) -> Result<()> {
        self.post_json("/admin/release", &json!({"plan": plan})).map(drop)
    }

    /// What a command says of it, as JSON.
    pub fn command(&self, words: &[&str]) -> Result<Value> {
        let mut command = Command::new(tests::binary()?);
        command.args(words).args(["--json", "--data-dir"]).arg(self.folder.path());
        run_json(command.current_dir(self.folder.path()))
    }

    /// What one of the paths of the command line answers.
    pub fn get_json(&self, path: &str) -> Result<Value> {
        let request = self.agent.get(format!("{}{path}", self.address));
        let mut answer = request.header("authorization", format!("Bearer {}", self.token)).call()?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status() == 200, "{path}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    /// The same, of what is posted.
    pub fn post_json(&self, path: &str, what: &Value) -> Result<Value> {
        let request = self.agent.post(format!("{}{path}", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let mut answer = request.send_json(what)?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status().is_success(), "{path}: {text}");
        Ok(serde_json::from_str(&text)?)
    }
}

/// Asks again until there is an answer, for as long as a busy machine may need.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let watch = SteadyStopwatch::start();
    while watch.elapsed() < OPENING {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        std::thread::park_timeout(AGAIN);
    }
    bail!("waited in vain for {what}")
}

impl Drop for ExampleHouse {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
