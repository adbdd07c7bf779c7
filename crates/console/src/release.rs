//! Releasing windows by hand, as the command line asks for it.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::{Person, PlanName, UtcMillis};
use serde::Deserialize;
use serde_json::json;
use views::release::{self, ReleaseCursor, WindowRelease};

use super::{AppState, HandlerError, HttpApp, admin::refuse_request};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminReleaseRequest {
    plan: String,
    /// One person; without, all of them, a part at a time.
    person: Option<String>,
    from: Option<String>,
    most: Option<usize>,
    /// When the release began; the first part's answer names it.
    at: Option<i64>,
}

pub async fn release_windows(
    State(app): AppState,
    Json(asked): Json<AdminReleaseRequest>,
) -> Result<Response, HandlerError> {
    let plan = match known_plan(&app, &asked.plan) {
        Ok(plan) => plan,
        Err(why) => return Ok(refuse_request(StatusCode::BAD_REQUEST, why)),
    };
    let at = UtcMillis(asked.at.unwrap_or(app.now().0));
    let release = WindowRelease { tenant: app.tenant.clone(), plan, at };
    let log = &*app.house.engines().topics;
    if let Some(person) = &asked.person {
        let person = match Person::new(person) {
            Ok(person) => person,
            Err(error) => return Ok(refuse_request(StatusCode::BAD_REQUEST, error)),
        };
        let released = usize::from(release::release_person(log, &release, &person).await?);
        return Ok(Json(json!({"released": released, "at": at.0})).into_response());
    }
    let from = match asked.from.as_deref().map_or(Ok(ReleaseCursor::default()), str::parse) {
        Ok(from) => from,
        Err(error) => return Ok(refuse_request(StatusCode::BAD_REQUEST, format!("{error:#}"))),
    };
    let part = release::release_batch(log, &release, from, asked.most.unwrap_or(release::PART_MAX)).await?;
    Ok(Json(json!({"released": part.released, "next": part.next, "at": at.0})).into_response())
}

/// A plan of the catalogue, or that there is none of this name.
pub(super) fn known_plan(app: &HttpApp, name: &str) -> Result<PlanName, String> {
    let plans = &app.catalogue.plans.by_name;
    PlanName::new(name).ok().filter(|plan| plans.contains_key(plan)).ok_or_else(|| {
        let names = plans.keys().map(PlanName::as_str);
        let help = source_text::did_you_mean(name, names.clone())
            .unwrap_or_else(|| format!("there is {}", source_text::list_choices(names)));
        format!("there is no plan `{name}`: {help}")
    })
}
