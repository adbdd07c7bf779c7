//! The HTTP way: three paths, one for each sort, and one for each provider that tells what came back of mails. An answer with 202 means that what it counts as accepted
//! is durable; any answer without it means that the same may be sent again, best with an idempotency key.
//!
//! Which hosts may be asked for is checked by who mounts this router.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use courier::mail_returns::{ProviderPost, ReturnProvider, read_webhook};
use futures::{StreamExt as _, future::try_join_all};
use model::{Tenant, UtcMillis};
use runtime::clock::SteadyStopwatch;
use tokio::{sync::Mutex, time::timeout};
use topic::{RecordHeaders, port::GroupStanding};
use wire::{
    CloudChange, CloudError, SchemaSource,
    cloud_event::{BODY_BYTES_MAX, parse_changes},
    upstream::{self, HTTP_PREFIX, UpstreamError, UpstreamRecord},
};

use crate::{
    admission::CloudEventSort,
    answer::{IdempotentRequest, IngestAnswer, JudgedBody},
    apply::{apply_items, apply_returns},
    config::{BODIES_BYTES_MAX, BODY_TIME_MAX, Config, LAG_BELIEVED_MS, LAG_OF, REQUEST_TIME_MAX},
    deps::Deps,
    ingest_error::IngestError,
    metrics::IntakeWay,
    order,
    permits::{TenantPermit, TenantPermits},
    quota::ListedRowQuota,
    request_headers::{self, IngestApiKey},
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
    pub keys: Option<Vec<IngestApiKey>>,
    pub disk_low: DiskGauge,
}

/// The routes of the intake.
pub fn router(http: HttpIntake) -> Router {
    let paths = http.config.returns.clone();
    let requests = TenantPermits::new(http.config.requests_max, known_tenants(&http));
    let bodies = TenantPermits::new(BODIES_BYTES_MAX / BODY_UNIT_BYTES, known_tenants(&http));
    let quota = ListedRowQuota::new(http.config.listed_rows_a_minute);
    let desk = Arc::new(IntakeService { http, requests, bodies, quota, lag: Mutex::new(None) });
    let mut router = Router::new();
    for sort in CloudEventSort::ALL {
        let take = move |State(desk): State<Arc<IntakeService>>, request: Request| async move {
            desk.take_items(sort, request).await
        };
        router = router.route(sort.path(), post(take));
    }
    if let Some(paths) = paths {
        for provider in ReturnProvider::ALL {
            let paths = paths.clone();
            let take = move |State(desk): State<Arc<IntakeService>>, request: Request| async move {
                desk.take_returns(provider, &paths, request).await
            };
            router = router.route(&returns_path(provider), post(take));
        }
    }
    router.with_state(desk)
}

/// Whose requests there can be.
fn known_tenants(http: &HttpIntake) -> Vec<Tenant> {
    match &http.keys {
        Some(keys) => keys.iter().map(|key| key.tenant().clone()).collect(),
        None => vec![http.config.tenant.clone()],
    }
}

/// Where a provider posts what came back.
fn returns_path(provider: ReturnProvider) -> String {
    format!("/v1/returns/{}", provider.name())
}

/// Bytes of a body that are counted as one.
const BODY_UNIT_BYTES: usize = 1024;

struct IntakeService {
    http: HttpIntake,
    requests: TenantPermits,
    /// What came of bodies, by this unit.
    bodies: TenantPermits,
    quota: ListedRowQuota,
    /// When the lag was measured, and whether it was too much. Locked while it is being measured.
    lag: Mutex<Option<(i64, bool)>>,
}

impl From<IngestError> for IngestAnswer {
    fn from(trouble: IngestError) -> Self {
        match trouble {
            IngestError::Busy(reason) => Self::busy(&reason),
            IngestError::Full(reason) => Self::full(&reason),
            IngestError::Broken(reason) => {
                tracing::error!(reason, "a request failed");
                Self::error(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "an engine is broken; the log of the service says more",
                )
            }
        }
    }
}

impl IntakeService {
    async fn take_items(&self, sort: CloudEventSort, request: Request) -> Response {
        let _at_work = self.http.deps.room.quiet.begin_work();
        let watch = SteadyStopwatch::start();
        let answer = match timeout(REQUEST_TIME_MAX, self.answer_items(sort, request)).await {
            Ok(Ok(answer) | Err(answer)) => answer,
            Err(_) => IngestAnswer::busy("this took too long; nothing was acknowledged"),
        };
        self.http.deps.metrics.count_answer(sort.path(), answer.status.as_str(), watch.elapsed());
        answer.into_response()
    }

