//! One engine of each kind for a whole process: the one that the environment names, or one that is started
//! at the first use and ends with the process.

use std::{
    env,
    net::{TcpStream, ToSocketAddrs},
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Result, anyhow, ensure};

use crate::{
    cassandra::{CassandraCluster, CassandraOptions},
    kafka::{KafkaCluster, KafkaOptions},
    registry::{self, ApicurioRegistry},
};

const TRY: Duration = Duration::from_secs(5);

/// The address of an engine, and the engine if it is ours, so that it is not stopped.
type SharedEngine<E> = OnceLock<Result<(String, Option<E>), String>>;

/// Bootstrap servers of a Kafka: those of `TIDINGS_KAFKA`, or of one node that is started for this process.
pub fn kafka() -> Result<&'static str> {
    static KAFKA: SharedEngine<KafkaCluster> = OnceLock::new();
    let start = || KafkaCluster::start(KafkaOptions::default()).map(|kafka| (kafka.bootstrap(), kafka));
    share_engine(&KAFKA, "TIDINGS_KAFKA", is_listening, start)
}

/// Contact points for CQL as host:port: those of `TIDINGS_CQL`, or one node that is started for this process.
pub fn cql() -> Result<&'static str> {
    static CASSANDRA: SharedEngine<CassandraCluster> = OnceLock::new();
    let start = || {
        let cassandra =
            CassandraCluster::start(CassandraOptions { shared: true, ..CassandraOptions::default() })?;
        Ok((cassandra.contact_points().join(","), cassandra))
    };
    share_engine(&CASSANDRA, "TIDINGS_CQL", is_listening, start)
}

/// The root of Confluent's API of a registry: that of `TIDINGS_REGISTRY`, or of one that is started for this process.
pub fn registry() -> Result<&'static str> {
    static REGISTRY: SharedEngine<ApicurioRegistry> = OnceLock::new();
    let start = || ApicurioRegistry::start().map(|registry| (registry.url().to_owned(), registry));
    share_engine(&REGISTRY, "TIDINGS_REGISTRY", registry::registry_answers, start)
}

fn share_engine<E>(
    cell: &'static SharedEngine<E>,
    variable: &str,
    reachable: fn(&str) -> bool,
    start: impl FnOnce() -> Result<(String, E)>,
) -> Result<&'static str> {
    let found = cell.get_or_init(|| {
        let given = env::var(variable).ok().filter(|address| !address.is_empty());
        let found = match given {
            None => start().map(|(address, engine)| (address, Some(engine))),
            Some(address) => check_given(variable, &address, reachable).map(|()| (address, None)),
        };
        found.map_err(|error| format!("{error:#}"))
    });
    found.as_ref().map(|(address, _)| address.as_str()).map_err(|error| anyhow!("{error}"))
}

fn check_given(variable: &str, address: &str, reachable: fn(&str) -> bool) -> Result<()> {
    ensure!(reachable(address), "{variable} is {address}, where nobody answers; without it one is started");
    Ok(())
}

/// Whether somebody listens at one of these addresses.
fn is_listening(addresses: &str) -> bool {
    let mut all = addresses.split(',').filter_map(|address| address.trim().to_socket_addrs().ok()).flatten();
    all.any(|address| TcpStream::connect_timeout(&address, TRY).is_ok())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_address_that_is_given_must_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().to_string();
        check_given("TIDINGS_KAFKA", &format!("127.84.255.1:9,{here}"), is_listening).unwrap();
        drop(listener);
        let error = check_given("TIDINGS_KAFKA", &here, is_listening).unwrap_err();
        let expect = format!("TIDINGS_KAFKA is {here}, where nobody answers; without it one is started");
        assert_eq!(error.to_string(), expect);
    }
}
