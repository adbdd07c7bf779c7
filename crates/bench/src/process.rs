//! The real program as a child: `up` on a directory of its own, and commands that talk to it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use runtime::{clock::SteadyStopwatch, retry};

use crate::fanout_room;

const MJML: &str = "<mjml><mj-body><mj-section><mj-column><mj-text>{% for i in items %}{{ i.says }} {% endfor %}</mj-text></mj-column></mj-section></mj-body></mjml>";
/// It answers within this, also while it restores.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// Until it has opened its engines and is ready, on clusters with partitions of its own; and between two looks.
const OPENING: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
const TEXT: &str = "{% for i in items %}{{ i.says }}\n{% endfor %}";

/// The program, and a folder for everything that it needs.
pub struct BenchProgram {
    program: PathBuf,
    dir: tempfile::TempDir,
}

/// A running program; ended when it is dropped.
pub struct BenchProcess {
    child: Child,
    /// From its start until it said where it listens.
    pub ready: Duration,
    /// Runs since it was started.
    pub since: SteadyStopwatch,
    /// Host and port where it listens, as it said itself.
    pub address: String,
    /// What it is asked for its metrics with, where it has API keys.
    pub key: Option<&'static str>,
}

impl BenchProgram {
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        Self::with_catalogue(program, fanout_room::CATALOGUE)
    }

    /// With another catalogue, of the same templates.
    pub fn with_catalogue(program: &Path, catalogue: &str) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("catalogue.yaml"), catalogue)?;
        fs::write(dir.path().join("mail.mjml"), MJML)?;
        fs::write(dir.path().join("mail.txt"), TEXT)?;
        Ok(Self { program: program.to_owned(), dir })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, data: &str) -> Command {
        let mut command = Command::new(&self.program);
        // Nothing of whoever runs the bench: not their settings, and not their directory.
        command.current_dir(self.dir.path()).env_clear();
        command.arg("--data-dir").arg(self.path(data)).args(["--tenant", "bench"]);
        command
    }

    /// Starts `up` and waits until it says where it listens.
    pub fn start_up(&self, data: &str) -> anyhow::Result<BenchProcess> {
        let catalogue = self.dir.path().display().to_string();
        self.start(data, &["up", "--listen", "127.0.0.1:0", "--log", "warn", "--catalogue", &catalogue])
    }

    /// Starts a command that listens, and waits until it says where.
    pub fn start(&self, data: &str, arguments: &[&str]) -> anyhow::Result<BenchProcess> {
        let since = SteadyStopwatch::start();
        let name = arguments.join(" ");
        let mut command = self.command(data);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("start `{name}`"))?;
        let out = child.stdout.take().with_context(|| format!("the output of `{name}`"))?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let address = line.strip_prefix("http://").and_then(|rest| rest.split(['/', ' ', '\n']).next());
        // What is made here is ended when it is dropped, also where it says nothing.
        let mut up = BenchProcess { child, ready: since.elapsed(), since, address: String::new(), key: None };
        let wrong = || format!("`{name}` did not say where it listens, but `{}`", line.trim());
        up.address = address.with_context(wrong)?.to_owned();
        Ok(up)
    }

    /// Runs a command to its end.
    pub fn run(&self, data: &str, arguments: &[&str]) -> anyhow::Result<Output> {
        let output = self.command(data).args(arguments).output().context("run a command")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "`{}` failed: {}", arguments.join(" "), said.trim());
        Ok(output)
    }

    /// Starts a command that runs beside.
    pub fn spawn_beside(&self, data: &str, arguments: &[&str]) -> anyhow::Result<Child> {
        let mut command = self.command(data);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().context("start a command")
    }

    /// How many entries a person has.
    pub fn count_entries(&self, data: &str, person: &str) -> anyhow::Result<usize> {
        let output = self.run(data, &["days", person, "--since", "21d", "--json"])?;
        let days: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let days = days["days"].as_array().context("the days")?;
        Ok(days.iter().filter_map(|day| day["entries"].as_array()).map(Vec::len).sum())
    }
}

impl BenchProcess {
    /// Bytes of memory that it holds by now.
    pub fn memory(&self) -> anyhow::Result<u64> {
        self.read_memory("VmRSS:")
    }

    /// The most that it ever held.
    pub fn memory_peak(&self) -> anyhow::Result<u64> {
        self.read_memory("VmHWM:")
    }

    fn read_memory(&self, name: &str) -> anyhow::Result<u64> {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).context("ask for its memory")?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).context("its memory")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().context("its memory")?;
        Ok(kib * 1024)
    }

    /// Returns when it says that it is ready.
    pub async fn await_ready(&self) -> anyhow::Result<()> {
        while !self.get("/health/ready").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            ensure!(self.since.elapsed() < OPENING, "it is not ready after {} s", OPENING.as_secs());
            retry::wait_real_time(LOOK).await;
        }
        Ok(())
    }

    /// What it answers, with the status.
    fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
        let key = self.key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n{key}connection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// What one of its metrics says, summed over its labels.
    pub fn sum_metric(&self, metric: &str) -> anyhow::Result<usize> {
        let answer = self.get("/metrics").context("ask for its metrics")?;
        ensure!(
            answer.starts_with("HTTP/1.1 200"),
            "its metrics are not told: {}",
            answer.lines().next().unwrap_or("")
        );
        let of_metric = answer.lines().filter_map(|line| line.strip_prefix(metric));
        let values = of_metric
            .filter(|rest| rest.starts_with(['{', ' ']))
            .filter_map(|rest| rest.split(' ').next_back());
        values.map(|value| value.parse::<usize>().with_context(|| format!("{metric} is `{value}`"))).sum()
    }
}

impl Drop for BenchProcess {
    fn drop(&mut self) {
        // What was acknowledged is on disk; nothing else is asked of it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
