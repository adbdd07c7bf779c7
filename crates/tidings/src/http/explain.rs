//! Explaining, as the command line asks for it.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    Oops, Shared,
    admin::{Of, refuse},
};
use crate::explain::{self, Asked, Refusal};

#[derive(Deserialize)]
pub struct ExplainQuery {
    event: String,
}

pub async fn explain(
    State(app): Shared,
    Of(person): Of,
    Query(query): Query<ExplainQuery>,
) -> Result<Response, Oops> {
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
