//! The admin paths: what the command line asks of a running house. Each needs the token of `admin.json`, or one of the
//! settings that has the role for it.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use aide::{
    OperationInput,
    axum::{
        ApiRouter,
        routing::{get_with, post_with},
    },
    generate::GenContext,
    openapi::Operation,
    operation::{ParamLocation, add_parameters, parameters_from_schema},
    transform::TransformOperation,
};
use axum::{
    Json,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequestParts, Query, Request, State, rejection::BytesRejection},
    http::{StatusCode, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use house::StageView;
use model::Person;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topic::NewRecord;
use upkeep::quarantine::{self, QuarantineItemView, QuarantineVerdict};
use views::days::{self, PersonDays};
use web::{
    HttpProblem, JsonBody, ProblemType,
    answer::AcceptedJson,
    description::{OperationAccess, OperationDoc, describe_operation},
    guard::{needed_role, refuse_role},
};
use wire::topics;

use super::{
    AppState, HttpApp, archive, clock, devices, editions, erase, explain, pauses, person, preview, release,
    replay, shares, state, suppressions, unclear_messages, window_acts,
};

/// Bytes of a record that is put onto the topic `changes`.
pub const UPSTREAM_BYTES_MAX: usize = 64 * 1024;

/// How an operation for operators is described.
fn describe(
    id: &'static str,
    summary: &'static str,
    problems: &'static [ProblemType],
) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    describe_operation(OperationDoc { id, summary, access: OperationAccess::Token, problems })
}

/// All paths of the command line.
pub fn routes() -> ApiRouter<Arc<HttpApp>> {
    person_routes().merge(house_routes()).merge(archive_routes()).merge(time_routes())
}

/// What is asked about one person.
fn person_routes() -> ApiRouter<Arc<HttpApp>> {
    use ProblemType::{Conflict, NotFound};
    ApiRouter::new()
        .api_route(
            "/admin/days",
            get_with(days_of, describe("getDays", "A person's days, with all entries", &[])),
        )
        .api_route(
            "/admin/person",
            get_with(
                person::answer_person,
                describe("getPerson", "All that is known of a person", &[NotFound]),
            ),
        )
        .api_route(
            "/admin/windows",
            get_with(
                window_acts::list_windows,
                describe("getWindows", "The windows that are open for a person", &[]),
            )
            .post_with(
                window_acts::act_on_window,
                describe("postWindows", "Releases or cancels one window", &[NotFound, Conflict]),
            ),
        )
        .api_route(
            "/admin/explain",
            get_with(
                explain::explain_event,
                describe("getExplain", "Why a person was told of an event, or not", &[NotFound]),
            ),
        )
        .api_route(
            "/admin/preview",
            get_with(
                preview::answer_preview,
                describe("getPreview", "A person's next messages as they stand", &[NotFound]),
            ),
        )
        .api_route(
            "/admin/devices",
            get_with(
                devices::list_devices,
                describe("getDevices", "The devices on which pushes reach a person", &[]),
            ),
        )
        .api_route(
            "/admin/suppressions",
            get_with(
                suppressions::list_suppressions,
                describe("getSuppressions", "What keeps mails from a person", &[]),
            )
            .post_with(
                suppressions::lift_suppressions,
                describe("postSuppressions", "Lifts suppressions of a person", &[]),
            ),
        )
        .api_route(
            "/admin/erase",
            get_with(erase::show_erasure, describe("getErase", "How far the erasure of a person is", &[]))
                .post_with(
                    erase::begin_erasure,
                    describe("postErase", "Erases a person, or welcomes them back", &[Conflict]),
                ),
        )
}

/// What is asked about the whole house.
fn house_routes() -> ApiRouter<Arc<HttpApp>> {
    use ProblemType::{Conflict, NotFound};
    ApiRouter::new()
        .api_route("/admin/house", get_with(show_house, describe("getHouse", "Which house this is", &[])))
        .api_route(
            "/admin/stages",
            get_with(stages, describe("getStages", "How far each room has read", &[])),
        )
        .api_route(
            "/admin/shares",
            get_with(shares::shares, describe("getShares", "What share of entries was told", &[])),
        )
        .api_route(
            "/admin/release",
            post_with(
                release::release_windows,
                describe("postRelease", "Releases a plan's windows, a part at a time", &[]),
            ),
        )
        .api_route(
            "/admin/editions",
            get_with(
                editions::list_editions,
                describe("getEditions", "The catalogues that the house took up", &[]),
            )
            .post_with(
                editions::step_back,
                describe("postEditions", "Goes back to the catalogue before the newest", &[Conflict]),
            ),
        )
        .api_route(
            "/admin/pauses",
            get_with(pauses::list_pauses, describe("getPauses", "What an operator has paused", &[]))
                .post_with(
                    pauses::order_pause,
                    describe("postPauses", "Pauses a plan, a channel or a tenant, or ends that", &[Conflict]),
                ),
        )
        .api_route(
            "/admin/replay",
            post_with(
                replay::order_replay,
                describe("postReplay", "Plans, begins, continues, stops or lists replays", &[Conflict]),
            ),
        )
        .api_route(
            "/admin/unknown",
            get_with(
                unclear_messages::list_unclear,
                describe("getUnknown", "Messages that may have gone out or not", &[]),
            ),
        )
        .api_route(
            "/admin/quarantine",
            get_with(list_quarantine, describe("getQuarantine", "Records that could not be used", &[]))
                .post_with(
                    settle_quarantine,
                    describe("postQuarantine", "Retries or drops such records", &[Conflict]),
                ),
        )
        .api_route(
            "/admin/state",
            get_with(
                state::show_state,
                describe("getState", "Records of windows that cannot be read, or one", &[NotFound]),
            )
            .post_with(
                state::settle_record,
                describe("postState", "Repairs or drops a record of windows", &[Conflict]),
            ),
        )
}

