//! What `tidings bench` runs. Operators size their machines with it, and so do we.
//!
//! A figure never stands alone: the raw loop on the same engine runs in the same process, the two in turn,
//! several times, and the medians are compared, because machines are noisy and shared. A figure without its
//! correctness check does not count: `oracle` says what was checked and whether it held.
//!
//! [`report`] is what comes out; [`log`], [`rows`], [`audience`], [`followers`] (the same on clusters), [`route`],
//! [`near`], [`fill`], [`flow`], [`windows`], [`feedback`], [`tenants`], [`mails`], [`pushes`] and [`streams`] are the benches. [`fill`], [`flow`],
//! [`windows`], [`feedback`] and [`tenants`] run the real program as [`process`] starts it; [`posts`] is HTTP at a pace, [`said`] what
//! is said by it. [`streams`] runs beside a program of others, the [`peer`]. [`room`] is the fan-out at work and
//! [`closings`] the digest, [`desk`] the sender, with the [`letters`] that it is given; [`clusters`] are engines that others run, with what a bench makes there and takes away.

pub mod report;

pub mod audience;
pub mod feedback;
pub mod fill;
pub mod flow;
pub mod followers;
pub mod log;
pub mod mails;
pub mod near;
pub mod pushes;
pub mod route;
pub mod rows;
pub mod streams;
pub mod tenants;
pub mod windows;

pub mod closings;
pub mod clusters;
pub mod desk;
pub mod letters;
pub mod peer;
pub mod posts;
pub mod process;
pub mod room;
pub mod said;

mod apps;
mod raw;
mod sink;
mod timed;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use clusters::Clusters;
pub use report::{Figure, Oracle, Report};

/// A bench: its name, what it measures, and the size it has by default.
pub struct Bench {
    pub name: &'static str,
    pub measures: &'static str,
    pub size: usize,
    /// Whether it runs the real program, and whether it can be run on clusters too.
    pub runs_program: bool,
    pub on_clusters: bool,
    /// Whether it needs clusters, and a program of others that is built by their tools.
    pub has_peer: bool,
}

const fn bench(name: &'static str, size: usize, measures: &'static str) -> Bench {
    Bench { name, measures, size, runs_program: false, on_clusters: false, has_peer: false }
}

/// What there is to run.
pub const BENCHES: [Bench; 14] = [
    bench(
        "log",
        100_000,
        "records appended to a topic, acknowledged durable, against a raw loop on the same engine",
    ),
    bench("rows", 50_000, "rows written into days, one per person, acknowledged durable, against a raw loop"),
    Bench {
        on_clusters: true,
        ..bench(
            "fanout",
            12_000,
            "one event to so many followers: stored, announced, committed; against bare loops",
        )
    },
    Bench {
        on_clusters: true,
        ..bench(
            "route",
            200_000,
            "events read, decoded and routed up to the store; against a bare loop that decodes",
        )
    },
    bench(
        "line",
        1_000_000,
        "the same for ten followers and ten times as many up to so many; what each costs must not grow",
    ),
    bench("near", 1_000_000, "one event to those of so many people who are within 50 km; rows read for each"),
    Bench {
        runs_program: true,
        ..bench(
            "start",
            10_000_000,
            "until `up` is ready: on an empty directory, and on one with so many entries",
        )
    },
    Bench {
        runs_program: true,
        ..bench("flow", 1_000_000, "so many events through `up`: its memory must stay flat")
    },
    Bench {
        runs_program: true,
        ..bench(
            "windows",
            1_000_000,
            "so many windows open in `up`: memory of each, lateness of closing, time to restore after kill -9",
        )
    },
    Bench {
        runs_program: true,
        ..bench(
            "feedback",
            500_000,
            "so many records of feedback and presence through `up`, 25,000 a second; how late each is answered",
        )
    },
    Bench {
        runs_program: true,
        ..bench(
            "tenants",
            1_500_000,
            "so many rows of one tenant's lists; how late another tenant's single things are told meanwhile",
        )
    },
    bench(
        "mail",
        5_000,
        "mails rendered, signed, journalled and accepted over SMTP; against bare signatures and Python's smtplib",
    ),
    bench(
        "push",
        30_000,
        "pushes rendered, journalled and taken by services that check who asks, of Apple, Google and browsers",
    ),
    Bench {
        on_clusters: true,
        has_peer: true,
        ..bench(
            "streams",
            2_000_000,
            "so many announcements through the digest, in windows of half an hour; against Kafka Streams",
        )
    },
];

/// Rounds of each side; the median counts.
pub const ROUNDS: usize = 5;

/// Runs a bench by its name, telling `progress` what it is doing: on clusters if there are any, else on the
/// embedded engine. `program` is this very program.
pub async fn run(
    name: &str,
    size: Option<usize>,
    clusters: Option<&Clusters>,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Report> {
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        anyhow::bail!("there is no bench `{name}`: try one of {}", names(|_| true));
    };
    let size = size.unwrap_or(bench.size).max(1);
    match (bench.name, clusters) {
        ("fanout", Some(clusters)) => followers::run(size, clusters, progress).await,
        ("route", Some(clusters)) => route::production(size, clusters, progress).await,
        ("streams", Some(clusters)) => streams::run(size, clusters, progress).await,
        (name, Some(_)) => {
            let there = names(|bench| bench.on_clusters);
            anyhow::bail!(
                "`{name}` measures the embedded engine alone; with `--engine production` there is {there}"
            )
        }
        ("streams", None) => {
            anyhow::bail!("`streams` runs beside Kafka: `--engine production`; {}", clusters::HOW)
        }
        ("log", None) => log::run(size, progress).await,
        ("rows", None) => rows::run(size, progress).await,
        ("fanout", None) => audience::run(size, progress).await,
        ("route", None) => route::embedded(size, progress).await,
        ("line", None) => audience::line(size, progress).await,
        ("mail", None) => mails::run(size, progress).await,
        ("push", None) => pushes::run(size, progress).await,
        ("near", None) => near::run(size, progress).await,
        ("start", None) => fill::run(size, program, progress).await,
        ("flow", None) => flow::run(size, program, progress).await,
        ("feedback", None) => feedback::run(size, program, progress).await,
        ("tenants", None) => tenants::run(size, program, progress).await,
        (_, None) => windows::run(size, program, progress).await,
    }
}

/// Names of benches, as they stand in a sentence.
pub fn names(which: impl Fn(&&Bench) -> bool) -> String {
    BENCHES.iter().filter(which).map(|bench| bench.name).collect::<Vec<_>>().join(", ")
}
