//! What `tidings bench` runs. Operators size their machines with it, and so do we.
//!
//! A figure never stands alone: the raw loop on the same engine runs in the same process, the two in turn,
//! several times, and the medians are compared, because machines are noisy and shared. A figure without its
//! correctness check does not count: `oracle` says what was checked and whether it held.
//!
//! [`report`] is what comes out; [`log`], [`rows`], [`audience`], [`followers`] (the same on clusters), [`crowd`] (by several processes), [`route`],
//! [`nearby_people`], [`startup`], [`flow`], [`explain`], [`windows`], [`feedback`], [`feeds`], [`tenants`], [`mails`], [`pushes`], [`fairness`], [`traced_flow`] and [`streams`] are the benches. [`startup`], [`flow`],
//! [`explain`], [`windows`], [`feedback`] and [`tenants`] run the real program as [`process`] starts it; [`http_load`] is HTTP at a pace, [`feedback_load`] what
//! is said by it. [`streams`] runs beside a program of others, the [`streams_peer`], and [`feeds`], on either kind of engine, beside the [`echo_peer`], on what [`feed_load`] writes. [`fanout_room`] is the fan-out at work and
//! [`digest_room`] the digest, [`sender_room`] the sender, with the [`ready_load`] that it is given; [`clusters`] are engines that others run, with what a bench makes there and takes away.

pub mod report;

pub mod audience;
pub mod crowd;
pub mod explain;
pub mod fairness;
pub mod feedback;
pub mod feeds;
pub mod flow;
pub mod followers;
pub mod log;
pub mod mails;
pub mod nearby_people;
pub mod pushes;
pub mod route;
pub mod rows;
pub mod startup;
pub mod streams;
pub mod tenants;
pub mod traced_flow;
pub mod windows;

pub mod clusters;
pub mod digest_room;
pub mod echo_peer;
pub mod fanout_room;
pub mod feed_load;
pub mod feedback_load;
pub mod http_load;
pub mod process;
pub mod ready_load;
pub mod sender_room;
pub mod streams_peer;

mod embedded_engines;
mod push_services;
mod raw_loop;
mod sink;
mod timed_store;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use clusters::BenchClusters;
pub use report::{BenchFigure, BenchOracle, BenchReport};

/// A bench: its name, what it measures, and the size it has by default.
pub struct BenchDefinition {
    pub name: &'static str,
    pub measures: &'static str,
    pub size: usize,
    /// Whether it runs the real program, and whether it can be run on clusters too.
    pub runs_program: bool,
    pub on_clusters: bool,
    /// Whether it cannot be run without clusters, and whether it runs a program of others that is built by their tools.
    pub needs_clusters: bool,
    pub has_peer: bool,
}

const fn define_bench(name: &'static str, size: usize, measures: &'static str) -> BenchDefinition {
    let (runs_program, on_clusters, needs_clusters, has_peer) = (false, false, false, false);
    BenchDefinition { name, measures, size, runs_program, on_clusters, needs_clusters, has_peer }
}

