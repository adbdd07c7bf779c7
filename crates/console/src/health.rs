//! Health and metrics, for machines.

use std::sync::Arc;

use aide::{
    OperationOutput,
    axum::{ApiRouter, routing::get_with},
    generate::GenContext,
    openapi::{Operation, Response as ApiResponse},
};
use axum::{
    extract::{Request, State},
    http::header,
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use house_facts::KeyScope;
use runtime::standstill::PartitionStandstill;
use web::{
    HttpProblem, ProblemType,
    description::{OperationAccess, OperationDoc, describe_operation},
};

use super::{AppState, HttpApp};

/// The metrics tell how much is said about how many, so they are locked where the page is; whether the house
/// is well anybody may know.
pub fn routes(app: &Arc<HttpApp>) -> ApiRouter<Arc<HttpApp>> {
    let counted = OperationDoc {
        id: "getMetrics",
        summary: "Everything that is counted and measured",
        access: OperationAccess::KeyOrToken,
        problems: &[],
    };
    let lives = OperationDoc {
        id: "getLive",
        summary: "The process answers",
        access: OperationAccess::Open,
        problems: &[],
    };
    let is_ready = OperationDoc {
        id: "getReady",
        summary: "The rooms have joined, and the engines answer",
        problems: &[ProblemType::NotReady],
        ..lives
    };
    ApiRouter::new()
        .api_route("/metrics", get_with(metrics, describe_operation(counted)))
        .layer(from_fn_with_state(app.clone(), require_key))
        .api_route("/health/live", get_with(live, describe_operation(lives)))
        .api_route("/health/ready", get_with(ready, describe_operation(is_ready)))
}

/// Stops who shows neither an API key that reads, nor a token of any role, nor the page's cookie.
async fn require_key(State(app): AppState, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if app.guard.is_known(headers) || app.guard.find_role(headers).is_some() {
        return next.run(request).await;
    }
    if let Some(key) = app.keys.find(headers) {
        return match key.check_scope(KeyScope::Read) {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        };
    }
    HttpProblem::from_text(
        ProblemType::Unauthorized,
        "an access token, an API key or the token of admin.json is needed",
    )
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
async fn metrics(State(app): AppState) -> MetricsText {
    MetricsText(app.house.metrics().render_text())
}

/// In the form of Prometheus.
struct MetricsText(String);

impl IntoResponse for MetricsText {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], self.0).into_response()
    }
}

impl OperationOutput for MetricsText {
    type Inner = String;

    fn inferred_responses(
        context: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, ApiResponse)> {
        String::inferred_responses(context, operation)
    }
}
