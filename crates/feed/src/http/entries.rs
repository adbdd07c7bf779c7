//! `GET /v1/people/{id}/entries`: a person's entries for clients that poll. Under the API keys of the way in, or a token of
//! the person.

use aide::{OperationInput, generate::GenContext, openapi::Operation, operation::add_parameters};
use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, request::Parts},
};
use house_facts::KeyScope;
use model::{Day, Person, Tenant, UtcMillis, limits::AHEAD_MS_MAX};
use room::days;
use schemars::json_schema;
use web::{
    HttpProblem, ProblemType,
    description::{OperationAccess, OperationDoc},
    etag::{CachedJson, TaggedBody},
    pagination::{CURSOR, LIMIT, ListParams},
};

use super::{
    FeedService, FeedState, describe_failure,
    description::{etag_parameter, person_parameter, query_parameter_of, read_params, read_person},
};
use crate::entries::{
    DAYS_BACK, EntryCursor, EntryPage, LISTED_DAYS_MAX, PAGE_ENTRIES, PAGE_ENTRIES_MAX, cut_page,
};

/// Characters of a cursor, as clients may rely on it.
const CURSOR_CHARS_MAX: usize = 1_200;
/// The parameter that says how many days back are read.
const DAYS: &str = "days";

/// How its path is described.
pub const DOC: OperationDoc = OperationDoc {
    id: "getEntries",
    summary: "A person's entries, for clients that poll",
    access: OperationAccess::KeyOrPerson,
    problems: &[ProblemType::Forbidden],
};

/// Whose entries are asked for, and which of them: as it stands in the address, judged after the key.
pub struct EntriesAddress {
    person: Result<String, HttpProblem>,
    params: Result<ListParams, HttpProblem>,
}

impl<S: Send + Sync> FromRequestParts<S> for EntriesAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let person = read_person(parts, state).await;
        Ok(Self { person, params: read_params(parts, state, &[CURSOR, LIMIT, DAYS]).await })
    }
}

impl OperationInput for EntriesAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
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
            person_parameter(),
            query_parameter_of(CURSOR, since),
            query_parameter_of(LIMIT, limit),
            query_parameter_of(DAYS, days),
            etag_parameter(),
        ];
        add_parameters(context, operation, parameters);
    }
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct EntriesRequest {
    cursor: EntryCursor,
    most: usize,
    back: i32,
}

pub async fn list_entries(
    State(service): FeedState,
    address: EntriesAddress,
    headers: HeaderMap,
) -> Result<CachedJson<EntryPage<'static>>, HttpProblem> {
    service
        .answer_body("entries", &headers, KeyScope::Read, address.person, async |caller, person| {
            let wanted = parse_request(&address.params?)?;
            read_page(&service, caller.tenant(), &person, wanted).await.map_err(describe_failure)
        })
        .await
}

async fn read_page(
    service: &FeedService,
    tenant: &Tenant,
    person: &Person,
    wanted: EntriesRequest,
) -> anyhow::Result<TaggedBody> {
    let EntriesRequest { cursor, most, back } = wanted;
    let (room, now) = (&service.http.deps.room, service.now());
    let read = days::read_days(&*room.store, tenant, person, back, now, Some(&room.catalogue)).await?;
    let days = read.days.into_iter().rev();
    let days: Vec<_> = days.filter_map(|one| Some((Day::parse(&one.day)?, one.entries))).collect();
    let newest = newest(now);
    let page = cut_page(&days, &(newest.plus(-LISTED_DAYS_MAX)..=newest), cursor, most);
    Ok(TaggedBody::new(serde_json::to_string(&page)?))
}

/// The day in which the newest entries can be: an event may be a little ahead.
fn newest(now: UtcMillis) -> Day {
    Day::from_instant(now.plus(AHEAD_MS_MAX))
}

fn parse_request(asked: &ListParams) -> Result<EntriesRequest, HttpProblem> {
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
    Ok(EntriesRequest { cursor, most, back })
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;

    use super::*;

    fn list_params(since: Option<&str>, limit: Option<&str>, days: Option<&str>) -> ListParams {
        let given = [(CURSOR, since), (LIMIT, limit), (DAYS, days)];
        let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        ListParams::parse(Ok(Query(given.collect())), &[CURSOR, LIMIT, DAYS]).unwrap()
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        let check = |asked: ListParams, expect: Result<(usize, i32), &str>| {
            let found = parse_request(&asked);
            match (found, expect) {
                (Ok(wanted), Ok(expect)) => assert_eq!((wanted.most, wanted.back), expect),
                (Err(problem), Err(reason)) => assert!(problem.detail.contains(reason), "{problem:?}"),
                (found, expect) => panic!("{found:?}, expected {expect:?}"),
            }
        };
        check(list_params(None, None, None), Ok((100, 7)));
        check(list_params(Some(""), Some("500"), Some("21d")), Ok((500, 21)));
        check(list_params(None, Some("1"), Some("0")), Ok((1, 0)));
        for limit in ["0", "501", "-1", "many", "", "99999999999999999999"] {
            check(list_params(None, Some(limit), None), Err("limit: "));
        }
        for days in ["22", "-1", "week", ""] {
            check(list_params(None, None, Some(days)), Err("days: "));
        }
        check(list_params(Some("nonsense!"), None, None), Err("since: it is not a valid cursor"));
    }
}
