//! What keeps mails from a person's addresses, as the command line asks for it.

use axum::{Json, extract::State};
use model::Person;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use views::suppressions::{self, PersonSuppressions};
use web::{HttpProblem, JsonBody};

use super::{AppState, admin::PersonParam};

pub async fn list_suppressions(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Json<PersonSuppressions>, HttpProblem> {
    let store = &*app.house.engines().store;
    Ok(Json(suppressions::load_suppressions(store, (&app.tenant, &person), app.now()).await?))
}

/// Whose are lifted, and only complaints about one stream if it is named.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminLiftRequest {
    person: String,
    stream: Option<String>,
}

/// How many suppressions were lifted.
#[derive(JsonSchema, Serialize)]
pub struct AdminLiftReport {
    lifted: usize,
}

pub async fn lift_suppressions(
    State(app): AppState,
    JsonBody(AdminLiftRequest { person, stream }): JsonBody<AdminLiftRequest>,
) -> Result<Json<AdminLiftReport>, HttpProblem> {
    let person = Person::new(&person).map_err(HttpProblem::bad_request)?;
    let store = &*app.house.engines().store;
    let lifted =
        suppressions::lift_for_person(store, (&app.tenant, &person), stream.as_deref(), app.now()).await?;
    Ok(Json(AdminLiftReport { lifted }))
}
