//! Clusters that others run: a bench has topics by a prefix of its own and a keyspace of its own in them, and
//! takes both away when it ends, however it ends.

use std::{fs, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow, bail, ensure};
use model::DayLife;
use rdkafka::{
    admin::{AdminClient, AdminOptions, ResourceSpecifier},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer as _},
};
use runtime::Clock;
use scylla::client::session::Session;
use store_cql::CqlStore;
use tokio::task::spawn_blocking;
use topic_kafka::{KafkaTopics, settings::ReplicationSettings};

use crate::process::BenchProgram;

/// How to reach them.
#[derive(Clone, Debug)]
pub struct BenchClusters {
    pub kafka: topic_kafka::Settings,
    pub cql: store_cql::Settings,
}

/// Where clusters are to be had.
pub const HOW: &str = "`make engines` starts a Kafka and a Cassandra here and says their addresses: \
    `export` what it prints and run the bench beside it, or set `kafka.brokers` and `cql.contact_points`";
/// How long a cluster may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Tables are laid out at the pace of the cluster, and a bench asks more of it than a house does.
const CQL_PATIENCE: Duration = Duration::from_secs(30);
/// What brokers before 4.0 tell of their version.
const VERSION: &str = "inter.broker.protocol.version";

fn explain_unreachable(error: anyhow::Error) -> anyhow::Error {
    anyhow!("{error:#}; {HOW}")
}

/// With what the names of all that this process makes begin.
pub(crate) fn own_prefix() -> String {
    format!("tidings_bench_{}_", std::process::id())
}

/// A name that no other run has.
fn unique_name() -> String {
    format!("{}{}", own_prefix(), Clock::real(0).now())
}

/// Does something that Ctrl-C ends early, as if it had failed.
async fn run_until_ctrl_c<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => bail!("stopped"),
    }
}

/// Does something on Kafka, and takes away what it made there, however it went.
pub async fn run_on_log<T>(
    clusters: &BenchClusters,
    work: impl AsyncFnOnce(&ClusterLog) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let log = ClusterLog::open(clusters).await?;
    let done = run_until_ctrl_c(Box::pin(work(&log))).await;
    let ended = log.end().await;
    let done = done?;
    ended?;
    Ok(done)
}

/// The same on Kafka and on ScyllaDB or Cassandra.
pub async fn run_on_both<T>(
    clusters: &BenchClusters,
    work: impl AsyncFnOnce(&ClusterLog, &ClusterTables) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let log = ClusterLog::open(clusters).await?;
    let tables = ClusterTables::open(clusters).await?;
    let done = run_until_ctrl_c(Box::pin(work(&log, &tables))).await;
    let ended = (log.end().await, tables.end().await);
    let done = done?;
    ended.0.and(ended.1)?;
    Ok(done)
}

/// Refuses clusters that not every process may use: a bench of the program hands on their addresses, and no secrets.
pub fn check_open(bench: &str, clusters: &BenchClusters) -> anyhow::Result<()> {
    let (kafka, cql) = (&clusters.kafka.security, &clusters.cql);
    ensure!(
        kafka.tls.is_none() && kafka.login.is_none() && cql.tls.is_none() && cql.login.is_none(),
        "`{bench}` hands the clusters' addresses on to processes of its own, and no passwords or certificates: it needs \
         clusters without"
    );
    Ok(())
}

/// Has the program work on clusters: it finds them in its folder, and what it needs is made there.
pub fn prepare_program(bed: &BenchProgram, log: &ClusterLog, tables: &ClusterTables) -> anyhow::Result<()> {
    fs::write(bed.path("tidings.yaml"), program_settings(log, tables, bed))?;
    bed.run("data", &["migrate"]).map(drop)
}

