//! Apache Kafka in KRaft mode, one node or three.

use std::{ffi::OsString, fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    certificates::TestCertificates,
    network::LoopbackNetwork,
    node::{EngineCluster, EngineNode, node_folder},
    proxy::ToxicProxy,
    tools::{self, ClassArchive, KAFKA, path_option},
};

/// Any will do: clusters are told apart by their addresses.
const CLUSTER: &str = "dGlkaW5ncy1lbmdpbmVzMQ";
const READY: &str = "Kafka Server started";

/// What nodes have in common. Everything is small and fast; durations are such that a test sees the end of
/// one. Clocks of tests are their own: a record's stamp may lie anywhere, and nothing is old by itself.
const COMMON: &str = "\
process.roles=broker,controller
controller.listener.names=CONTROLLER
inter.broker.listener.name=INTERNAL
log.dirs=data
auto.create.topics.enable=false
log.retention.ms=-1
log.message.timestamp.after.max.ms=9223372036854775807
log.cleaner.dedupe.buffer.size=16777216
offsets.topic.num.partitions=8
transaction.state.log.num.partitions=8
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=10000
group.consumer.min.heartbeat.interval.ms=100
group.consumer.heartbeat.interval.ms=500
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
";

#[derive(Clone, Copy, Debug)]
pub struct KafkaOptions {
    /// 1 or 3; with three, internal topics have three replicas of which two must be in sync.
    pub nodes: usize,
    /// Clients need TLS and a login, or TLS and a certificate.
    pub secured: bool,
    /// Clients reach each node through a [`ToxicProxy`] only.
    pub behind_proxy: bool,
}

impl Default for KafkaOptions {
    fn default() -> Self {
        Self { nodes: 1, secured: false, behind_proxy: false }
    }
}

/// How to get into a cluster that is secured.
#[derive(Clone, Debug)]
pub struct KafkaClusterLogin {
    pub certificates: TestCertificates,
    /// For SCRAM-SHA-256 and for PLAIN, at [`KafkaCluster::bootstrap`].
    pub user: String,
    pub password: String,
    /// Bootstrap servers that want no login, but a certificate.
    pub by_certificate: String,
}

pub struct KafkaCluster {
    nodes: Vec<EngineNode>,
    proxies: Vec<ToxicProxy>,
    secured: Option<KafkaClusterLogin>,
    ports: KafkaPorts,
    /// The last to go, so that nobody moves in before the nodes have left.
    network: LoopbackNetwork,
}

struct KafkaPorts {
    client: u16,
    internal: u16,
    controller: u16,
    by_certificate: u16,
}

impl KafkaCluster {
    /// Starts a cluster and waits until it is ready.
    pub fn start(options: KafkaOptions) -> Result<Self> {
        Self::start_with(options, &class_archive()?)
    }

