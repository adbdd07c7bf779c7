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

use super::{
    Oops, Shared,
    admin::{Of, refuse},
};
use crate::suppressions;

pub async fn list(State(app): Shared, Of(person): Of) -> Result<Response, Oops> {
    let store = &*app.house.engines().store;
    Ok(Json(suppressions::read(store, (&app.tenant, &person), app.now()).await?).into_response())
}

/// Whose are lifted, and only complaints about one stream if it is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lift {
    person: String,
    stream: Option<String>,
}

pub async fn lift(State(app): Shared, Json(Lift { person, stream }): Json<Lift>) -> Result<Response, Oops> {
    let person = match Person::new(&person) {
        Ok(person) => person,
        Err(error) => return Ok(refuse(StatusCode::BAD_REQUEST, error)),
    };
    let store = &*app.house.engines().store;
    let lifted = suppressions::lift(store, (&app.tenant, &person), stream.as_deref(), app.now()).await?;
    Ok(Json(json!({"lifted": lifted})).into_response())
}
