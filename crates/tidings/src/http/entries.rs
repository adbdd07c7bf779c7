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
    answer::Answer,
    door,
    permits::{Permit, Permits},
};
use listener::http::holding;
use model::{Day, Millis, Person, Tenant, limits::AHEAD_MS_MAX};
use sha2::{Digest as _, Sha256};
use store::StoreError;
use tokio::time::timeout;

use super::App;
use crate::{
    config::ApiKey,
    days::{self, DAYS_MAX},
    entries::{Cursor, DAYS_BACK, PAGE_ENTRIES, PAGE_ENTRIES_MAX, page},
};

/// Requests that are worked on at once, until their answers have been read. Each may hold all days of a person.
const REQUESTS_MAX: usize = 64;
/// Bytes of an ETag's hash; it is shown as hexadecimal digits.
const ETAG_BYTES: usize = 16;
/// A client asks each time, and mostly hears that nothing has changed.
const CACHE: HeaderValue = HeaderValue::from_static("private, no-cache");

struct Desk {
    app: Arc<App>,
    /// With keys, each request needs one, and it says whose persons these are.
    keys: Option<Vec<ingest::ApiKey>>,
    requests: Permits,
}

pub fn routes(app: &Arc<App>, keys: &[ApiKey]) -> Router {
    let key = |key: &ApiKey| ingest::ApiKey::new(&key.key, key.tenant.clone());
    let keys: Option<Vec<_>> = (!keys.is_empty()).then(|| keys.iter().map(key).collect());
    let tenants = keys.iter().flatten().map(|key| key.tenant().clone());
    let desk = Desk { app: app.clone(), requests: Permits::new(REQUESTS_MAX, tenants), keys };
    Router::new().route("/v1/people/{id}/entries", get(entries)).with_state(Arc::new(desk))
}

/// As it stands in the address.
#[derive(Debug, Default)]
struct Asked {
    since: Option<String>,
    limit: Option<String>,
    days: Option<String>,
}

/// Characters of a name from outside that an answer quotes.
const QUOTED_CHARS_MAX: usize = 60;

impl Asked {
    /// The parameters of an address, each once.
    fn of(parameters: Vec<(String, String)>) -> Result<Self, Answer> {
        let mut asked = Self::default();
        for (name, value) in parameters {
            let parameter = match name.as_str() {
                "since" => &mut asked.since,
                "limit" => &mut asked.limit,
                "days" => &mut asked.days,
                other => {
                    let other: String = other.chars().take(QUOTED_CHARS_MAX).collect();
                    return Err(bad(format!("there is no parameter `{other}`: there is since, limit, days")));
                }
            };
            if parameter.replace(value).is_some() {
                return Err(bad(format!("{name}: it is given twice")));
            }
        }
        Ok(asked)
    }
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    person: Person,
    cursor: Cursor,
    most: usize,
    back: i32,
}

async fn entries(
    State(desk): State<Arc<Desk>>,
    id: Result<Path<String>, PathRejection>,
    asked: Result<Query<Vec<(String, String)>>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    match desk.answer(id, asked, &headers).await {
        Ok((body, permit)) => holding(whole_or_unchanged(body, &headers), permit),
        Err(answer) => answer.into_response(),
    }
}

impl Desk {
    async fn answer(
        &self,
        id: Result<Path<String>, PathRejection>,
        asked: Result<Query<Vec<(String, String)>>, QueryRejection>,
        headers: &HeaderMap,
    ) -> Result<(String, Permit), Answer> {
        let tenant = match &self.keys {
            Some(keys) => door::tenant(headers, keys)?,
            None => door::same_origin(headers).map(|()| &self.app.tenant)?,
        };
        let Path(id) = id.map_err(|_| bad("the person's id is no text in UTF-8, percent-encoded"))?;
        let Query(asked) = asked.map_err(|_| bad("the parameters of the address cannot be read"))?;
        let wanted = wanted(&id, Asked::of(asked)?)?;
        let permit = self.requests.take(tenant, 1);
        let permit = permit.ok_or_else(|| Answer::busy("too many requests at once"))?;
        match timeout(ingest::config::REQUEST_TIME_MAX, self.read(tenant, wanted)).await {
            Ok(Ok(body)) => Ok((body, permit)),
            Ok(Err(error)) => Err(trouble(&error)),
            Err(_) => Err(Answer::busy("this took too long")),
        }
    }

