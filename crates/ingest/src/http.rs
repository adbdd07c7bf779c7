//! The HTTP way: three paths, one for each sort, and one for each provider that tells what came back of mails. An answer with 202 means that what it counts as accepted
//! is durable; any answer without it means that the same may be sent again, best with an idempotency key.
//!
//! The `Host` header is checked by the code that mounts this router.

use std::{convert::Infallible, sync::Arc};

use aide::{
    axum::{ApiRouter, routing::post_with},
    openapi::OpenApi,
};
use axum::{
    Json, Router,
    extract::{FromRequest, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::map_response,
    response::Response,
};
use courier::mail_returns::{ProviderPost, ReturnProvider, read_webhook};
use futures::future::try_join_all;
use model::{Tenant, UtcMillis};
use runtime::clock::SteadyStopwatch;
use tokio::{sync::Mutex, time::timeout};
use topic::{RecordHeaders, port::GroupStanding};
use traces::{Span, SpanAttribute, SpanName};
use web::{
    HttpProblem, ProblemType,
    api_key::{ApiKeyList, TenantAccess},
    body::{BodyReader, ReadBody, check_media_type},
    description::describe_operation,
    idempotency::{IdempotentAnswer, IdempotentDesk, IdempotentRequest, idempotency_key},
    limits::REQUEST_TIME_MAX,
    permits::{TenantPermit, TenantPermits},
};
use wire::{
    CloudChange, CloudError, SchemaSource,
    cloud_event::{BODY_BYTES_MAX, parse_changes},
    upstream::{self, HTTP_PREFIX, UpstreamError, UpstreamRecord},
};

use crate::{
    admission::CloudEventSort,
    answer::{
        IngestReport, JudgedBody, ReturnReport, describe_failure, describe_lag, describe_quota,
        describe_unreadable,
    },
    apply::{apply_items, apply_returns},
    config::{Config, LAG_BELIEVED_MS, LAG_OF},
    decide::stamp_changes,
    deps::Deps,
    description::{IntakeRequest, ReturnsRequest, items_doc, returns_doc},
    ingest_error::IngestError,
    metrics::IntakeWay,
    order,
    quota::ListedRowQuota,
    request_headers::{MEDIA_TYPES, cloud_event_attributes, trace_parent},
    returns::ReturnPaths,
};

/// Says whether the disk is down to its reserve.
pub type DiskGauge = Arc<dyn Fn() -> bool + Send + Sync>;

/// What the HTTP way works with.
#[derive(Clone)]
pub struct HttpIntake {
    pub deps: Deps,
    pub config: Config,
    /// With keys, each request needs one, and it says whose changes these are. Without, they are the
    /// configured tenant's, and only the machine itself may reach the port.
    pub keys: ApiKeyList,
    pub disk_low: DiskGauge,
}

/// The routes of the intake.
pub fn router(http: HttpIntake) -> Router {
    api_router(http).finish_api(&mut OpenApi::default())
}

/// The same, with their description.
pub fn api_router(http: HttpIntake) -> ApiRouter {
    let paths = http.config.returns.clone();
    let access = TenantAccess { keys: http.keys.clone(), tenant: http.config.tenant.clone() };
    let has_others = || {
        let access = access.clone();
        Box::new(move |tenant: &Tenant| access.has_others(tenant))
    };
    let requests = TenantPermits::new(http.config.requests_max, has_others());
    let bodies = BodyReader::new(BODY_BYTES_MAX, has_others());
    let quota = ListedRowQuota::new(http.config.listed_rows_a_minute);
    let desk = Arc::new(IntakeService { http, access, requests, bodies, quota, lag: Mutex::new(None) });
    let mut router = ApiRouter::new();
    for sort in CloudEventSort::ALL {
        let take = move |State(desk): State<Arc<IntakeService>>, IntakeRequest(request)| async move {
            desk.take_items(sort, request).await
        };
        router = router.api_route(sort.path(), post_with(take, describe_operation(items_doc(sort))));
    }
    if let Some(paths) = paths {
        for provider in ReturnProvider::ALL {
            let paths = paths.clone();
            let take = move |State(desk): State<Arc<IntakeService>>, ReturnsRequest(request)| async move {
                desk.take_returns(provider, &paths, request).await
            };
            let take = post_with(take, describe_operation(returns_doc(provider)));
            router = router.api_route(&returns_path(provider), take.layer(map_response(ask_for_password)));
        }
    }
    router.with_state(desk)
}

// Both are read bit by bit, and what they may be their descriptions say.
impl<S: Send + Sync> FromRequest<S> for IntakeRequest {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self(request))
    }
}

impl<S: Send + Sync> FromRequest<S> for ReturnsRequest {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self(request))
    }
}

/// Where a provider posts what came back.
fn returns_path(provider: ReturnProvider) -> String {
    format!("/v1/returns/{}", provider.name())
}

struct IntakeService {
    http: HttpIntake,
    access: TenantAccess,
    requests: TenantPermits,
    bodies: BodyReader,
    quota: ListedRowQuota,
    /// When the lag was measured, and whether it was too much. Locked while it is being measured.
    lag: Mutex<Option<(i64, bool)>>,
}