/// How old days leave the house.
fn archive_routes() -> ApiRouter<Arc<HttpApp>> {
    use ProblemType::{Conflict, NotFound};
    ApiRouter::new()
        .api_route(
            "/admin/archive",
            get_with(
                archive::show_archiving,
                describe("getArchive", "How far the last archiving is", &[NotFound]),
            )
            .post_with(
                archive::begin_archiving,
                describe("postArchive", "Archives days that nothing is told from", &[Conflict]),
            ),
        )
        .api_route(
            "/admin/archive/export",
            post_with(
                archive::send_days,
                describe(
                    "postArchiveExport",
                    "Sends the rows of days that nothing is told from",
                    &[Conflict],
                ),
            ),
        )
        .api_route(
            "/admin/archive/drop",
            post_with(
                archive::drop_days,
                describe("postArchiveDrop", "Drops days whose rows the caller has", &[Conflict]),
            ),
        )
}

/// The way of a record in, and the time at which it comes.
fn time_routes() -> ApiRouter<Arc<HttpApp>> {
    ApiRouter::new()
        .api_route(
            "/admin/clock",
            get_with(show_clock, describe("getClock", "The house's time", &[])).post_with(
                jump_clock,
                describe("postClock", "Moves a demo's clock forward", &[ProblemType::Forbidden]),
            ),
        )
        .api_route(
            "/admin/upstream",
            post_with(upstream, describe("postUpstream", "Puts bytes onto the topic `changes`, unread", &[]))
                .layer(DefaultBodyLimit::max(UPSTREAM_BYTES_MAX)),
        )
}

/// Stops who does not show a token, or one that may not do this.
pub async fn require_admin(State(app): AppState, request: Request, next: Next) -> Response {
    let needs = needed_role(request.method());
    match app.guard.find_role(request.headers()) {
        Some(has) if has >= needs => next.run(request).await,
        Some(has) => refuse_role(has, needs).into_response(),
        None => {
            let why = "an access token or the token of admin.json is needed: `Authorization: Bearer <token>`";
            HttpProblem::from_text(ProblemType::Unauthorized, why).into_response()
        }
    }
}

/// Which house this is.
#[derive(JsonSchema, Serialize)]
struct AdminHouseView {
    /// For whom the command line acts here.
    tenant: String,
    catalogue: String,
    version: &'static str,
}

async fn show_house(State(app): AppState) -> Json<AdminHouseView> {
    let (tenant, catalogue) = (app.tenant.to_string(), app.catalogue.name.to_string());
    Json(AdminHouseView { tenant, catalogue, version: settings::version::version() })
}

async fn stages(State(app): AppState) -> Result<Json<Vec<StageView>>, HttpProblem> {
    Ok(Json(app.house.stages().await?))
}

/// Whose things are asked for: `?person=`.
pub(super) struct PersonParam(pub Person);

#[derive(Deserialize, JsonSchema)]
struct PersonParamQuery {
    person: String,
}

impl<S: Send + Sync> FromRequestParts<S> for PersonParam {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let asked = Query::<PersonParamQuery>::from_request_parts(parts, state).await;
        let Query(PersonParamQuery { person }) = asked.map_err(IntoResponse::into_response)?;
        Person::new(&person).map(Self).map_err(|error| HttpProblem::bad_request(error).into_response())
    }
}

impl OperationInput for PersonParam {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let schema = context.schema.subschema_for::<PersonParamQuery>();
        let parameters = parameters_from_schema(context, schema, ParamLocation::Query);
        add_parameters(context, operation, parameters);
    }
}

#[derive(Deserialize, JsonSchema)]
struct DaysQuery {
    since: Option<i32>,
}

async fn days_of(
    State(app): AppState,
    PersonParam(person): PersonParam,
    Query(DaysQuery { since }): Query<DaysQuery>,
) -> Result<Json<PersonDays>, HttpProblem> {
    let since = since.unwrap_or(days::DAYS_MAX);
    let store = &*app.house.engines().store;
    let days = days::read_days(store, &app.tenant, &person, since, app.now(), Some(&app.catalogue)).await?;
    Ok(Json(days))
}

