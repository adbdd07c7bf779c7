//! Health and metrics, for machines.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{App, Oops, Shared};

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
}

/// The process answers.
async fn live() -> &'static str {
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