    async fn read(&self, tenant: &Tenant, wanted: Wanted) -> anyhow::Result<String> {
        let Wanted { person, cursor, most, back } = wanted;
        let (app, now) = (&self.app, self.app.now());
        let read =
            days::read(&*app.house.engines().store, tenant, &person, back, now, Some(&app.catalogue)).await?;
        let days = read.days.into_iter().rev();
        let days: Vec<_> = days.filter_map(|one| Some((Day::parse(&one.day)?, one.entries))).collect();
        let newest = newest(now);
        let page = page(&days, &(newest.plus(-DAYS_MAX)..=newest), cursor, most);
        Ok(serde_json::to_string(&page)?)
    }
}

/// The day in which the newest entries can be: an event may be a little ahead.
fn newest(now: Millis) -> Day {
    Day::of(now.plus(AHEAD_MS_MAX))
}

fn bad(reason: impl AsRef<str>) -> Answer {
    Answer::error(StatusCode::BAD_REQUEST, reason.as_ref())
}

fn wanted(id: &str, asked: Asked) -> Result<Wanted, Answer> {
    let person = Person::new(id).map_err(|error| bad(error.to_string()))?;
    // Left empty, it is as if it was left out: a client without a cursor has an empty text.
    let cursor = match asked.since.as_deref() {
        None | Some("") => Cursor::default(),
        Some(text) => Cursor::parse(text).map_err(|error| bad(format!("since: {error}")))?,
    };
    let most = match asked.limit {
        None => PAGE_ENTRIES,
        Some(text) => text
            .parse()
            .ok()
            .filter(|most| (1..=PAGE_ENTRIES_MAX).contains(most))
            .ok_or_else(|| bad(format!("limit: it is a number from 1 to {PAGE_ENTRIES_MAX}")))?,
    };
    let back = match asked.days {
        None => DAYS_BACK,
        Some(text) => {
            days::since(&text).ok_or_else(|| bad(format!("days: it is a number from 0 to {DAYS_MAX}")))?
        }
    };
    Ok(Wanted { person, cursor, most, back })
}

fn trouble(error: &anyhow::Error) -> Answer {
    if let Some(StoreError::Busy(_)) = error.downcast_ref() {
        return Answer::busy("the store is busy");
    }
    tracing::error!(error = format!("{error:#}"), "a person's entries could not be read");
    let reason = "an engine is broken; the log of the service says more";
    Answer::error(StatusCode::INTERNAL_SERVER_ERROR, reason)
}

/// The body, unless the client has it already.
fn whole_or_unchanged(body: String, headers: &HeaderMap) -> Response {
    let hash = Sha256::digest(&body);
    let digits: String = hash.iter().take(ETAG_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{digits}\"");
    let common = [(header::CACHE_CONTROL, CACHE), (header::VARY, HeaderValue::from_static("authorization"))];
    let tag = [(header::ETAG, etag.as_str())];
    if has(headers, &etag) {
        return (StatusCode::NOT_MODIFIED, common, tag).into_response();
    }
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (common, tag, json, body).into_response()
}

/// Whether the client says that it has this. Weak tags are compared as strong ones: RFC 9110, 13.1.2.
fn has(headers: &HeaderMap, etag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|text| text.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(since: Option<&str>, limit: Option<&str>, days: Option<&str>) -> Asked {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Asked { since: owned(since), limit: owned(limit), days: owned(days) }
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        let check = |id: &str, asked: Asked, expect: Result<(usize, i32), &str>| {
            let found = wanted(id, asked);
            match (found, expect) {
                (Ok(wanted), Ok(expect)) => assert_eq!((wanted.most, wanted.back), expect),
                (Err(answer), Err(reason)) => assert!(answer.body.contains(reason), "{}", answer.body),
                (found, expect) => panic!("{found:?}, expected {expect:?}"),
            }
        };
        check("ann", asked(None, None, None), Ok((100, 7)));
        check("ann", asked(Some(""), Some("500"), Some("21d")), Ok((500, 21)));
        check("ann", asked(None, Some("1"), Some("0")), Ok((1, 0)));
        for limit in ["0", "501", "-1", "many", "", "99999999999999999999"] {
            check("ann", asked(None, Some(limit), None), Err("limit: "));
        }
        for days in ["22", "-1", "week", ""] {
            check("ann", asked(None, None, Some(days)), Err("days: "));
        }
        check("ann", asked(Some("nonsense!"), None, None), Err("since: this is no cursor"));
        check("", asked(None, None, None), Err(""));
        check("a\u{0}b", asked(None, None, None), Err(""));
        check(&"a".repeat(129), asked(None, None, None), Err("128"));
    }

    #[test]
    fn who_has_it_is_not_sent_it() {
        let check = |lines: &[&str], expect: bool| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(line).unwrap());
            }
            assert_eq!(has(&headers, "\"a1\""), expect, "{lines:?}");
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
