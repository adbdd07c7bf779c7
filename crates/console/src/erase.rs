//! Erasing a person, as the command line and the page ask for it.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use house::erasure::{self, ErasureAction};
use model::Person;
use serde::Deserialize;

use super::{AppState, HandlerError, admin::PersonParam, admin::refuse_request};

/// How far it is with a person; nothing if nobody ever asked.
pub async fn show_erasure(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Response, HandlerError> {
    Ok(Json(erasure::find_erasure(&*app.house.engines().topics, (&app.tenant, &person)).await?)
        .into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminEraseRequest {
    person: String,
    deed: ErasureAction,
}

pub async fn begin_erasure(
    State(app): AppState,
    Json(AdminEraseRequest { person, deed }): Json<AdminEraseRequest>,
) -> Result<Response, HandlerError> {
    let person = match Person::new(&person) {
        Ok(person) => person,
        Err(error) => return Ok(refuse_request(StatusCode::BAD_REQUEST, error)),
    };
    let (engines, of, now) = (app.house.engines(), (&app.tenant, &person), app.now());
    if deed == ErasureAction::Look {
        let seen = erasure::preview_erasure((&*engines.store, Some(&*engines.courier)), of, now).await?;
        return Ok(Json(seen).into_response());
    }
    let asked = erasure::request_erasure(
        (&*engines.store, &*engines.topics),
        of,
        deed == ErasureAction::Welcome,
        now,
    )
    .await?;
    if let Err(why) = asked {
        return Ok(refuse_request(StatusCode::CONFLICT, why));
    }
    Ok((StatusCode::ACCEPTED, Json(erasure::find_erasure(&*engines.topics, of).await?)).into_response())
}
