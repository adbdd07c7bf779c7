//! What `tidings bench` runs. Operators size their machines with it, and so do we.
//!
//! A figure never stands alone: the raw loop on the same engine runs in the same process, the two in turn,
//! several times, and the medians are compared, because machines are noisy and shared. A figure without its
//! correctness check does not count: `oracle` says what was checked and whether it held.
//!
//! [`report`] is what comes out; [`log`], [`rows`] and [`audience`] are the benches.

pub mod report;

pub mod audience;
pub mod log;
pub mod rows;

mod raw;

#[cfg(test)]
mod tests;

pub use report::{Figure, Oracle, Report};

/// What there is to run: name, what it measures, and the size it has by default.
pub const BENCHES: [(&str, &str, usize); 3] = [
    (
        "log",
        "records appended to a topic, acknowledged durable, against a raw loop on the same engine",
        100_000,
    ),
    ("rows", "rows written into days, one per person, acknowledged durable, against a raw loop", 50_000),
    ("fanout", "one event to so many followers: stored, announced, committed; against a raw loop", 12_000),
];

/// Rounds of each side; the median counts.
pub const ROUNDS: usize = 5;

/// Runs a bench by its name, telling `progress` what it is doing.
pub async fn run(
    name: &str,
    size: Option<usize>,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Report> {
    let Some((_, _, default)) = BENCHES.iter().find(|(known, _, _)| *known == name) else {
        let names: Vec<&str> = BENCHES.iter().map(|(name, _, _)| *name).collect();
        anyhow::bail!("there is no bench `{name}`: try one of {}", names.join(", "));
    };
    let size = size.unwrap_or(*default).max(1);
    match name {
        "log" => log::run(size, progress).await,
        "rows" => rows::run(size, progress).await,
        _ => audience::run(size, progress).await,
    }
}
