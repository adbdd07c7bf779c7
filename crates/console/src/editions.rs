//! The editions of the catalogue, as the command line asks for them.

use axum::{Json, extract::State};
use house::editions::{self, EditionView};
use web::HttpProblem;

use super::AppState;

pub async fn list_editions(State(app): AppState) -> Result<Json<Vec<EditionView>>, HttpProblem> {
    Ok(Json(editions::list_editions(&*app.house.engines().topics).await?))
}

pub async fn step_back(State(app): AppState) -> Result<Json<EditionView>, HttpProblem> {
    let back = editions::step_back(&*app.house.engines().topics, app.now()).await?;
    back.map(Json).ok_or_else(|| HttpProblem::conflict("there is no catalogue before this one"))
}
