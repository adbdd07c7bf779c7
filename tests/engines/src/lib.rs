//! Starts real Kafka, Cassandra and a schema registry for tests, benches and demos.
//!
//! [`kafka`], [`cql`] and [`registry`] are one of each for the whole process: those that `TIDINGS_KAFKA`,
//! `TIDINGS_CQL` and `TIDINGS_REGISTRY` name, else they are started at the first use. A test that kills, pauses or secures
//! starts its own: [`KafkaCluster`], [`CassandraCluster`], [`ApicurioRegistry`], a [`PythonMailServer`], [`DovecotMailboxes`] behind it, a [`PushService`], a
//! [`HookReceiver`] of hooks, a [`PostgresServer`] with [`KafkaConnect`] behind it, and a [`ToxicProxy`] before any of them. All end with the process, however it ends, and leave nothing
//! behind. What they are made of is fetched once, into the folder of build outputs; what is missing on the machine is an
//! error that says what to install.

mod browsers;
mod cassandra;
mod certificates;
mod kafka;
mod kafka_connect;
mod mail;
mod mailboxes;
mod network;
mod node;
mod postgres;
mod proxy;
mod receiver;
mod registry;
mod shared_engines;
mod tools;

pub use browsers::{BrowserPage, PushService, SubscribedBrowser, node};
pub use cassandra::{CassandraCluster, CassandraOptions};
pub use certificates::TestCertificates;
pub use kafka::{KafkaCluster, KafkaClusterLogin, KafkaOptions, run_kafka_tool};
pub use kafka_connect::KafkaConnect;
pub use mail::{ArrivedMail, MailOptions, MailTls, PythonMailServer, python};
pub use mailboxes::DovecotMailboxes;
pub use node::{EngineCluster, EngineNode};
pub use postgres::PostgresServer;
pub use proxy::ToxicProxy;
pub use receiver::{HookReceiver, ReceivedCall};
pub use registry::ApicurioRegistry;
pub use shared_engines::{cql, kafka, registry};
pub use tools::use_full_speed;
