//! Releasing windows by hand, as the command line asks for it.

use std::collections::BTreeSet;

use axum::{Json, extract::State};
use model::{Person, PlanName, UtcMillis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use views::{
    open_windows,
    release::{self, ReleaseCursor, WindowRelease},
};
use web::{HttpProblem, JsonBody};

use super::{AppState, HttpApp};

#[derive(Deserialize, JsonSchema)]
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

/// What was released.
#[derive(JsonSchema, Serialize)]
pub struct AdminReleaseReport {
    released: usize,
    /// Where the next part begins; null after the last.
    next: Option<String>,
    /// When the release began, for the requests of its further parts.
    at: i64,
    /// Whether the plan is paused: what was released closes when the pause ends.
    paused: bool,
}

pub async fn release_windows(
    State(app): AppState,
    JsonBody(asked): JsonBody<AdminReleaseRequest>,
) -> Result<Json<AdminReleaseReport>, HttpProblem> {
    let plan = known_plan(&app, &asked.plan).map_err(HttpProblem::bad_request)?;
    let at = UtcMillis(asked.at.unwrap_or(app.now().0));
    let release = WindowRelease { tenant: app.tenant.clone(), plan, at };
    let log = &*app.house.engines().topics;
    let plans = Some(&app.catalogue.plans);
    let paused = open_windows::read_paused(log, plans).await?.has(&release.tenant, &release.plan);
    if let Some(person) = &asked.person {
        let person = Person::new(person).map_err(HttpProblem::bad_request)?;
        let released = usize::from(release::release_person(log, &release, &person).await?);
        return Ok(Json(AdminReleaseReport { released, next: None, at: at.0, paused }));
    }
    let from = asked.from.as_deref().map_or(Ok(ReleaseCursor::default()), str::parse);
    let from = from.map_err(|error: anyhow::Error| HttpProblem::bad_request(format_args!("{error:#}")))?;
    let part = release::release_batch(log, &release, from, asked.most.unwrap_or(release::PART_MAX)).await?;
    Ok(Json(AdminReleaseReport { released: part.released, next: part.next, at: at.0, paused }))
}

/// A plan of the catalogue, or that there is none of this name.
pub(super) fn known_plan(app: &HttpApp, name: &str) -> Result<PlanName, String> {
    let plans: BTreeSet<&PlanName> = app.catalogue.plans_of_arms().map(|plan| &plan.name).collect();
    PlanName::new(name).ok().filter(|plan| plans.contains(plan)).ok_or_else(|| {
        let names = plans.iter().map(|plan| plan.as_str());
        let help = source_text::suggest_name(name, names);
        format!("there is no plan `{name}`: {help}")
    })
}
