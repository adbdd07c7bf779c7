//! What one has to say to reach a cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use secrecy::SecretString;

/// How the cluster is reached and used. Checked by [`crate::KafkaTopics::open`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// `host:port`, several with commas between them.
    pub brokers: String,
    /// Before the names of topics, groups and transactional ids; empty for none.
    pub prefix: String,
    /// Topics of others, named as they are, without the prefix.
    pub foreign: BTreeSet<String>,
    pub security: ClusterSecurity,
    pub protocol: GroupProtocol,
    /// Static membership: this instance's name, to which each group adds its own. A restart within the
    /// session then keeps the partitions.
    pub instance: Option<String>,
    /// By what the brokers' logs and metrics name our clients; the members' add their group.
    pub client: String,
    /// Of topics that are made.
    pub replication: ReplicationSettings,
    pub stamps: StampSource,
    /// After how much silence a member of a classic group counts as gone.
    pub session: Duration,
    /// How long a transaction may take before the brokers abort it.
    pub transaction: Duration,
    /// Any property of librdkafka; has the last word.
    pub more: BTreeMap<String, String>,
}

impl Settings {
    /// An open cluster at this address.
    pub fn for_brokers(brokers: &str) -> Self {
        Self {
            brokers: brokers.to_owned(),
            prefix: String::new(),
            foreign: BTreeSet::new(),
            security: ClusterSecurity::default(),
            protocol: GroupProtocol::Classic,
            instance: None,
            client: "tidings".to_owned(),
            replication: ReplicationSettings { factor: 3, min_insync: 2 },
            stamps: StampSource::Broker,
            session: Duration::from_secs(45),
            transaction: Duration::from_secs(60),
            more: BTreeMap::new(),
        }
    }
}

/// Encryption and who we are. Both may be left out.
#[derive(Clone, Debug, Default)]
pub struct ClusterSecurity {
    pub tls: Option<KafkaTls>,
    pub login: Option<KafkaLogin>,
}

/// PEM files.
#[derive(Clone, Debug, Default)]
pub struct KafkaTls {
    /// Whom to trust; the machine's own store if it is left out.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key, where the brokers ask for them.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// Name and password.
#[derive(Clone, Debug)]
pub struct KafkaLogin {
    pub mechanism: SaslMechanism,
    pub user: String,
    pub password: SecretString,
}

/// How the password is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaslMechanism {
    Plain,
    ScramSha256,
    ScramSha512,
}

/// How members of a group agree on who has what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupProtocol {
    /// The members themselves do, each time that one comes or goes.
    Classic,
    /// The brokers do (KIP-848, Kafka 4.0 and newer).
    Consumer,
}

/// How many brokers keep a record, and how many must have it before it counts as appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicationSettings {
    pub factor: i32,
    pub min_insync: i32,
}

/// Who says when a record was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampSource {
    /// The broker, by its own clock.
    Broker,
    /// The clock that was given to [`crate::KafkaTopics::open`]: demos and scenarios, whose time is not ours.
    Clock,
}
