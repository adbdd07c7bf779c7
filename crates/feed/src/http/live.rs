//! `GET /v1/people/{id}/live`: a stream of server-sent events. An event says that the feed is another one than before, with
//! its counts; who shows more asks for it. What happens while a reader is slow or away comes to one event: nothing is queued
//! for anybody, and what a reader missed is seen by the name of the last event that they have.

use std::{convert::Infallible, sync::Arc};

use aide::{
    OperationInput, OperationOutput,
    generate::GenContext,
    openapi::{MediaType, Operation, Response as ApiResponse},
    operation::add_parameters,
};
use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use feed_bundles::rule::BundleRule;
use futures::stream;
use house_facts::KeyScope;
use model::{Person, Tenant, UtcMillis};
use runtime::retry::wait_real_time;
use schemars::json_schema;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use web::{
    HttpProblem,
    description::{header_parameter, schema_object},
    person_access::PersonCaller,
};

use super::{FeedService, FeedState, describe_failure, description::RuledAddress};
use crate::{
    config::{LIVE_LOOK_MS, LIVE_PAUSE, LIVE_PULSE, LIVE_RETRY_MS},
    live_board::LiveWait,
    load::{FeedOwner, LoadedFeed, load_feed},
    metrics::FeedMetrics,
    report::CountsReport,
    request::read_rule,
};

/// By which browsers say what they had last.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// How a proxy is asked to pass on what comes, as it comes.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// What an event is called.
const EVENT: &str = "feed";

/// The last event that the client has.
pub struct LastEvent(Option<u64>);

impl<S: Send + Sync> FromRequestParts<S> for LastEvent {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let text = parts.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
        // One that we never gave is as good as none: the client hears at once.
        Ok(Self(text.and_then(|text| u64::from_str_radix(text, 16).ok())))
    }
}

impl OperationInput for LastEvent {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let id = json_schema!({"type": "string", "description": "the `id` of the last event; nothing comes until the feed is \
            another one than then"});
        add_parameters(context, operation, [header_parameter("Last-Event-ID", id)]);
    }
}

/// The stream, as it is answered.
pub struct NewsStream(Response);

impl IntoResponse for NewsStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for NewsStream {
    type Inner = Self;

    fn inferred_responses(_: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        let mut response = ApiResponse {
            description: "events called `feed`; their data is JSON with the `counts` of the feed".to_owned(),
            ..ApiResponse::default()
        };
        let event = json_schema!({
            "type": "object",
            "description": "one event",
            "required": ["event", "id", "data"],
            "properties": {
                "event": {"const": EVENT},
                "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
                "data": {"type": "string", "contentMediaType": "application/json"},
                "retry": {"type": "integer"},
            },
        });
        let schema = Some(schema_object(event));
        response.content.insert("text/event-stream".to_owned(), MediaType { schema, ..MediaType::default() });
        vec![(Some(200), response)]
    }
}

/// Between the half and the whole of the longest wait: those who came at once do not look at once.
fn spread_look(salt: u64) -> i64 {
    let half = LIVE_LOOK_MS.unsigned_abs() / 2;
    (half + salt % half).cast_signed()
}

/// What an event says.
#[derive(Serialize)]
struct FeedNews {
    counts: CountsReport,
}

pub async fn stream_news(
    State(service): FeedState,
    address: RuledAddress,
    LastEvent(last): LastEvent,
    headers: HeaderMap,
) -> Result<NewsStream, HttpProblem> {
    let talk = LiveTalk::begin(&service, &headers, address, last)?;
    // The first event is made before the answer begins, so what is wrong is said as everywhere.
    let (first, talk) = talk.first_event().await?;
    let rest = stream::unfold(talk, |mut talk| async move {
        let event = talk.next_event().await?;
        Some((event, talk))
    });
    let all = stream::StreamExt::chain(stream::iter(first), rest);
    let events = stream::StreamExt::map(all, Ok::<Event, Infallible>);
    let answer = Sse::new(events).keep_alive(KeepAlive::new().interval(LIVE_PULSE));
    let mut response = answer.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(NewsStream(response))
}

