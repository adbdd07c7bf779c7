//! A page with the bell of `clients/web`, as a site would have it, for whoever tries the house.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use serde::Deserialize;
use serde_json::json;
use web::{HttpProblem, ProblemType, guard::SCRIPT_POLICY};

use super::{AppState, HttpApp, page::PageQuery};

/// Names files of `clients/web/src`, each with its text.
macro_rules! embed_modules {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../clients/web/src/", $name)))),*]
    };
}

/// The modules as they are: a browser runs them unbuilt.
const MODULES: [(&str, &str); 14] = embed_modules![
    "bell.js",
    "client.js",
    "dom.js",
    "feed.js",
    "live.js",
    "request.js",
    "row.js",
    "style.js",
    "words.js",
    "words/ar.js",
    "words/de.js",
    "words/en.js",
    "words/es.js",
    "words/fr.js",
];

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/bell", get(show_bell_page))
}

/// The scripts, the same for everybody.
pub fn scripts() -> Router<Arc<HttpApp>> {
    Router::new().route("/bell/{*module}", get(send_module))
}

#[derive(Deserialize)]
struct BellPageQuery {
    #[serde(default)]
    person: String,
}

async fn show_bell_page(
    State(app): AppState,
    Query(whose): Query<BellPageQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    // Elsewhere a bell needs a token of its person, which nobody has here.
    let own = json!({"person": whose.person.trim(), "is_locked": app.guard.is_locked});
    let mut page = app.render_page("bell.html", &asked, own)?;
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SCRIPT_POLICY));
    Ok(page)
}

async fn send_module(Path(module): Path<String>) -> Result<Response, HttpProblem> {
    let found = MODULES.iter().find(|(name, _)| *name == module);
    let (_, text) =
        found.ok_or_else(|| HttpProblem::from_text(ProblemType::NotFound, "there is nothing here"))?;
    Ok(([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], *text).into_response())
}
