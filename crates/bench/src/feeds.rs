//! Pages of feeds from the real program, the whole house on embedded engines or the room `feed` on clusters: how much is read for
//! the first one, how late pages are at a pace while marks come, and how many a second; beside MediaWiki's tables and queries in
//! MariaDB.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail, ensure};
use futures::future::try_join_all;
use runtime::{clock::SteadyStopwatch, retry::wait_real_time};
use serde_json::Value;
use store::Store;
use store_embedded::EmbeddedStore;
use tokio::task::{JoinSet, spawn_blocking};

use crate::{
    clusters::{BenchClusters, check_open, prepare_program, run_on_both},
    echo_peer::EchoPeer,
    feed_load::{DAYS, ExpectedBundle, FeedLoad, PERSONS, feed_catalogue},
    http_load::{HttpLoadClient, LoadPace},
    process::{BenchProcess, BenchProgram},
    report::{BenchFigure, BenchReport, quantile_millis},
};

/// The bar: so many pages a second, and of a hundred of them ninety-nine answered within so long.
const PER_SECOND: usize = 500;
const P99_MS_MAX: f64 = 5.0;
const P99_MS_MAX_ON_CLUSTERS: f64 = 20.0;
/// Pages a second, against the peer.
const RATIO_MIN: f64 = 10.0;
const SECONDS: usize = 20;
/// One request in so many is a mark.
const MARK_PART: usize = 50;
const BUNDLES: usize = 10;
/// As fast as it goes, so many requests are under way, and so many pages are asked for.
const AT_ONCE: usize = 16;
const PAGES: usize = 20_000;
const DAYS_READ: &str = "tidings_feed_days_read_total";
const KEPT_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);
const OPEN_DAYS: usize = 18;

/// The program on some engines, which answers for what was written there.
struct FeedHouse {
    bed: BenchProgram,
    start: fn(&BenchProgram) -> anyhow::Result<BenchProcess>,
    /// What the engines are, and what they acknowledge.
    engine: String,
    p99_ms_max: f64,
}

pub async fn run_embedded(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let house = FeedHouse {
        bed: BenchProgram::with_catalogue(program, &feed_catalogue())?,
        start: |bed| bed.start_up("data"),
        engine: "embedded, marks synced before each answer, the whole house".to_owned(),
        p99_ms_max: P99_MS_MAX,
    };
    let store = EmbeddedStore::open(&house.bed.path("data").join("store"))?;
    let load = write_load(size, &store, progress).await?;
    // The program opens it next.
    drop(store);
    measure_pages(&house, &load, progress).await
}

/// On Kafka and on ScyllaDB or Cassandra: the room alone, as it runs there.
pub async fn run_on_clusters(
    size: usize,
    clusters: &BenchClusters,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    check_open("feed", clusters)?;
    run_on_both(clusters, async |log, tables| {
        progress("feed: topics and tables are made");
        let house = FeedHouse {
            bed: BenchProgram::with_catalogue(program, &feed_catalogue())?,
            start: |bed| bed.start("data", &["run", "feed"]),
            engine: format!("{}; {}; the room alone", log.says, tables.says),
            p99_ms_max: P99_MS_MAX_ON_CLUSTERS,
        };
        prepare_program(&house.bed, log, tables)?;
        let store = tables.engine().await?;
        let load = write_load(size, &store, progress).await?;
        measure_pages(&house, &load, progress).await
    })
    .await
}

