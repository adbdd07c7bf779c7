//! What keeps mails from a person's addresses, as the command line asks for it.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Person;
use serde::Deserialize;
use serde_json::json;
use views::suppressions;

use super::{AppState, HandlerError, admin::PersonParam, admin::refuse_request};

pub async fn list_suppressions(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Response, HandlerError> {
    let store = &*app.house.engines().store;
    Ok(Json(suppressions::load_suppressions(store, (&app.tenant, &person), app.now()).await?).into_response())
}

/// Whose are lifted, and only complaints about one stream if it is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminLiftRequest {
    person: String,
    stream: Option<String>,
}

pub async fn lift_suppressions(
    State(app): AppState,
    Json(AdminLiftRequest { person, stream }): Json<AdminLiftRequest>,
) -> Result<Response, HandlerError> {
    let person = match Person::new(&person) {
        Ok(person) => person,
        Err(error) => return Ok(refuse_request(StatusCode::BAD_REQUEST, error)),
    };
    let store = &*app.house.engines().store;
    let lifted =
        suppressions::lift_for_person(store, (&app.tenant, &person), stream.as_deref(), app.now()).await?;
    Ok(Json(json!({"lifted": lifted})).into_response())
}
