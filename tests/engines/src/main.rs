//! Starts one of each engine and keeps them until Ctrl-C: `engines up [--nodes 3]`; or for as long as a command
//! runs, which is told where they are: `engines up -- tidings up --engine production`.
//! They run for long, so their Java compiles fully; unless they are for tests: `engines up --for-tests`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks on its terminal")]

use std::{
    process::{Command, ExitCode},
    thread,
};

use anyhow::{Context as _, Result, anyhow};
use engines::{ApicurioRegistry, CassandraCluster, CassandraOptions, KafkaCluster, KafkaOptions};

const USAGE: &str = "usage: engines up [--nodes 1|3 | --for-tests] [-- COMMAND ...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (ours, command) = match arguments.iter().position(|argument| argument == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (&arguments[..], &[][..]),
    };
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    let (nodes, shared) = match ours[..] {
        ["up"] | ["up", "--nodes", "1"] => (1, false),
        ["up", "--nodes", "3"] => (3, false),
        ["up", "--for-tests"] => (1, true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if !shared {
        engines::use_full_speed();
    }
    match start_engines(nodes, shared, command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("engines: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start_engines(nodes: usize, shared: bool, command: &[String]) -> Result<ExitCode> {
    eprintln!("starting Kafka, Cassandra and a registry; the first time they are fetched");
    let kafka = thread::spawn(move || KafkaCluster::start(KafkaOptions { nodes, ..KafkaOptions::default() }));
    let cassandra = thread::spawn(move || {
        CassandraCluster::start(CassandraOptions { nodes, shared, ..CassandraOptions::default() })
    });
    let registry = ApicurioRegistry::start();
    let died = |_| anyhow!("a thread died");
    // All have ended before any of them is looked at: who leaves while one still starts leaves its folder behind.
    let (kafka, cassandra) = (kafka.join().map_err(died), cassandra.join().map_err(died));
    let (kafka, cassandra, registry) = (kafka??, cassandra??, registry?);
    if let [program, arguments @ ..] = command {
        let nodes_text = nodes.to_string();
        let mut child = Command::new(program);
        child
            .args(arguments)
            .env("TIDINGS_KAFKA_BROKERS", kafka.bootstrap())
            .env("TIDINGS_KAFKA_REPLICATION", &nodes_text)
            .env("TIDINGS_KAFKA_MIN_INSYNC", if nodes == 1 { "1" } else { "2" })
            .env("TIDINGS_CQL_CONTACT_POINTS", cassandra.contact_points().join(","))
            .env("TIDINGS_REGISTRY_URL", registry.url());
        let status = child.status().with_context(|| format!("run {program}"))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        return Ok(code.map_or(ExitCode::FAILURE, ExitCode::from));
    }
    println!("export TIDINGS_KAFKA={}", kafka.bootstrap());
    println!("export TIDINGS_CQL={}", cassandra.contact_points().join(","));
    println!("export TIDINGS_REGISTRY={}", registry.url());
    eprintln!("ready; Ctrl-C ends them");
    loop {
        thread::park();
    }
}
