//! Apache Cassandra, one node or three.

use std::{ffi::OsString, fs, net::TcpListener, path::Path};

use anyhow::{Context, Result, ensure};

use crate::{
    certificates::TestCertificates,
    network::LoopbackNetwork,
    node::{EngineCluster, EngineNode, node_folder},
    proxy::ToxicProxy,
    tools::{self, CASSANDRA, ClassArchive, JAVA, path_option},
};

const READY: &str = "Starting listening for CQL clients";
/// Said by one of the nodes after that, once the first user can log in.
const READY_FOR_LOGIN: &str = "Created default superuser role";

/// What nodes have in common. The commit log is synced as in production: every 10 s, with a mark each 100 ms.
/// So a killed process may lose its last 100 ms, a machine without power its last 10 s, on that node alone.
/// Time-outs are those of a machine that builds beside.
const COMMON: &str = "\
cluster_name: tidings
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
num_tokens: 1
auto_bootstrap: false
auto_snapshot: false
commitlog_sync: periodic
commitlog_sync_period: 10s
memtable_allocation_type: offheap_objects
concurrent_compactors: 1
user_defined_functions_enabled: false
read_request_timeout: 20s
range_request_timeout: 30s
write_request_timeout: 10s
counter_write_request_timeout: 20s
cas_contention_timeout: 5s
truncate_request_timeout: 120s
request_timeout: 30s
";

const LOGBACK: &str = r#"<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
"#;

/// What of Java's inside Cassandra uses.
const EXPORTS: &[&str] = &[
    "java.base/jdk.internal.misc",
    "java.base/java.lang.ref",
    "java.base/java.lang.reflect",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
];
const OPENS: &[&str] = &[
    "java.base/java.lang.module",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.util",
    "java.base/java.nio",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "jdk.management/com.sun.management.internal",
];

#[derive(Clone, Copy, Debug)]
pub struct CassandraOptions {
    /// 1 or 3, which share the ring equally.
    pub nodes: usize,
    /// Clients need [`CassandraCluster::USER`] and [`CassandraCluster::PASSWORD`].
    pub login: bool,
    /// Clients need TLS, see [`CassandraCluster::certificates`].
    pub tls: bool,
    /// Clients reach each node through a [`ToxicProxy`] only.
    pub behind_proxy: bool,
    /// Its one node listens to `nodetool`, see [`CassandraCluster::nodetool_command`].
    pub managed: bool,
    /// Many tests share it, each with tables of its own, and nobody kills it: of tables that are made and dropped nothing is
    /// written at once, which takes longer than all else.
    pub shared: bool,
}

impl Default for CassandraOptions {
    fn default() -> Self {
        Self { nodes: 1, login: false, tls: false, behind_proxy: false, managed: false, shared: false }
    }
}

pub struct CassandraCluster {
    nodes: Vec<EngineNode>,
    proxies: Vec<ToxicProxy>,
    certificates: Option<TestCertificates>,
    port: u16,
    storage_port: u16,
    /// Where its one node listens to `nodetool`, on the loopback address that Java takes for that.
    managed_port: Option<u16>,
    /// The last to go, so that nobody moves in before the nodes have left.
    network: LoopbackNetwork,
}

impl CassandraCluster {
    /// The first user of every Cassandra.
    pub const USER: &str = "cassandra";
    pub const PASSWORD: &str = "cassandra";

    /// Starts a cluster and waits until it is ready.
    pub fn start(options: CassandraOptions) -> Result<Self> {
        let classes = CASSANDRA.class_archive(|classes| {
            Self::start_with(CassandraOptions::default(), classes)?.node(0)?.end()
        })?;
        Self::start_with(options, &classes)
    }

