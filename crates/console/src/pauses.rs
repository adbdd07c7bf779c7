//! Pauses: what an operator has stopped, as the command line asks and as the page does.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    Form, Json, Router,
    extract::{State, rejection::FormRejection},
    http::StatusCode,
    response::Response,
    routing::get,
};
use house::pauses::{self, KnownScopes, PauseError, PauseOrder, PauseView};
use model::{Channel, PlanName, UtcMillis, civil_time::Zone};
use serde::Deserialize;
use serde_json::{Value, json};
use views::display;
use web::{HttpProblem, JsonBody};

use super::{AppState, HttpApp, page, page::PageQuery};

/// Who pauses on the page: everybody there has the same token.
const PAGE: &str = "the page";

pub async fn list_pauses(State(app): AppState) -> Result<Json<Vec<PauseView>>, HttpProblem> {
    Ok(Json(pauses::list_pauses(&*app.house.engines().topics).await?))
}

pub async fn order_pause(
    State(app): AppState,
    JsonBody(order): JsonBody<PauseOrder>,
) -> Result<Json<Vec<PauseView>>, HttpProblem> {
    apply_order(&app, order).await.map(Json).map_err(|error| match error {
        PauseError::Refused(why) => HttpProblem::conflict(why),
        PauseError::Failed(error) => error.into(),
    })
}

/// Does it, and lets the rooms of this process know at once.
async fn apply_order(app: &HttpApp, order: PauseOrder) -> Result<Vec<PauseView>, PauseError> {
    let log = &*app.house.engines().topics;
    let known = KnownScopes { catalogue: Some(&app.catalogue), tenants: Some(&app.tenants) };
    let paused = pauses::order_pause(log, known, order, app.now()).await?;
    app.house.book().refresh().await.map_err(PauseError::Failed)?;
    Ok(paused)
}

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/pauses", get(show_pauses).post(press_button))
}

async fn show_pauses(State(app): AppState, asked: PageQuery) -> Result<Response, HttpProblem> {
    let paused = pauses::list_pauses(&*app.house.engines().topics).await?;
    let own = json!({"paused": view_pauses(&paused), "scopes": list_scopes(&app, &paused)});
    app.render_page("pauses.html", &asked, own)
}

/// As people read them.
pub(super) fn view_pauses(paused: &[PauseView]) -> Vec<Value> {
    let view = |one: &PauseView| {
        let since = UtcMillis::parse(&one.since);
        let since = since.map_or_else(|| one.since.clone(), |at| display::format_instant(at, &Zone::UTC));
        let (sort, name) = one.scope.split_once(':').unwrap_or(("", &one.scope));
        json!({"scope": one.scope, "sort": sort, "name": name, "since": since, "by": one.by, "why": one.why})
    };
    paused.iter().map(view).collect()
}

/// What can be paused and is not.
fn list_scopes(app: &HttpApp, paused: &[PauseView]) -> Vec<String> {
    let plans = app.catalogue.plans_of_arms();
    let used = Channel::ALL.into_iter().filter(|channel| plans.clone().any(|plan| plan.channel == *channel));
    let names: BTreeSet<&PlanName> = plans.clone().map(|plan| &plan.name).collect();
    let scopes = names.into_iter().map(|plan| format!("plan:{plan}"));
    let scopes = scopes.chain(used.map(|channel| format!("channel:{channel}")));
    let scopes = scopes.chain([format!("tenant:{}", app.tenant)]);
    scopes.filter(|scope| paused.iter().all(|one| one.scope != *scope)).collect()
}

#[derive(Deserialize)]
struct PauseForm {
    csrf: String,
    scope: String,
    #[serde(default)]
    why: String,
    act: PauseAct,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PauseAct {
    Begin,
    End,
}

impl page::SignedForm for PauseForm {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

async fn press_button(
    State(app): AppState,
    form: Result<Form<PauseForm>, FormRejection>,
) -> Result<Response, HttpProblem> {
    let Some(PauseForm { scope, why, act, .. }) = app.own_form(form) else { return Ok(app.outdated_form()) };
    let is_paused = matches!(act, PauseAct::Begin);
    let order = PauseOrder { scope, is_paused, by: PAGE.to_owned(), why: why.trim().to_owned() };
    match apply_order(&app, order).await {
        Ok(_) => {
            Ok(page::redirect_to(if is_paused { "/pauses?done=paused" } else { "/pauses?done=resumed" }))
        }
        Err(error) => Ok(app.notice_page(StatusCode::CONFLICT, "Not done", &error.to_string())),
    }
}