fn program_settings(log: &ClusterLog, tables: &ClusterTables, bed: &BenchProgram) -> String {
    let (kafka, cql) = (&log.settings, &tables.settings);
    let points: Vec<String> = cql.contact_points.iter().map(|point| format!("'{point}'")).collect();
    let brokers: Vec<String> =
        kafka.brokers.split(',').map(|broker| format!("'{}'", broker.trim())).collect();
    let replication: Vec<String> =
        cql.replication.iter().map(|(name, copies)| format!("{name}: {copies}")).collect();
    let replication = match replication.is_empty() {
        true => String::new(),
        false => format!("  replication: {{{}}}\n", replication.join(", ")),
    };
    let datacenter = cql.datacenter.iter().map(|name| format!("  datacenter: {name}\n")).collect::<String>();
    format!(
        "engine: production\nlisten: 127.0.0.1:0\nlog:\n  filter: warn\ncatalogue: {}\n\
         kafka:\n  brokers: [{}]\n  prefix: {}\n  replication: {}\n  min_insync: {}\n\
         cql:\n  contact_points: [{}]\n  keyspace: {}\n{replication}{datacenter}",
        bed.path("").display(),
        brokers.join(", "),
        kafka.prefix,
        kafka.replication.factor,
        kafka.replication.min_insync,
        points.join(", "),
        cql.keyspace,
    )
}

/// Kafka.
pub struct ClusterLog {
    pub settings: topic_kafka::Settings,
    /// What it is, as it says itself.
    pub says: String,
}

impl ClusterLog {
    /// Makes nothing yet.
    pub async fn open(clusters: &BenchClusters) -> anyhow::Result<Self> {
        let settings =
            topic_kafka::Settings { prefix: format!("{}.", unique_name()), ..clusters.kafka.clone() };
        let asked = settings.clone();
        let (first, brokers) =
            spawn_blocking(move || find_brokers(&asked)).await?.map_err(explain_unreachable)?;
        let version = read_version(&settings, first).await?;
        // Where there are fewer brokers than copies were asked for, there are as many copies as brokers.
        let most = i32::try_from(brokers).unwrap_or(i32::MAX);
        let factor = settings.replication.factor.min(most);
        let min_insync = settings.replication.min_insync.min(factor);
        let says = format!("Kafka {version}, brokers: {brokers}, copies: {factor}, acks=all of {min_insync}");
        let settings =
            topic_kafka::Settings { replication: ReplicationSettings { factor, min_insync }, ..settings };
        Ok(Self { settings, says })
    }

    /// The engine, with nothing in it yet.
    pub fn engine(&self) -> anyhow::Result<KafkaTopics> {
        KafkaTopics::open(self.settings.clone(), Clock::real(0)).context("open the log")
    }

    /// A topic's name on the cluster.
    pub fn wire_name(&self, topic: &str) -> String {
        format!("{}{topic}", self.settings.prefix)
    }

    /// Takes away all that begins with the prefix.
    pub async fn end(self) -> anyhow::Result<()> {
        let Self { settings, .. } = self;
        let asked = settings.clone();
        let (topics, groups) = spawn_blocking(move || list_leftovers(&asked)).await??;
        let admin = open_admin(&settings)?;
        let (topics, groups): (Vec<&str>, Vec<&str>) =
            (topics.iter().map(String::as_str).collect(), groups.iter().map(String::as_str).collect());
        if !groups.is_empty() {
            // One that is still being left is forgotten by the cluster itself.
            drop(admin.delete_groups(&groups, &admin_options()).await.context("remove groups")?);
        }
        if !topics.is_empty() {
            for removed in admin.delete_topics(&topics, &admin_options()).await.context("remove topics")? {
                removed.map_err(|(topic, code)| anyhow!("topic `{topic}` is still there: {code}"))?;
            }
        }
        Ok(())
    }
}

fn admin_options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE))
}

fn open_admin(settings: &topic_kafka::Settings) -> anyhow::Result<AdminClient<DefaultClientContext>> {
    topic_kafka::client_config(settings).create().context("open a client of kafka")
}

