//! Replays, as the command line orders them.

use axum::{Json, extract::State};
use upkeep::replay::{self, BEHIND_MAX, ReplayError, ReplayOrder};
use web::{HttpProblem, JsonBody};

use super::AppState;

pub async fn order_replay(
    State(app): AppState,
    JsonBody(order): JsonBody<ReplayOrder>,
) -> Result<Json<serde_json::Value>, HttpProblem> {
    let log = &*app.house.engines().topics;
    let pace = (&*app.house.intake().catalogue, BEHIND_MAX);
    match replay::answer_order(&app.replays, log, order, app.now(), Some(pace)).await {
        Ok(said) => Ok(Json(said)),
        Err(ReplayError::Refused(why)) => Err(HttpProblem::conflict(why)),
        Err(ReplayError::Failed(error)) => Err(error.into()),
    }
}
