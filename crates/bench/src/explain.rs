//! Why somebody was told, asked of the real program by the id of a change among many: beside a change that nobody heard of,
//! for which the log has to be read.

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;
use runtime::clock::SteadyStopwatch;
use serde_json::Value;

use crate::{
    flow,
    http_load::HttpLoadClient,
    process::BenchProgram,
    report::{BenchFigure, BenchReport, quantile_millis},
};

/// The bar: an answer is there within so long.
const ANSWER_MS_MAX: f64 = 50.0;
/// Changes that are asked for, far apart in the log; and changes that nobody heard of.
const ASKED: usize = 200;
const UNHEARD: usize = 5;

pub async fn run(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let bed = BenchProgram::new(program)?;
    let (up, load) = flow::fill_house(&bed, size, progress).await?;
    let note =
        fs::read_to_string(bed.path("data").join("admin.json")).context("what opens the operators' paths")?;
    let note: Value = serde_json::from_str(&note)?;
    let token = note["token"].as_str().context("the operators' token")?;
    let house = HttpLoadClient::with_key(&up.address, token);
    progress(&format!("explain: {} changes among {} are asked for", 2 * ASKED, load.events));
    let (mut told, mut others, mut held) = (Vec::new(), Vec::new(), true);
    for n in (0..load.events).step_by(load.events.div_ceil(ASKED)) {
        let follower = n % load.authors;
        let (took, verdict) = ask(&house, follower, n).await?;
        held &= verdict == "waiting";
        told.push(took);
        let (took, verdict) = ask(&house, (follower + 1) % load.authors, n).await?;
        held &= load.authors == 1 || verdict != "waiting";
        others.push(took);
    }
    let mut unheard = Vec::new();
    for n in 0..UNHEARD {
        progress(&format!("explain: change {} of {UNHEARD} that nobody heard of", n + 1));
        let watch = SteadyStopwatch::start();
        let path = format!("/admin/explain?person=person-0&event=bench/unheard-{n}");
        let (status, said) = house.get_any(&path).await?;
        unheard.push(watch.elapsed());
        // In a log that is too long to be read there may be such a change after all.
        held &= status == 404 || said == "[]";
    }
    let figure = |name: &str, took: &mut Vec<Duration>, part: f64| {
        took.sort_unstable();
        BenchFigure::compared_with(name, quantile_millis(took, part), "ms", quantile_millis(&unheard, 0.5))
    };
    let engine = format!(
        "embedded, the real program, by HTTP, among {} events; against a change that nobody heard of",
        load.events
    );
    let figures = vec![
        figure("half of the answers about a follower", &mut told, 0.5).at_most(ANSWER_MS_MAX),
        figure("99 of 100 answers about a follower", &mut told, 0.99).at_most(ANSWER_MS_MAX),
        figure("half of the answers about somebody else", &mut others, 0.5).at_most(ANSWER_MS_MAX),
        figure("99 of 100 answers about somebody else", &mut others, 0.99).at_most(ANSWER_MS_MAX),
    ];
    let checked = "each answer is of the change that was asked for, and says that its follower waits for the mail and \
                   nobody else does";
    Ok(BenchReport::new("explain", engine, figures, (checked, held)))
}

/// How long an answer took, and its verdict; `other` if it is of another change.
async fn ask(house: &HttpLoadClient, person: usize, event: usize) -> anyhow::Result<(Duration, String)> {
    let path = format!("/admin/explain?person=person-{person}&event=bench/e{event}");
    let watch = SteadyStopwatch::start();
    let said = house.get(&path).await?;
    let took = watch.elapsed();
    let said: Value = serde_json::from_str(&said).context("an explanation")?;
    let one = &said[0];
    let is_meant =
        one["subject"] == format!("work:{event}") && said.as_array().is_some_and(|all| all.len() == 1);
    let verdict = one["verdict"].as_str().filter(|_| is_meant).unwrap_or("other");
    Ok((took, verdict.to_owned()))
}
