//! `GET /v1/people/{id}/entries`: a person's entries for clients that poll. Under the API keys of the way in, or a token of
//! the person.

use std::sync::Arc;

use aide::{
    OperationInput,
    axum::{ApiRouter, routing::get_with},
    generate::GenContext,
    openapi::{Operation, Parameter, PathStyle, QueryStyle},
    operation::add_parameters,
};
use axum::{
    extract::{FromRequestParts, Path, Query, State},
    http::{HeaderMap, request::Parts},
    middleware::from_fn_with_state,
};
use house_facts::KeyScope;
use listener::http::hold_until_read;
use model::{
    Day, Person, Tenant, UtcMillis,
    limits::{AHEAD_MS_MAX, ID_BYTES_MAX},
};
use schemars::{Schema, json_schema};
use store::StoreError;
use tokio::time::timeout;
use views::{
    days,
    entries::{DAYS_BACK, EntryCursor, EntryPage, LISTED_DAYS_MAX, PAGE_ENTRIES, PAGE_ENTRIES_MAX, cut_page},
};
use web::{
    HttpProblem, ProblemType,
    cross_origin::{CrossOriginRule, answer_other_origins},
    description::{OperationAccess, OperationDoc, describe_operation, header_parameter, parameter_data},
    etag::CachedJson,
    limits::REQUEST_TIME_MAX,
    pagination::{CURSOR, LIMIT, ListParams},
    permits::{TenantPermit, TenantPermits},
    person_access::PersonDoor,
};

use super::HttpApp;

/// Requests that are worked on at once, until their answers have been read. Each may hold all days of a person.
const REQUESTS_MAX: usize = 64;
/// Characters of a cursor, as clients may rely on it.
const CURSOR_CHARS_MAX: usize = 1_200;
/// The parameter that says how many days back are read.
const DAYS: &str = "days";

struct EntriesService {
    app: Arc<HttpApp>,
    door: PersonDoor,
    requests: TenantPermits,
}

pub fn routes(app: &Arc<HttpApp>) -> ApiRouter {
    let door = app.person_door();
    let has_others = {
        let door = door.clone();
        move |tenant: &Tenant| door.has_others(tenant)
    };
    let requests = TenantPermits::new(REQUESTS_MAX, Box::new(has_others));
    let desk = EntriesService { app: app.clone(), door, requests };
    let sites = CrossOriginRule { persons: app.persons.clone(), methods: "GET, HEAD" };
    let doc = OperationDoc {
        id: "getEntries",
        summary: "A person's entries, for clients that poll",
        access: OperationAccess::KeyOrPerson,
        problems: &[ProblemType::Forbidden],
    };
    let entries = get_with(entries, describe_operation(doc));
    ApiRouter::new()
        .api_route("/v1/people/{id}/entries", entries)
        .layer(from_fn_with_state(sites, answer_other_origins))
        .with_state(Arc::new(desk))
}

/// Whose entries are asked for, and which of them: as it stands in the address, judged after the key.
struct EntriesAddress {
    id: Result<String, HttpProblem>,
    params: Result<ListParams, HttpProblem>,
}

impl<S: Send + Sync> FromRequestParts<S> for EntriesAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        let id = id
            .map(|Path(id)| id)
            .map_err(|_| HttpProblem::bad_request("the person's id is not percent-encoded UTF-8"));
        let asked = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        Ok(Self { id, params: ListParams::parse(asked, &[CURSOR, LIMIT, DAYS]) })
    }
}

impl OperationInput for EntriesAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let query = |name, schema: Schema| Parameter::Query {
            parameter_data: parameter_data(name, false, schema),
            allow_reserved: false,
            style: QueryStyle::Form,
            allow_empty_value: None,
        };
        let person = json_schema!({"type": "string", "minLength": 1, "maxLength": ID_BYTES_MAX});
        let since = json_schema!({
            "type": "string", "maxLength": CURSOR_CHARS_MAX,
            "description": "the `next` of the answer before; left out or empty at the beginning",
        });
        let limit = json_schema!({
            "type": "integer", "minimum": 1, "maximum": PAGE_ENTRIES_MAX, "default": PAGE_ENTRIES,
            "description": "entries of an answer; one that would exceed 512 KiB has fewer",
        });
        let days = json_schema!({
            "type": "integer", "minimum": 0, "maximum": LISTED_DAYS_MAX, "default": DAYS_BACK,
            "description": "how many days back, 0 is today",
        });
        let parameters = [
            Parameter::Path { parameter_data: parameter_data("id", true, person), style: PathStyle::Simple },
            query(CURSOR, since),
            query(LIMIT, limit),
            query(DAYS, days),
            header_parameter("If-None-Match", json_schema!({"type": "string"})),
        ];
        add_parameters(context, operation, parameters);
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
    address: EntriesAddress,
    headers: HeaderMap,
) -> Result<CachedJson<EntryPage<'static>>, HttpProblem> {
    let (body, permit) = desk.answer(address, &headers).await?;
    Ok(CachedJson::from_body(body, &headers).map(|response| hold_until_read(response, permit)))
}

impl EntriesService {
    async fn answer(
        &self,
        address: EntriesAddress,
        headers: &HeaderMap,
    ) -> Result<(String, TenantPermit), HttpProblem> {
        let caller = self.door.authenticate(headers, KeyScope::Read, self.app.now())?;
        let EntriesAddress { id, params } = address;
        let wanted = parse_request(&id?, &params?)?;
        caller.check_person(&wanted.person)?;
        let tenant = caller.tenant();
        let permit = self.requests.take(tenant, 1);
        let permit = permit.ok_or_else(|| HttpProblem::busy("too many requests at once"))?;
        match timeout(REQUEST_TIME_MAX, self.read_page(tenant, wanted)).await {
            Ok(Ok(body)) => Ok((body, permit)),
            Ok(Err(error)) => Err(describe_failure(error)),
            Err(_) => Err(HttpProblem::busy("the request took too long")),
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
        let page = cut_page(&days, &(newest.plus(-LISTED_DAYS_MAX)..=newest), cursor, most);
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
        Some(text) => {
            days::parse_days_back(text).filter(|days| *days <= LISTED_DAYS_MAX).ok_or_else(|| {
                HttpProblem::bad_request(format_args!(
                    "{DAYS}: it must be a number from 0 to {LISTED_DAYS_MAX}"
                ))
            })?
        }
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
        check("ann", list_params(Some("nonsense!"), None, None), Err("since: it is not a valid cursor"));
        check("", list_params(None, None, None), Err(""));
        check("a\u{0}b", list_params(None, None, None), Err(""));
        check(&"a".repeat(129), list_params(None, None, None), Err("128"));
    }
}
