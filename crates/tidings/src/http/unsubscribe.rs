//! The links of mails by which their readers ask for no more of them. A signed token says for whom; whoever
//! has it needs no other key, and it opens nothing else. Looking changes nothing, since scanners of mail
//! follow every link; what changes something is a press of the button, or the one click of a mailbox
//! (RFC 8058), which comes from anywhere and without a form of ours.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State, rejection::BytesRejection},
    http::{HeaderValue, StatusCode, header, header::HeaderName},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use model::{
    Day, Millis, Person, Tenant,
    person::{notes, profile},
};
use serde_json::{Value as Json, json};
use store::StateKey;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tower::ServiceExt as _;
use wire::token::{self, Secret, Token};

use super::{
    App, Oops, Shared, face,
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
/// How often a person may want mail again within an hour, and persons of whom that is counted.
const AGAIN_MAX: u32 = 10;
const PERSONS_COUNTED_MAX: usize = 10_000;
const HOUR_MS: i64 = 3_600_000;
/// For so many days after its mail a link turns mail on again. Off it turns it for ever.
const AGAIN_DAYS_MAX: i32 = 30;
/// Bytes of an answer of our own way in.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What these facts are said to come from.
const SOURCE: &str = "unsubscribe";

/// What the paths work with.
#[derive(Debug)]
pub struct Unsubscribe {
    secret: Secret,
    requests: Semaphore,
    /// The hour that is counted, and how often each person wanted mail again in it.
    again: Mutex<(i64, WishCounts)>,
}

/// How often each person wanted mail again.
type WishCounts = HashMap<(Tenant, Person), u32>;

impl Unsubscribe {
    pub fn new(secret: Secret) -> Self {
        Self { secret, requests: Semaphore::new(REQUESTS_MAX), again: Mutex::default() }
    }

    /// Counts a wish for mail again; whether there were not too many in this hour. One for no mail is never too many, and
    /// without the other there is none.
    fn counts(&self, token: &Token, now: Millis) -> bool {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        let hour = now.0.div_euclid(HOUR_MS);
        if again.0 != hour {
            *again = (hour, HashMap::new());
        }
        let counts = &mut again.1;
        let person = (token.tenant.clone(), token.person.clone());
        if counts.len() >= PERSONS_COUNTED_MAX && !counts.contains_key(&person) {
            return false;
        }
        let count = counts.entry(person).or_default();
        *count += 1;
        *count <= AGAIN_MAX
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
const TOO_OLD: Stopped = Stopped(
    StatusCode::FORBIDDEN,
    "this mail is too old to turn mail on again; it may be in other hands by now",
);
const TOO_OFTEN: Stopped =
    Stopped(StatusCode::TOO_MANY_REQUESTS, "this was asked for too often; try again in an hour");
const NO_FORM: Stopped = Stopped(StatusCode::BAD_REQUEST, "this is no form of this page");
const LONG: Stopped = Stopped(StatusCode::PAYLOAD_TOO_LARGE, "this form is too long");

/// The paths. They stand outside of the guard: who may ask is said by the token alone.
pub fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    Router::new()
        .route(&format!("/{}/{{token}}", sender::links::PATH), get(look).post(press))
        // Beside the page: whatever stands in front of the house lets this one path through.
        .route(&format!("/{}/style.css", sender::links::PATH), get(page::style))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(app.clone(), hardened))
}

/// Around all links of mails: their errors have a face too, and their address, which is a right, goes nowhere.
pub(super) async fn hardened(State(app): Shared, request: Request, next: Next) -> Response {
    let asks_for_page = face::asks_for_page(&request);
    let mut response = next.run(request).await;
    if asks_for_page {
        let style = format!("../{}/style.css", sender::links::PATH);
        response = app.faced(response, Some(&style)).await;
    }
    let quiet = [("x-robots-tag", "noindex, nofollow"), ("referrer-policy", "no-referrer")];
    for (name, value) in quiet {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    guard::harden(response.headers_mut());
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
    /// The person was erased: there is nothing to turn on or off.
    IsGone,
}

async fn look(State(app): Shared, Path(token): Path<String>) -> Result<Response, Answer> {
    let token = app.unsubscribe.read(&token)?;
    let _permit = app.unsubscribe.permit()?;
    let says = match stated(&app, &token).await? {
        None => Says::IsGone,
        Some((_, true)) => Says::IsOff,
        Some((_, false)) => Says::Asks,
    };
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
    // What holds already is not said again: whoever has a link could fill the disk with it.
    let Some((version, is_off)) = stated(&app, &token).await? else {
        return Ok(shown(&app, &token, Says::IsGone)?);
    };
    let holds = is_off == (wish == Wish::NoMail);
    if !holds && wish == Wish::MailAgain && !is_young(&token, app.now()) {
        return Err(TOO_OLD.into());
    }
    if !holds && wish == Wish::MailAgain && !app.unsubscribe.counts(&token, app.now()) {
        return Err(TOO_OFTEN.into());
    }
    if holds || state(&app, &token, wish, version).await? {
        Ok(shown(&app, &token, says)?)
    } else {
        Err(BUSY.into())
    }
}

/// Whether a link still has the right to turn mail on again.
fn is_young(token: &Token, now: Millis) -> bool {
    token.day.is_some_and(|day| day.plus(AGAIN_DAYS_MAX) >= Day::of(now))
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

/// The version of what is known of the wish, and whether mail is off; nothing of who was erased.
async fn stated(app: &App, token: &Token) -> anyhow::Result<Option<(i64, bool)>> {
    let keys = [StateKey::Person, StateKey::Notes].map(|key| key(token.tenant.clone(), token.person.clone()));
    let mut states = app.house.engines().store.states(&keys).await?.into_iter();
    let (known, noted) = (states.next().unwrap_or_default(), states.next().unwrap_or_default());
    if noted.flag(notes::ERASED) {
        return Ok(None);
    }
    let version = known.cells.get(profile::EMAIL_OFF).map_or(i64::MIN, |cell| cell.version);
    let is_off = known.get(profile::EMAIL_OFF).and_then(model::Value::as_flag).unwrap_or(false);
    Ok(Some((version, is_off)))
}

/// States the fact on the same way in as everybody: stored, then announced, then acknowledged. Says whether
/// it was taken; if not, the same may be asked again.
async fn state(app: &App, token: &Token, wish: Wish, known: i64) -> anyhow::Result<bool> {
    // Whatever counts the versions of a service that states it too, what its reader says now is newer.
    let version = app.now().0.max(known.saturating_add(1));
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
            Says::IsGone => "is_gone",
        },
        "undo": is_young(token, app.now()),
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
