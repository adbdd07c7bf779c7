//! Who is called by hooks: `tests/python/webhook_receiver.py`, on the library of Standard Webhooks.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{
    certificates::TestCertificates,
    mail::python,
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::project_root,
};

pub struct HookReceiver {
    node: EngineNode,
    host: String,
    port: u16,
    certificates: TestCertificates,
    _network: LoopbackNetwork,
}

/// A call that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceivedCall {
    pub path: String,
    /// Its `webhook-id`, if it has one.
    pub id: String,
    /// Whether its signature is believed, where it needs one.
    pub is_believed: bool,
    pub says: Value,
}

impl HookReceiver {
    /// Starts one that believes who has this key, `whsec_…`, and waits until it is ready.
    pub fn start(key: &str) -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let (host, port) = (network.host(0), network.port(9_443)?);
        let folder = node_folder("receiver")?;
        let certificates = TestCertificates::make(folder.path(), &[&host])?;
        let program = project_root().join("tests/python/webhook_receiver.py");
        let mut command =
            vec![python()?.into(), program.into(), host.clone().into(), port.to_string().into()];
        command.extend([certificates.nodes_pem.clone().into(), key.into()]);
        let node = EngineNode::new(folder, command, "ready")?;
        node.start()?;
        node.wait_ready().context("cannot start the receiver of hooks")?;
        Ok(Self { node, host, port, certificates, _network: network })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Where a path of it is.
    pub fn url_of(&self, path: &str) -> String {
        format!("https://{}:{}{path}", self.host, self.port)
    }

    /// The authority of its certificate.
    pub fn ca(&self) -> Result<Vec<u8>> {
        Ok(fs::read(&self.certificates.ca_pem)?)
    }

    /// The calls that it read, in order.
    pub fn read_calls(&self) -> Result<Vec<ReceivedCall>> {
        let said = self.node.log_since_start();
        // The last line may not be whole yet.
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter(|line| line.starts_with('{')).map(ReceivedCall::parse_line).collect()
    }

    /// Waits until it has read so many calls in all, and gives them.
    pub fn await_calls(&self, often: usize) -> Result<Vec<ReceivedCall>> {
        self.node.wait_for(|| self.read_calls().is_ok_and(|called| called.len() >= often))?;
        self.read_calls()
    }

    /// How many it has kept waiting.
    pub fn held_count(&self) -> usize {
        self.node.times_logged("holds")
    }

    /// Waits until it has kept more than so many waiting.
    pub fn wait_until_it_holds_more_than(&self, held: usize) -> Result<()> {
        self.node.wait_for(|| self.held_count() > held)
    }
}

impl ReceivedCall {
    fn parse_line(line: &str) -> Result<Self> {
        let mut call: Value = serde_json::from_str(line).context("not a call")?;
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        let (path, id) = (text("path"), text("id"));
        Ok(Self { path, id, is_believed: call["believed"] == true, says: call["says"].take() })
    }
}