    fn start_with(options: KafkaOptions, classes: &ClassArchive) -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let ports = KafkaPorts {
            client: network.port(9092)?,
            internal: network.port(9094)?,
            controller: network.port(9093)?,
            by_certificate: network.port(9095)?,
        };
        let mut kafka = Self { network, ports, nodes: Vec::new(), proxies: Vec::new(), secured: None };
        kafka.start_all(options, classes).context("cannot start Kafka")?;
        Ok(kafka)
    }

    /// Where clients begin.
    pub fn bootstrap(&self) -> String {
        let listeners = (0..self.nodes.len()).map(|node| self.client_address(node));
        listeners.collect::<Vec<_>>().join(",")
    }

    /// How to get in, if it is secured.
    pub fn security(&self) -> Option<&KafkaClusterLogin> {
        self.secured.as_ref()
    }

    /// The proxies before the nodes, if it is behind such.
    pub fn proxies(&self) -> &[ToxicProxy] {
        &self.proxies
    }

    /// What Kafka's own command for consumer groups prints: the judge of what we say about them.
    pub fn group_command(&self, arguments: &[&str]) -> Result<String> {
        self.run_tool("consumer.group.ConsumerGroupCommand", arguments)
    }

    /// What a command line tool of Kafka's prints, such as `TopicCommand`. It comes in by another door than
    /// clients, so that it needs no login and passes no proxy.
    pub fn run_tool(&self, class: &str, arguments: &[&str]) -> Result<String> {
        run_kafka_tool(&self.servers(self.nodes.len(), self.ports.internal), class, arguments)
    }

    fn start_all(&mut self, options: KafkaOptions, classes: &ClassArchive) -> Result<()> {
        ensure!([1, 3].contains(&options.nodes), "a cluster has 1 node or 3");
        let upstream: Vec<String> = (0..options.nodes).map(|node| self.client_address(node)).collect();
        if options.behind_proxy {
            self.proxies =
                upstream.iter().map(|upstream| ToxicProxy::start_before(upstream)).collect::<Result<_>>()?;
        }
        for number in 0..options.nodes {
            let folder = node_folder("kafka")?;
            let command = java_command(folder.path(), classes)?;
            let node = EngineNode::new(folder, command, READY)?;
            if options.secured && number == 0 {
                self.secured = Some(self.secure(node.folder(), options.nodes)?);
            }
            fs::write(node.folder().join("server.properties"), self.properties(number, options.nodes))?;
            self.format(node.folder(), classes)?;
            self.nodes.push(node);
        }
        self.nodes.iter().try_for_each(EngineNode::start)?;
        self.nodes.iter().try_for_each(EngineNode::wait_ready)
    }

    fn secure(&self, folder: &Path, nodes: usize) -> Result<KafkaClusterLogin> {
        let mut hosts: Vec<&str> = self.proxies.iter().map(ToxicProxy::host).collect();
        let nodes_hosts: Vec<String> = (0..nodes).map(|node| self.network.host(node)).collect();
        hosts.extend(nodes_hosts.iter().map(String::as_str));
        Ok(KafkaClusterLogin {
            certificates: TestCertificates::make(folder, &hosts)?,
            user: "tidings".to_owned(),
            password: "made up for this cluster".to_owned(),
            by_certificate: self.servers(nodes, self.ports.by_certificate),
        })
    }

    fn servers(&self, nodes: usize, port: u16) -> String {
        let servers = (0..nodes).map(|node| format!("{}:{port}", self.network.host(node)));
        servers.collect::<Vec<_>>().join(",")
    }

    fn client_address(&self, node: usize) -> String {
        let direct = || format!("{}:{}", self.network.host(node), self.ports.client);
        self.proxies.get(node).map_or_else(direct, |proxy| proxy.address().to_owned())
    }

    fn properties(&self, node: usize, nodes: usize) -> String {
        let KafkaPorts { client, internal, controller, by_certificate } = self.ports;
        let host = self.network.host(node);
        let voters: Vec<String> =
            (0..nodes).map(|node| format!("{}@{}:{controller}", node + 1, self.network.host(node))).collect();
        let mut listeners = format!("INTERNAL://{host}:{internal}");
        let mut protocols = "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT".to_owned();
        let mut more = String::new();
        if let Some(secured) = &self.secured {
            listeners += &format!(",CERTIFICATE://{host}:{by_certificate}");
            protocols += ",CERTIFICATE:SSL,CLIENT:SASL_SSL";
            more = security_properties(secured);
        } else {
            protocols += ",CLIENT:PLAINTEXT";
        }
        let inner = [
            format!("node.id={}", node + 1),
            format!("controller.quorum.voters={}", voters.join(",")),
            format!("listeners=CLIENT://{host}:{client},{listeners},CONTROLLER://{host}:{controller}"),
            format!("advertised.listeners=CLIENT://{},{listeners}", self.client_address(node)),
            format!("listener.security.protocol.map={protocols}"),
            format!("offsets.topic.replication.factor={nodes}"),
            format!("transaction.state.log.replication.factor={nodes}"),
            format!("transaction.state.log.min.isr={}", nodes.div_ceil(2)),
            format!("share.coordinator.state.topic.replication.factor={nodes}"),
            format!("share.coordinator.state.topic.min.isr={}", nodes.div_ceil(2)),
        ];
        format!("{COMMON}{}\n{more}", inner.join("\n"))
    }

    /// Prepares the folder of a node, as Kafka wants it before the first start.
    fn format(&self, folder: &Path, classes: &ClassArchive) -> Result<()> {
        let mut java = java_tool("kafka.tools.StorageTool", classes)?;
        java.current_dir(folder).args(["format", "-t", CLUSTER, "-c", "server.properties"]);
        if let Some(KafkaClusterLogin { user, password, .. }) = &self.secured {
            java.arg("--add-scram").arg(format!("SCRAM-SHA-256=[name={user},password=\"{password}\"]"));
        }
        tools::run_command(&mut java).map(drop)
    }
}

impl EngineCluster for KafkaCluster {
    fn nodes(&self) -> &[EngineNode] {
        &self.nodes
    }
}

/// [`KafkaCluster::run_tool`] for a cluster that somebody else has started, such as [`crate::kafka`].
pub fn run_kafka_tool(bootstrap: &str, class: &str, arguments: &[&str]) -> Result<String> {
    let mut java = java_tool(&format!("org.apache.kafka.tools.{class}"), &class_archive()?)?;
    tools::run_command(java.args(["--bootstrap-server", bootstrap]).args(arguments))
}

fn class_archive() -> Result<ClassArchive> {
    KAFKA.class_archive(|classes| KafkaCluster::start_with(KafkaOptions::default(), classes)?.node(0)?.end())
}

/// A command line tool of Kafka.
fn java_tool(class: &str, classes: &ClassArchive) -> Result<Command> {
    let command = KAFKA.java_command("-Xmx256m", classes.if_made())?;
    let mut java = Command::new(&command[0]);
    java.args(&command[1..]).arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=error").arg(class);
    Ok(java)
}

fn java_command(folder: &Path, classes: &ClassArchive) -> Result<Vec<OsString>> {
    let mut command = KAFKA.java_command("-Xmx512m", Some(classes))?;
    command.extend(["kafka.Kafka".into(), path_option("", &folder.join("server.properties"))]);
    Ok(command)
}

fn security_properties(secured: &KafkaClusterLogin) -> String {
    let KafkaClusterLogin { certificates, user, password, .. } = secured;
    let login = "org.apache.kafka.common.security";
    let (nodes, ca) = (certificates.nodes_pem.display(), certificates.ca_pem.display());
    format!(
        "\
sasl.enabled.mechanisms=SCRAM-SHA-256,PLAIN
listener.name.client.scram-sha-256.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.client.plain.sasl.jaas.config={login}.plain.PlainLoginModule required user_{user}=\"{password}\";
listener.name.certificate.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={nodes}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
"
    )
}
