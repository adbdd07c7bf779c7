//! Explaining, as the command line asks for it.

use axum::{
    Json,
    extract::{Query, State},
};
use model::Person;
use schemars::JsonSchema;
use serde::Deserialize;
use views::explain::{self, EventExplanation, ExplainTarget, LookupRefusal};
use web::HttpProblem;

use super::{AppState, HttpApp, admin::PersonParam};

#[derive(Deserialize, JsonSchema)]
pub struct ExplainQuery {
    event: String,
}

pub async fn explain_event(
    State(app): AppState,
    PersonParam(person): PersonParam,
    Query(query): Query<ExplainQuery>,
) -> Result<Json<Vec<EventExplanation>>, HttpProblem> {
    app.explain_for(&person, &query.event).await.map(Json)
}

impl HttpApp {
    /// What is said of the events that are meant, or why nothing is.
    pub(super) async fn explain_for(
        &self,
        person: &Person,
        event: &str,
    ) -> Result<Vec<EventExplanation>, HttpProblem> {
        let Some(asked) = ExplainTarget::parse(event) else {
            return Err(HttpProblem::bad_request(
                "the event is not valid: give its key, an entry, source/id \
                of the change, or type:id of its subject",
            ));
        };
        let engines = self.house.engines();
        let (whose, now) = ((&self.tenant, person), self.now());
        let gathered =
            explain::load_evidence((&*engines.topics, &*engines.store), whose, &asked, &self.catalogue, now)
                .await?;
        explain::check_target(&gathered, &asked, whose, &self.catalogue).map_err(describe_refusal)?;
        Ok(explain::explain_events(&gathered, whose, &self.catalogue, now))
    }
}

/// What is wrong, or is not there.
pub(super) fn describe_refusal(refusal: LookupRefusal) -> HttpProblem {
    match refusal {
        LookupRefusal::Wrong(why) => HttpProblem::bad_request(why),
        LookupRefusal::Absent(why) => HttpProblem::not_found(why),
    }
}
