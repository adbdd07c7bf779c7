//! Records of `windows` by hand, as the command line asks for them.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use upkeep::state::{self, RecordAction, StatePlace};

use super::{AppState, HandlerError, admin::refuse_request};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminStateQuery {
    record: Option<String>,
}

/// One record; without its name all that cannot be read, and what stands still.
pub async fn show_state(
    State(app): AppState,
    Query(AdminStateQuery { record }): Query<AdminStateQuery>,
) -> Result<Response, HandlerError> {
    let log = &*app.house.engines().topics;
    let Some(record) = record else {
        let still = app.house.standstills().into_iter();
        let still =
            still.map(|one| format!("{}: partition {} stands still: {}", one.group, one.partition, one.why));
        return Ok(Json((state::list_unreadable(log).await?, still.collect::<Vec<_>>())).into_response());
    };
    let place: StatePlace = match record.parse() {
        Ok(place) => place,
        Err(why) => return Ok(refuse_request(StatusCode::BAD_REQUEST, why)),
    };
    Ok(match state::export_record(log, place).await {
        Ok(export) => Json(export).into_response(),
        Err(error) => refuse_request(StatusCode::NOT_FOUND, format!("{error:#}")),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminStateRequest {
    deed: RecordAction,
    by: String,
}

pub async fn settle_record(
    State(app): AppState,
    Json(AdminStateRequest { deed, by }): Json<AdminStateRequest>,
) -> Response {
    let engines = app.house.engines();
    match state::settle_record(&*engines.topics, &*engines.store, &deed, &by, app.now()).await {
        Ok(done) => Json(done).into_response(),
        // A record that can be read, or that is gone.
        Err(error) => refuse_request(StatusCode::CONFLICT, format!("{error:#}")),
    }
}
