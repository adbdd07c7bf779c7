//! Health and metrics, for machines.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::header,
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use runtime::standstill::PartitionStandstill;
use secrecy::SecretString;
use settings::config::ApiKeyConfig;
use web::{HttpProblem, ProblemType, api_key::shows_one};

use super::{AppState, HttpApp};

/// The metrics tell how much is said about how many, so they are locked where the page is; whether the house
/// is well anybody may know.
pub fn routes(app: &Arc<HttpApp>, keys: &[ApiKeyConfig]) -> Router<Arc<HttpApp>> {
    let keys = keys.iter().map(|key| key.key.clone()).collect();
    Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state((app.clone(), keys), require_key))
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
}

/// Stops who shows neither an API key, nor the admin token, nor the page's cookie.
async fn require_key(
    State((app, keys)): State<(Arc<HttpApp>, Arc<[SecretString]>)>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if app.guard.is_known(headers) || app.guard.is_admin(headers) || shows_one(headers, &keys) {
        return next.run(request).await;
    }
    HttpProblem::from_text(ProblemType::Unauthorized, "an API key or the token of admin.json is needed")
        .into_response()
}

/// The process answers.
pub(super) async fn live() -> &'static str {
    "alive\n"
}

/// The rooms have joined, the engines answer, and there is room for what comes in. A partition that stands still is
/// named and keeps nobody away: all others go on, and another process could not do it either.
async fn ready(State(app): AppState) -> Result<String, HttpProblem> {
    let why = match app.house.health_problem().await {
        Some(why) => why,
        None if (app.disk_low)() => "the disk is down to its reserve".to_owned(),
        None => match app.disks.low_disks()[..] {
            [] => return Ok(describe_standstills(&app.house.standstills())),
            ref low => format!("the disk of {} is down to its reserve", low.join(" and of ")),
        },
    };
    Err(HttpProblem::new(ProblemType::NotReady, why))
}

/// Why it stands still is in the log, for it may name people.
fn describe_standstills(standstills: &[PartitionStandstill]) -> String {
    let still =
        |one: &PartitionStandstill| format!("{}: partition {} stands still\n", one.group, one.partition);
    std::iter::once("ready\n".to_owned()).chain(standstills.iter().map(still)).collect()
}

/// Everything that is counted and measured here.
async fn metrics(State(app): AppState) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.house.metrics().render_text()).into_response()
}
