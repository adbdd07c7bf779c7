//! Archiving as the command line asks for it: it runs beside everything else, one at a time, and can be asked
//! how far it is.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Json, extract::State};
use house::person_windows;
use model::{Day, UtcMillis};
use runtime::metrics::{Gauges, Metrics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upkeep::archive::{self, ArchiveReport, ArchiveWatch};
use web::{HttpProblem, JsonBody, answer::AcceptedJson};

use super::{AppState, HttpApp, metrics::declare_archives};

mod transfer;

pub use transfer::{drop_days, send_days};

/// The archiving that runs, or the last one that did.
#[derive(Debug)]
pub struct ArchivingService {
    run: Mutex<Option<Arc<ArchivingRun>>>,
    succeeded: Gauges,
}

#[derive(Debug, Default)]
struct ArchivingRun {
    rows: AtomicU64,
    ended: Mutex<Option<Result<ArchiveReport, String>>>,
}

impl ArchivingRun {
    fn end(&self, ended: Result<ArchiveReport, String>) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    }

    fn outcome(&self) -> Option<Result<ArchiveReport, String>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ArchivingService {
    pub fn new(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self { run: Mutex::default(), succeeded: declare_archives(metrics)? })
    }

    fn last(&self) -> Option<Arc<ArchivingRun>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins one, unless one runs.
    fn begin(&self) -> Option<Arc<ArchivingRun>> {
        let mut last = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|run| run.outcome().is_none()) {
            return None;
        }
        let run = Arc::new(ArchivingRun::default());
        *last = Some(run.clone());
        Some(run)
    }
}

/// With a longer backlog, entries of days that are old enough to archive may still be told.
const BEHIND_MS_MAX: i64 = 3_600_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminArchiveRequest {
    before: String,
    /// Absolute: the house stands in a folder of its own.
    file: PathBuf,
}

/// What has begun.
#[derive(JsonSchema, Serialize)]
pub struct AdminArchiveBegin {
    before: String,
}

/// How far it is.
#[derive(JsonSchema, Serialize)]
pub struct AdminArchiveState {
    /// Rows that were written so far.
    rows: u64,
    /// What was archived, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    archived: Option<ArchiveReport>,
    /// Why it ended before.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

pub async fn begin_archiving(
    State(app): AppState,
    JsonBody(asked): JsonBody<AdminArchiveRequest>,
) -> Result<AcceptedJson<AdminArchiveBegin>, HttpProblem> {
    if !asked.file.is_absolute() {
        return Err(HttpProblem::bad_request("the path of the file must be absolute"));
    }
    let (before, now) = check_archivable(&app, &asked.before).await?;
    let store = &*app.house.engines().store;
    if let Some(why) =
        archive::find_archive_obstacle(store, &app.catalogue, (before, now), &asked.file).await?
    {
        return Err(HttpProblem::conflict(why));
    }
    let Some(run) = app.archive.begin() else {
        return Err(HttpProblem::conflict("days are being archived already"));
    };
    tokio::spawn(run_archiving(app, run, (before, now), asked.file));
    Ok(AcceptedJson(AdminArchiveBegin { before: before.to_string() }))
}

/// The day before which all may go, and the instant for which that holds; or why it may not.
async fn check_archivable(app: &HttpApp, before: &str) -> Result<(Day, UtcMillis), HttpProblem> {
    let Some(before) = Day::parse(before) else {
        return Err(HttpProblem::bad_request(format_args!("`{before}` is not a day, such as 2026-11-13")));
    };
    // Before the house is asked whether it rests: what becomes due from here on tells from later days.
    let now = app.now();
    if let Some(why) = archive::find_day_obstacle(&app.catalogue, (before, now)) {
        return Err(HttpProblem::conflict(why));
    }
    // The clock alone does not say what is still owed: what is overdue tells from older days, and what was
    // not read yet still has to be written to its day.
    if has_overdue_work(app).await? {
        return Err(HttpProblem::conflict("the house is still busy with what is due; try again"));
    }
    Ok((before, now))
}

/// Whether something has waited for so long that it may concern days that could go. A house under steady
/// traffic never rests, and need not: what came in a moment ago is about days that stay.
async fn has_overdue_work(app: &HttpApp) -> anyhow::Result<bool> {
    if app.wait_for_rest().await {
        return Ok(false);
    }
    let (log, since) = (&*app.house.engines().topics, app.now().plus(-BEHIND_MS_MAX));
    if app.house.oldest_unread().await?.is_some_and(|appended| appended < since) {
        return Ok(true);
    }
    let remembered = person_windows::load_persons(log).await?;
    Ok(remembered.next_due().is_some_and(|due| due < since) && !remembered.is_cut)
}

async fn run_archiving(
    app: Arc<HttpApp>,
    run: Arc<ArchivingRun>,
    (before, now): (Day, UtcMillis),
    file: PathBuf,
) {
    let store = &*app.house.engines().store;
    let watch = ArchiveWatch { rows: &run.rows, disk_low: &*app.disk_low };
    let archiving = archive::archive_days(store, &app.catalogue, (before, now), &file, &watch);
    // The engines are closed when the house stops; asking again does the rest.
    let archived = tokio::select! {
        biased;
        () = app.house.intake().room.shutdown.wait() => Err(anyhow::anyhow!("the house stopped before it was done")),
        archived = archiving => archived,
    };
    if let Err(error) = &archived {
        tracing::warn!(error = format!("{error:#}"), "days could not be archived");
    }
    if archived.is_ok() {
        app.archive.succeeded.with_label_values::<&str>(&[]).set(app.now().0 / 1_000);
    }
    let ended = archived.map_err(|error| format!("{error:#}"));
    run.end(ended);
}

pub async fn show_archiving(State(app): AppState) -> Result<Json<AdminArchiveState>, HttpProblem> {
    let none = || HttpProblem::not_found("nothing was archived since the house started");
    let run = app.archive.last().ok_or_else(none)?;
    let rows = run.rows.load(Ordering::Relaxed);
    let (archived, failed) = match run.outcome() {
        None => (None, None),
        Some(Ok(archived)) => (Some(archived), None),
        Some(Err(why)) => (None, Some(why)),
    };
    Ok(Json(AdminArchiveState { rows, archived, failed }))
}
