//! What is open for a person, and the acts on one window: as the command line asks, and as the page does.

use std::sync::Arc;

use axum::{
    Form, Json, Router,
    extract::{
        Query, State,
        rejection::{FormRejection, JsonRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use model::{Millis, Person, PlanName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    App, Oops, Shared, look,
    page::{self, Asked as Asking, Signed},
};
use super::{
    admin::{Of, refuse},
    release::known_plan,
};
use crate::open::{self, Deed, Done, Refusal, Which};

pub async fn list(State(app): Shared, Of(person): Of) -> Result<Response, Oops> {
    let log = &*app.house.engines().topics;
    let plans = Some(&app.catalogue.plans);
    Ok(Json(open::read(log, (&app.tenant, &person), app.now(), plans).await?).into_response())
}

/// One window, and what to do to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    person: String,
    plan: String,
    key: Option<String>,
    /// As the list has it; an act on a window that has closed since is refused.
    opened: Option<String>,
    act: Deed,
}

pub async fn act(State(app): Shared, asked: Result<Json<Asked>, JsonRejection>) -> Result<Response, Oops> {
    let asked = match asked {
        Ok(Json(asked)) => asked,
        Err(error) => return Ok(refuse(error.status(), error.body_text())),
    };
    Ok(match done(&app, &asked).await? {
        Ok((_, done)) => Json(done).into_response(),
        Err((status, why)) => refuse(status, why),
    })
}

/// Does it, or says why not.
async fn done(app: &App, asked: &Asked) -> anyhow::Result<Result<(Person, Done), (StatusCode, String)>> {
    let bad = |why: String| Ok(Err((StatusCode::BAD_REQUEST, why)));
    let person = match Person::new(&asked.person) {
        Ok(person) => person,
        Err(error) => return bad(error.to_string()),
    };
    let plan: PlanName = match known_plan(app, &asked.plan) {
        Ok(plan) => plan,
        Err(why) => return bad(why),
    };
    let opened = match asked.opened.as_deref().map(|text| Millis::parse(text).ok_or(text)).transpose() {
        Ok(opened) => opened,
        Err(text) => return bad(format!("`{text}` is no instant such as 2026-11-21T09:00:00.000Z")),
    };
    let which = Which { plan, key: asked.key.clone(), opened };
    let log = &*app.house.engines().topics;
    Ok(match open::act(log, (&app.tenant, &person), &which, asked.act).await? {
        Ok(done) => Ok((person, done)),
        Err(Refusal::Absent(why)) => Err((StatusCode::NOT_FOUND, why)),
        Err(Refusal::Unclear(why)) => Err((StatusCode::CONFLICT, why)),
    })
}

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/person/windows", post(press)).route("/person/cancel", get(confirm))
}

/// A window that is to be cancelled.
#[derive(Deserialize, Serialize)]
struct Named {
    id: String,
    plan: String,
    key: String,
    opened: String,
}

/// Asks before what cannot be taken back.
async fn confirm(State(app): Shared, Query(named): Query<Named>) -> Result<Response, Oops> {
    app.page("cancel.html", &Asking::default(), json!(named))
}

/// The two buttons that a window has on a person's page.
#[derive(Deserialize)]
struct Press {
    csrf: String,
    id: String,
    plan: String,
    key: String,
    opened: String,
    act: Deed,
    /// What cannot be taken back is asked about first.
    #[serde(default)]
    sure: bool,
}

impl Signed for Press {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

async fn press(State(app): Shared, form: Result<Form<Press>, FormRejection>) -> Result<Response, Oops> {
    let Some(Press { id, plan, key, opened, act, sure, .. }) = app.ours(form) else {
        return Ok(app.too_old());
    };
    if act == Deed::Cancel && !sure {
        let fields = [("id", id), ("plan", plan), ("key", key), ("opened", opened)];
        let fields = fields.map(|(name, value)| format!("{name}={}", look::urlencoded(&value)));
        return Ok(page::go(&format!("/person/cancel?{}", fields.join("&"))));
    }
    let asked = Asked { person: id, plan, key: Some(key), opened: Some(opened), act };
    Ok(match done(&app, &asked).await? {
        Ok((person, done)) => {
            // So that the page shows what became of it.
            app.rest().await;
            let id = look::urlencoded(person.as_str());
            page::go(&format!("/person?id={id}&done={}", done.act.done()))
        }
        Err((status, why)) => app.saying(status, "Not done", &why),
    })
}
