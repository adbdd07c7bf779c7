//! Archiving as the command line asks for it: it runs beside everything else, one at a time, and can be asked
//! how far it is.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Day;
use serde::Deserialize;
use serde_json::json;

use super::{App, Shared, admin::refuse};
use crate::archive::{self, Archived};

/// The archiving that runs, or the last one that did.
#[derive(Debug, Default)]
pub struct Desk(Mutex<Option<Arc<Run>>>);

#[derive(Debug, Default)]
struct Run {
    rows: AtomicU64,
    ended: Mutex<Option<Result<Archived, String>>>,
}

impl Run {
    fn ended(&self) -> Option<Result<Archived, String>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Desk {
    fn last(&self) -> Option<Arc<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins one, unless one runs.
    fn begin(&self) -> Option<Arc<Run>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|run| run.ended().is_none()) {
            return None;
        }
        let run = Arc::new(Run::default());
        *last = Some(run.clone());
        Some(run)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    before: String,
    /// Absolute: the house stands in a folder of its own.
    file: PathBuf,
}

pub async fn begin(State(app): Shared, Json(asked): Json<Asked>) -> Response {
    let Some(before) = Day::parse(&asked.before) else {
        return refuse(StatusCode::BAD_REQUEST, format!("`{}` is no day", asked.before));
    };
    if !asked.file.is_absolute() {
        return refuse(StatusCode::BAD_REQUEST, "the file must be named from the root");
    }
    let kept = archive::kept_from(&app.catalogue, app.now());
    if before > kept {
        let why = format!("entries of {kept} and later may still be told; the days before {kept} can go");
        return refuse(StatusCode::CONFLICT, why);
    }
    if asked.file.exists() {
        return refuse(StatusCode::CONFLICT, format!("{} is there already", asked.file.display()));
    }
    let Some(run) = app.archive.begin() else {
        return refuse(StatusCode::CONFLICT, "another archiving runs");
    };
    tokio::spawn(work(app, run, before, asked.file));
    (StatusCode::ACCEPTED, Json(json!({"before": before.to_string()}))).into_response()
}

async fn work(app: Arc<App>, run: Arc<Run>, before: Day, file: PathBuf) {
    let store = &*app.house.engines().store;
    let archiving = archive::archive(store, &app.catalogue, (before, app.now()), &file, &run.rows);
    // The engines are closed when the house stops; what was interrupted is simply done again.
    let archived = tokio::select! {
        archived = archiving => archived,
        () = app.house.intake().shutdown.wait() => Err(anyhow::anyhow!("the house stopped before it was done")),
    };
    if let Err(error) = &archived {
        tracing::warn!(error = format!("{error:#}"), "days could not be archived");
    }
    let ended = archived.map_err(|error| format!("{error:#}"));
    *run.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
}

pub async fn look(State(app): Shared) -> Response {
    let Some(run) = app.archive.last() else {
        return refuse(StatusCode::NOT_FOUND, "nothing was archived since the house started");
    };
    let rows = run.rows.load(Ordering::Relaxed);
    Json(match run.ended() {
        None => json!({"rows": rows}),
        Some(Ok(archived)) => json!({"rows": rows, "archived": archived}),
        Some(Err(why)) => json!({"rows": rows, "failed": why}),
    })
    .into_response()
}