    /// What can be said without the body comes first, and what needs the engines last.
    async fn answer_items(
        &self,
        sort: CloudEventSort,
        request: Request,
    ) -> Result<IngestAnswer, IngestAnswer> {
        let headers = request.headers().clone();
        let tenant = self.authenticate(&headers)?;
        request_headers::check_media_type(&headers)?;
        let key = request_headers::idempotency_key(&headers)?;
        let attributes = request_headers::cloud_event_attributes(&headers);
        // Read to its end whatever the answer is: one before that would be followed by the end of the connection. Nobody is
        // at work for a body that does not come.
        let (body, _held) = self.read_body(tenant, request).await?;
        let _permit = self.take_permit(tenant)?;
        if (self.http.disk_low)() {
            return Err(IngestAnswer::full("the disk is down to its reserve"));
        }
        match key {
            None => {
                self.check_lag(sort).await?;
                self.judge_body(sort, tenant, (&attributes, &body), self.now()).await
            }
            Some(key) => self.answer_once(sort, tenant, (&attributes, &body), key).await,
        }
    }

    /// What a provider tells: it says the same again until it hears that it was taken.
    async fn take_returns(
        &self,
        provider: ReturnProvider,
        paths: &ReturnPaths,
        request: Request,
    ) -> Response {
        let _at_work = self.http.deps.room.quiet.begin_work();
        let watch = SteadyStopwatch::start();
        let answer = match timeout(REQUEST_TIME_MAX, self.answer_returns(provider, paths, request)).await {
            Ok(Ok(answer) | Err(answer)) => answer,
            Err(_) => IngestAnswer::busy("this took too long; nothing was acknowledged"),
        };
        self.http.deps.metrics.count_answer(&returns_path(provider), answer.status.as_str(), watch.elapsed());
        let mut response = answer.into_response();
        if response.status() == StatusCode::UNAUTHORIZED {
            // Some show what they have only when they are asked for it.
            let asks = HeaderValue::from_static("Basic realm=\"tidings\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
        }
        response
    }

    async fn answer_returns(
        &self,
        provider: ReturnProvider,
        paths: &ReturnPaths,
        request: Request,
    ) -> Result<IngestAnswer, IngestAnswer> {
        let tenant = match &self.http.keys {
            Some(keys) => request_headers::authenticate_provider(request.headers(), keys)?,
            None => request_headers::check_same_origin(request.headers())
                .map(|()| self.http.config.tenant.clone())?,
        };
        let (body, _held) = self.read_body(&tenant, request).await?;
        let _permit = self.take_permit(&tenant)?;
        if (self.http.disk_low)() {
            return Err(IngestAnswer::full("the disk is down to its reserve"));
        }
        let came = match read_webhook(provider, &body) {
            Ok(ProviderPost::Came(came)) => came,
            Ok(ProviderPost::Confirm(address)) => {
                // Nothing is fetched that somebody names; whoever set the topic up opens it once.
                tracing::warn!(
                    address,
                    "Amazon SNS asks whether it may post here: open this address to confirm"
                );
                Vec::new()
            }
            Err(error) => return Err(IngestAnswer::error(StatusCode::BAD_REQUEST, &error.to_string())),
        };
        let taken = apply_returns(&self.http.deps, provider.name(), paths, came).await?;
        Ok(IngestAnswer::for_returns(taken))
    }

    fn take_permit(&self, tenant: &Tenant) -> Result<TenantPermit, IngestAnswer> {
        self.requests.take(tenant, 1).ok_or_else(|| IngestAnswer::busy("too many requests at once"))
    }

    /// A body, with what says that it is in memory: no more than has come of it.
    async fn read_body(
        &self,
        tenant: &Tenant,
        request: Request,
    ) -> Result<(Vec<u8>, Option<TenantPermit>), IngestAnswer> {
        let (mut bytes, mut held): (Vec<u8>, Option<TenantPermit>) = (Vec::new(), None);
        let mut units = 0;
        let mut parts = request.into_body().into_data_stream();
        let whole = async {
            while let Some(part) = parts.next().await {
                let part = part.map_err(|_| {
                    IngestAnswer::error(StatusCode::BAD_REQUEST, "the body did not arrive whole")
                })?;
                if bytes.len() + part.len() > BODY_BYTES_MAX {
                    let reason = format!("the body has more than {BODY_BYTES_MAX} bytes");
                    return Err(IngestAnswer::error(StatusCode::PAYLOAD_TOO_LARGE, &reason));
                }
                let wanted = (bytes.len() + part.len()).div_ceil(BODY_UNIT_BYTES);
                let more = u32::try_from(wanted - units).unwrap_or(u32::MAX);
                let more = self.bodies.take(tenant, more);
                let more = more.ok_or_else(|| IngestAnswer::busy("too many bodies at once"))?;
                match &mut held {
                    Some(held) => held.merge(more),
                    None => held = Some(more),
                }
                units = wanted;
                bytes.extend_from_slice(&part);
            }
            Ok(())
        };
        match timeout(BODY_TIME_MAX, whole).await {
            Ok(read) => read.map(|()| (bytes, held)),
            Err(_) => {
                Err(IngestAnswer::error(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"))
            }
        }
    }

    fn authenticate(&self, headers: &HeaderMap) -> Result<&Tenant, IngestAnswer> {
        match &self.http.keys {
            Some(keys) => request_headers::authenticate_tenant(headers, keys),
            None => request_headers::check_same_origin(headers).map(|()| &self.http.config.tenant),
        }
    }

    /// A request that may be repeated: the first answer stands for a day. When it was first seen is written
    /// before anything is done and the answer after, so that a repetition after a crash does the same again.
    async fn answer_once(
        &self,
        sort: CloudEventSort,
        tenant: &Tenant,
        (attributes, body): (&RecordHeaders, &[u8]),
        key: &str,
    ) -> Result<IngestAnswer, IngestAnswer> {
        let store = &self.http.deps.room.store;
        let asked = IdempotentRequest::from_request(sort, attributes, body);
        // Two prefixes of one length: no key of a client's choice can run into the other sort of entry.
        let (seen_key, answer_key) = (format!("seen:{key}"), format!("said:{key}"));
        if let Some(stands) =
            store.find_answer(tenant, &answer_key, self.now()).await.map_err(IngestError::from)?
        {
            return check_same_request(asked, IdempotentRequest::decode_answer(&stands));
        }
        self.check_lag(sort).await?;
        let now = self.now();
        let seen = store
            .answer(tenant, &seen_key, asked.encode_first_seen(now), now)
            .await
            .map_err(IngestError::from)?;
        let first_seen = check_same_request(asked, IdempotentRequest::decode_first_seen(&seen))?;
        let answer = self.judge_body(sort, tenant, (attributes, body), first_seen).await?;
        let stands = store.answer(tenant, &answer_key, asked.encode_answer(&answer), self.now()).await;
        check_same_request(asked, IdempotentRequest::decode_answer(&stands.map_err(IngestError::from)?))
    }

    async fn judge_body(
        &self,
        sort: CloudEventSort,
        tenant: &Tenant,
        (attributes, body): (&RecordHeaders, &[u8]),
        first_seen: UtcMillis,
    ) -> Result<IngestAnswer, IngestAnswer> {
        let deps = &self.http.deps;
        let mut items = match read_items(attributes, body, &*deps.schemas).await {
            Ok(Ok(items)) => items,
            Err(reason) => return Err(IngestAnswer::busy(&reason)),
            Ok(Err(error)) => {
                deps.metrics.count_refused(IntakeWay::Http, 1);
                // An answer like any other: it is kept too.
                return Ok(IngestAnswer::unreadable(&error));
            }
        };
        let heard = items.iter_mut().filter_map(|item| Some((item.as_mut().ok()?, first_seen)));
        order::order_facts(heard);
        let mut judged =
            JudgedBody::judge(items, sort, (tenant, first_seen), &deps.room.catalogue, &deps.room.zones);
        self.quota.spend(tenant, judged.rows(), self.now()).map_err(IngestAnswer::over_quota)?;
        deps.metrics.count_refused(IntakeWay::Http, judged.rejected());
        let admitted = std::mem::take(&mut judged.admitted);
        let verdicts = apply_items(deps, IntakeWay::Http, admitted).await?;
        Ok(judged.answer(verdicts))
    }

    /// Whether those behind us keep up; asked once a second at most, for all requests that wait for the answer.
    /// What a person says of themselves makes next to no work for them, and who asks for no more mail is not
    /// told to come later.
    async fn check_lag(&self, sort: CloudEventSort) -> Result<(), IngestAnswer> {
        if sort != CloudEventSort::Change {
            return Ok(());
        }
        let mut measured = self.lag.lock().await;
        let behind = match *measured {
            Some((at, behind)) if (at..at.saturating_add(LAG_BELIEVED_MS)).contains(&self.now().0) => behind,
            _ => {
                let behind = self.measure_lag().await? > self.http.config.lag_records_max;
                *measured = Some((self.now().0, behind));
                behind
            }
        };
        if behind { Err(IngestAnswer::behind()) } else { Ok(()) }
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
            Ok(Err(CloudError { at: "/".to_owned(), reason: error.reason }))
        }
        Err(UpstreamError::Unreachable(reason)) => Err(reason),
    }
}

/// What stands under a key, if it stands there for the same request.
fn check_same_request<T>(
    asked: IdempotentRequest,
    stands: Option<(IdempotentRequest, T)>,
) -> Result<T, IngestAnswer> {
    match stands {
        Some((of, what)) if of == asked => Ok(what),
        Some(_) => Err(IdempotentRequest::mismatch()),
        None => {
            Err(IngestError::Broken("what is kept under an idempotency key cannot be read".to_owned()).into())
        }
    }
}
