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
use courier::back::{Posted, Provider, webhook};
use futures::{StreamExt as _, future::try_join_all};
use model::{Millis, Tenant};
use runtime::clock::Stopwatch;
use tokio::{sync::Mutex, time::timeout};
use topic::{Headers, port::Standing};
use wire::{
    Cloud, CloudError, Schemas,
    cloud::{BODY_BYTES_MAX, parse_many},
    upstream::{self, HTTP_PREFIX, Raw, Unread},
};

use crate::{
    admit::Sort,
    answer::{Answer, Asked, Judged},
    config::{BODIES_BYTES_MAX, BODY_TIME_MAX, Config, LAG_BELIEVED_MS, LAG_OF, REQUEST_TIME_MAX},
    door::{self, ApiKey},
    metrics::Way,
    order,
    permits::{Permit, Permits},
    quota::Quota,
    returns::Paths,
    run::{Ports, Trouble, apply, returned},
};

/// Says whether the disk is down to its reserve.
pub type DiskGauge = Arc<dyn Fn() -> bool + Send + Sync>;

/// What the HTTP way works with.
#[derive(Clone)]
pub struct Http {
    pub ports: Ports,
    pub config: Config,
    /// With keys, each request needs one, and it says whose changes these are. Without, they are the
    /// configured tenant's, and only the machine itself may reach the port.
    pub keys: Option<Vec<ApiKey>>,
    pub disk_low: DiskGauge,
}

/// The routes of the intake.
pub fn router(http: Http) -> Router {
    let paths = http.config.returns.clone();
    let requests = Permits::new(http.config.requests_max, tenants(&http));
    let bodies = Permits::new(BODIES_BYTES_MAX / BODY_UNIT_BYTES, tenants(&http));
    let quota = Quota::new(http.config.listed_rows_a_minute);
    let desk = Arc::new(Desk { http, requests, bodies, quota, lag: Mutex::new(None) });
    let mut router = Router::new();
    for sort in Sort::ALL {
        let take = move |State(desk): State<Arc<Desk>>, request: Request| async move {
            desk.take(sort, request).await
        };
        router = router.route(sort.path(), post(take));
    }
    if let Some(paths) = paths {
        for provider in Provider::ALL {
            let paths = paths.clone();
            let take = move |State(desk): State<Arc<Desk>>, request: Request| async move {
                desk.take_back(provider, &paths, request).await
            };
            router = router.route(&path(provider), post(take));
        }
    }
    router.with_state(desk)
}

/// Whose requests there can be.
fn tenants(http: &Http) -> Vec<Tenant> {
    match &http.keys {
        Some(keys) => keys.iter().map(|key| key.tenant().clone()).collect(),
        None => vec![http.config.tenant.clone()],
    }
}

/// Where a provider posts what came back.
fn path(provider: Provider) -> String {
    format!("/v1/returns/{}", provider.name())
}

/// Bytes of a body that are counted as one.
const BODY_UNIT_BYTES: usize = 1024;

struct Desk {
    http: Http,
    requests: Permits,
    /// What came of bodies, by this unit.
    bodies: Permits,
    quota: Quota,
    /// When the lag was measured, and whether it was too much. Locked while it is being measured.
    lag: Mutex<Option<(i64, bool)>>,
}

impl From<Trouble> for Answer {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Busy(reason) => Self::busy(&reason),
            Trouble::Full(reason) => Self::full(&reason),
            Trouble::Broken(reason) => {
                tracing::error!(reason, "a request failed");
                Self::error(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "an engine is broken; the log of the service says more",
                )
            }
        }
    }
}

impl Desk {
    async fn take(&self, sort: Sort, request: Request) -> Response {
        let _at_work = self.http.ports.quiet.worker();
        let watch = Stopwatch::start();
        let answer = match timeout(REQUEST_TIME_MAX, self.answer(sort, request)).await {
            Ok(Ok(answer) | Err(answer)) => answer,
            Err(_) => Answer::busy("this took too long; nothing was acknowledged"),
        };
        self.http.ports.metrics.answered(sort.path(), answer.status.as_str(), watch.elapsed());
        answer.into_response()
    }

    /// What can be said without the body comes first, and what needs the engines last.
    async fn answer(&self, sort: Sort, request: Request) -> Result<Answer, Answer> {
        let headers = request.headers().clone();
        let tenant = self.enter(&headers)?;
        door::media_type(&headers)?;
        let key = door::idempotency_key(&headers)?;
        let attributes = door::attributes(&headers);
        // Read to its end whatever the answer is: one before that would be followed by the end of the connection. Nobody is
        // at work for a body that does not come.
        let (body, _held) = self.read(tenant, request).await?;
        let _permit = self.permit(tenant)?;
        if (self.http.disk_low)() {
            return Err(Answer::full("the disk is down to its reserve"));
        }
        match key {
            None => {
                self.not_behind(sort).await?;
                self.judge(sort, tenant, (&attributes, &body), self.now()).await
            }
            Some(key) => self.once(sort, tenant, (&attributes, &body), key).await,
        }
    }

