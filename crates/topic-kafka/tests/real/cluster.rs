//! What the tests have in common: a cluster, and names that nobody else uses on it.

use runtime::Clock;
use topic_kafka::{Settings, settings::ReplicationSettings};

/// Settings for the cluster of this run. It may be one that other runs have used, so each has another prefix.
pub fn cluster_settings(word: &str) -> Settings {
    let mut settings = Settings::for_brokers(engines::kafka().unwrap());
    settings.prefix = format!("{word}-{}-", Clock::real(0).now());
    settings.replication = ReplicationSettings { factor: 1, min_insync: 1 };
    settings
}