/// A body, the attributes that stand in headers beside it, and what is traced of it.
type IntakeBody<'a> = (&'a RecordHeaders, &'a [u8], &'a Span);

impl IntakeService {
    async fn take_items(
        &self,
        sort: CloudEventSort,
        request: Request,
    ) -> Result<IdempotentAnswer<IngestReport>, HttpProblem> {
        let _at_work = self.http.deps.room.quiet.begin_work();
        let watch = SteadyStopwatch::start();
        let mut span = self.begin_span(sort, &request);
        let answer = span.within(within_time(self.answer_items(sort, request, &span))).await;
        let status = answer.as_ref().map_or_else(HttpProblem::status, |answer| answer.status);
        span.set(SpanAttribute::Outcome, || status.as_str());
        if status.is_server_error() {
            span.fail();
        }
        self.http.deps.metrics.count_answer(sort.path(), status.as_str(), watch.elapsed());
        answer
    }

    /// The span of a request, in the trace of its caller.
    fn begin_span(&self, sort: CloudEventSort, request: &Request) -> Span {
        let headers = request.headers();
        let mut span = self.http.deps.room.tracer.begin_root(SpanName::Accept, || trace_parent(headers));
        span.set(SpanAttribute::Path, || sort.path());
        if span.is_recorded()
            && let Ok(tenant) = self.access.authenticate(headers, sort.scope())
        {
            span.set(SpanAttribute::Tenant, || tenant.as_str());
        }
        span
    }

    /// Checks without the body come first, and those that need the engines last.
    async fn answer_items(
        &self,
        sort: CloudEventSort,
        request: Request,
        span: &Span,
    ) -> Result<IdempotentAnswer<IngestReport>, HttpProblem> {
        let headers = request.headers().clone();
        let tenant = &self.access.authenticate(&headers, sort.scope())?;
        check_media_type(&headers, &MEDIA_TYPES)?;
        let key = idempotency_key(&headers)?;
        let attributes = cloud_event_attributes(&headers);
        // Read to its end whatever the answer is: one before that would be followed by the end of the connection. Nobody is
        // at work for a body that does not come.
        let body = self.bodies.read(tenant, request).await?;
        let _permit = self.take_permit(tenant)?;
        self.check_disk()?;
        match key {
            None => {
                self.check_lag(sort).await?;
                self.judge_body(sort, tenant, (&attributes, &body.bytes, span), self.now()).await
            }
            Some(key) => self.answer_once(sort, tenant, (&attributes, &body.bytes, span), key).await,
        }
    }

    /// Returned mails of a provider, which repeats them until they are accepted.
    async fn take_returns(
        &self,
        provider: ReturnProvider,
        paths: &ReturnPaths,
        request: Request,
    ) -> Result<Json<ReturnReport>, HttpProblem> {
        let _at_work = self.http.deps.room.quiet.begin_work();
        let watch = SteadyStopwatch::start();
        let answer = within_time(self.answer_returns(provider, paths, request)).await;
        let status = answer.as_ref().map_or_else(HttpProblem::status, |_| StatusCode::OK);
        self.http.deps.metrics.count_answer(&returns_path(provider), status.as_str(), watch.elapsed());
        answer
    }

    async fn answer_returns(
        &self,
        provider: ReturnProvider,
        paths: &ReturnPaths,
        request: Request,
    ) -> Result<Json<ReturnReport>, HttpProblem> {
        let tenant = &self.access.authenticate_provider(request.headers())?;
        let ReadBody { bytes, .. } = &self.bodies.read(tenant, request).await?;
        let _permit = self.take_permit(tenant)?;
        self.check_disk()?;
        let came = match read_webhook(provider, bytes) {
            Ok(ProviderPost::Came(came)) => came,
            Ok(ProviderPost::Confirm(address)) => {
                // Nothing is fetched that somebody names; whoever set the topic up opens it once.
                tracing::warn!(address, "Amazon SNS asks to post here: open this address to confirm");
                Vec::new()
            }
            Err(error) => return Err(HttpProblem::new(ProblemType::UnreadableBody, error)),
        };
        let accepted = apply_returns(&self.http.deps, provider.name(), paths, came).await;
        Ok(Json(ReturnReport { accepted: accepted.map_err(describe_failure)? }))
    }

    fn check_disk(&self) -> Result<(), HttpProblem> {
        let low = HttpProblem::from_text(ProblemType::DiskFull, "the disk is down to its reserve");
        if (self.http.disk_low)() { Err(low) } else { Ok(()) }
    }

    fn take_permit(&self, tenant: &Tenant) -> Result<TenantPermit, HttpProblem> {
        self.requests.take(tenant, 1).ok_or_else(|| HttpProblem::busy("too many requests at once"))
    }

