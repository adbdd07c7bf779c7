//! Erasing a person, as the command line and the page ask for it.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use house::erasure::{self, ErasureAction, ErasureView};
use model::Person;
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

#[derive(Deserialize)]
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
