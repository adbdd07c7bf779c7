//! Pushes in the reader's own browser: a page that subscribes it, and what the page's script tells. The browser becomes a
//! device of the person, by the same fact as any other.

use std::sync::Arc;

use axum::{
    Form, Json, Router,
    extract::{Query, State, rejection::FormRejection},
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};
use model::Person;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use shell::datadir::random_hex;
use web::{HttpProblem, guard::SCRIPT_POLICY};

use super::{
    AppState, HttpApp, page::PageQuery, page::SignedForm, publish::PublishRefusal, publish::post_to_intake,
};

const WORKER: &str = include_str!("../page/push.js");
const SCRIPT: &str = include_str!("../page/push-page.js");
/// What the worker may do: it says that a push was read at the house's public address, wherever that is.
const WORKER_POLICY: &str =
    "default-src 'none'; connect-src https: http:; base-uri 'none'; frame-ancestors 'none'";
const SOURCE: &str = "page";
/// Bytes of a hash that name a browser among a person's devices.
const NAME_BYTES: usize = 8;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/push", get(show_push_page).post(accept_subscription))
}

/// The scripts, the same for everybody.
pub fn scripts() -> Router<Arc<HttpApp>> {
    const SORT: (HeaderName, &str) = (header::CONTENT_TYPE, "text/javascript; charset=utf-8");
    const POLICY: (HeaderName, &str) = (header::CONTENT_SECURITY_POLICY, WORKER_POLICY);
    Router::new()
        .route("/push.js", get(async || ([SORT, POLICY], WORKER)))
        .route("/push-page.js", get(async || ([SORT], SCRIPT)))
}

#[derive(Deserialize)]
struct PushPageQuery {
    #[serde(default)]
    person: String,
}

async fn show_push_page(
    State(app): AppState,
    Query(whose): Query<PushPageQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    let views::devices::WebKey { public, is_copy } = &app.web_key;
    let own = json!({"person": whose.person.trim(), "key": public, "is_copy": is_copy});
    let mut page = app.render_page("push.html", &asked, own)?;
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SCRIPT_POLICY));
    Ok(page)
}

/// What the script says once a browser has subscribed, or before it ends that.
#[derive(Deserialize)]
struct PushPageForm {
    csrf: String,
    person: String,
    what: SubscriptionStep,
    /// As the browser writes it.
    subscription: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SubscriptionStep {
    Begin,
    End,
}

impl SignedForm for PushPageForm {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

#[derive(Deserialize)]
struct PushPageSubscription {
    endpoint: String,
    keys: PushPageKeys,
}

#[derive(Deserialize)]
struct PushPageKeys {
    p256dh: String,
    auth: String,
}

async fn accept_subscription(
    State(app): AppState,
    form: Result<Form<PushPageForm>, FormRejection>,
) -> Result<Response, HttpProblem> {
    let Some(told) = app.own_form(form) else { return Ok(app.outdated_form()) };
    let person = Person::new(told.person.trim()).map_err(HttpProblem::bad_request)?;
    let Ok(subscription) = serde_json::from_str::<PushPageSubscription>(&told.subscription) else {
        return Err(HttpProblem::bad_request("this is not the subscription of a browser"));
    };
    let fact = json!({
        "id": random_hex(8)?,
        "source": SOURCE,
        "type": "tidings.device",
        "data": device(&person, &subscription, told.what),
    });
    if let Some(PublishRefusal { at, reason }) = post_to_intake(&app, "/v1/facts", &fact).await? {
        return Err(HttpProblem::bad_request(format_args!("{at}: {reason}")));
    }
    app.wait_for_rest().await;
    Ok(Json(json!({"done": true})).into_response())
}

/// The same browser is the same device, also when it subscribes again with what it has.
fn device(person: &Person, subscription: &PushPageSubscription, what: SubscriptionStep) -> Value {
    let PushPageSubscription { endpoint, keys } = subscription;
    let hash = Sha256::digest(endpoint);
    let digits: String = hash[..NAME_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
    // Only what is needed of it, in as few letters as can be.
    let token = json!({"endpoint": endpoint, "keys": {"p256dh": keys.p256dh, "auth": keys.auth}});
    let token = (what == SubscriptionStep::Begin).then(|| token.to_string());
    json!({"person": person.as_str(), "device": format!("browser-{digits}"), "platform": "web", "token": token})
}