/// What there is to run.
pub const BENCHES: [BenchDefinition; 19] = [
    define_bench(
        "log",
        100_000,
        "records appended to a topic, acknowledged durable, against a raw loop on the same engine",
    ),
    define_bench(
        "rows",
        50_000,
        "rows written into days, one per person, acknowledged durable, against a raw loop",
    ),
    BenchDefinition {
        on_clusters: true,
        ..define_bench(
            "fanout",
            12_000,
            "one event to so many followers: stored, announced, committed; against bare loops",
        )
    },
    BenchDefinition {
        runs_program: true,
        on_clusters: true,
        needs_clusters: true,
        ..define_bench(
            "crowd",
            100_000,
            "one event to so many followers, by one, two and four processes; against one alone",
        )
    },
    BenchDefinition {
        on_clusters: true,
        ..define_bench(
            "route",
            200_000,
            "events read, decoded and routed up to the store; against a bare loop that decodes",
        )
    },
    define_bench(
        "line",
        1_000_000,
        "the same for ten followers and ten times as many up to so many; what each costs must not grow",
    ),
    define_bench(
        "near",
        1_000_000,
        "one event to those of so many people who are within 50 km; rows read for each",
    ),
    BenchDefinition {
        runs_program: true,
        ..define_bench(
            "start",
            10_000_000,
            "until `up` is ready: on an empty directory, and on one with so many entries",
        )
    },
    BenchDefinition {
        runs_program: true,
        ..define_bench("flow", 1_000_000, "so many events through `up`: its memory must stay flat")
    },
    BenchDefinition {
        runs_program: true,
        ..define_bench(
            "explain",
            1_000_000,
            "why somebody was told, by the id of a change among so many events; against a change nobody heard of",
        )
    },
    BenchDefinition {
        runs_program: true,
        ..define_bench(
            "windows",
            1_000_000,
            "so many windows open in `up`: memory of each, lateness of closing, time to restore after kill -9",
        )
    },
    BenchDefinition {
        runs_program: true,
        ..define_bench(
            "feedback",
            500_000,
            "so many records of feedback and presence through `up`, 25,000 a second; how late each is answered",
        )
    },
    BenchDefinition {
        runs_program: true,
        on_clusters: true,
        has_peer: true,
        ..define_bench(
            "feed",
            10_000,
            "pages of people with so many entries each, 500 a second; against MediaWiki's queries in MariaDB",
        )
    },
    BenchDefinition {
        runs_program: true,
        ..define_bench(
            "tenants",
            1_500_000,
            "so many rows of one tenant's lists; how late another tenant's single things are told meanwhile",
        )
    },
    define_bench(
        "mail",
        5_000,
        "mails rendered, signed, journalled and accepted over SMTP; against bare signatures and Python's smtplib",
    ),
    define_bench(
        "push",
        30_000,
        "pushes rendered, journalled and taken by services that check who asks, of Apple, Google and browsers",
    ),
    BenchDefinition {
        on_clusters: true,
        ..define_bench(
            "fairness",
            1_000_000,
            "so many messages of one tenant are due; how late another tenant's urgent pushes leave meanwhile",
        )
    },
    define_bench(
        "traces",
        2_000,
        "so many changes a round from the topic to the Readys, one in a hundred traced; against rooms that trace none",
    ),
    BenchDefinition {
        on_clusters: true,
        needs_clusters: true,
        has_peer: true,
        ..define_bench(
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
pub async fn run_bench(
    name: &str,
    size: Option<usize>,
    clusters: Option<&BenchClusters>,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        anyhow::bail!("there is no bench `{name}`: try one of {}", bench_names(|_| true));
    };
    let size = size.unwrap_or(bench.size).max(1);
    match (bench.name, clusters) {
        ("fanout", Some(clusters)) => followers::run(size, clusters, progress).await,
        ("crowd", Some(clusters)) => crowd::run(size, clusters, program, progress).await,
        ("route", Some(clusters)) => route::run_on_clusters(size, clusters, progress).await,
        ("feed", Some(clusters)) => feeds::run_on_clusters(size, clusters, program, progress).await,
        ("fairness", Some(clusters)) => fairness::run_on_clusters(size, clusters, progress).await,
        ("streams", Some(clusters)) => streams::run(size, clusters, progress).await,
        (name, Some(_)) => {
            let there = bench_names(|bench| bench.on_clusters);
            anyhow::bail!(
                "`{name}` measures the embedded engine alone; with `--engine production` there is {there}"
            )
        }
        (name, None) if bench.needs_clusters => {
            anyhow::bail!("`{name}` runs on clusters: `--engine production`; {}", clusters::HOW)
        }
        ("log", None) => log::run(size, progress).await,
        ("rows", None) => rows::run(size, progress).await,
        ("fanout", None) => audience::run(size, progress).await,
        ("route", None) => route::run_embedded(size, progress).await,
        ("line", None) => audience::run_sizes(size, progress).await,
        ("mail", None) => mails::run(size, progress).await,
        ("push", None) => pushes::run(size, progress).await,
        ("fairness", None) => fairness::run_embedded(size, progress).await,
        ("traces", None) => traced_flow::run(size, progress).await,
        ("near", None) => nearby_people::run(size, progress).await,
        ("start", None) => startup::run(size, program, progress).await,
        ("explain", None) => explain::run(size, program, progress).await,
        ("flow", None) => flow::run(size, program, progress).await,
        ("feed", None) => feeds::run_embedded(size, program, progress).await,
        ("feedback", None) => feedback::run(size, program, progress).await,
        ("tenants", None) => tenants::run(size, program, progress).await,
        (_, None) => windows::run(size, program, progress).await,
    }
}

/// Names of benches, as they stand in a sentence.
pub fn bench_names(which: impl Fn(&&BenchDefinition) -> bool) -> String {
    BENCHES.iter().filter(which).map(|bench| bench.name).collect::<Vec<_>>().join(", ")
}
