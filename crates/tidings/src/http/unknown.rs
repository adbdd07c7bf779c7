//! Messages of which nobody can say whether they went out, as the command line asks for them.

use axum::{
    Json,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{Oops, Shared};
use crate::unknown;

#[derive(Deserialize)]
pub struct Since {
    hours: Option<u16>,
}

pub async fn list(State(app): Shared, Query(Since { hours }): Query<Since>) -> Result<Response, Oops> {
    let engines = app.house.engines();
    let since = (hours.unwrap_or(unknown::HOURS), app.now());
    Ok(Json(unknown::list(&*engines.topics, &*engines.store, &app.tenant, since).await?).into_response())
}
