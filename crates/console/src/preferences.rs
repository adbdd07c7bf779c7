//! `/v1/people/{id}/preferences`: what a person wants to be told, as they or a service see it and change it. Under the API keys
//! of the way in, or a token of the person. A change is stated as facts, so that all hear of it.

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
use model::{Person, Tenant, limits::ID_BYTES_MAX};
use preference_sheet::{
    ChangedSheet, PreferenceSheet, SheetChange, SheetRefusal, WeekForecast, change_sheet,
};
use schemars::{JsonSchema, json_schema};
use serde::Serialize;
use tokio::time::timeout;
use web::{
    HttpProblem, JsonBody, ProblemType,
    body::limit_body,
    cross_origin::{CrossOriginRule, answer_other_origins},
    description::{OperationAccess, OperationDoc, describe_operation, header_parameter, parameter_data},
    etag::{CachedJson, TaggedBody},
    limits::REQUEST_TIME_MAX,
    pagination::ListParams,
    permits::TenantPermits,
    person_access::PersonDoor,
};

use super::{
    HttpApp,
    reader_sheet::{ReaderRecord, load_week, read_clock, state_facts},
};

/// Requests that are worked on at once. Each may hold a week of a person.
const REQUESTS_MAX: usize = 32;
/// Bytes of a change.
const CHANGE_BYTES_MAX: usize = 64 * 1024;
/// What these facts are said to come from.
const SOURCE: &str = "preferences";
/// The parameter with which a change is shown and not stated.
const PREVIEW: &str = "preview";

struct PreferenceDesk {
    app: Arc<HttpApp>,
    door: PersonDoor,
    requests: TenantPermits,
}

/// A person's preferences, and what last week would have been under them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PersonPreferences {
    person: String,
    #[serde(flatten)]
    sheet: PreferenceSheet,
    /// The messages that the entries of the last seven days make by these preferences, by plan.
    last_week: Vec<WeekForecast>,
}

pub fn routes(app: &Arc<HttpApp>) -> ApiRouter {
    let door = app.person_door();
    let has_others = {
        let door = door.clone();
        move |tenant: &Tenant| door.has_others(tenant)
    };
    let requests = TenantPermits::new(REQUESTS_MAX, Box::new(has_others));
    let desk = PreferenceDesk { app: app.clone(), door, requests };
    let sites = CrossOriginRule { persons: app.persons.clone(), methods: "GET, HEAD, PATCH" };
    let doc =
        |id, summary, problems| OperationDoc { id, summary, access: OperationAccess::KeyOrPerson, problems };
    let show = doc("getPreferences", "A person's preferences", &[ProblemType::Forbidden]);
    let change = doc(
        "changePreferences",
        "Change a person's preferences",
        &[ProblemType::Forbidden, ProblemType::Conflict],
    );
    let path = get_with(show_preferences, describe_operation(show))
        .patch_with(change_preferences, describe_operation(change));
    ApiRouter::new()
        .api_route("/v1/people/{id}/preferences", path)
        .layer(limit_body(CHANGE_BYTES_MAX))
        .layer(from_fn_with_state(sites, answer_other_origins))
        .with_state(Arc::new(desk))
}

/// Whose preferences are asked for: as it stands in the address, judged after the key.
struct PreferencesAddress {
    id: Result<String, HttpProblem>,
    is_preview: Result<bool, HttpProblem>,
}

impl<S: Send + Sync> FromRequestParts<S> for PreferencesAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        let id = id
            .map(|Path(id)| id)
            .map_err(|_| HttpProblem::bad_request("the person's id is not percent-encoded UTF-8"));
        let asked = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let is_preview = ListParams::parse(asked, &[PREVIEW]).and_then(|params| match params.text(PREVIEW) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(HttpProblem::bad_request(format_args!("{PREVIEW}: it must be true or false"))),
        });
        Ok(Self { id, is_preview })
    }
}

