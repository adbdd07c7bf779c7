//! `tidings bench`: what this machine does, beside what it could.

use ::bench::{BENCHES, Bench, Clusters, clusters::HOW, names};
use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::Out;
use crate::{
    cli,
    config::{Config, Engine, Refused, keys},
    failure::Failure,
    say,
};

pub fn run(config: Config, asked: &cli::Bench, out: Out) -> Result<(), Failure> {
    let name = &asked.name;
    if name == "list" {
        return list(out);
    }
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        return Err(Failure::Usage(format!("there is no bench `{name}`; there is {}", names(|_| true))));
    };
    let clusters = match config.engine {
        Engine::Embedded => None,
        Engine::Production(_) if !bench.on_clusters => {
            let there = names(|bench| bench.on_clusters);
            let why = format!(
                "`{name}` measures the embedded engine alone: with `--engine production` there is {there}"
            );
            return Err(Failure::Usage(why));
        }
        Engine::Production(engines) => Some(Clusters { kafka: engines.kafka, cql: engines.cql }),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let program = std::env::current_exe().context("find this program")?;
    let ran = ::bench::run(&asked.name, asked.size, clusters.as_ref(), &program, &|what| say::talk(what));
    let report = runtime.block_on(ran)?;
    if out.json {
        say::json(&report)?;
    } else {
        say::data(&report)?;
    }
    // A figure whose check did not hold is none.
    if report.oracle.held { Ok(()) } else { Err(anyhow!("{} did not hold", report.oracle.checked).into()) }
}

/// A configuration without clusters, with a word on where some are to be had.
pub fn refused(Refused(mut lines): Refused) -> Refused {
    if lines.iter().any(|line| line.contains(keys::KAFKA_BROKERS) || line.contains(keys::CQL_CONTACT_POINTS))
    {
        lines.push(HOW.to_owned());
    }
    Refused(lines)
}

fn list(out: Out) -> Result<(), Failure> {
    if out.json {
        let one = |bench: &Bench| {
            json!({
                "name": bench.name,
                "measures": bench.measures,
                "size": bench.size,
                "engines": engines(bench),
            })
        };
        let all: Vec<_> = BENCHES.iter().map(one).collect();
        return Ok(say::json(&all)?);
    }
    let row = |bench: &Bench| {
        [bench.name.to_owned(), bench.size.to_string(), engines(bench).join(", "), bench.measures.to_owned()]
    };
    let rows: Vec<_> = BENCHES.iter().map(row).collect();
    for line in say::table(&rows) {
        say::data(line)?;
    }
    Ok(())
}

/// On which engines it can be run.
fn engines(bench: &Bench) -> &'static [&'static str] {
    match bench {
        Bench { has_peer: true, .. } => &[keys::PRODUCTION],
        Bench { on_clusters: true, .. } => &[keys::EMBEDDED, keys::PRODUCTION],
        _ => &[keys::EMBEDDED],
    }
}
