//! What share was told, as the command line asks and for the page: one count at a time, each of so many rows at most.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Millis;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::{App, Oops, Shared, admin::refuse};
use crate::{
    days,
    shares::{
        DAYS_BACK, Shares, due,
        walk::{self, Bounds, Place},
    },
};

/// For so long a page shows again what was counted for it, however often it is asked for.
const KEPT_MS: i64 = 5_000;

/// Who counts has this in hand, so that there is one at a time: the engines have better things to do. In it what pages
/// were last shown, by how many days back they look.
#[derive(Default)]
pub struct Counts(Mutex<BTreeMap<i32, Kept>>);

struct Kept {
    at: Millis,
    shares: Arc<Shares>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    since: Option<String>,
    /// The `next` of the answer before.
    from: Option<String>,
}

pub async fn shares(
    State(app): Shared,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Oops> {
    let Asked { since, from } = match asked {
        Ok(Query(asked)) => asked,
        Err(error) => return Ok(refuse(error.status(), error.body_text())),
    };
    let bad = |why: String| Ok(refuse(StatusCode::BAD_REQUEST, why));
    let Some(since) = since.as_deref().map_or(Some(DAYS_BACK), days::since) else {
        return bad(format!("since: it is a number of days up to {}d", days::DAYS_MAX));
    };
    let from: Option<Place> = match from.as_deref().map(str::parse).transpose() {
        Ok(from) => from,
        Err(error) => return bad(format!("from: {error}; leave it out to begin anew")),
    };
    let days = walk::days(since, app.now());
    if from.as_ref().is_some_and(|from| from.day > *days.end()) {
        return bad("from: this is no place: its day has not come yet".to_owned());
    }
    let _one = app.counts.0.lock().await;
    Ok(Json(counted(&app, since, from, walk::PIECE).await?).into_response())
}

/// What a page shows: counted now, or a moment ago.
pub async fn lately(app: &App, since: i32) -> anyhow::Result<Arc<Shares>> {
    let mut counts = app.counts.0.lock().await;
    let now = app.now();
    if let Some(kept) = counts.get(&since).filter(|kept| (0..KEPT_MS).contains(&now.since(kept.at))) {
        return Ok(kept.shares.clone());
    }
    let shares = Arc::new(counted(app, since, None, walk::PAGE).await?);
    counts.insert(since, Kept { at: app.now(), shares: shares.clone() });
    Ok(shares)
}

async fn counted(app: &App, since: i32, from: Option<Place>, bounds: Bounds) -> anyhow::Result<Shares> {
    let engines = app.house.engines();
    let now = app.now();
    let is_first = from.is_none();
    let days = (walk::days(since, now), from);
    let mut shares = walk::count(&*engines.store, &app.tenant, Some(&app.catalogue), days, bounds).await?;
    if is_first {
        shares.due = Some(due::read(&*engines.topics, &app.tenant, app.now()).await?);
    }
    Ok(shares)
}
