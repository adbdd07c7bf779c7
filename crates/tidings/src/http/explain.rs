//! Explaining, as the command line asks for it.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Person;
use serde::Deserialize;

use super::{Oops, Shared, admin::refuse};
use crate::explain::{self, Asked, Refusal};

#[derive(Deserialize)]
pub struct ExplainQuery {
    person: String,
    event: String,
}

pub async fn explain(State(app): Shared, Query(query): Query<ExplainQuery>) -> Result<Response, Oops> {
    let person = match Person::new(&query.person) {
        Ok(person) => person,
        Err(error) => return Ok(refuse(StatusCode::BAD_REQUEST, error)),
    };
    let Some(asked) = Asked::parse(&query.event) else {
        return Ok(refuse(StatusCode::BAD_REQUEST, "no event is named so"));
    };
    let engines = app.house.engines();
    let (whose, now) = ((&app.tenant, &person), app.now());
    let gathered =
        explain::gather((&*engines.topics, &*engines.store), whose, &asked, &app.catalogue, now).await?;
    match explain::judge(&gathered, &asked, whose, &app.catalogue) {
        Ok(()) => {}
        Err(Refusal::Wrong(why)) => return Ok(refuse(StatusCode::BAD_REQUEST, why)),
        Err(Refusal::Absent(why)) => return Ok(refuse(StatusCode::NOT_FOUND, why)),
    }
    Ok(Json(explain::tell(&gathered, whose, &app.catalogue, now)).into_response())
}