    /// What a provider tells: it says the same again until it hears that it was taken.
    async fn take_back(&self, provider: Provider, paths: &Paths, request: Request) -> Response {
        let _at_work = self.http.ports.quiet.worker();
        let watch = Stopwatch::start();
        let answer = match timeout(REQUEST_TIME_MAX, self.noted(provider, paths, request)).await {
            Ok(Ok(answer) | Err(answer)) => answer,
            Err(_) => Answer::busy("this took too long; nothing was acknowledged"),
        };
        self.http.ports.metrics.answered(&path(provider), answer.status.as_str(), watch.elapsed());
        let mut response = answer.into_response();
        if response.status() == StatusCode::UNAUTHORIZED {
            // Some show what they have only when they are asked for it.
            let asks = HeaderValue::from_static("Basic realm=\"tidings\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
        }
        response
    }

    async fn noted(&self, provider: Provider, paths: &Paths, request: Request) -> Result<Answer, Answer> {
        let tenant = match &self.http.keys {
            Some(keys) => door::provider(request.headers(), keys)?,
            None => door::same_origin(request.headers()).map(|()| self.http.config.tenant.clone())?,
        };
        let (body, _held) = self.read(&tenant, request).await?;
        let _permit = self.permit(&tenant)?;
        if (self.http.disk_low)() {
            return Err(Answer::full("the disk is down to its reserve"));
        }
        let came = match webhook(provider, &body) {
            Ok(Posted::Came(came)) => came,
            Ok(Posted::Confirm(address)) => {
                // Nothing is fetched that somebody names; whoever set the topic up opens it once.
                tracing::warn!(
                    address,
                    "Amazon SNS asks whether it may post here: open this address to confirm"
                );
                Vec::new()
            }
            Err(error) => return Err(Answer::error(StatusCode::BAD_REQUEST, &error.to_string())),
        };
        let taken = returned(&self.http.ports, provider.name(), paths, came).await?;
        Ok(Answer::taken(taken))
    }

    fn permit(&self, tenant: &Tenant) -> Result<Permit, Answer> {
        self.requests.take(tenant, 1).ok_or_else(|| Answer::busy("too many requests at once"))
    }

    /// A body, with what says that it is in memory: no more than has come of it.
    async fn read(&self, tenant: &Tenant, request: Request) -> Result<(Vec<u8>, Option<Permit>), Answer> {
        let (mut bytes, mut held): (Vec<u8>, Option<Permit>) = (Vec::new(), None);
        let mut units = 0;
        let mut parts = request.into_body().into_data_stream();
        let whole = async {
            while let Some(part) = parts.next().await {
                let part = part
                    .map_err(|_| Answer::error(StatusCode::BAD_REQUEST, "the body did not arrive whole"))?;
                if bytes.len() + part.len() > BODY_BYTES_MAX {
                    let reason = format!("the body has more than {BODY_BYTES_MAX} bytes");
                    return Err(Answer::error(StatusCode::PAYLOAD_TOO_LARGE, &reason));
                }
                let wanted = (bytes.len() + part.len()).div_ceil(BODY_UNIT_BYTES);
                let more = u32::try_from(wanted - units).unwrap_or(u32::MAX);
                let more = self.bodies.take(tenant, more);
                let more = more.ok_or_else(|| Answer::busy("too many bodies at once"))?;
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
            Err(_) => Err(Answer::error(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive")),
        }
    }

    fn enter(&self, headers: &HeaderMap) -> Result<&Tenant, Answer> {
        match &self.http.keys {
            Some(keys) => door::tenant(headers, keys),
            None => door::same_origin(headers).map(|()| &self.http.config.tenant),
        }
    }

    /// A request that may be repeated: the first answer stands for a day. When it was first seen is written
    /// before anything is done and the answer after, so that a repetition after a crash does the same again.
    async fn once(
        &self,
        sort: Sort,
        tenant: &Tenant,
        (attributes, body): (&Headers, &[u8]),
        key: &str,
    ) -> Result<Answer, Answer> {
        let store = &self.http.ports.store;
        let asked = Asked::of(sort, attributes, body);
        // Two prefixes of one length: no key of a client's choice can run into the other sort of entry.
        let (seen_key, answer_key) = (format!("seen:{key}"), format!("said:{key}"));
        if let Some(stands) = store.answered(tenant, &answer_key, self.now()).await.map_err(Trouble::from)? {
            return same(asked, Asked::read_answered(&stands));
        }
        self.not_behind(sort).await?;
        let now = self.now();
        let seen = store.answer(tenant, &seen_key, asked.seen(now), now).await.map_err(Trouble::from)?;
        let first_seen = same(asked, Asked::read_seen(&seen))?;
        let answer = self.judge(sort, tenant, (attributes, body), first_seen).await?;
        let stands = store.answer(tenant, &answer_key, asked.answered(&answer), self.now()).await;
        same(asked, Asked::read_answered(&stands.map_err(Trouble::from)?))
    }

    async fn judge(
        &self,
        sort: Sort,
        tenant: &Tenant,
        (attributes, body): (&Headers, &[u8]),
        first_seen: Millis,
    ) -> Result<Answer, Answer> {
        let ports = &self.http.ports;
        let mut items = match items(attributes, body, &*ports.schemas).await {
            Ok(Ok(items)) => items,
            Err(reason) => return Err(Answer::busy(&reason)),
            Ok(Err(error)) => {
                ports.metrics.refused(Way::Http, 1);
                // An answer like any other: it is kept too.
                return Ok(Answer::unreadable(&error));
            }
        };
        let heard = items.iter_mut().filter_map(|item| Some((item.as_mut().ok()?, first_seen)));
        order::of_facts(heard);
        let mut judged = Judged::of(items, sort, (tenant, first_seen), &ports.catalogue, &ports.zones);
        self.quota.spend(tenant, judged.rows(), self.now()).map_err(Answer::over_quota)?;
        ports.metrics.refused(Way::Http, judged.rejected());
        let admitted = std::mem::take(&mut judged.admitted);
        let verdicts = apply(ports, Way::Http, admitted).await?;
        Ok(judged.answer(verdicts))
    }

    /// Whether those behind us keep up; asked once a second at most, for all requests that wait for the answer.
    /// What a person says of themselves makes next to no work for them, and who asks for no more mail is not
    /// told to come later.
    async fn not_behind(&self, sort: Sort) -> Result<(), Answer> {
        if sort != Sort::Change {
            return Ok(());
        }
        let mut measured = self.lag.lock().await;
        let behind = match *measured {
            Some((at, behind)) if (at..at.saturating_add(LAG_BELIEVED_MS)).contains(&self.now().0) => behind,
            _ => {
                let behind = self.lag().await? > self.http.config.lag_records_max;
                *measured = Some((self.now().0, behind));
                behind
            }
        };
        if behind { Err(Answer::behind()) } else { Ok(()) }
    }

    async fn lag(&self) -> Result<u64, Trouble> {
        let standings = LAG_OF.map(|(group, topic, _)| self.http.ports.topics.standing(group, topic));
        let standings = try_join_all(standings).await?;
        let of_each = standings.iter().map(|all| all.iter().map(Standing::lag).sum::<u64>());
        Ok(of_each.zip(LAG_OF).map(|(lag, (.., counts))| lag.saturating_mul(counts)).sum())
    }

    fn now(&self) -> Millis {
        Millis(self.http.ports.clock.now())
    }
}

/// What a body brings: one change with its attributes in headers, one in Avro, or any number in JSON. Fails
/// if nobody can say now.
async fn items(
    attributes: &Headers,
    body: &[u8],
    schemas: &dyn Schemas,
) -> Result<Result<Vec<Result<Cloud, CloudError>>, CloudError>, String> {
    let read = if !attributes.is_empty() {
        upstream::binary(attributes, HTTP_PREFIX, Some(body), schemas).await
    } else if upstream::is_avro(body) {
        upstream::change(Raw { headers: &[], key: &[], value: Some(body) }, schemas).await
    } else {
        return Ok(parse_many(body));
    };
    match read {
        Ok(one) => Ok(Ok(vec![Ok(one)])),
        Err(Unread::Undecodable(error)) => Ok(Err(CloudError { at: "/".to_owned(), reason: error.reason })),
        Err(Unread::Unreachable(reason)) => Err(reason),
    }
}

/// What stands under a key, if it stands there for the same request.
fn same<T>(asked: Asked, stands: Option<(Asked, T)>) -> Result<T, Answer> {
    match stands {
        Some((of, what)) if of == asked => Ok(what),
        Some(_) => Err(Asked::mismatch()),
        None => {
            Err(Trouble::Broken("what is kept under an idempotency key cannot be read".to_owned()).into())
        }
    }
}