    fn start_with(options: CassandraOptions, classes: &ClassArchive) -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let (port, storage_port) = (network.port(9042)?, network.port(7000)?);
        let (nodes, proxies) = (Vec::new(), Vec::new());
        let managed_port = options.managed.then(free_loopback_port).transpose()?;
        let mut cassandra =
            Self { network, port, storage_port, managed_port, nodes, proxies, certificates: None };
        cassandra.start_all(options, classes).context("cannot start Cassandra")?;
        Ok(cassandra)
    }

    /// Each node as host:port.
    pub fn contact_points(&self) -> Vec<String> {
        (0..self.nodes.len()).map(|node| format!("{}:{}", self.client_host(node), self.port)).collect()
    }

    /// The proxies before the nodes, if it is behind such.
    pub fn proxies(&self) -> &[ToxicProxy] {
        &self.proxies
    }

    /// What a client needs, if it has TLS.
    pub fn certificates(&self) -> Option<&TestCertificates> {
        self.certificates.as_ref()
    }

    /// The command line of Cassandra's own `nodetool`, up to what it is told.
    pub fn nodetool_command(&self) -> Result<Vec<String>> {
        let port = self.managed_port.context("the cluster was not started to be managed")?;
        let mut command = CASSANDRA.java_command("-Xmx128m", None)?;
        command.extend(access_options());
        // It notes what it was told in the home of its user.
        command.push(path_option("-Duser.home=", self.node(0)?.folder()));
        command.extend(
            ["-Dcom.sun.jndi.rmiURLParsing=legacy", "org.apache.cassandra.tools.NodeTool"]
                .map(OsString::from),
        );
        command.extend(["-h", "127.0.0.1", "-p", &port.to_string()].map(OsString::from));
        let words = command.into_iter().map(|word| word.into_string().ok().context("a path that is no text"));
        words.collect()
    }

    /// One after the other, since only one may join the ring at a time. Ready is who knows the others.
    fn start_all(&mut self, options: CassandraOptions, classes: &ClassArchive) -> Result<()> {
        ensure!([1, 3].contains(&options.nodes), "a cluster has 1 node or 3");
        ensure!(options.nodes == 1 || !options.managed, "only a single node listens to nodetool");
        let hosts: Vec<String> = (0..options.nodes).map(|node| self.network.host(node)).collect();
        if options.behind_proxy {
            let proxies = hosts.iter().map(|host| ToxicProxy::start_before(&format!("{host}:{}", self.port)));
            self.proxies = proxies.collect::<Result<_>>()?;
        }
        for number in 0..options.nodes {
            let folder = node_folder("cassandra")?;
            let command = java_command(folder.path(), options, self.managed_port, classes)?;
            let listens = format!("{}:{}", self.network.host(number), self.port);
            let node = EngineNode::new(folder, command, READY)?.listening_at(listens);
            if options.tls && number == 0 {
                let hosts = hosts.iter().map(String::as_str).chain(self.proxies.iter().map(ToxicProxy::host));
                self.certificates = Some(TestCertificates::make(node.folder(), &hosts.collect::<Vec<_>>())?);
            }
            fs::write(node.folder().join("cassandra.yaml"), self.yaml(node.folder(), number, options))?;
            fs::write(node.folder().join("logback.xml"), LOGBACK)?;
            node.start()?;
            node.wait_ready()?;
            self.nodes.push(node);
        }
        for (number, node) in self.nodes.iter().enumerate() {
            for other in (0..self.nodes.len()).filter(|other| *other != number) {
                node.wait_for(|| self.times_seen_up(node, other) > 0)?;
            }
        }
        if options.login {
            let ready = || self.nodes.iter().any(|node| node.has_logged(READY_FOR_LOGIN));
            self.node(0)?.wait_for(ready)?;
        }
        Ok(())
    }

    /// How often a node has seen another come up, since it was started itself.
    fn times_seen_up(&self, node: &EngineNode, other: usize) -> usize {
        node.times_logged(&format!("{}:{} is now UP", self.network.host(other), self.storage_port))
    }

    fn client_host(&self, node: usize) -> String {
        self.proxies.get(node).map_or_else(|| self.network.host(node), |proxy| proxy.host().to_owned())
    }

    fn yaml(&self, folder: &Path, node: usize, options: CassandraOptions) -> String {
        let (host, seed) = (self.network.host(node), self.network.host(0));
        let folder = folder.display();
        let mut lines = vec![
            format!("initial_token: {}", ring_token(node, options.nodes)),
            format!("listen_address: {host}"),
            format!("rpc_address: {host}"),
            format!("broadcast_rpc_address: {}", self.client_host(node)),
            format!("native_transport_port: {}", self.port),
            format!("storage_port: {}", self.storage_port),
            "seed_provider:".to_owned(),
            "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider".to_owned(),
            format!("    parameters: [{{ seeds: '{seed}:{}' }}]", self.storage_port),
            format!("data_file_directories: ['{folder}/data']"),
        ];
        for kind in ["commitlog", "saved_caches", "hints", "cdc_raw"] {
            lines.push(format!("{kind}_directory: {folder}/{kind}"));
        }
        if options.login {
            lines.push("authenticator: PasswordAuthenticator".to_owned());
            lines.push("authorizer: CassandraAuthorizer".to_owned());
            lines.push("role_manager: CassandraRoleManager".to_owned());
        }
        if let Some(TestCertificates { ca_pem, nodes_pem, .. }) = &self.certificates {
            let (ca, nodes) = (ca_pem.display(), nodes_pem.display());
            lines.push("client_encryption_options:".to_owned());
            lines.push("  enabled: true".to_owned());
            lines.push("  optional: false".to_owned());
            lines.push("  ssl_context_factory:".to_owned());
            lines.push("    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory".to_owned());
            lines.push(format!("  keystore: {nodes}"));
            lines.push(format!("  truststore: {ca}"));
        }
        format!("{COMMON}{}\n", lines.join("\n"))
    }
}