/// A connection that waits for news.
struct LiveTalk {
    service: Arc<FeedService>,
    tenant: Tenant,
    person: Person,
    /// By what the bundles are made that it counts.
    rule: BundleRule,
    wait: LiveWait,
    /// The feed that the client knows of.
    last: Option<u64>,
    /// When it looks again, should the log say nothing.
    looks: UtcMillis,
    /// When the token by which it was opened is no longer taken. Earlier would only have the client come again with it.
    expires: Option<UtcMillis>,
    _counted: CountedTalk,
    _place: OwnedSemaphorePermit,
}

/// Counted as long as it is held.
struct CountedTalk(FeedMetrics);

impl CountedTalk {
    fn begin(metrics: &FeedMetrics) -> Self {
        metrics.add_live(1);
        Self(metrics.clone())
    }
}

impl Drop for CountedTalk {
    fn drop(&mut self) {
        self.0.add_live(-1);
    }
}

impl LiveTalk {
    fn begin(
        service: &Arc<FeedService>,
        headers: &HeaderMap,
        address: RuledAddress,
        last: Option<u64>,
    ) -> Result<Self, HttpProblem> {
        let deps = &service.http.deps;
        let (caller, person, _permit) = service.admit(headers, KeyScope::Read, address.person)?;
        let rule = read_rule(&address.params?)?;
        let place = service.live.clone().try_acquire_owned();
        let place = place.map_err(|_| HttpProblem::busy("too many connections wait for news"))?;
        let (tenant, expires) = match caller {
            PersonCaller::Service(tenant) => (tenant, None),
            PersonCaller::Holder(holder) => (holder.tenant, Some(holder.expires)),
        };
        // Before anything is read: what comes while it is read is heard.
        let wait = LiveWait::begin(deps.board.live.clone(), (tenant.clone(), person.clone()));
        let counted = CountedTalk::begin(&deps.metrics);
        let looks = service.now();
        let service = service.clone();
        Ok(Self {
            service,
            tenant,
            person,
            rule,
            wait,
            last,
            looks,
            expires,
            _counted: counted,
            _place: place,
        })
    }

    /// What the client does not know of yet, if there is anything.
    async fn first_event(mut self) -> Result<(Option<Event>, Self), HttpProblem> {
        let event = self.look().await.map_err(describe_failure)?;
        let event = event.map(|event| event.retry(std::time::Duration::from_millis(LIVE_RETRY_MS)));
        Ok((event, self))
    }

    /// The next one; nothing when the stream ends, and the client comes back.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            let room::Deps { clock, shutdown, .. } = &self.service.http.deps.room;
            let closing = &self.service.http.deps.board.closing;
            let ends = self.expires.unwrap_or(UtcMillis(i64::MAX));
            tokio::select! {
                // Its sender lives as long as somebody waits.
                _ = self.wait.news.changed() => wait_real_time(LIVE_PAUSE).await,
                () = clock.sleep_until(self.looks.0) => {}
                () = clock.sleep_until(ends.0) => return None,
                () = shutdown.wait() => return None,
                () = closing.wait() => return None,
            }
            match self.look().await {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(error = format!("{error:#}"), "a feed cannot be read for one who waits");
                    return None;
                }
            }
        }
    }

    async fn look(&mut self) -> anyhow::Result<Option<Event>> {
        let owner = FeedOwner { tenant: &self.tenant, person: &self.person };
        let deps = &self.service.http.deps;
        let now = deps.room.now();
        let LoadedFeed { sheet, .. } = load_feed(deps, owner, LIVE_LOOK_MS, now).await?;
        self.looks = sheet.turns.min(now.plus(spread_look(sheet.revision)));
        let revision = sheet.revision_by(self.rule);
        if self.last == Some(revision) {
            return Ok(None);
        }
        self.last = Some(revision);
        deps.metrics.count_live_event();
        let counts = sheet.count_by(self.rule, deps.room.catalogue.for_person(&self.person));
        let news = serde_json::to_string(&FeedNews { counts: (&counts).into() })?;
        Ok(Some(Event::default().event(EVENT).id(format!("{revision:016x}")).data(news)))
    }
}
