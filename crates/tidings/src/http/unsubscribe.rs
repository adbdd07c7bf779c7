//! The links of mails by which their readers ask for no more of them. A signed token says for whom; whoever
//! has it needs no other key, and it opens nothing else. Looking changes nothing, since scanners of mail
//! follow every link; what changes something is a press of the button, or the one click of a mailbox
//! (RFC 8058), which comes from anywhere and without a form of ours.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State, rejection::BytesRejection},
    http::{HeaderValue, StatusCode, header, header::HeaderName},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::get,
};
use model::person::profile;
use serde_json::{Value as Json, json};
use store::StateKey;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tower::ServiceExt as _;
use wire::token::{self, Secret, Token};

use super::{
    App, Oops, Shared,
    guard::{self, Stopped},
    page,
};
use crate::datadir::random_hex;

/// Bytes of a form: a mailbox's own, in either encoding, is far shorter.
const FORM_BYTES_MAX: usize = 4 * 1024;
/// A form that takes longer than this to arrive is given up.
const FORM_TIME_MAX: Duration = Duration::from_secs(5);
/// Requests that are worked on at once.
const REQUESTS_MAX: usize = 32;
/// Bytes of an answer of our own way in.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What these facts are said to come from.
const SOURCE: &str = "unsubscribe";

/// What the paths work with.
#[derive(Debug)]
pub struct Unsubscribe {
    secret: Secret,
    requests: Semaphore,
}

impl Unsubscribe {
    pub fn new(secret: Secret) -> Self {
        Self { secret, requests: Semaphore::new(REQUESTS_MAX) }
    }

    fn read(&self, token: &str) -> Result<Token, Stopped> {
        token::read(token, &self.secret).ok_or(UNKNOWN)
    }

    fn permit(&self) -> Result<SemaphorePermit<'_>, Stopped> {
        self.requests.try_acquire().map_err(|_| BUSY)
    }
}

pub(super) const UNKNOWN: Stopped = Stopped(
    StatusCode::NOT_FOUND,
    "this link is not whole; open the one in the mail again, or copy all of it",
);
const BUSY: Stopped =
    Stopped(StatusCode::SERVICE_UNAVAILABLE, "this cannot be done right now; try again soon");
const NO_FORM: Stopped = Stopped(StatusCode::BAD_REQUEST, "this is no form of this page");
const LONG: Stopped = Stopped(StatusCode::PAYLOAD_TOO_LARGE, "this form is too long");

/// The paths. They stand outside of the guard: who may ask is said by the token alone.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route(&format!("/{}/{{token}}", sender::links::PATH), get(look).post(press))
        // Beside the page: whatever stands in front of the house lets this one path through.
        .route(&format!("/{}/style.css", sender::links::PATH), get(page::style))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn(hardened))
}

pub(super) async fn hardened(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    guard::harden(response.headers_mut());
    let quiet = HeaderValue::from_static("noindex, nofollow");
    response.headers_mut().insert(HeaderName::from_static("x-robots-tag"), quiet);
    response
}

/// What a person wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    NoMail,
    MailAgain,
}

/// What the page says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    /// Mail is on, and nothing was asked for.
    Asks,
    /// Mail is off, and was so before.
    IsOff,
    Off,
    OnAgain,
}

async fn look(State(app): Shared, Path(token): Path<String>) -> Result<Response, Answer> {
    let token = app.unsubscribe.read(&token)?;
    let _permit = app.unsubscribe.permit()?;
    let says = if stated(&app, &token).await?.1 { Says::IsOff } else { Says::Asks };
    Ok(shown(&app, &token, says)?)
}

async fn press(State(app): Shared, Path(token): Path<String>, request: Request) -> Result<Response, Answer> {
    let token = app.unsubscribe.read(&token)?;
    let form = request.headers().get(header::CONTENT_TYPE).and_then(|form| form.to_str().ok());
    let form = form.unwrap_or_default().to_owned();
    let body = match timeout(FORM_TIME_MAX, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => return Err(too_long(&error).into()),
        Err(_) => return Err(NO_FORM.into()),
    };
    let wish = wish(&form, &String::from_utf8_lossy(&body)).ok_or(NO_FORM)?;
    let _permit = app.unsubscribe.permit()?;
    let says = match wish {
        Wish::NoMail => Says::Off,
        Wish::MailAgain => Says::OnAgain,
    };
    if state(&app, &token, wish).await? { Ok(shown(&app, &token, says)?) } else { Err(BUSY.into()) }
}

fn too_long(error: &BytesRejection) -> Stopped {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE { LONG } else { NO_FORM }
}

