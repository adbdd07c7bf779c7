//! Starts real Kafka, Cassandra and a schema registry for tests, benches and demos.
//!
//! [`kafka`], [`cql`] and [`registry`] are one of each for the whole process: those that `TIDINGS_KAFKA`,
//! `TIDINGS_CQL` and `TIDINGS_REGISTRY` name, else they are started at the first use. A test that kills, pauses or secures
//! starts its own: [`Kafka`], [`Cassandra`], [`Registry`], a [`MailServer`], [`Mailboxes`] behind it, a [`PushService`], a
//! [`Receiver`] of hooks, a [`Postgres`] with [`Connect`] behind it, and a [`Proxy`] before any of them. All end with the process, however it ends, and leave nothing
//! behind. What they are made of is fetched once, into the folder of build outputs; what is missing on the machine is an
//! error that says what to install.

mod browsers;
mod cassandra;
mod certificates;
mod connect;
mod kafka;
mod mail;
mod mailboxes;
mod network;
mod node;
mod postgres;
mod proxy;
mod receiver;
mod registry;
mod shared;
mod tools;

pub use browsers::{Browser, PushService, Subscribed, node};
pub use cassandra::{Cassandra, CassandraOptions};
pub use certificates::Certificates;
pub use connect::Connect;
pub use kafka::{Kafka, KafkaOptions, Secured, tool};
pub use mail::{Arrived, MailOptions, MailServer, MailTls, python};
pub use mailboxes::Mailboxes;
pub use node::{Cluster, Node};
pub use postgres::Postgres;
pub use proxy::Proxy;
pub use receiver::{Called, Receiver};
pub use registry::Registry;
pub use shared::{cql, kafka, registry};
