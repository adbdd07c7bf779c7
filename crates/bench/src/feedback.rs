//! What persons say of themselves, through the real program: feedback and presence at a rate, in the batches that
//! services send, each counted from the instant at which it was to be said; beside the embedded engine's own
//! library at the same pace.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use runtime::clock::Stopwatch;
use tokio::task::{JoinSet, spawn_blocking};

use crate::{
    posts::{Pace, Posts},
    process::Bed,
    raw,
    report::{Figure, Oracle, Report, at, machine},
    said::{Said, catalogue},
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

pub async fn run(size: usize, program: &Path, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Report> {
    let size = size.div_ceil(OF_PAIR) * OF_PAIR;
    let fast = (size / FAST_PART).div_ceil(OF_PAIR) * OF_PAIR;
    let bed = Bed::with(program, &catalogue())?;
    let said = Said::new(size, PER_SECOND)?;
    progress("feedback: the days of everybody are written");
    said.fill(&bed.path("data")).await?;
    progress(&format!("feedback: the bare database takes {PER_SECOND} a second"));
    let raw_size = size.min(PER_SECOND * RAW_SECONDS_MAX);
    let (paced, unpaced) = (bed.path("raw-paced"), bed.path("raw"));
    let bare = raw::paced(&paced, raw_size, BYTES, (PER_SECOND, OF_REQUEST)).await?;
    let bare_took = spawn_blocking(move || raw::write(&unpaced, fast, BYTES, AT_ONCE * OF_REQUEST)).await??;
    let up = bed.up("data")?;
    let posts = Arc::new(Posts::new(&up.address));
    progress(&format!("feedback: {size} records, {PER_SECOND} a second"));
    let (late, took) = at_pace(&posts, &said, size).await?;
    let busy = posts.busy();
    progress(&format!("feedback: {fast} records, as fast as it goes"));
    let watch = Stopwatch::start();
    let pairs = (size..size + fast).step_by(OF_PAIR).collect();
    as_fast_as_it_goes(&posts, &said, pairs).await?;
    let fast_took = watch.elapsed();
    progress("feedback: all is read back");
    drop(up);
    let held = said.all_there(&bed.path("data"), size + fast).await?;
    #[allow(clippy::cast_precision_loss, reason = "figures for people to read")]
    let (rate, wanted) = (late.len() as f64 / took.as_secs_f64(), PER_SECOND as f64);
    Ok(Report {
        bench: "feedback".into(),
        engine: format!(
            "embedded, the real program, HTTP in requests of {OF_REQUEST}, synced before each answer; \
             told to come again {busy} times"
        ),
        machine: machine(),
        figures: vec![
            Figure::beside("records answered, against those that were due", rate, "per second", wanted)
                .ratio_at_least(RATE_MIN),
            Figure::beside("half of them answered within", at(&late, 0.5), "ms", at(&bare, 0.5)),
            Figure::beside("99 of 100 answered within", at(&late, 0.99), "ms", at(&bare, 0.99))
                .at_most(P99_MS_MAX),
            Figure::beside("all of them answered within", at(&late, 1.0), "ms", at(&bare, 1.0)),
            Figure::rate("records as fast as it goes", fast, &[fast_took], &[bare_took]),
        ],
        oracle: Oracle {
            checked:
                "after the program was killed the log has every record that was answered, each entry named \
                      is marked, and each cell stands at the last instant said"
                    .into(),
            held,
        },
    })
}

/// Says all numbers, each pair of requests at its instant whatever became of those before it. Returns how late
/// each record was answered, and for how long that went on; the first of them only warm up.
async fn at_pace(posts: &Arc<Posts>, said: &Said, size: usize) -> anyhow::Result<(Vec<Duration>, Duration)> {
    let warm = size / WARM_PART / OF_PAIR * OF_PAIR;
    let (pace, mut under_way) = (Pace::start(PER_SECOND), JoinSet::new());
    let (mut late, mut last) = (Vec::with_capacity(size), Duration::ZERO);
    let mut note = |(first, answered): (usize, Duration)| {
        let counted = (first..first + OF_PAIR).step_by(2).filter(|number| *number >= warm);
        late.extend(counted.map(|number| answered.saturating_sub(pace.instant(number))));
        last = last.max(answered);
    };
    for pair in (0..size).step_by(OF_PAIR) {
        pace.until(pair + OF_PAIR).await;
        for first in [pair, pair + 1] {
            let (posts, said) = (posts.clone(), said.clone());
            under_way.spawn(async move {
                say(&posts, &said, first).await?;
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

async fn as_fast_as_it_goes(posts: &Arc<Posts>, said: &Said, pairs: Vec<usize>) -> anyhow::Result<()> {
    let lane = |lane: usize| {
        let (posts, said) = (posts.clone(), said.clone());
        let own: Vec<usize> =
            pairs.iter().flat_map(|pair| [*pair, pair + 1]).skip(lane).step_by(AT_ONCE).collect();
        tokio::spawn(async move {
            for first in own {
                say(&posts, &said, first).await?;
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
async fn say(posts: &Posts, said: &Said, first: usize) -> anyhow::Result<()> {
    let path = if first.is_multiple_of(2) { "/v1/facts" } else { "/v1/feedback" };
    let body = said.body((first..).step_by(2).take(OF_REQUEST))?;
    let answer = posts.post(path, &body).await?;
    let all = format!("\"accepted\":{OF_REQUEST},\"rejected\":[]");
    ensure!(answer.contains(&all), "not all were accepted: {answer}");
    Ok(())
}
