//! What one says about a cluster.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use model::DayLife;
use secrecy::SecretString;

/// How to reach a cluster, and how hard to press it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `host:port` of some nodes; the others are found through them.
    pub contact_points: Vec<String>,
    /// The journal has a keyspace of its own beside it, `<keyspace>_journal`.
    pub keyspace: String,
    /// Ours, where the cluster has several.
    pub datacenter: Option<String>,
    /// Copies in each data centre; empty asks the cluster: one where a data centre has one node, else three.
    pub replication: BTreeMap<String, u16>,
    pub login: Option<CqlLogin>,
    pub tls: Option<CqlTls>,
    /// Requests under way at once; fewer while the cluster has enough with fewer.
    pub in_flight_max: usize,
    /// Of one request.
    pub timeout: Duration,
    /// How long days live: chosen as the tables are laid out, and then it stands.
    pub day_life: DayLife,
    /// No other process uses this keyspace, so closing a day need not wait for what others may be writing.
    pub alone: bool,
}

/// By name and password.
#[derive(Clone, Debug)]
pub struct CqlLogin {
    pub user: String,
    pub password: SecretString,
}

/// PEM files. Nodes are known by their IP addresses, which their certificates have to name.
#[derive(Clone, Debug)]
pub struct CqlTls {
    /// The certificate authorities of the nodes.
    pub ca: PathBuf,
    /// What we show, if the nodes ask for it.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

impl Settings {
    /// `host:port`, or several with commas between them.
    pub fn from_contact_points(contact_points: &str, keyspace: &str) -> Self {
        Self {
            contact_points: contact_points.split(',').map(|one| one.trim().to_owned()).collect(),
            keyspace: keyspace.to_owned(),
            datacenter: None,
            replication: BTreeMap::new(),
            login: None,
            tls: None,
            in_flight_max: 256,
            timeout: Duration::from_secs(5),
            day_life: DayLife::default(),
            alone: false,
        }
    }

    /// The keyspace of what is decided by lightweight transactions.
    pub(crate) fn journal_keyspace(&self) -> String {
        format!("{}_journal", self.keyspace)
    }
}
