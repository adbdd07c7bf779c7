//! Erasing a person, as the command line and the page ask for it.

use aide::{
    OperationOutput,
    generate::GenContext,
    openapi::{Operation, Response as ApiResponse},
};
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use house::erasure::{self, ErasureAction, ErasureView};
use model::Person;
use schemars::JsonSchema;
use serde::Deserialize;
use web::{HttpProblem, JsonBody, answer::AcceptedJson};

use super::{AppState, admin::PersonParam};

/// How far it is with a person; nothing if nobody ever asked.
pub async fn show_erasure(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Json<Option<ErasureView>>, HttpProblem> {
    Ok(Json(erasure::find_erasure(&*app.house.engines().topics, (&app.tenant, &person)).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminEraseRequest {
    person: String,
    deed: ErasureAction,
}

/// What is said of an order.
pub enum AdminErasure {
    /// What would be removed.
    Preview(ErasureView),
    /// How far it is with what has begun.
    Progress(Option<ErasureView>),
}

impl IntoResponse for AdminErasure {
    fn into_response(self) -> Response {
        match self {
            Self::Preview(view) => Json(view).into_response(),
            Self::Progress(view) => AcceptedJson(view).into_response(),
        }
    }
}

impl OperationOutput for AdminErasure {
    type Inner = ErasureView;

    fn inferred_responses(
        context: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, ApiResponse)> {
        let mut responses = Json::<ErasureView>::inferred_responses(context, operation);
        responses.extend(AcceptedJson::<Option<ErasureView>>::inferred_responses(context, operation));
        responses
    }
}

pub async fn begin_erasure(
    State(app): AppState,
    JsonBody(AdminEraseRequest { person, deed }): JsonBody<AdminEraseRequest>,
) -> Result<AdminErasure, HttpProblem> {
    let person = Person::new(&person).map_err(HttpProblem::bad_request)?;
    let (engines, of, now) = (app.house.engines(), (&app.tenant, &person), app.now());
    if deed == ErasureAction::Look {
        let seen = erasure::preview_erasure((&*engines.store, Some(&*engines.courier)), of, now).await?;
        return Ok(AdminErasure::Preview(seen));
    }
    let asked = erasure::request_erasure(
        (&*engines.store, &*engines.topics),
        of,
        deed == ErasureAction::Welcome,
        now,
    )
    .await?;
    if let Err(why) = asked {
        return Err(HttpProblem::conflict(why));
    }
    Ok(AdminErasure::Progress(erasure::find_erasure(&*engines.topics, of).await?))
}
