//! What `tidings bench` runs. Operators size their machines with it, and so do we.
//!
//! A figure never stands alone: the raw loop on the same engine runs in the same process, the two in turn,
//! several times, and the medians are compared, because machines are noisy and shared. A figure without its
//! correctness check does not count: `oracle` says what was checked and whether it held.
//!
//! [`report`] is what comes out; [`log`], [`rows`], [`audience`], [`near`], [`fill`] and [`flow`] are the benches; the last two run the
//! real program as [`process`] starts it.

pub mod report;

pub mod audience;
pub mod fill;
pub mod flow;
pub mod log;
pub mod near;
pub mod rows;

pub mod process;

mod raw;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use report::{Figure, Oracle, Report};

/// A bench: its name, what it measures, the size it has by default, and whether it runs the real program.
pub struct Bench {
    pub name: &'static str,
    pub measures: &'static str,
    pub size: usize,
    pub runs_program: bool,
}

/// What there is to run.
pub const BENCHES: [Bench; 7] = [
    Bench {
        name: "log",
        measures: "records appended to a topic, acknowledged durable, against a raw loop on the same engine",
        size: 100_000,
        runs_program: false,
    },
    Bench {
        name: "rows",
        measures: "rows written into days, one per person, acknowledged durable, against a raw loop",
        size: 50_000,
        runs_program: false,
    },
    Bench {
        name: "fanout",
        measures: "one event to so many followers: stored, announced, committed; against bare loops",
        size: 12_000,
        runs_program: false,
    },
    Bench {
        name: "line",
        measures: "the same for ten followers and ten times as many up to so many; what each costs must not grow",
        size: 1_000_000,
        runs_program: false,
    },
    Bench {
        name: "near",
        measures: "one event to those of so many people who are within 50 km; rows read for each",
        size: 1_000_000,
        runs_program: false,
    },
    Bench {
        name: "start",
        measures: "until `up` is ready: on an empty directory, and on one with so many entries",
        size: 10_000_000,
        runs_program: true,
    },
    Bench {
        name: "flow",
        measures: "so many events through `up`: its memory must stay flat",
        size: 1_000_000,
        runs_program: true,
    },
];

/// Rounds of each side; the median counts.
pub const ROUNDS: usize = 5;

/// Runs a bench by its name, telling `progress` what it is doing. `program` is this very program.
pub async fn run(
    name: &str,
    size: Option<usize>,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Report> {
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        anyhow::bail!("there is no bench `{name}`: try one of {}", names.join(", "));
    };
    let size = size.unwrap_or(bench.size).max(1);
    match bench.name {
        "log" => log::run(size, progress).await,
        "rows" => rows::run(size, progress).await,
        "fanout" => audience::run(size, progress).await,
        "line" => audience::line(size, progress).await,
        "near" => near::run(size, progress).await,
        "start" => fill::run(size, program, progress).await,
        _ => flow::run(size, program, progress).await,
    }
}