/// One of the brokers, and how many there are. Blocks.
fn find_brokers(settings: &topic_kafka::Settings) -> anyhow::Result<(i32, usize)> {
    let client: BaseConsumer = topic_kafka::client_config(settings).create().context("open a client")?;
    let metadata =
        client.fetch_metadata(None, PATIENCE).with_context(|| format!("kafka at {}", settings.brokers))?;
    let first = metadata.brokers().first().context("kafka names no broker")?;
    Ok((first.id(), metadata.brokers().len()))
}

async fn read_version(settings: &topic_kafka::Settings, broker: i32) -> anyhow::Result<String> {
    let asked = [ResourceSpecifier::Broker(broker)];
    let found =
        open_admin(settings)?.describe_configs(&asked, &admin_options()).await.context("ask a broker")?;
    let told = found.iter().flatten().find_map(|broker| broker.get(VERSION)?.value.clone());
    Ok(told.unwrap_or_else(|| "4.0 or newer".to_owned()))
}

/// Topics and groups that have the prefix. Blocks.
fn list_leftovers(settings: &topic_kafka::Settings) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let client: BaseConsumer = topic_kafka::client_config(settings).create().context("open a client")?;
    let metadata = client.fetch_metadata(None, PATIENCE).context("ask for topics")?;
    let groups = client.fetch_group_list(None, PATIENCE).context("ask for groups")?;
    let ours = |name: &&str| name.starts_with(&settings.prefix);
    let topics = metadata.topics().iter().map(|topic| topic.name()).filter(ours).map(str::to_owned);
    let groups = groups.groups().iter().map(|group| group.name()).filter(ours).map(str::to_owned);
    Ok((topics.collect(), groups.collect()))
}

/// ScyllaDB or Cassandra.
pub struct ClusterTables {
    pub settings: store_cql::Settings,
    /// What it is, as it says itself.
    pub says: String,
    /// The driver's own, with nothing of ours around it.
    pub session: Arc<Session>,
}

impl ClusterTables {
    /// Makes nothing yet.
    pub async fn open(clusters: &BenchClusters) -> anyhow::Result<Self> {
        let timeout = clusters.cql.timeout.max(CQL_PATIENCE);
        // Days live here as long as in the program, which is told nothing of them.
        let (keyspace, day_life) = (unique_name(), DayLife::default());
        let settings = store_cql::Settings { keyspace, timeout, day_life, ..clusters.cql.clone() };
        let session = store_cql::open_session(&settings).await;
        let at = || format!("the store at {}", settings.contact_points.join(", "));
        let session = Arc::new(session.with_context(at).map_err(explain_unreachable)?);
        let nodes = session.get_cluster_state().get_nodes_info().len();
        let says = format!("{}, nodes: {nodes}, at LOCAL_QUORUM", read_product(&session).await?);
        Ok(Self { settings, says, session })
    }

    /// The engine, with its tables laid out.
    pub async fn engine(&self) -> anyhow::Result<CqlStore> {
        // Boxed, as a driver's futures fill the stack of a test where they lie in one another.
        Box::pin(store_cql::migrate_keyspaces(&self.settings)).await.context("lay out a keyspace")?;
        Box::pin(CqlStore::open(self.settings.clone())).await.context("open the store")
    }

    pub async fn end(self) -> anyhow::Result<()> {
        for keyspace in [self.settings.keyspace.clone(), format!("{}_journal", self.settings.keyspace)] {
            let cql = format!("DROP KEYSPACE IF EXISTS {keyspace}");
            self.session.query_unpaged(cql, ()).await.with_context(|| format!("drop keyspace {keyspace}"))?;
        }
        Ok(())
    }
}

/// Name and version.
async fn read_product(session: &Session) -> anyhow::Result<String> {
    let is_scylla = session.get_cluster_state().get_nodes_info().iter().any(|node| node.sharder().is_some());
    let (name, cql) = match is_scylla {
        true => ("ScyllaDB", "SELECT version FROM system.versions"),
        false => ("Cassandra", "SELECT release_version FROM system.local"),
    };
    let rows = session.query_unpaged(cql, ()).await?.into_rows_result()?;
    let (version,) = rows.first_row::<(String,)>()?;
    Ok(format!("{name} {version}"))
}
