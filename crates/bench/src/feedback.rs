//! What persons say of themselves, through the real program: feedback and presence at a rate, in the batches that
//! services send, each counted from the instant at which it was to be said; beside the embedded engine's own
//! library at the same pace.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use runtime::clock::SteadyStopwatch;
use tokio::task::{JoinSet, spawn_blocking};

use crate::{
    feedback_load::{FeedbackLoad, feedback_catalogue},
    http_load::{HttpLoadClient, LoadPace},
    process::BenchProgram,
    raw_loop,
    report::{BenchFigure, BenchReport, quantile_millis},
};

/// The bar: so many records a second, and of a hundred of them ninety-nine answered within so long.
const PER_SECOND: usize = 25_000;
const P99_MS_MAX: f64 = 50.0;
/// So much of the rate has to be reached.
const RATE_MIN: f64 = 0.99;
/// Records of one request. Its first waits for its last, and that counts.
const OF_REQUEST: usize = 100;
/// Facts and feedback have paths of their own, so a pair of requests says so many numbers.
const OF_PAIR: usize = 2 * OF_REQUEST;
/// What one in so many records says first only warms up.
const WARM_PART: usize = 10;
/// As fast as it goes, so many requests are under way.
const AT_ONCE: usize = 16;
/// One in so many records is said again without a pace.
const FAST_PART: usize = 3;
/// About what one record takes as key and value.
const BYTES: usize = 60;
const RAW_SECONDS_MAX: usize = 10;

pub async fn run(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let size = size.div_ceil(OF_PAIR) * OF_PAIR;
    let fast = (size / FAST_PART).div_ceil(OF_PAIR) * OF_PAIR;
    let bed = BenchProgram::with_catalogue(program, &feedback_catalogue())?;
    let said = FeedbackLoad::new(size, PER_SECOND)?;
    progress("feedback: the days of everybody are written");
    said.fill(&bed.path("data")).await?;
    progress(&format!("feedback: the bare database takes {PER_SECOND} a second"));
    let raw_size = size.min(PER_SECOND * RAW_SECONDS_MAX);
    let (paced, unpaced) = (bed.path("raw-paced"), bed.path("raw"));
    let bare = raw_loop::write_at_pace(&paced, raw_size, BYTES, (PER_SECOND, OF_REQUEST)).await?;
    let bare_took =
        spawn_blocking(move || raw_loop::write_batches(&unpaced, fast, BYTES, AT_ONCE * OF_REQUEST))
            .await??;
    let up = bed.start_up("data")?;
    let posts = Arc::new(HttpLoadClient::new(&up.address));
    progress(&format!("feedback: {size} records, {PER_SECOND} a second"));
    let (late, took) = send_at_pace(&posts, &said, size).await?;
    let busy = posts.busy_answers();
    progress(&format!("feedback: {fast} records, as fast as it goes"));
    let watch = SteadyStopwatch::start();
    let pairs = (size..size + fast).step_by(OF_PAIR).collect();
    send_flat_out(&posts, &said, pairs).await?;
    let fast_took = watch.elapsed();
    progress("feedback: all is read back");
    drop(up);
    let held = said.has_everything(&bed.path("data"), size + fast).await?;
    #[allow(clippy::cast_precision_loss, reason = "figures for people to read")]
    let (rate, wanted) = (late.len() as f64 / took.as_secs_f64(), PER_SECOND as f64);
    let engine = format!(
        "embedded, the real program, HTTP in requests of {OF_REQUEST}, synced before each answer; \
         told to come again {busy} times"
    );
    let reached = "records answered, against those that were due";
    let figures = vec![
        BenchFigure::compared_with(reached, rate, "per second", wanted).ratio_at_least(RATE_MIN),
        answered_within("half of them", 0.5, &late, &bare),
        answered_within("99 of 100", 0.99, &late, &bare).at_most(P99_MS_MAX),
        answered_within("all of them", 1.0, &late, &bare),
        BenchFigure::rate("records as fast as it goes", fast, &[fast_took], &[bare_took]),
    ];
    let checked = "after the program was killed the log has every record that was answered, each entry named is marked, \
                   and each cell stands at the last instant said";
    Ok(BenchReport::new("feedback", engine, figures, (checked, held)))
}

/// Within how many milliseconds a share of the records was answered, beside the bare database.
fn answered_within(whom: &str, share: f64, late: &[Duration], bare: &[Duration]) -> BenchFigure {
    BenchFigure::compared_with(
        &format!("{whom} answered within"),
        quantile_millis(late, share),
        "ms",
        quantile_millis(bare, share),
    )
}

/// Says all numbers, each pair of requests at its instant whatever became of those before it. Returns how late
/// each record was answered, and for how long that went on; the first of them only warm up.
async fn send_at_pace(
    posts: &Arc<HttpLoadClient>,
    said: &FeedbackLoad,
    size: usize,
) -> anyhow::Result<(Vec<Duration>, Duration)> {
    let warm = size / WARM_PART / OF_PAIR * OF_PAIR;
    let (pace, mut under_way) = (LoadPace::start(PER_SECOND), JoinSet::new());
    let (mut late, mut last) = (Vec::with_capacity(size), Duration::ZERO);
    let mut note = |(first, answered): (usize, Duration)| {
        let counted = (first..first + OF_PAIR).step_by(2).filter(|number| *number >= warm);
        late.extend(counted.map(|number| answered.saturating_sub(pace.instant(number))));
        last = last.max(answered);
    };
    for pair in (0..size).step_by(OF_PAIR) {
        pace.wait_until(pair + OF_PAIR).await;
        for first in [pair, pair + 1] {
            let (posts, said) = (posts.clone(), said.clone());
            under_way.spawn(async move {
                post_batch(&posts, &said, first).await?;
                anyhow::Ok((first, pace.elapsed()))
            });
        }
        while let Some(done) = under_way.try_join_next() {
            note(done??);
        }
    }
    while let Some(done) = under_way.join_next().await {
        note(done??);
    }
    late.sort_unstable();
    Ok((late, last.saturating_sub(pace.instant(warm))))
}

async fn send_flat_out(
    posts: &Arc<HttpLoadClient>,
    said: &FeedbackLoad,
    pairs: Vec<usize>,
) -> anyhow::Result<()> {
    let lane = |lane: usize| {
        let (posts, said) = (posts.clone(), said.clone());
        let own: Vec<usize> =
            pairs.iter().flat_map(|pair| [*pair, pair + 1]).skip(lane).step_by(AT_ONCE).collect();
        tokio::spawn(async move {
            for first in own {
                post_batch(&posts, &said, first).await?;
            }
            anyhow::Ok(())
        })
    };
    for ended in try_join_all((0..AT_ONCE).map(lane)).await.context("a service")? {
        ended?;
    }
    Ok(())
}

/// One request: every second number from this one, which are of one sort.
async fn post_batch(posts: &HttpLoadClient, said: &FeedbackLoad, first: usize) -> anyhow::Result<()> {
    let path = if first.is_multiple_of(2) { "/v1/facts" } else { "/v1/feedback" };
    let body = said.body((first..).step_by(2).take(OF_REQUEST))?;
    let answer = posts.post(path, &body).await?;
    let all = format!("\"accepted\":{OF_REQUEST},\"rejected\":[]");
    ensure!(answer.contains(&all), "not all were accepted: {answer}");
    Ok(())
}
