//! A running `tidings sink`, for tests that send mails to it.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// Ends with its value.
#[derive(Debug)]
pub struct SinkProcess {
    child: Child,
    /// The address of its page.
    pub page: String,
    /// How mails come there, as `mail.ways` has it.
    pub way: String,
}

impl SinkProcess {
    pub fn start() -> Result<Self> {
        let mut command = Command::new(crate::binary()?);
        command.args(["sink", "--json", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let out = child.stdout.take();
        // From here on it is ended whatever is wrong with what it says.
        let mut sink = Self { child, page: String::new(), way: String::new() };
        let mut line = String::new();
        BufReader::new(out.context("no output")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).context("what the sink said")?;
        sink.page = said["address"].as_str().context("no address")?.to_owned();
        sink.way = said["way"].as_str().context("no way")?.to_owned();
        Ok(sink)
    }

    /// Where mails are taken, as host and port.
    pub fn place(&self) -> Result<(&str, &str)> {
        self.way.rsplit('/').next().and_then(|at| at.rsplit_once(':')).context("no port")
    }

    pub fn is_alive(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }
}

impl Drop for SinkProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
