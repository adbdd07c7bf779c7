//! A real `tidings up` on a folder, and how a test talks to it.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use runtime::clock::SteadyStopwatch;
use serde_json::Value;

use crate::wait_until;

/// How long the process may take to open its page.
const OPENING: Duration = Duration::from_secs(180);
/// How long one request may take; one that meets the stop never ends.
const ANSWER: Duration = Duration::from_secs(30);

pub struct KillHouse {
    child: Mutex<Child>,
    /// What it said until it was ready.
    pub opened: String,
    address: String,
    token: String,
    lines: Mutex<Receiver<String>>,
    agent: ureq::Agent,
}

impl KillHouse {
    /// Starts the process; `stop_at` names the point at which it stands still.
    pub fn start(dir: &Path, stop_at: Option<&str>) -> Result<Self, String> {
        Self::start_with(dir, stop_at.map(|at| ("TIDINGS_STOP_AT", at)).as_slice())
    }

    /// Starts the process with some things set in its environment.
    pub fn start_with(dir: &Path, settings: &[(&str, &str)]) -> Result<Self, String> {
        Self::start_on("kill/catalogue", dir, settings)
    }

    /// Starts the process with so many files that it may have open.
    pub fn start_narrow(dir: &Path, files: u64) -> Result<Self, String> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""));
        command.arg(tests::binary().map_err(|e| e.to_string())?);
        Self::start_as(command, "kill/catalogue", dir, &[])
    }

    /// The same on another catalogue, named by its folder in this crate.
    pub fn start_on(catalogue: &str, dir: &Path, settings: &[(&str, &str)]) -> Result<Self, String> {
        let command = Command::new(tests::binary().map_err(|e| e.to_string())?);
        Self::start_as(command, catalogue, dir, settings)
    }

    fn start_as(
        mut command: Command,
        catalogue: &str,
        dir: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, String> {
        // The note of an earlier life would be taken for this one's.
        drop(std::fs::remove_file(dir.join("admin.json")));
        let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join(catalogue);
        command.args(["up", "--demo", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir);
        command.arg("--catalogue").arg(catalogue).env_remove("TIDINGS_FAULT");
        command.envs(settings.iter().copied());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let (sender, lines) = mpsc::sync_channel(10_000);
        let stderr = BufReader::new(child.stderr.take().ok_or("no standard error")?);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let config =
            ureq::Agent::config_builder().timeout_global(Some(ANSWER)).http_status_as_error(false).build();
        let mut house = Self {
            child: Mutex::new(child),
            opened: String::new(),
            address: String::new(),
            token: String::new(),
            lines: Mutex::new(lines),
            agent: config.into(),
        };
        house.open(dir)?;
        Ok(house)
    }

    /// Waits until the process says that it is ready, and reads where it is.
    fn open(&mut self, dir: &Path) -> Result<(), String> {
        let mut said = String::new();
        let lines = self.lines.lock().unwrap();
        loop {
            match lines.recv_timeout(OPENING) {
                Ok(line) if line.starts_with("ready") => break,
                Ok(line) => said = said + &line + "\n",
                Err(_) => return Err(format!("the process did not open: {said}")),
            }
        }
        drop(lines);
        self.opened = said;
        let note = std::fs::read_to_string(dir.join("admin.json")).map_err(|e| format!("admin.json: {e}"))?;
        let note: Value = serde_json::from_str(&note).map_err(|e| format!("admin.json: {e}"))?;
        self.address = note["address"].as_str().unwrap_or_default().to_owned();
        self.token = note["token"].as_str().unwrap_or_default().to_owned();
        Ok(())
    }

    /// Posts lines of events; whether all of them were acknowledged.
    pub fn post(&self, path: &str, body: &str) -> bool {
        self.post_text(path, body).is_ok_and(|(status, _)| status == 202)
    }

    /// The same; what was not acknowledged is said again, as whoever says it does.
    pub fn takes(&self, path: &str, body: &str) -> bool {
        wait_until(|| self.post(path, body))
    }

    /// What was answered.
    pub fn post_text(&self, path: &str, body: &str) -> Result<(u16, String), String> {
        let url = format!("{}{path}", self.address);
        let request = self.agent.post(url).header("content-type", "application/x-ndjson");
        read_answer(request.send(body))
    }

    /// What a path answers to anybody.
    pub fn get_text(&self, path: &str) -> Result<(u16, String), String> {
        read_answer(self.agent.get(format!("{}{path}", self.address)).call())
    }

    /// Moves the demo's clock, as the page does. The process may stop on the way.
    pub fn move_clock(&self, to: &str) {
        let page = self.agent.get(format!("{}/clock", self.address)).call();
        let page = page.ok().and_then(|mut page| page.body_mut().read_to_string().ok()).unwrap_or_default();
        let Some(token) = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next())
        else {
            return;
        };
        let form = [("csrf", token), ("to", to)];
        let request = self.agent.post(format!("{}/clock", self.address)).header("origin", &self.address);
        drop(request.send_form(form));
    }

    /// Waits until the rooms have read all there is and nothing is being handed over, or until nobody answers any more: a clock
    /// that is moved before that is ahead of what opens after it, and of a hand-over during which an hour passes nobody can say
    /// what became of it.
    pub fn await_all_read(&self) {
        let waited = SteadyStopwatch::start();
        while let Ok(stages) = self.get_admin("/admin/stages") {
            let is_read = tests::lag(&stages) == Some(0) && !self.hands_over();
            if is_read || waited.elapsed() > OPENING {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
    }

    /// Whether a message is being handed over. A round does not wait for a slow one, so the lag does not tell.
    fn hands_over(&self) -> bool {
        let counts = self.get_admin_text("/metrics").unwrap_or_default();
        let mut in_flight =
            counts.lines().filter(|line| line.starts_with("tidings_sender_in_flight_messages{"));
        in_flight.any(|line| !line.ends_with(" 0"))
    }

    /// A person's days, as the command line sees them.
    pub fn days(&self, person: &str) -> Result<Value, String> {
        self.get_admin(&format!("/admin/days?person={person}"))
    }

    fn get_admin(&self, path: &str) -> Result<Value, String> {
        let text = self.get_admin_text(path)?;
        serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))
    }

    fn get_admin_text(&self, path: &str) -> Result<String, String> {
        let url = format!("{}{path}", self.address);
        let request = self.agent.get(url).header("authorization", format!("Bearer {}", self.token));
        Ok(read_answer(request.call())?.1)
    }

    /// Whether the process came to its point.
    pub fn has_stopped_within(&self, patience: Duration) -> bool {
        let lines = self.lines.lock().unwrap();
        loop {
            match lines.recv_timeout(patience) {
                Ok(line) if line.starts_with("stopped ") => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Where it listens.
    pub fn host_port(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// Whether it said something like this; what it said before is gone then.
    pub fn has_logged(&self, words: &str) -> bool {
        self.lines.lock().unwrap().try_iter().any(|line| line.contains(words))
    }

    /// What it said and nobody read yet.
    pub fn drain_log(&self) -> String {
        self.lines.lock().unwrap().try_iter().collect::<Vec<_>>().join("\n")
    }

    /// SIGTERM; the exit code, and how long it took.
    pub fn end(&self) -> (Option<i32>, Duration) {
        let watch = SteadyStopwatch::start();
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let code = self.child.lock().unwrap().wait().unwrap().code();
        (code, watch.elapsed())
    }

    /// SIGKILL.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for KillHouse {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        drop(child.kill());
        drop(child.wait());
    }
}

fn read_answer(
    answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<(u16, String), String> {
    let mut answer = answer.map_err(|e| e.to_string())?;
    let text = answer.body_mut().read_to_string().map_err(|e| e.to_string())?;
    Ok((answer.status().as_u16(), text))
}
