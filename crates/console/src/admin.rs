//! The admin paths: what the command line asks of a running house. Each needs the token of `admin.json`.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use axum::{
    Json, Router,
    body::{Bytes, to_bytes},
    extract::{DefaultBodyLimit, FromRequestParts, Query, Request, State, rejection::BytesRejection},
    http::{StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use model::Person;
use serde::Deserialize;
use serde_json::json;
use topic::NewRecord;
use upkeep::quarantine::{self, QuarantineVerdict};
use views::days;
use wire::topics;

use super::{
    AppState, HandlerError, HttpApp, archive, clock, devices, erase, explain, person, preview, release,
    replay, shares, state, suppressions, unclear_messages, window_acts,
};

/// Bytes of a record that is put onto the topic `changes`.
pub const UPSTREAM_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a reason why something is refused.
const WHY_BYTES_MAX: usize = 64 * 1024;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new()
        .route("/admin/stages", get(stages))
        .route("/admin/days", get(days_of))
        .route("/admin/person", get(person::answer_person))
        .route("/admin/windows", get(window_acts::list_windows).post(window_acts::act_on_window))
        .route("/admin/shares", get(shares::shares))
        .route("/admin/explain", get(explain::explain_event))
        .route("/admin/preview", get(preview::answer_preview))
        .route("/admin/release", post(release::release_windows))
        .route("/admin/replay", post(replay::order_replay))
        .route("/admin/devices", get(devices::list_devices))
        .route(
            "/admin/suppressions",
            get(suppressions::list_suppressions).post(suppressions::lift_suppressions),
        )
        .route("/admin/erase", get(erase::show_erasure).post(erase::begin_erasure))
        .route("/admin/unknown", get(unclear_messages::list_unclear))
        .route("/admin/archive", get(archive::show_archiving).post(archive::begin_archiving))
        .route("/admin/quarantine", get(list_quarantine).post(settle_quarantine))
        .route("/admin/state", get(state::show_state).post(state::settle_record))
        .route("/admin/clock", get(show_clock).post(jump_clock))
        .route("/admin/upstream", post(upstream).layer(DefaultBodyLimit::max(UPSTREAM_BYTES_MAX)))
}

/// Stops who does not show the token.
pub async fn require_admin(State(app): AppState, request: Request, next: Next) -> Response {
    if app.guard.is_admin(request.headers()) {
        rewrite_as_json(next.run(request).await).await
    } else {
        refuse_request(
            StatusCode::UNAUTHORIZED,
            "the token of admin.json is needed: `Authorization: Bearer <token>`",
        )
    }
}

/// What is refused before a handler has it is said as handlers say it: whoever asks here reads JSON.
async fn rewrite_as_json(answer: Response) -> Response {
    let status = answer.status();
    let form = answer.headers().get(header::CONTENT_TYPE).and_then(|form| form.to_str().ok());
    if status.is_success() || form.is_none_or(|form| !form.starts_with("text/plain")) {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let why = to_bytes(body, WHY_BYTES_MAX).await.unwrap_or_default();
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    (parts.headers, refuse_request(status, String::from_utf8_lossy(&why).trim())).into_response()
}

pub(super) fn refuse_request(status: StatusCode, why: impl std::fmt::Display) -> Response {
    (status, Json(json!({"error": why.to_string()}))).into_response()
}

async fn stages(State(app): AppState) -> Result<Response, HandlerError> {
    Ok(Json(app.house.stages().await?).into_response())
}

/// Whose things are asked for: `?person=`.
pub(super) struct PersonParam(pub Person);

#[derive(Deserialize)]
struct PersonParamQuery {
    person: String,
}

impl<S: Send + Sync> FromRequestParts<S> for PersonParam {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let asked = Query::<PersonParamQuery>::from_request_parts(parts, state).await;
        let Query(PersonParamQuery { person }) = asked.map_err(IntoResponse::into_response)?;
        Person::new(&person).map(Self).map_err(|error| refuse_request(StatusCode::BAD_REQUEST, error))
    }
}

#[derive(Deserialize)]
struct DaysQuery {
    since: Option<i32>,
}

async fn days_of(
    State(app): AppState,
    PersonParam(person): PersonParam,
    Query(DaysQuery { since }): Query<DaysQuery>,
) -> Result<Response, HandlerError> {
    let since = since.unwrap_or(days::DAYS_MAX);
    let store = &*app.house.engines().store;
    let days = days::read_days(store, &app.tenant, &person, since, app.now(), Some(&app.catalogue)).await?;
    Ok(Json(days).into_response())
}

