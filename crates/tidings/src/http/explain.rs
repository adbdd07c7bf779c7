//! Explaining, as the command line asks for it.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Person;
use serde::Deserialize;

use super::{
    App, Oops, Shared,
    admin::{Of, refuse},
};
use crate::explain::{self, Asked, Explanation, Refusal};

#[derive(Deserialize)]
pub struct ExplainQuery {
    event: String,
}

pub async fn explain(
    State(app): Shared,
    Of(person): Of,
    Query(query): Query<ExplainQuery>,
) -> Result<Response, Oops> {
    Ok(match app.explained(&person, &query.event).await? {
        Ok(explanations) => Json(explanations).into_response(),
        Err((status, why)) => refuse(status, why),
    })
}

impl App {
    /// What is said of the events that are meant, or why nothing is.
    pub(super) async fn explained(
        &self,
        person: &Person,
        event: &str,
    ) -> anyhow::Result<Result<Vec<Explanation>, (StatusCode, String)>> {
        let Some(asked) = Asked::parse(event) else {
            return Ok(Err((StatusCode::BAD_REQUEST, "no event is named so".to_owned())));
        };
        let engines = self.house.engines();
        let (whose, now) = ((&self.tenant, person), self.now());
        let gathered =
            explain::gather((&*engines.topics, &*engines.store), whose, &asked, &self.catalogue, now).await?;
        Ok(match explain::judge(&gathered, &asked, whose, &self.catalogue) {
            Ok(()) => Ok(explain::tell(&gathered, whose, &self.catalogue, now)),
            Err(Refusal::Wrong(why)) => Err((StatusCode::BAD_REQUEST, why)),
            Err(Refusal::Absent(why)) => Err((StatusCode::NOT_FOUND, why)),
        })
    }
}