async fn write_load(
    size: usize,
    store: &dyn Store,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Arc<FeedLoad>> {
    progress(&format!("feed: {PERSONS} persons with {size} entries each on {DAYS} days are written"));
    let load = Arc::new(FeedLoad::new(size)?);
    load.fill(store).await?;
    Ok(load)
}

impl FeedHouse {
    /// Starts it anew: nothing is remembered of anybody.
    async fn start(&self) -> anyhow::Result<BenchProcess> {
        let up = (self.start)(&self.bed)?;
        up.await_ready().await?;
        Ok(up)
    }
}

async fn measure_pages(
    house: &FeedHouse,
    load: &Arc<FeedLoad>,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let (peer, mut held) = start_peer(&house.bed, load.clone(), progress).await?;
    // The first time of all nobody knows which days have entries.
    let up = house.start().await?;
    read_first_pages(&up, load).await?;
    drop(up);
    let up = house.start().await?;
    let first = read_first_pages(&up, load).await?;
    progress("feed: the process begins to follow the log, and keeps what it reads from then on");
    wait_until_kept(&up, load).await?;
    let client = Arc::new(HttpLoadClient::new(&up.address));
    progress(&format!(
        "feed: {PER_SECOND} pages a second for {SECONDS} s, one request in {MARK_PART} a mark"
    ));
    let late = send_at_pace(&client, load).await?;
    progress(&format!("feed: {PAGES} pages as fast as it goes, on either side"));
    let said = time_pages(&client, "").await?;
    let ours = time_pages(&client, "&parts=true").await?;
    let theirs = {
        let (peer, load) = (peer.clone(), load.clone());
        spawn_blocking(move || peer.time_pages(&load, PAGES, AT_ONCE)).await??
    };
    for person in 0..PERSONS {
        let page = read_page(&client, person).await?;
        held &= is_expected(&page, &load.first_page(person, BUNDLES)?);
    }
    let figures = list_figures(&first, (&late, house.p99_ms_max), [said, ours, theirs]);
    let engine = format!(
        "{}, the real program, HTTP; {PERSONS} persons with {} entries on {DAYS} of 90 days; MariaDB by mariadb-slap, all rows \
         in memory",
        house.engine,
        load.entries()
    );
    let checked = "each first page has the bundles and the counts that were computed of the entries, also after all marks, \
                   and the titles that MariaDB lists";
    Ok(BenchReport::new("feed", engine, figures, (checked, held)))
}

fn list_figures(
    first: &FirstPages,
    (late, late_ms_max): (&[Duration], f64),
    [said, ours, theirs]: [Duration; 3],
) -> Vec<BenchFigure> {
    #[allow(clippy::cast_precision_loss, reason = "figures for people to read")]
    let (days, days_max) = (first.days.div_ceil(PERSONS) as f64, (DAYS + 1 + OPEN_DAYS) as f64);
    let late = |part| quantile_millis(late, part);
    let unkept = "half of the pages of whom nothing is kept, against half of those at a pace";
    // The peer's rows are not said in words either.
    let parts = "pages in parts, against MediaWiki's queries in MariaDB";
    vec![
        BenchFigure::bound("days read for a first page, of 90 that live", days, "days", days_max),
        BenchFigure::compared_with(unkept, quantile_millis(&first.times, 0.5), "ms", late(0.5)),
        BenchFigure::bound("half of the pages at a pace", late(0.5), "ms", late_ms_max),
        BenchFigure::bound("99 of 100 pages at a pace", late(0.99), "ms", late_ms_max),
        BenchFigure::rate(parts, PAGES, &[ours], &[theirs]).ratio_at_least(RATIO_MIN),
        BenchFigure::rate("pages in words, against the same", PAGES, &[said], &[theirs]),
    ]
}

/// The peer with the same data, and whether it lists the same.
async fn start_peer(
    bed: &BenchProgram,
    load: Arc<FeedLoad>,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Arc<EchoPeer>, bool)> {
    progress("feed: MariaDB gets the same");
    let folder = bed.path("echo");
    spawn_blocking(move || {
        std::fs::create_dir_all(&folder)?;
        let peer = EchoPeer::start(&folder)?;
        peer.fill(&load)?;
        let mut is_same = true;
        for person in 0..PERSONS {
            let expected = load.first_page(person, BUNDLES)?;
            let titles = expected.iter().map(|(page, _)| page.replace("work:", "Page "));
            is_same &= peer.first_page(person)? == titles.collect::<Vec<_>>();
        }
        anyhow::Ok((Arc::new(peer), is_same))
    })
    .await?
}

/// What it takes to answer with the first page of each person after a start.
struct FirstPages {
    /// Days that were read for all of them.
    days: usize,
    times: Vec<Duration>,
}

async fn read_first_pages(up: &BenchProcess, load: &FeedLoad) -> anyhow::Result<FirstPages> {
    let (client, mut times) = (HttpLoadClient::new(&up.address), Vec::new());
    for person in 0..PERSONS {
        let watch = SteadyStopwatch::start();
        let page = read_page(&client, person).await?;
        times.push(watch.elapsed());
        let expected = load.first_page(person, BUNDLES)?;
        ensure!(is_expected(&page, &expected), "not the page of person {person}: {page}, not {expected:?}");
    }
    times.sort_unstable();
    Ok(FirstPages { days: up.sum_metric(DAYS_READ)?, times })
}

/// A process that has just started reads whatever it is asked for until it follows the log.
async fn wait_until_kept(up: &BenchProcess, load: &FeedLoad) -> anyhow::Result<()> {
    let watch = SteadyStopwatch::start();
    while watch.elapsed() < KEPT_WITHIN {
        let before = up.sum_metric(DAYS_READ)?;
        if read_first_pages(up, load).await?.days == before {
            return Ok(());
        }
        wait_real_time(LOOK).await;
    }
    bail!("after {} s the process keeps nothing of what it reads", KEPT_WITHIN.as_secs())
}

async fn read_page(client: &HttpLoadClient, person: usize) -> anyhow::Result<Value> {
    let path = format!("/v1/people/{}/feed?limit={BUNDLES}", FeedLoad::person_name(person));
    serde_json::from_str(&client.get(&path).await?).context("a page")
}

/// Whether a page has these bundles, and counts more than are shown.
fn is_expected(page: &Value, expected: &[ExpectedBundle]) -> bool {
    let bundle = |one: &Value| {
        Some((one["subject"].as_str()?.to_owned(), usize::try_from(one["count"].as_u64()?).ok()?))
    };
    let bundles: Option<Vec<ExpectedBundle>> =
        page["bundles"].as_array().map(|all| all.iter().filter_map(bundle).collect());
    let unread = &page["counts"]["unread"];
    bundles.as_deref() == Some(expected) && unread["number"] == 99 && unread["more"] == true
}

/// Asks for pages at a pace; how late each was.
async fn send_at_pace(client: &Arc<HttpLoadClient>, load: &Arc<FeedLoad>) -> anyhow::Result<Vec<Duration>> {
    let (pace, mut under_way) = (LoadPace::start(PER_SECOND), JoinSet::new());
    for number in 0..PER_SECOND * SECONDS {
        pace.wait_until(number).await;
        let (client, load) = (client.clone(), load.clone());
        under_way.spawn(async move {
            let person = number % PERSONS;
            if number % MARK_PART == MARK_PART - 1 {
                // Neither the first page nor a count is another one by it; and nobody saves more than there is room for.
                let (turn, is_first) = (number / MARK_PART / 2, (number / MARK_PART).is_multiple_of(2));
                let person = turn % PERSONS;
                let page = load.page(person, turn * MARK_PART % load.entries());
                let mark = if is_first { "saved" } else { "unsaved" };
                let order = format!(r#"{{"mark":"{mark}","thread":"work:{page}"}}"#);
                client
                    .post_json(&format!("/v1/people/{}/marks", FeedLoad::person_name(person)), &order)
                    .await?;
                return anyhow::Ok(None);
            }
            read_page(&client, person).await?;
            anyhow::Ok(Some(pace.elapsed().saturating_sub(pace.instant(number))))
        });
    }
    let mut late = Vec::new();
    while let Some(done) = under_way.join_next().await {
        late.extend(done??);
    }
    late.sort_unstable();
    Ok(late)
}

async fn time_pages(client: &Arc<HttpLoadClient>, form: &'static str) -> anyhow::Result<Duration> {
    let watch = SteadyStopwatch::start();
    let lane = |lane: usize| {
        let client = client.clone();
        tokio::spawn(async move {
            for number in (lane..PAGES).step_by(AT_ONCE) {
                let person = FeedLoad::person_name(number % PERSONS);
                let path = format!("/v1/people/{person}/feed?limit={BUNDLES}{form}");
                client.get(&path).await?;
            }
            anyhow::Ok(())
        })
    };
    for ended in try_join_all((0..AT_ONCE).map(lane)).await? {
        ended?;
    }
    Ok(watch.elapsed())
}