async fn list_quarantine(State(app): AppState) -> Result<Response, HandlerError> {
    Ok(Json(quarantine::list_items(&*app.house.engines().topics).await?).into_response())
}

async fn show_clock(State(app): AppState) -> Result<Response, HandlerError> {
    let ahead_ms = app.clock.clock().ahead();
    let due = clock::next_due(&app).await?.map(|due| due.to_string());
    let clock = json!({"now": app.now().to_string(), "ahead_ms": ahead_ms, "demo": app.is_demo, "due": due});
    Ok(Json(clock).into_response())
}

/// One of the two.
#[derive(Deserialize)]
struct AdminClockRequest {
    /// `hour`, `day`, `week`, `morning` or `due`.
    to: Option<String>,
    by_ms: Option<i64>,
}

async fn jump_clock(
    State(app): AppState,
    Json(asked): Json<AdminClockRequest>,
) -> Result<Response, HandlerError> {
    if !app.is_demo {
        let why = "only a demo has a clock that can be moved: start it with `tidings up --demo`";
        return Ok(refuse_request(StatusCode::FORBIDDEN, why));
    }
    let to = match (&asked.to, asked.by_ms) {
        (Some(to), None) => clock::JumpTarget::Instant(to),
        (None, Some(ms @ 0..=clock::JUMP_MS_MAX)) => clock::JumpTarget::Ahead { ms },
        (None, Some(_)) => {
            let most = catalogue::format_length(clock::JUMP_MS_MAX);
            let why = format!("the clock moves forward only, and at most {most} at once");
            return Ok(refuse_request(StatusCode::BAD_REQUEST, why));
        }
        _ => return Ok(refuse_request(StatusCode::BAD_REQUEST, "it is `to` or `by_ms`, one of the two")),
    };
    Ok(match clock::move_to(&app, to).await? {
        Some(settled) => Json(json!({"now": app.now().to_string(), "settled": settled})).into_response(),
        None => {
            let why = "there is no such instant: it is hour, day, week, morning or due";
            refuse_request(StatusCode::BAD_REQUEST, why)
        }
    })
}

#[derive(Deserialize)]
struct AdminQuarantineRequest {
    verdict: QuarantineVerdict,
    /// `None` is all that wait.
    items: Option<Vec<u64>>,
}

async fn settle_quarantine(State(app): AppState, Json(asked): Json<AdminQuarantineRequest>) -> Response {
    let log = &*app.house.engines().topics;
    match quarantine::settle_items(log, asked.items.as_deref(), asked.verdict, app.now()).await {
        Ok(settled) => Json(json!({"settled": settled})).into_response(),
        // An item that does not wait, or a record that is gone.
        Err(error) => refuse_request(StatusCode::CONFLICT, format!("{error:#}")),
    }
}

/// Puts bytes onto the topic `changes`, unread, as a service beside this house would. What is wrong with
/// them shows in the quarantine.
async fn upstream(
    State(app): AppState,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, HandlerError> {
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let why = format!("a record has at most {UPSTREAM_BYTES_MAX} bytes");
            return Ok(refuse_request(StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        Err(error) => return Ok(refuse_request(error.status(), error)),
    };
    if bytes.is_empty() {
        return Ok(refuse_request(StatusCode::BAD_REQUEST, "a record has at least one byte"));
    }
    if (app.disk_low)() {
        return Ok(refuse_request(StatusCode::INSUFFICIENT_STORAGE, "the disk is down to its reserve"));
    }
    let log = &*app.house.engines().topics;
    let partition = partition(&bytes, log.bounds(topics::CHANGES).await?.len());
    let record = NewRecord {
        topic: topics::CHANGES.into(),
        partition,
        key: vec![],
        value: Some(bytes.to_vec()),
        headers: Vec::new(),
    };
    log.append(vec![record]).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({"appended": 1, "partition": partition}))).into_response())
}

/// Any partition will do, as nothing here is in an order; the same bytes go to the same one.
fn partition(bytes: &[u8], count: usize) -> u32 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let count = u64::try_from(count).unwrap_or(1).max(1);
    u32::try_from(hasher.finish() % count).unwrap_or(0)
}
