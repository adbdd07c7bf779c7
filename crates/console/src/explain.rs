//! Explaining, as the command line asks for it.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Person;
use serde::Deserialize;
use views::explain::{self, EventExplanation, ExplainTarget, LookupRefusal};

use super::{AppState, HandlerError, HttpApp, admin::PersonParam, admin::refuse_request};

#[derive(Deserialize)]
pub struct ExplainQuery {
    event: String,
}

pub async fn explain_event(
    State(app): AppState,
    PersonParam(person): PersonParam,
    Query(query): Query<ExplainQuery>,
) -> Result<Response, HandlerError> {
    Ok(match app.explain_for(&person, &query.event).await? {
        Ok(explanations) => Json(explanations).into_response(),
        Err((status, why)) => refuse_request(status, why),
    })
}

impl HttpApp {
    /// What is said of the events that are meant, or why nothing is.
    pub(super) async fn explain_for(
        &self,
        person: &Person,
        event: &str,
    ) -> anyhow::Result<Result<Vec<EventExplanation>, (StatusCode, String)>> {
        let Some(asked) = ExplainTarget::parse(event) else {
            return Ok(Err((StatusCode::BAD_REQUEST, "no event is named so".to_owned())));
        };
        let engines = self.house.engines();
        let (whose, now) = ((&self.tenant, person), self.now());
        let gathered =
            explain::load_evidence((&*engines.topics, &*engines.store), whose, &asked, &self.catalogue, now)
                .await?;
        Ok(match explain::check_target(&gathered, &asked, whose, &self.catalogue) {
            Ok(()) => Ok(explain::explain_events(&gathered, whose, &self.catalogue, now)),
            Err(LookupRefusal::Wrong(why)) => Err((StatusCode::BAD_REQUEST, why)),
            Err(LookupRefusal::Absent(why)) => Err((StatusCode::NOT_FOUND, why)),
        })
    }
}
