//! One real `tidings` process, and how a test talks to it.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// How long one request may take: one that meets an engine that is away waits for it.
const ANSWER: Duration = Duration::from_secs(60);
/// What is shown of what a process said.
const SAID_MAX: usize = 4_000;

pub struct RealProcess {
    folder: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    child: Mutex<Option<Child>>,
    agent: ureq::Agent,
}

impl RealProcess {
    /// One that is not started yet; its folder is its own.
    pub fn new(folder: PathBuf, arguments: &[&str], environment: Vec<(String, String)>) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        let agent = ureq::Agent::config_builder().timeout_global(Some(ANSWER)).http_status_as_error(false);
        Ok(Self {
            folder,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment,
            child: Mutex::default(),
            agent: agent.build().into(),
        })
    }

    /// Has it find something else in its environment from its next start on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Starts it and does not wait for it. What it says is added to what it said in earlier lives.
    pub fn start(&self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let out = File::create(self.folder.join("out"))?;
        let mut command = Command::new(tests::binary()?);
        command.args(&self.arguments).args(["--json", "--data-dir"]).arg(self.folder.join("data"));
        command.current_dir(&self.folder).env_remove("TIDINGS_FAULT").envs(self.environment.iter().cloned());
        *self.child() = Some(command.stdin(Stdio::null()).stdout(out).stderr(log).spawn()?);
        Ok(())
    }

    /// Runs it to its end; what it printed.
    pub fn run(&self) -> Result<String> {
        self.start()?;
        let status = self.child().as_mut().context("it was not started")?.wait()?;
        ensure!(status.success(), "{status}: {}", self.log_tail());
        Ok(fs::read_to_string(self.folder.join("out"))?)
    }

    /// SIGKILL.
    pub fn kill(&self) {
        if let Some(mut child) = self.child().take() {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Has it end in good order.
    pub fn stop(&self) -> Result<()> {
        let mut child = self.child().take().context("it was not started")?;
        let asked = Command::new("kill").args(["-s", "TERM"]).arg(child.id().to_string()).status()?;
        ensure!(asked.success(), "nobody to end: {}", self.log_tail());
        let status = child.wait()?;
        ensure!(status.success(), "it ended with {status}: {}", self.log_tail());
        Ok(())
    }

    /// Whether it was started and neither killed nor stopped since.
    pub fn is_running(&self) -> bool {
        self.child().is_some()
    }

    /// A signal by its name, such as STOP.
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.child().as_ref().context("it was not started")?.id();
        let sent = Command::new("kill").args(["-s", name]).arg(pid.to_string()).status()?;
        ensure!(sent.success(), "no signal {name} to {pid}");
        Ok(())
    }

    /// How it ended, if it did so by itself.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.child().as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    /// What it said last on its standard error.
    pub fn log_tail(&self) -> String {
        let said = fs::read(self.folder.join("log")).unwrap_or_default();
        let from = said.len().saturating_sub(SAID_MAX);
        format!("{}: {}", self.folder.display(), String::from_utf8_lossy(&said[from..]))
    }

    /// The most memory that it had in this life, in MiB.
    pub fn memory(&self) -> Option<u64> {
        let pid = self.child().as_ref()?.id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(peak.trim().trim_end_matches(" kB").parse::<u64>().ok()? >> 10)
    }

    pub fn is_ready(&self) -> bool {
        self.get_text("/health/ready", None).is_ok_and(|(status, _)| status == 200)
    }

    /// Posts lines; gives the status and what was answered.
    pub fn post_lines(&self, path: &str, body: &str) -> Result<(u16, String)> {
        let url = format!("{}{path}", self.address()?);
        read_answer(self.agent.post(url).header("content-type", "application/x-ndjson").send(body))
    }

    /// What one of the paths of the command line answers.
    pub fn get_json(&self, path: &str) -> Result<Value> {
        let (status, text) = self.get_text(path, Some(&self.token()?))?;
        ensure!(status == 200, "{path}: {status}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    /// The same, of what is posted.
    pub fn post_json(&self, path: &str, what: &Value) -> Result<Value> {
        let request = self.agent.post(format!("{}{path}", self.address()?));
        let request = request.header("authorization", format!("Bearer {}", self.token()?));
        let (status, text) = read_answer(request.send_json(what))?;
        ensure!([200, 202].contains(&status), "{path}: {status}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    /// Posts something to a path that is open to everybody; gives the status and what was answered.
    pub fn post_open(&self, path: &str, what: &Value) -> Result<(u16, String)> {
        read_answer(self.agent.post(format!("{}{path}", self.address()?)).send_json(what))
    }

    pub fn get_text(&self, path: &str, token: Option<&str>) -> Result<(u16, String)> {
        let mut request = self.agent.get(format!("{}{path}", self.address()?));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        read_answer(request.call())
    }

    /// It says so itself, once it is open.
    pub fn address(&self) -> Result<String> {
        let out = fs::read_to_string(self.folder.join("out"))?;
        let said: Value = serde_json::from_str(out.lines().next().context("not open yet")?)?;
        let address = said["address"].as_str().context("no address")?;
        Ok(address.trim_end_matches('/').to_owned())
    }

    /// What opens the operators' paths.
    pub fn token(&self) -> Result<String> {
        let note = fs::read_to_string(self.folder.join("data/admin.json"))?;
        let note: Value = serde_json::from_str(&note)?;
        Ok(note["token"].as_str().context("no token")?.to_owned())
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap()
    }
}

impl Drop for RealProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read_answer(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<(u16, String)> {
    let mut answer = answer?;
    let text = answer.body_mut().read_to_string()?;
    Ok((answer.status().as_u16(), text))
}