/// What a form asks for: one of our own buttons, or a mailbox's one click, which may come as parts.
fn wish(content_type: &str, body: &str) -> Option<Wish> {
    if content_type.to_ascii_lowercase().starts_with("multipart/form-data") {
        let (_, value) = body.split_once("name=\"List-Unsubscribe\"")?;
        let value = value.trim_start().lines().next()?;
        return (value.trim() == "One-Click").then_some(Wish::NoMail);
    }
    body.trim().split('&').find_map(|pair| match pair {
        "do=off" | "List-Unsubscribe=One-Click" => Some(Wish::NoMail),
        "do=on" => Some(Wish::MailAgain),
        _ => None,
    })
}

/// The version of what is known of the wish, and whether mail is off.
async fn stated(app: &App, token: &Token) -> anyhow::Result<(i64, bool)> {
    let key = StateKey::Person(token.tenant.clone(), token.person.clone());
    let known = app.house.engines().store.states(&[key]).await?.pop().unwrap_or_default();
    let version = known.cells.get(profile::EMAIL_OFF).map_or(i64::MIN, |cell| cell.version);
    let is_off = known.get(profile::EMAIL_OFF).and_then(model::Value::as_flag).unwrap_or(false);
    Ok((version, is_off))
}

/// States the fact on the same way in as everybody: stored, then announced, then acknowledged. Says whether
/// it was taken; if not, the same may be asked again.
async fn state(app: &App, token: &Token, wish: Wish) -> anyhow::Result<bool> {
    // Whatever counts the versions of a service that states it too, what its reader says now is newer.
    let version = app.now().0.max(stated(app, token).await?.0.saturating_add(1));
    let fact = json!({
        "specversion": "1.0",
        "id": random_hex(16)?,
        "source": SOURCE,
        "type": "tidings.profile",
        "version": version,
        "data": {"person": token.person.as_str(), profile::EMAIL_OFF: wish == Wish::NoMail},
    });
    let intake = ingest::router(ingest::Http {
        ports: app.house.intake().clone(),
        config: ingest::Config { tenant: token.tenant.clone(), ..app.intake.clone() },
        keys: None,
        disk_low: app.disk_low.clone(),
    });
    let request = Request::post("/v1/facts").header(header::CONTENT_TYPE, "application/json");
    let answer = intake.oneshot(request.body(Body::from(fact.to_string()))?).await?;
    let status = answer.status();
    let body = to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await.context("read the answer")?;
    let said: Json = serde_json::from_slice(&body).unwrap_or_default();
    let taken = status == StatusCode::ACCEPTED && said["accepted"] == 1;
    if !taken {
        tracing::warn!(%status, "somebody's wish for no more mail, or for mail again, could not be taken");
    }
    Ok(taken)
}

fn shown(app: &App, token: &Token, says: Says) -> anyhow::Result<Response> {
    let own = json!({
        "sender": sender_of(app, token),
        "says": match says {
            Says::Asks => "asks",
            Says::IsOff => "is_off",
            Says::Off => "off",
            Says::OnAgain => "on_again",
        },
    });
    app.alone("unsubscribe.html", &own)
}

/// Whose mails these are, as the mails themselves say: the name of the sender, or its address.
fn sender_of(app: &App, token: &Token) -> String {
    let from = app.catalogue.mails.get(&token.plan).map_or("", |mail| mail.from.as_str());
    let name = from.split('<').next().unwrap_or_default().trim().trim_matches('"');
    let known = [name, from, app.catalogue.name.as_str()].into_iter().find(|name| !name.is_empty());
    known.unwrap_or_default().to_owned()
}

/// Why there is no page.
enum Answer {
    Stopped(Stopped),
    Oops(Oops),
}

impl From<Stopped> for Answer {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<anyhow::Error> for Answer {
    fn from(error: anyhow::Error) -> Self {
        Self::Oops(error.into())
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        match self {
            Self::Stopped(stopped) => stopped.into_response(),
            Self::Oops(oops) => oops.into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_a_button_or_a_click() {
        let form = "application/x-www-form-urlencoded";
        let parts = "multipart/form-data; boundary=x";
        let click =
            "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
        let check = |content_type: &str, body: &str, expected: Option<Wish>| {
            assert_eq!(wish(content_type, body), expected, "{body}");
        };
        check(form, "do=off", Some(Wish::NoMail));
        check(form, "do=on", Some(Wish::MailAgain));
        check(form, "List-Unsubscribe=One-Click", Some(Wish::NoMail));
        check(form, "List-Unsubscribe=One-Click\r\n", Some(Wish::NoMail));
        check("", "List-Unsubscribe=One-Click", Some(Wish::NoMail));
        check(parts, click, Some(Wish::NoMail));
        check("Multipart/Form-Data; boundary=x", click, Some(Wish::NoMail));
        check(parts, &click.replace("One-Click", "No"), None);
        check(parts, "List-Unsubscribe=One-Click", None);
        check(form, click, None);
        for nothing in ["", "do", "do=", "do=offf", "List-Unsubscribe=Two-Clicks", "\u{fffd}\0", "&&&="] {
            check(form, nothing, None);
            check(parts, nothing, None);
        }
    }
}
