//! Messages whose delivery is unknown, for the command line.

use axum::{
    Json,
    extract::{Query, State},
};
use schemars::JsonSchema;
use serde::Deserialize;
use views::unclear_messages::{self, UnclearMessage};
use web::HttpProblem;

use super::AppState;

#[derive(Deserialize, JsonSchema)]
pub struct UnclearMessagesQuery {
    hours: Option<u16>,
}

pub async fn list_unclear(
    State(app): AppState,
    Query(UnclearMessagesQuery { hours }): Query<UnclearMessagesQuery>,
) -> Result<Json<Vec<UnclearMessage>>, HttpProblem> {
    let engines = app.house.engines();
    let since = (hours.unwrap_or(unclear_messages::HOURS), app.now());
    Ok(Json(unclear_messages::list_unclear(&*engines.topics, &*engines.store, &app.tenant, since).await?))
}
