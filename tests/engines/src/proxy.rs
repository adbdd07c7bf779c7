//! A proxy before an engine that delays, breaks and cuts connections: Shopify's toxiproxy.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools,
};

pub struct ToxicProxy {
    host: String,
    address: String,
    admin: String,
    _node: EngineNode,
    _network: LoopbackNetwork,
}

impl ToxicProxy {
    /// Starts a proxy to an address. It listens at the same port of an address of its own.
    pub fn start_before(upstream: &str) -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let host = network.host(0);
        let listen = upstream.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        let listen = listen.with_context(|| format!("{upstream} has no port"))?;
        let port = network.port(8474)?;
        let command = vec![
            tools::toxiproxy_path()?.into(),
            "-host".into(),
            host.clone().into(),
            "-port".into(),
            port.to_string().into(),
        ];
        let node = EngineNode::new(node_folder("proxy")?, command, "")?;
        let (address, admin) = (format!("{host}:{listen}"), format!("http://{host}:{port}"));
        node.start()?;
        node.wait_for(|| ureq::get(format!("{admin}/version")).call().is_ok())
            .context("cannot start the proxy")?;
        let proxy = Self { host, address, admin, _network: network, _node: node };
        proxy.ask("proxies", &json!({ "name": "it", "listen": proxy.address, "upstream": upstream }))?;
        Ok(proxy)
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What the engine says arrives so much later, until it heals.
    pub fn latency(&self, ms: u64) -> Result<()> {
        self.toxic(&json!({ "type": "latency", "attributes": { "latency": ms } }))
    }

    /// Every connection is reset by its peer, until it heals.
    pub fn reset(&self) -> Result<()> {
        self.toxic(&json!({ "type": "reset_peer", "attributes": { "timeout": 0 } }))
    }

    /// Connections are closed and new ones refused, until it heals.
    pub fn cut(&self) -> Result<()> {
        self.ask("proxies/it", &json!({ "enabled": false }))
    }

    pub fn heal(&self) -> Result<()> {
        self.ask("reset", &json!({}))
    }

    fn toxic(&self, toxic: &Value) -> Result<()> {
        self.ask("proxies/it/toxics", toxic)
    }

    fn ask(&self, path: &str, body: &Value) -> Result<()> {
        let answer = ureq::post(format!("{}/{path}", self.admin)).send_json(body);
        answer.map(drop).with_context(|| format!("the proxy refused {path}"))
    }
}