impl OperationInput for PreferencesAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let person = json_schema!({"type": "string", "minLength": 1, "maxLength": ID_BYTES_MAX});
        let preview = json_schema!({
            "type": "boolean", "default": false,
            "description": "with a change: what would hold is shown, and nothing is stated",
        });
        let parameters = [
            Parameter::Path { parameter_data: parameter_data("id", true, person), style: PathStyle::Simple },
            Parameter::Query {
                parameter_data: parameter_data(PREVIEW, false, preview),
                allow_reserved: false,
                style: QueryStyle::Form,
                allow_empty_value: None,
            },
            header_parameter("If-None-Match", json_schema!({"type": "string"})),
        ];
        add_parameters(context, operation, parameters);
    }
}

async fn show_preferences(
    State(desk): State<Arc<PreferenceDesk>>,
    address: PreferencesAddress,
    headers: HeaderMap,
) -> Result<CachedJson<PersonPreferences>, HttpProblem> {
    let body = desk.answer(address, &headers, None).await?;
    Ok(CachedJson::from_body(&TaggedBody::new(body), &headers))
}

async fn change_preferences(
    State(desk): State<Arc<PreferenceDesk>>,
    address: PreferencesAddress,
    headers: HeaderMap,
    change: Result<JsonBody<SheetChange>, HttpProblem>,
) -> Result<CachedJson<PersonPreferences>, HttpProblem> {
    let body = desk.answer(address, &headers, Some(change.map(|JsonBody(change)| change))).await?;
    // What is there after a change is always said.
    Ok(CachedJson::from_body(&TaggedBody::new(body), &HeaderMap::new()))
}

impl PreferenceDesk {
    async fn answer(
        &self,
        address: PreferencesAddress,
        headers: &HeaderMap,
        change: Option<Result<SheetChange, HttpProblem>>,
    ) -> Result<String, HttpProblem> {
        let scope = if change.is_some() { KeyScope::Facts } else { KeyScope::Read };
        let caller = self.door.authenticate(headers, scope, self.app.now())?;
        let PreferencesAddress { id, is_preview } = address;
        let person = Person::new(&id?).map_err(HttpProblem::bad_request)?;
        let is_preview = is_preview?;
        caller.check_person(&person)?;
        let change = change.transpose()?;
        let tenant = caller.tenant();
        let permit = self.requests.take(tenant, 1);
        let _permit = permit.ok_or_else(|| HttpProblem::busy("too many requests at once"))?;
        let answer = async {
            match change {
                None => self.read_body((tenant, &person), None).await,
                Some(change) => self.change((tenant, &person), &change, is_preview).await,
            }
        };
        let answer = timeout(REQUEST_TIME_MAX, answer).await;
        answer.map_err(|_| HttpProblem::busy("the request took too long"))?
    }

    async fn change(
        &self,
        of: (&Tenant, &Person),
        change: &SheetChange,
        is_preview: bool,
    ) -> Result<String, HttpProblem> {
        let app = &self.app;
        // Of who was erased nothing is kept, and nothing is stated again.
        let Some(record) = ReaderRecord::load(app, of).await? else { return self.read_body(of, None).await };
        let changed = change_sheet(&record.state(app, of), of.1, change, read_clock(app));
        let ChangedSheet { facts, profile, preferences } = changed.map_err(describe_refusal)?;
        if is_preview {
            return self.read_body(of, Some(ReaderRecord { profile, preferences })).await;
        }
        if !facts.is_empty()
            && let Err(reason) = state_facts(app, of.0, SOURCE, &facts).await?
        {
            return Err(HttpProblem::conflict(reason));
        }
        self.read_body(of, None).await
    }

    /// What holds, or would hold.
    async fn read_body(
        &self,
        of: (&Tenant, &Person),
        record: Option<ReaderRecord>,
    ) -> Result<String, HttpProblem> {
        let app = &self.app;
        let record = match record {
            Some(record) => record,
            None => ReaderRecord::load(app, of).await?.unwrap_or_default(),
        };
        let last_week = record.forecast(app, of, &load_week(app, of).await?);
        let sheet = record.read_sheet(app, of, None);
        let said = PersonPreferences { person: of.1.as_str().to_owned(), sheet, last_week };
        Ok(serde_json::to_string(&said)?)
    }
}

fn describe_refusal(SheetRefusal { at, reason }: SheetRefusal) -> HttpProblem {
    HttpProblem::new(ProblemType::InvalidBody, reason).with_pointer(at)
}
