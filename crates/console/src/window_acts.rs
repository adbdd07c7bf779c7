//! What is open for a person, and the acts on one window: as the command line asks, and as the page does.

use std::sync::Arc;

use axum::{
    Form, Json, Router,
    extract::{Query, State, rejection::FormRejection},
    response::Response,
    routing::{get, post},
};
use model::{Person, PlanName, UtcMillis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use views::display;
use views::open_windows::{
    self, PersonWindows, WindowActRefusal, WindowActReport, WindowAction, WindowSelector,
};
use web::{HttpProblem, JsonBody};

use super::{AppState, HttpApp, page, page::PageQuery as Asking, page::SignedForm};
use super::{admin::PersonParam, release::known_plan};

pub async fn list_windows(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Json<PersonWindows>, HttpProblem> {
    let log = &*app.house.engines().topics;
    let plans = Some(&app.catalogue_of(&person).plans);
    Ok(Json(open_windows::read_windows(log, (&app.tenant, &person), app.now(), plans).await?))
}

/// One window, and what to do to it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowActRequest {
    person: String,
    plan: String,
    key: Option<String>,
    /// As the list has it; an act on a window that has closed since is refused.
    opened: Option<String>,
    act: WindowAction,
}

pub async fn act_on_window(
    State(app): AppState,
    JsonBody(asked): JsonBody<WindowActRequest>,
) -> Result<Json<WindowActReport>, HttpProblem> {
    perform_act(&app, &asked).await.map(|(_, done)| Json(done))
}

/// Does it, or says why not.
async fn perform_act(
    app: &HttpApp,
    asked: &WindowActRequest,
) -> Result<(Person, WindowActReport), HttpProblem> {
    let person = Person::new(&asked.person).map_err(HttpProblem::bad_request)?;
    let plan: PlanName = known_plan(app, &asked.plan).map_err(HttpProblem::bad_request)?;
    let opened = asked.opened.as_deref().map(|text| UtcMillis::parse(text).ok_or(text)).transpose();
    let opened = opened.map_err(|text| {
        HttpProblem::bad_request(format_args!("`{text}` is not an instant, such as 2026-11-21T09:00:00.000Z"))
    })?;
    let which = WindowSelector { plan, key: asked.key.clone(), opened };
    let log = &*app.house.engines().topics;
    match open_windows::act_on_window(log, (&app.tenant, &person), &which, asked.act).await? {
        Ok(done) => Ok((person, done)),
        Err(WindowActRefusal::Absent(why)) => Err(HttpProblem::not_found(why)),
        Err(WindowActRefusal::Unclear(why)) => Err(HttpProblem::conflict(why)),
    }
}

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/person/windows", post(press_button)).route("/person/cancel", get(confirm_cancel))
}

/// A window that is to be cancelled.
#[derive(Deserialize, Serialize)]
struct CancelPageQuery {
    id: String,
    plan: String,
    key: String,
    opened: String,
}

/// Asks before what cannot be taken back.
async fn confirm_cancel(
    State(app): AppState,
    Query(named): Query<CancelPageQuery>,
    asked: Asking,
) -> Result<Response, HttpProblem> {
    app.render_page("cancel.html", &asked, json!(named))
}

/// The two buttons that a window has on a person's page.
#[derive(Deserialize)]
struct WindowActForm {
    csrf: String,
    id: String,
    plan: String,
    key: String,
    opened: String,
    act: WindowAction,
    /// What cannot be taken back is asked about first.
    #[serde(default)]
    sure: bool,
}

impl SignedForm for WindowActForm {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

async fn press_button(
    State(app): AppState,
    form: Result<Form<WindowActForm>, FormRejection>,
) -> Result<Response, HttpProblem> {
    let Some(WindowActForm { id, plan, key, opened, act, sure, .. }) = app.own_form(form) else {
        return Ok(app.outdated_form());
    };
    if act == WindowAction::Cancel && !sure {
        let fields = [("id", id), ("plan", plan), ("key", key), ("opened", opened)];
        let fields = fields.map(|(name, value)| format!("{name}={}", display::urlencode(&value)));
        return Ok(page::redirect_to(&format!("/person/cancel?{}", fields.join("&"))));
    }
    let asked = WindowActRequest { person: id, plan, key: Some(key), opened: Some(opened), act };
    Ok(match perform_act(&app, &asked).await {
        Ok((person, done)) => {
            // So that the page shows what became of it.
            app.wait_for_rest().await;
            let id = display::urlencode(person.as_str());
            page::redirect_to(&format!("/person?id={id}&done={}", done.act.outcome_word()))
        }
        Err(problem) if problem.status().is_server_error() => return Err(problem),
        Err(problem) => app.notice_page(problem.status(), "Not done", &problem.detail),
    })
}
