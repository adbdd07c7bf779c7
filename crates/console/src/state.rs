//! Records of `windows` by hand, as the command line asks for them.

use axum::{
    Json,
    extract::{Query, State},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upkeep::state::{self, RecordAction, RecordActionReport, RecordExport, StatePlace, UnreadableRecord};
use web::{HttpProblem, JsonBody};

use super::AppState;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminStateQuery {
    record: Option<String>,
}

/// One record, or what is wrong with them.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum AdminStateView {
    Exported(RecordExport),
    /// Records that cannot be read, and what stands still.
    Listed(Vec<UnreadableRecord>, Vec<String>),
}

/// One record; without its name all that cannot be read, and what stands still.
pub async fn show_state(
    State(app): AppState,
    Query(AdminStateQuery { record }): Query<AdminStateQuery>,
) -> Result<Json<AdminStateView>, HttpProblem> {
    let log = &*app.house.engines().topics;
    let Some(record) = record else {
        let still = app.house.standstills().into_iter();
        let still =
            still.map(|one| format!("{}: partition {} stands still: {}", one.group, one.partition, one.why));
        return Ok(Json(AdminStateView::Listed(state::list_unreadable(log).await?, still.collect())));
    };
    let place: StatePlace = record.parse().map_err(HttpProblem::bad_request)?;
    let export = state::export_record(log, place).await;
    export
        .map(|export| Json(AdminStateView::Exported(export)))
        .map_err(|error| HttpProblem::not_found(format_args!("{error:#}")))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminStateRequest {
    deed: RecordAction,
    by: String,
}

pub async fn settle_record(
    State(app): AppState,
    JsonBody(AdminStateRequest { deed, by }): JsonBody<AdminStateRequest>,
) -> Result<Json<RecordActionReport>, HttpProblem> {
    let engines = app.house.engines();
    let done = state::settle_record(&*engines.topics, &*engines.store, &deed, &by, app.now()).await;
    // A record that can be read, or that is gone.
    done.map(Json).map_err(|error| HttpProblem::conflict(format_args!("{error:#}")))
}
