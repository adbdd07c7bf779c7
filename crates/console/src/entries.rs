//! `GET /v1/people/{id}/entries`: a person's entries for clients that poll. Under the API keys of the way in.

use std::sync::Arc;

use axum::{
    Router,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use ingest::{
    answer::IngestAnswer,
    permits::{TenantPermit, TenantPermits},
    request_headers,
};
use listener::http::hold_until_read;
use model::{Day, Person, Tenant, UtcMillis, limits::AHEAD_MS_MAX};
use settings::config::ApiKeyConfig;
use sha2::{Digest as _, Sha256};
use store::StoreError;
use tokio::time::timeout;
use views::{
    days::{self, DAYS_MAX},
    entries::{DAYS_BACK, EntryCursor, PAGE_ENTRIES, PAGE_ENTRIES_MAX, cut_page},
};

use super::HttpApp;

/// Requests that are worked on at once, until their answers have been read. Each may hold all days of a person.
const REQUESTS_MAX: usize = 64;
/// Bytes of an ETag's hash; it is shown as hexadecimal digits.
const ETAG_BYTES: usize = 16;
/// A client asks each time, and mostly hears that nothing has changed.
const CACHE: HeaderValue = HeaderValue::from_static("private, no-cache");

struct EntriesService {
    app: Arc<HttpApp>,
    /// With keys, each request needs one, and it says whose persons these are.
    keys: Option<Vec<ingest::IngestApiKey>>,
    requests: TenantPermits,
}

pub fn routes(app: &Arc<HttpApp>, keys: &[ApiKeyConfig]) -> Router {
    let key = |key: &ApiKeyConfig| ingest::IngestApiKey::new(&key.key, key.tenant.clone());
    let keys: Option<Vec<_>> = (!keys.is_empty()).then(|| keys.iter().map(key).collect());
    let tenants = keys.iter().flatten().map(|key| key.tenant().clone());
    let desk = EntriesService { app: app.clone(), requests: TenantPermits::new(REQUESTS_MAX, tenants), keys };
    Router::new().route("/v1/people/{id}/entries", get(entries)).with_state(Arc::new(desk))
}

/// As it stands in the address.
#[derive(Debug, Default)]
struct EntriesParams {
    since: Option<String>,
    limit: Option<String>,
    days: Option<String>,
}

/// Characters of a name from outside that an answer quotes.
const QUOTED_CHARS_MAX: usize = 60;

impl EntriesParams {
    /// The parameters of an address, each once.
    fn from_parameters(parameters: Vec<(String, String)>) -> Result<Self, IngestAnswer> {
        let mut asked = Self::default();
        for (name, value) in parameters {
            let parameter = match name.as_str() {
                "since" => &mut asked.since,
                "limit" => &mut asked.limit,
                "days" => &mut asked.days,
                other => {
                    let other: String = other.chars().take(QUOTED_CHARS_MAX).collect();
                    return Err(refuse_parameter(format!(
                        "there is no parameter `{other}`: there is since, limit, days"
                    )));
                }
            };
            if parameter.replace(value).is_some() {
                return Err(refuse_parameter(format!("{name}: it is given twice")));
            }
        }
        Ok(asked)
    }
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct EntriesRequest {
    person: Person,
    cursor: EntryCursor,
    most: usize,
    back: i32,
}

async fn entries(
    State(desk): State<Arc<EntriesService>>,
    id: Result<Path<String>, PathRejection>,
    asked: Result<Query<Vec<(String, String)>>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    match desk.answer(id, asked, &headers).await {
        Ok((body, permit)) => hold_until_read(whole_or_unchanged(body, &headers), permit),
        Err(answer) => answer.into_response(),
    }
}

impl EntriesService {
    async fn answer(
        &self,
        id: Result<Path<String>, PathRejection>,
        asked: Result<Query<Vec<(String, String)>>, QueryRejection>,
        headers: &HeaderMap,
    ) -> Result<(String, TenantPermit), IngestAnswer> {
        let tenant = match &self.keys {
            Some(keys) => request_headers::authenticate_tenant(headers, keys)?,
            None => request_headers::check_same_origin(headers).map(|()| &self.app.tenant)?,
        };
        let Path(id) =
            id.map_err(|_| refuse_parameter("the person's id is no text in UTF-8, percent-encoded"))?;
        let Query(asked) =
            asked.map_err(|_| refuse_parameter("the parameters of the address cannot be read"))?;
        let wanted = parse_request(&id, EntriesParams::from_parameters(asked)?)?;
        let permit = self.requests.take(tenant, 1);
        let permit = permit.ok_or_else(|| IngestAnswer::busy("too many requests at once"))?;
        match timeout(ingest::config::REQUEST_TIME_MAX, self.read_page(tenant, wanted)).await {
            Ok(Ok(body)) => Ok((body, permit)),
            Ok(Err(error)) => Err(answer_failure(&error)),
            Err(_) => Err(IngestAnswer::busy("this took too long")),
        }
    }

    async fn read_page(&self, tenant: &Tenant, wanted: EntriesRequest) -> anyhow::Result<String> {
        let EntriesRequest { person, cursor, most, back } = wanted;
        let (app, now) = (&self.app, self.app.now());
        let read =
            days::read_days(&*app.house.engines().store, tenant, &person, back, now, Some(&app.catalogue))
                .await?;
        let days = read.days.into_iter().rev();
        let days: Vec<_> = days.filter_map(|one| Some((Day::parse(&one.day)?, one.entries))).collect();
        let newest = newest(now);
        let page = cut_page(&days, &(newest.plus(-DAYS_MAX)..=newest), cursor, most);
        Ok(serde_json::to_string(&page)?)
    }
}

/// The day in which the newest entries can be: an event may be a little ahead.
fn newest(now: UtcMillis) -> Day {
    Day::from_instant(now.plus(AHEAD_MS_MAX))
}

fn refuse_parameter(reason: impl AsRef<str>) -> IngestAnswer {
    IngestAnswer::error(StatusCode::BAD_REQUEST, reason.as_ref())
}

fn parse_request(id: &str, asked: EntriesParams) -> Result<EntriesRequest, IngestAnswer> {
    let person = Person::new(id).map_err(|error| refuse_parameter(error.to_string()))?;
    // Left empty, it is as if it was left out: a client without a cursor has an empty text.
    let cursor = match asked.since.as_deref() {
        None | Some("") => EntryCursor::default(),
        Some(text) => {
            EntryCursor::parse(text).map_err(|error| refuse_parameter(format!("since: {error}")))?
        }
    };
    let most = match asked.limit {
        None => PAGE_ENTRIES,
        Some(text) => {
            text.parse().ok().filter(|most| (1..=PAGE_ENTRIES_MAX).contains(most)).ok_or_else(|| {
                refuse_parameter(format!("limit: it is a number from 1 to {PAGE_ENTRIES_MAX}"))
            })?
        }
    };
    let back = match asked.days {
        None => DAYS_BACK,
        Some(text) => days::parse_days_back(&text)
            .ok_or_else(|| refuse_parameter(format!("days: it is a number from 0 to {DAYS_MAX}")))?,
    };
    Ok(EntriesRequest { person, cursor, most, back })
}

fn answer_failure(error: &anyhow::Error) -> IngestAnswer {
    if let Some(StoreError::Busy(_)) = error.downcast_ref() {
        return IngestAnswer::busy("the store is busy");
    }
    tracing::error!(error = format!("{error:#}"), "a person's entries could not be read");
    let reason = "an engine is broken; the log of the service says more";
    IngestAnswer::error(StatusCode::INTERNAL_SERVER_ERROR, reason)
}

/// The body, unless the client has it already.
fn whole_or_unchanged(body: String, headers: &HeaderMap) -> Response {
    let hash = Sha256::digest(&body);
    let digits: String = hash.iter().take(ETAG_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{digits}\"");
    let common = [(header::CACHE_CONTROL, CACHE), (header::VARY, HeaderValue::from_static("authorization"))];
    let tag = [(header::ETAG, etag.as_str())];
    if is_cached(headers, &etag) {
        return (StatusCode::NOT_MODIFIED, common, tag).into_response();
    }
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (common, tag, json, body).into_response()
}

/// Whether the client says that it has this. Weak tags are compared as strong ones: RFC 9110, 13.1.2.
fn is_cached(headers: &HeaderMap, etag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|text| text.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries_params(since: Option<&str>, limit: Option<&str>, days: Option<&str>) -> EntriesParams {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        EntriesParams { since: owned(since), limit: owned(limit), days: owned(days) }
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        let check = |id: &str, asked: EntriesParams, expect: Result<(usize, i32), &str>| {
            let found = parse_request(id, asked);
            match (found, expect) {
                (Ok(wanted), Ok(expect)) => assert_eq!((wanted.most, wanted.back), expect),
                (Err(answer), Err(reason)) => assert!(answer.body.contains(reason), "{}", answer.body),
                (found, expect) => panic!("{found:?}, expected {expect:?}"),
            }
        };
        check("ann", entries_params(None, None, None), Ok((100, 7)));
        check("ann", entries_params(Some(""), Some("500"), Some("21d")), Ok((500, 21)));
        check("ann", entries_params(None, Some("1"), Some("0")), Ok((1, 0)));
        for limit in ["0", "501", "-1", "many", "", "99999999999999999999"] {
            check("ann", entries_params(None, Some(limit), None), Err("limit: "));
        }
        for days in ["22", "-1", "week", ""] {
            check("ann", entries_params(None, None, Some(days)), Err("days: "));
        }
        check("ann", entries_params(Some("nonsense!"), None, None), Err("since: this is no cursor"));
        check("", entries_params(None, None, None), Err(""));
        check("a\u{0}b", entries_params(None, None, None), Err(""));
        check(&"a".repeat(129), entries_params(None, None, None), Err("128"));
    }

    #[test]
    fn who_has_it_is_not_sent_it() {
        let check = |lines: &[&str], expect: bool| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(line).unwrap());
            }
            assert_eq!(is_cached(&headers, "\"a1\""), expect, "{lines:?}");
        };
        check(&[], false);
        check(&["\"a1\""], true);
        check(&["W/\"a1\""], true);
        check(&["*"], true);
        check(&["\"b2\", \"a1\""], true);
        check(&["\"b2\"", "\"a1\""], true);
        check(&["a1"], false);
        check(&["\"a\"", "\"a11\"", ""], false);
    }
}
