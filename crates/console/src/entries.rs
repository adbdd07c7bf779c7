//! `GET /v1/people/{id}/entries`: a person's entries for clients that poll. Under the API keys of the way in.

use std::sync::Arc;

use axum::{
    Router,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::HeaderMap,
    response::Response,
    routing::get,
};
use listener::http::hold_until_read;
use model::{Day, Person, Tenant, UtcMillis, limits::AHEAD_MS_MAX};
use settings::config::ApiKeyConfig;
use store::StoreError;
use tokio::time::timeout;
use views::{
    days::{self, DAYS_MAX},
    entries::{DAYS_BACK, EntryCursor, PAGE_ENTRIES, PAGE_ENTRIES_MAX, cut_page},
};
use web::{
    HttpProblem,
    api_key::TenantAccess,
    etag::whole_or_unchanged,
    limits::REQUEST_TIME_MAX,
    pagination::{CURSOR, LIMIT, ListParams},
    permits::{TenantPermit, TenantPermits},
};

use super::HttpApp;

/// Requests that are worked on at once, until their answers have been read. Each may hold all days of a person.
const REQUESTS_MAX: usize = 64;
/// The parameter that says how many days back are looked at.
const DAYS: &str = "days";

struct EntriesService {
    app: Arc<HttpApp>,
    access: TenantAccess,
    requests: TenantPermits,
}

pub fn routes(app: &Arc<HttpApp>, keys: &[ApiKeyConfig]) -> Router {
    let access = app.access(keys);
    let requests = TenantPermits::new(REQUESTS_MAX, access.known_tenants());
    let desk = EntriesService { app: app.clone(), access, requests };
    Router::new().route("/v1/people/{id}/entries", get(entries)).with_state(Arc::new(desk))
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
) -> Result<Response, HttpProblem> {
    let (body, permit) = desk.answer(id, asked, &headers).await?;
    Ok(hold_until_read(whole_or_unchanged(body, &headers), permit))
}

impl EntriesService {
    async fn answer(
        &self,
        id: Result<Path<String>, PathRejection>,
        asked: Result<Query<Vec<(String, String)>>, QueryRejection>,
        headers: &HeaderMap,
    ) -> Result<(String, TenantPermit), HttpProblem> {
        let tenant = self.access.authenticate(headers)?;
        let Path(id) =
            id.map_err(|_| HttpProblem::bad_request("the person's id is no text in UTF-8, percent-encoded"))?;
        let wanted = parse_request(&id, &ListParams::parse(asked, &[CURSOR, LIMIT, DAYS])?)?;
        let permit = self.requests.take(tenant, 1);
        let permit = permit.ok_or_else(|| HttpProblem::busy("too many requests at once"))?;
        match timeout(REQUEST_TIME_MAX, self.read_page(tenant, wanted)).await {
            Ok(Ok(body)) => Ok((body, permit)),
            Ok(Err(error)) => Err(describe_failure(error)),
            Err(_) => Err(HttpProblem::busy("this took too long")),
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

fn parse_request(id: &str, asked: &ListParams) -> Result<EntriesRequest, HttpProblem> {
    let person = Person::new(id).map_err(HttpProblem::bad_request)?;
    let cursor = asked.cursor(EntryCursor::parse)?;
    let most = asked.limit(1..=PAGE_ENTRIES_MAX, PAGE_ENTRIES)?;
    let back = match asked.text(DAYS) {
        None => DAYS_BACK,
        Some(text) => days::parse_days_back(text).ok_or_else(|| {
            HttpProblem::bad_request(format_args!("{DAYS}: it is a number from 0 to {DAYS_MAX}"))
        })?,
    };
    Ok(EntriesRequest { person, cursor, most, back })
}

fn describe_failure(error: anyhow::Error) -> HttpProblem {
    match error.downcast_ref() {
        Some(StoreError::Busy(_)) => HttpProblem::busy("the store is busy"),
        _ => HttpProblem::internal(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_params(since: Option<&str>, limit: Option<&str>, days: Option<&str>) -> ListParams {
        let given = [(CURSOR, since), (LIMIT, limit), (DAYS, days)];
        let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        ListParams::parse(Ok(Query(given.collect())), &[CURSOR, LIMIT, DAYS]).unwrap()
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        let check = |id: &str, asked: ListParams, expect: Result<(usize, i32), &str>| {
            let found = parse_request(id, &asked);
            match (found, expect) {
                (Ok(wanted), Ok(expect)) => assert_eq!((wanted.most, wanted.back), expect),
                (Err(problem), Err(reason)) => assert!(problem.detail.contains(reason), "{problem:?}"),
                (found, expect) => panic!("{found:?}, expected {expect:?}"),
            }
        };
        check("ann", list_params(None, None, None), Ok((100, 7)));
        check("ann", list_params(Some(""), Some("500"), Some("21d")), Ok((500, 21)));
        check("ann", list_params(None, Some("1"), Some("0")), Ok((1, 0)));
        for limit in ["0", "501", "-1", "many", "", "99999999999999999999"] {
            check("ann", list_params(None, Some(limit), None), Err("limit: "));
        }
        for days in ["22", "-1", "week", ""] {
            check("ann", list_params(None, None, Some(days)), Err("days: "));
        }
        check("ann", list_params(Some("nonsense!"), None, None), Err("since: this is no cursor"));
        check("", list_params(None, None, None), Err(""));
        check("a\u{0}b", list_params(None, None, None), Err(""));
        check(&"a".repeat(129), list_params(None, None, None), Err("128"));
    }
}
