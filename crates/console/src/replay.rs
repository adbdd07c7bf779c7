//! Replays, as the command line orders them.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use upkeep::replay::{self, BEHIND_MAX, ReplayError, ReplayOrder};

use super::{AppState, HandlerError, admin::refuse_request};

pub async fn order_replay(
    State(app): AppState,
    Json(order): Json<ReplayOrder>,
) -> Result<Response, HandlerError> {
    let log = &*app.house.engines().topics;
    let pace = (&*app.house.intake().room.catalogue, BEHIND_MAX);
    match replay::answer_order(&app.replays, log, order, app.now(), Some(pace)).await {
        Ok(said) => Ok(Json(said).into_response()),
        Err(ReplayError::Refused(why)) => Ok(refuse_request(StatusCode::CONFLICT, why)),
        Err(ReplayError::Failed(error)) => Err(error.into()),
    }
}