impl EngineCluster for CassandraCluster {
    fn nodes(&self) -> &[EngineNode] {
        &self.nodes
    }

    /// A node listens before it knows that the others are up, and they that it is; until then a quorum seems
    /// to be missing. So it is ready when they know of one another.
    fn start_again(&self, number: usize) -> Result<()> {
        let node = self.node(number)?;
        let mut others = Vec::new();
        for (other, neighbour) in self.nodes.iter().enumerate() {
            if other != number && neighbour.is_alive()? {
                others.push((other, neighbour, self.times_seen_up(neighbour, number)));
            }
        }
        node.start()?;
        node.wait_ready()?;
        for (other, neighbour, before) in others {
            node.wait_for(|| self.times_seen_up(node, other) > 0)?;
            neighbour.wait_for(|| self.times_seen_up(neighbour, number) > before)?;
        }
        Ok(())
    }
}

/// Where a node begins on the ring, so that all have the same share.
fn ring_token(node: usize, nodes: usize) -> i128 {
    let (node, nodes) = (node as i128, nodes.max(1) as i128);
    i128::from(i64::MIN) + (1 << 64) / nodes * node
}

/// Opens to Cassandra what it uses of Java's inside.
fn access_options() -> impl Iterator<Item = OsString> {
    let flags = [("--add-exports", EXPORTS), ("--add-opens", OPENS)];
    let option = |(flag, package): (&str, &str)| format!("{flag}={package}=ALL-UNNAMED").into();
    flags
        .into_iter()
        .flat_map(|(flag, packages)| packages.iter().map(move |package| (flag, *package)))
        .map(option)
}

fn free_loopback_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn java_command(
    folder: &Path,
    CassandraOptions { nodes, shared, .. }: CassandraOptions,
    managed_port: Option<u16>,
    classes: &ClassArchive,
) -> Result<Vec<OsString>> {
    let (_, version) = tools::find_java()?;
    ensure!(
        version == JAVA,
        "Cassandra 5 runs on Java {JAVA} and this is {version}: set JAVA_HOME to a Java {JAVA}"
    );
    // A single node is shared by many tests, each with tables of its own, and a table takes half a megabyte with its metrics.
    let heap = if nodes == 1 { "-Xmx2g" } else { "-Xmx700m" };
    let mut command = CASSANDRA.java_command(heap, Some(classes))?;
    command.push("-Djdk.attach.allowAttachSelf=true".into());
    command.extend(access_options());
    command.push(path_option("-Dcassandra.config=file://", &folder.join("cassandra.yaml")));
    command.push(path_option("-Dlogback.configurationFile=", &folder.join("logback.xml")));
    command.push(path_option("-Dcassandra.storagedir=", folder));
    command.push(path_option("-Dcassandra.logdir=", folder));
    command.push("-Dcassandra-foreground=yes".into());
    command.push("-Dcassandra.skip_wait_for_gossip_to_settle=0".into());
    command.push("-Dcassandra.superuser_setup_delay_ms=1000".into());
    // Who may log in is known to all, so that it can be done while one is down.
    command.push(format!("-Dcassandra.system_auth.default_rf={nodes}").into());
    if shared {
        command.push("-Dcassandra.test.flush_local_schema_changes=false".into());
    }
    command.extend(managed_port.map(|port| format!("-Dcassandra.jmx.local.port={port}").into()));
    command.push("org.apache.cassandra.service.CassandraDaemon".into());
    Ok(command)
}