async fn list_quarantine(State(app): AppState) -> Result<Json<Vec<QuarantineItemView>>, HttpProblem> {
    Ok(Json(quarantine::list_items(&*app.house.engines().topics).await?))
}

/// The house's time.
#[derive(JsonSchema, Serialize)]
struct AdminClockView {
    now: String,
    /// How far it is ahead of this machine's.
    ahead_ms: i64,
    /// Whether it can be moved.
    demo: bool,
    /// When the next window is due.
    due: Option<String>,
}

async fn show_clock(State(app): AppState) -> Result<Json<AdminClockView>, HttpProblem> {
    let ahead_ms = app.clock.clock().ahead();
    let due = clock::next_due(&app).await?.map(|due| due.to_string());
    Ok(Json(AdminClockView { now: app.now().to_string(), ahead_ms, demo: app.is_demo, due }))
}

/// One of the two.
#[derive(Deserialize, JsonSchema)]
struct AdminClockRequest {
    /// `hour`, `day`, `week`, `morning` or `due`.
    to: Option<String>,
    by_ms: Option<i64>,
}

/// Where the clock is by now.
#[derive(JsonSchema, Serialize)]
struct AdminClockReport {
    now: String,
    /// Whether the house has done everything that is due by then.
    settled: bool,
}

async fn jump_clock(
    State(app): AppState,
    JsonBody(asked): JsonBody<AdminClockRequest>,
) -> Result<Json<AdminClockReport>, HttpProblem> {
    if !app.is_demo {
        let why = "only a demo has a clock that can be moved: start it with `tidings up --demo`";
        return Err(HttpProblem::from_text(ProblemType::Forbidden, why));
    }
    let to = match (&asked.to, asked.by_ms) {
        (Some(to), None) => clock::JumpTarget::Instant(to),
        (None, Some(ms @ 0..=clock::JUMP_MS_MAX)) => clock::JumpTarget::Ahead { ms },
        (None, Some(_)) => {
            let most = catalogue::format_length(clock::JUMP_MS_MAX);
            let why = format_args!("the clock moves forward only, and at most {most} at once");
            return Err(HttpProblem::bad_request(why));
        }
        _ => return Err(HttpProblem::bad_request("give either `to` or `by_ms`")),
    };
    let settled = clock::move_to(&app, to)
        .await?
        .ok_or_else(|| HttpProblem::bad_request("`to` must be hour, day, week, morning or due"))?;
    Ok(Json(AdminClockReport { now: app.now().to_string(), settled }))
}

#[derive(Deserialize, JsonSchema)]
struct AdminQuarantineRequest {
    verdict: QuarantineVerdict,
    /// `None` is all that wait.
    items: Option<Vec<u64>>,
}

/// How many items were settled.
#[derive(JsonSchema, Serialize)]
struct AdminQuarantineReport {
    settled: usize,
}

async fn settle_quarantine(
    State(app): AppState,
    JsonBody(asked): JsonBody<AdminQuarantineRequest>,
) -> Result<Json<AdminQuarantineReport>, HttpProblem> {
    let log = &*app.house.engines().topics;
    let settled = quarantine::settle_items(log, asked.items.as_deref(), asked.verdict, app.now()).await;
    // An item that does not wait, or a record that is gone.
    let settled = settled.map_err(|error| HttpProblem::conflict(format_args!("{error:#}")))?;
    Ok(Json(AdminQuarantineReport { settled }))
}

/// Where a record was put.
#[derive(JsonSchema, Serialize)]
struct AdminUpstreamReport {
    appended: u64,
    partition: u32,
}

/// Puts bytes onto the topic `changes`, unread, as a service beside this house would. What is wrong with
/// them shows in the quarantine.
async fn upstream(
    State(app): AppState,
    body: Result<Bytes, BytesRejection>,
) -> Result<AcceptedJson<AdminUpstreamReport>, HttpProblem> {
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let why = format!("a record has at most {UPSTREAM_BYTES_MAX} bytes");
            return Err(HttpProblem::new(ProblemType::BodyTooLarge, why));
        }
        Err(error) => return Err(HttpProblem::new(ProblemType::UnreadableBody, error)),
    };
    if bytes.is_empty() {
        return Err(HttpProblem::bad_request("a record has at least one byte"));
    }
    if (app.disk_low)() {
        return Err(HttpProblem::from_text(ProblemType::DiskFull, "the disk is down to its reserve"));
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
    Ok(AcceptedJson(AdminUpstreamReport { appended: 1, partition }))
}

/// Any partition will do, as nothing here is in an order; the same bytes go to the same one.
fn partition(bytes: &[u8], count: usize) -> u32 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let count = u64::try_from(count).unwrap_or(1).max(1);
    u32::try_from(hasher.finish() % count).unwrap_or(0)
}
