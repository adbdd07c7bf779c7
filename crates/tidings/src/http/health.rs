//! Health and metrics, for machines.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};

use secrecy::SecretString;

use super::{
    App, Oops, Shared,
    guard::{self, Stopped},
};
use crate::config::ApiKey;

/// The metrics tell how much is said about how many, so they are locked where the page is; whether the house
/// is well anybody may know.
pub fn routes(app: &Arc<App>, keys: &[ApiKey]) -> Router<Arc<App>> {
    let keys = keys.iter().map(|key| key.key.clone()).collect();
    Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state((app.clone(), keys), known))
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
}

/// Stops who shows neither an API key, nor the admin token, nor the page's cookie.
async fn known(
    State((app, keys)): State<(Arc<App>, Arc<[SecretString]>)>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if app.guard.is_known(headers) || app.guard.is_admin(headers) || guard::shows_one(headers, &keys) {
        return next.run(request).await;
    }
    Stopped(StatusCode::UNAUTHORIZED, "an API key or the token of admin.json is needed").into_response()
}

/// The process answers.
pub(super) async fn live() -> &'static str {
    "alive\n"
}

/// The house runs, its log answers, and there is room for what comes in.
async fn ready(State(app): Shared) -> Response {
    let why = match app.house.stages().await {
        _ if app.house.is_over() => "the house is stopping\n",
        Err(_) => "the log does not answer\n",
        Ok(_) if (app.disk_low)() => "the disk is down to its reserve\n",
        Ok(_) => return "ready\n".into_response(),
    };
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}

/// Everything the rooms count, and how far each stage is: asked of the log, so that the first answer after
/// a restart is as good as any.
async fn metrics(State(app): Shared) -> Result<Response, Oops> {
    let mut text = app.house.metrics().text();
    text.push_str(
        "# HELP tidings_stage_lag_records Records that a group has not committed yet, per topic.\n",
    );
    text.push_str("# TYPE tidings_stage_lag_records gauge\n");
    for stage in app.house.stages().await? {
        let (group, topic, lag) = (stage.group, stage.topic, stage.lag);
        writeln!(text, "tidings_stage_lag_records{{group=\"{group}\",topic=\"{topic}\"}} {lag}")?;
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
