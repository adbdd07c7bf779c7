//! `tidings bench`: what this machine does, beside what it could.

use ::bench::{BENCHES, BenchClusters, BenchDefinition, bench_names, clusters::HOW};
use anyhow::{Context as _, anyhow};
use serde_json::json;
use settings::config::{Config, ConfigError, EngineConfig, keys};
use shell::{failure::CommandError, terminal};

use super::OutputStyle;
use crate::arguments as cli;

pub fn run(config: Config, asked: &cli::BenchCommandArgs, out: OutputStyle) -> Result<(), CommandError> {
    let name = &asked.name;
    if name == "list" {
        return list_benches(out);
    }
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        return Err(CommandError::Usage(format!(
            "there is no benchmark `{name}`; choose from {}",
            bench_names(|_| true)
        )));
    };
    let clusters = match config.engine {
        EngineConfig::Embedded => None,
        EngineConfig::Production(_) if !bench.on_clusters => {
            let there = bench_names(|bench| bench.on_clusters);
            let why = format!(
                "`{name}` measures the embedded engine alone; with `--engine production`, choose from \
                {there}"
            );
            return Err(CommandError::Usage(why));
        }
        EngineConfig::Production(engines) => Some(BenchClusters { kafka: engines.kafka, cql: engines.cql }),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let program = std::env::current_exe().context("find this program")?;
    let ran = ::bench::run_bench(&asked.name, asked.size, clusters.as_ref(), &program, &|what| {
        terminal::print_talk(what);
    });
    let report = runtime.block_on(ran)?;
    if out.json {
        terminal::print_json(&report)?;
    } else {
        terminal::print_data(&report)?;
    }
    // A figure whose check did not hold is none.
    if report.oracle.held { Ok(()) } else { Err(anyhow!("{} did not hold", report.oracle.checked).into()) }
}

/// A configuration without clusters, with a word on where some are to be had.
pub fn add_cluster_hint(ConfigError(mut lines): ConfigError) -> ConfigError {
    if lines.iter().any(|line| line.contains(keys::KAFKA_BROKERS) || line.contains(keys::CQL_CONTACT_POINTS))
    {
        lines.push(HOW.to_owned());
    }
    ConfigError(lines)
}

fn list_benches(out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        let one = |bench: &BenchDefinition| {
            json!({
                "name": bench.name,
                "measures": bench.measures,
                "size": bench.size,
                "engines": bench_engines(bench),
            })
        };
        let all: Vec<_> = BENCHES.iter().map(one).collect();
        return Ok(terminal::print_json(&all)?);
    }
    let row = |bench: &BenchDefinition| {
        [
            bench.name.to_owned(),
            bench.size.to_string(),
            bench_engines(bench).join(", "),
            bench.measures.to_owned(),
        ]
    };
    let rows: Vec<_> = BENCHES.iter().map(row).collect();
    for line in terminal::format_table(&rows) {
        terminal::print_data(line)?;
    }
    Ok(())
}

/// On which engines it can be run.
fn bench_engines(bench: &BenchDefinition) -> &'static [&'static str] {
    match bench {
        BenchDefinition { needs_clusters: true, .. } => &[keys::PRODUCTION],
        BenchDefinition { on_clusters: true, .. } => &[keys::EMBEDDED, keys::PRODUCTION],
        _ => &[keys::EMBEDDED],
    }
}
