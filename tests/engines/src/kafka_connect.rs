//! Kafka Connect with Debezium's connector for PostgreSQL, as one worker of a cluster of its own.

use std::fs;

use anyhow::{Context, Result};

use crate::{
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::{CONNECT, path_option},
};

pub struct KafkaConnect {
    url: String,
    _node: EngineNode,
    _network: LoopbackNetwork,
}

impl KafkaConnect {
    /// Starts a worker on a Kafka and waits until it takes connectors. Its own topics begin with its name.
    pub fn start(kafka: &str, name: &str) -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let (host, port) = (network.host(0), network.port(8083)?);
        let folder = node_folder("connect")?;
        let properties = format!(
            "\
bootstrap.servers={kafka}
group.id={name}
config.storage.topic={name}.configs
offset.storage.topic={name}.offsets
status.storage.topic={name}.status
config.storage.replication.factor=1
offset.storage.replication.factor=1
offset.storage.partitions=1
status.storage.replication.factor=1
status.storage.partitions=1
offset.flush.interval.ms=1000
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
listeners=http://{host}:{port}
plugin.discovery=service_load
"
        );
        fs::write(folder.path().join("connect.properties"), properties)?;
        let mut command = CONNECT.java_command("-Xmx512m", None)?;
        command.push("org.apache.kafka.connect.cli.ConnectDistributed".into());
        command.push(path_option("", &folder.path().join("connect.properties")));
        let node = EngineNode::new(folder, command, "")?;
        let url = format!("http://{host}:{port}");
        node.start()?;
        node.wait_for(|| ureq::get(format!("{url}/connectors")).call().is_ok())
            .context("cannot start Kafka Connect")?;
        Ok(Self { url, _node: node, _network: network })
    }

    /// The root of its API.
    pub fn url(&self) -> &str {
        &self.url
    }
}
