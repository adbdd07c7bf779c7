//! Pushes in the reader's own browser: a page that subscribes it, and what the page's script tells. The browser becomes a
//! device of the person, by the same fact as any other.

use std::sync::Arc;

use axum::{
    Form, Json, Router,
    extract::{Query, State, rejection::FormRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use model::Person;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    App, Oops, Shared,
    admin::refuse,
    guard::PUSH_POLICY,
    page::{Asked, Signed},
    publish::{Refusal, tell},
};
use crate::datadir::random_hex;

const WORKER: &str = include_str!("../../page/push.js");
const SCRIPT: &str = include_str!("../../page/push-page.js");
const SOURCE: &str = "page";
/// Bytes of a hash that name a browser among a person's devices.
const NAME_BYTES: usize = 8;

/// By what browsers know the house.
#[derive(Clone, Debug, Default)]
pub struct WebKey {
    /// The public half of its key; none, and no browser is shown anything.
    pub public: Option<String>,
    /// Whether browsers are shown copies of what lies in the outbox.
    pub is_copy: bool,
}

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/push", get(page).post(told))
}

/// The scripts, the same for everybody.
pub fn scripts() -> Router<Arc<App>> {
    let script = |text: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], text))
    };
    Router::new().route("/push.js", script(WORKER)).route("/push-page.js", script(SCRIPT))
}

#[derive(Deserialize)]
struct Whose {
    #[serde(default)]
    person: String,
}

async fn page(
    State(app): Shared,
    Query(whose): Query<Whose>,
    Query(asked): Query<Asked>,
) -> Result<Response, Oops> {
    let WebKey { public, is_copy } = &app.web_key;
    let own = json!({"person": whose.person.trim(), "key": public, "is_copy": is_copy});
    let mut page = app.page("push.html", &asked, own)?;
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PUSH_POLICY));
    Ok(page)
}

/// What the script says once a browser has subscribed, or before it ends that.
#[derive(Deserialize)]
struct Told {
    csrf: String,
    person: String,
    what: What,
    /// As the browser writes it.
    subscription: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Begin,
    End,
}

impl Signed for Told {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

#[derive(Deserialize)]
struct Subscription {
    endpoint: String,
    keys: Keys,
}

#[derive(Deserialize)]
struct Keys {
    p256dh: String,
    auth: String,
}

async fn told(State(app): Shared, form: Result<Form<Told>, FormRejection>) -> Result<Response, Oops> {
    let Some(told) = app.ours(form) else { return Ok(app.too_old()) };
    let person = match Person::new(told.person.trim()) {
        Ok(person) => person,
        Err(error) => return Ok(refuse(StatusCode::BAD_REQUEST, error)),
    };
    let Ok(subscription) = serde_json::from_str::<Subscription>(&told.subscription) else {
        return Ok(refuse(StatusCode::BAD_REQUEST, "this is no subscription as browsers write it"));
    };
    let fact = json!({
        "id": random_hex(8)?,
        "source": SOURCE,
        "type": "tidings.device",
        "data": device(&person, &subscription, told.what),
    });
    if let Some(Refusal { at, reason }) = tell(&app, "/v1/facts", &fact).await? {
        return Ok(refuse(StatusCode::BAD_REQUEST, format!("{at}: {reason}")));
    }
    app.rest().await;
    Ok(Json(json!({"done": true})).into_response())
}

/// The same browser is the same device, also when it subscribes again with what it has.
fn device(person: &Person, subscription: &Subscription, what: What) -> Value {
    let Subscription { endpoint, keys } = subscription;
    let hash = Sha256::digest(endpoint);
    let digits: String = hash[..NAME_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
    // Only what is needed of it, in as few letters as can be.
    let token = json!({"endpoint": endpoint, "keys": {"p256dh": keys.p256dh, "auth": keys.auth}});
    let token = (what == What::Begin).then(|| token.to_string());
    json!({"person": person.as_str(), "device": format!("browser-{digits}"), "platform": "web", "token": token})
}
