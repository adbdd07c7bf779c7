//! What share was told, as the command line asks and for the page: one count at a time, each of so many rows at most.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Query, State},
};
use model::UtcMillis;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Mutex;
use views::{
    days,
    shares::{
        DAYS_BACK, ToldShares,
        count::{self, ShareCountLimits, ShareCursor},
        due_windows,
    },
};
use web::HttpProblem;

use super::{AppState, HttpApp};

/// For so long a page shows again what was counted for it, however often it is asked for.
const KEPT_MS: i64 = 5_000;

/// Held while counting, so that one count runs at a time and the engines stay free. It caches the last counts of the
/// page, by days back.
#[derive(Default)]
pub struct ShareCountCache(Mutex<BTreeMap<i32, CachedShares>>);

struct CachedShares {
    at: UtcMillis,
    shares: Arc<ToldShares>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminSharesQuery {
    since: Option<String>,
    /// The `next` of the answer before.
    from: Option<String>,
}

pub async fn shares(
    State(app): AppState,
    Query(AdminSharesQuery { since, from }): Query<AdminSharesQuery>,
) -> Result<Json<ToldShares>, HttpProblem> {
    let bad = |why: String| Err(HttpProblem::bad_request(why));
    let Some(since) = since.as_deref().map_or(Some(DAYS_BACK), days::parse_days_back) else {
        return bad(format!("since: it must be a number of days up to {}d", days::DAYS_MAX));
    };
    let from: Option<ShareCursor> = match from.as_deref().map(str::parse).transpose() {
        Ok(from) => from,
        Err(error) => return bad(format!("from: {error}; leave it out to start again")),
    };
    let days = count::days(since, app.catalogue.day_life, app.now());
    if from.as_ref().is_some_and(|from| from.day > *days.end()) {
        return bad("from: it is not a valid cursor: its day is in the future".to_owned());
    }
    let _one = app.counts.0.lock().await;
    Ok(Json(count_since(&app, since, from, count::PIECE).await?))
}

/// What a page shows: counted now, or a moment ago.
pub async fn load_recent_shares(app: &HttpApp, since: i32) -> anyhow::Result<Arc<ToldShares>> {
    let mut counts = app.counts.0.lock().await;
    let now = app.now();
    if let Some(kept) = counts.get(&since).filter(|kept| (0..KEPT_MS).contains(&now.since(kept.at))) {
        return Ok(kept.shares.clone());
    }
    let shares = Arc::new(count_since(app, since, None, count::PAGE).await?);
    counts.insert(since, CachedShares { at: app.now(), shares: shares.clone() });
    Ok(shares)
}

async fn count_since(
    app: &HttpApp,
    since: i32,
    from: Option<ShareCursor>,
    bounds: ShareCountLimits,
) -> anyhow::Result<ToldShares> {
    let engines = app.house.engines();
    let now = app.now();
    let is_first = from.is_none();
    let days = (count::days(since, app.catalogue.day_life, now), from);
    let mut shares = count::count_shares(&*engines.store, &app.tenant, &app.catalogue, days, bounds).await?;
    if is_first {
        shares.due = Some(due_windows::count_due_windows(&*engines.topics, &app.tenant, app.now()).await?);
    }
    Ok(shares)
}
