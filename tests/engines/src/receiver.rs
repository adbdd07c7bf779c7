//! Who is called by hooks: `tests/python/webhook_receiver.py`, on the library of Standard Webhooks.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{
    certificates::Certificates,
    mail::python,
    network::Network,
    node::{Node, folder},
    tools::root,
};

pub struct Receiver {
    node: Node,
    host: String,
    port: u16,
    certificates: Certificates,
    _network: Network,
}

/// A call that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Called {
    pub path: String,
    /// Its `webhook-id`, if it has one.
    pub id: String,
    /// Whether its signature is believed, where it needs one.
    pub is_believed: bool,
    pub says: Value,
}

impl Receiver {
    /// Starts one that believes who has this key, `whsec_…`, and waits until it is ready.
    pub fn start(key: &str) -> Result<Self> {
        let network = Network::claim()?;
        let (host, port) = (network.host(0), network.port(9_443)?);
        let folder = folder("receiver")?;
        let certificates = Certificates::make(folder.path(), &[&host])?;
        let program = root().join("tests/python/webhook_receiver.py");
        let mut command =
            vec![python()?.into(), program.into(), host.clone().into(), port.to_string().into()];
        command.extend([certificates.nodes_pem.clone().into(), key.into()]);
        let node = Node::new(folder, command, "ready")?;
        node.start()?;
        node.wait().context("cannot start the receiver of hooks")?;
        Ok(Self { node, host, port, certificates, _network: network })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Where a path of it is.
    pub fn at(&self, path: &str) -> String {
        format!("https://{}:{}{path}", self.host, self.port)
    }

    /// The authority of its certificate.
    pub fn ca(&self) -> Result<Vec<u8>> {
        Ok(fs::read(&self.certificates.ca_pem)?)
    }

    /// The calls that it read, in order.
    pub fn called(&self) -> Result<Vec<Called>> {
        let said = self.node.said();
        // The last line may not be whole yet.
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter(|line| line.starts_with('{')).map(Called::read).collect()
    }

    /// Waits until it has read so many calls in all, and gives them.
    pub fn called_so_often(&self, often: usize) -> Result<Vec<Called>> {
        self.node.wait_for(|| self.called().is_ok_and(|called| called.len() >= often))?;
        self.called()
    }

    /// How many it has kept waiting.
    pub fn held(&self) -> usize {
        self.node.times_said("holds")
    }

    /// Waits until it has kept more than so many waiting.
    pub fn wait_until_it_holds_more_than(&self, held: usize) -> Result<()> {
        self.node.wait_for(|| self.held() > held)
    }
}

impl Called {
    fn read(line: &str) -> Result<Self> {
        let mut call: Value = serde_json::from_str(line).context("not a call")?;
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        let (path, id) = (text("path"), text("id"));
        Ok(Self { path, id, is_believed: call["believed"] == true, says: call["says"].take() })
    }
}