    /// A request that may be repeated.
    async fn answer_once(
        &self,
        sort: CloudEventSort,
        tenant: &Tenant,
        (attributes, body, span): IntakeBody<'_>,
        key: &str,
    ) -> Result<IdempotentAnswer<IngestReport>, HttpProblem> {
        let request = IdempotentRequest::from_request(sort.path(), attributes, body);
        let desk = IdempotentDesk { store: &*self.http.deps.room.store, tenant, key, request };
        if let Some(stands) = desk.find_answer(self.now()).await? {
            return Ok(stands);
        }
        self.check_lag(sort).await?;
        let first_seen = desk.note_first_seen(self.now()).await?;
        let answer = self.judge_body(sort, tenant, (attributes, body, span), first_seen).await?;
        desk.keep_answer(&answer, self.now()).await
    }

    async fn judge_body(
        &self,
        sort: CloudEventSort,
        tenant: &Tenant,
        (attributes, body, span): IntakeBody<'_>,
        first_seen: UtcMillis,
    ) -> Result<IdempotentAnswer<IngestReport>, HttpProblem> {
        let deps = &self.http.deps;
        let mut items = match read_items(attributes, body, &*deps.schemas).await {
            Ok(Ok(items)) => items,
            Err(reason) => return Err(HttpProblem::busy(reason)),
            Ok(Err(error)) => {
                deps.metrics.count_refused(IntakeWay::Http, 1);
                // An answer like any other: it is kept too.
                return Ok(IdempotentAnswer::from_problem(&describe_unreadable(&error)));
            }
        };
        let heard = items.iter_mut().filter_map(|item| Some((item.as_mut().ok()?, first_seen)));
        order::order_facts(heard);
        let mut judged = JudgedBody::judge(items, sort, (tenant, first_seen), deps.rules(), &deps.secret);
        self.quota.spend(tenant, judged.rows(), self.now()).map_err(describe_quota)?;
        deps.metrics.count_refused(IntakeWay::Http, judged.rejected());
        let mut admitted = std::mem::take(&mut judged.admitted);
        stamp_changes(&mut admitted, span.as_parent().as_ref());
        let verdicts = apply_items(deps, IntakeWay::Http, admitted).await.map_err(describe_failure)?;
        judged.into_report(verdicts).into_answer()
    }

    /// Whether those behind us keep up; asked once a second at most, for all requests that wait for the answer.
    /// What a person says of themselves makes next to no work for them, and who asks for no more mail is not
    /// told to come later.
    async fn check_lag(&self, sort: CloudEventSort) -> Result<(), HttpProblem> {
        if sort != CloudEventSort::Change {
            return Ok(());
        }
        let mut measured = self.lag.lock().await;
        let behind = match *measured {
            Some((at, behind)) if (at..at.saturating_add(LAG_BELIEVED_MS)).contains(&self.now().0) => behind,
            _ => {
                let lag = self.measure_lag().await.map_err(describe_failure)?;
                let behind = lag > self.http.config.lag_records_max;
                *measured = Some((self.now().0, behind));
                behind
            }
        };
        if behind { Err(describe_lag()) } else { Ok(()) }
    }

    async fn measure_lag(&self) -> Result<u64, IngestError> {
        let standings = LAG_OF.map(|(group, topic, _)| self.http.deps.room.topics.standing(group, topic));
        let standings = try_join_all(standings).await?;
        let of_each = standings.iter().map(|all| all.iter().map(GroupStanding::lag).sum::<u64>());
        Ok(of_each.zip(LAG_OF).map(|(lag, (.., counts))| lag.saturating_mul(counts)).sum())
    }

    fn now(&self) -> UtcMillis {
        self.http.deps.room.now()
    }
}

/// Some providers show what they have only when they are asked for it.
async fn ask_for_password(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        let asks = HeaderValue::from_static("Basic realm=\"tidings\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
    }
    response
}

/// What comes of a request, unless it takes too long.
async fn within_time<T>(answer: impl Future<Output = Result<T, HttpProblem>>) -> Result<T, HttpProblem> {
    let late = |_| Err(HttpProblem::busy("the request took too long; nothing was acknowledged"));
    timeout(REQUEST_TIME_MAX, answer).await.unwrap_or_else(late)
}

/// What a body brings: one change with its attributes in headers, one in Avro, or any number in JSON. Fails
/// if nobody can say now.
async fn read_items(
    attributes: &RecordHeaders,
    body: &[u8],
    schemas: &dyn SchemaSource,
) -> Result<Result<Vec<Result<CloudChange, CloudError>>, CloudError>, String> {
    let read = if !attributes.is_empty() {
        upstream::read_binary_event(attributes, HTTP_PREFIX, Some(body), schemas).await
    } else if upstream::is_avro(body) {
        upstream::read_change(UpstreamRecord { headers: &[], key: &[], value: Some(body) }, schemas).await
    } else {
        return Ok(parse_changes(body));
    };
    match read {
        Ok(one) => Ok(Ok(vec![Ok(one)])),
        Err(UpstreamError::Undecodable(error)) => {
            Ok(Err(CloudError { at: String::new(), reason: error.reason }))
        }
        Err(UpstreamError::Unreachable(reason)) => Err(reason),
    }
}
