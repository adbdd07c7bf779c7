//! What stands in addresses, judged after the key; and how clients are told of it.

use aide::{
    OperationInput,
    generate::GenContext,
    openapi::{Operation, Parameter, PathStyle, QueryStyle},
    operation::add_parameters,
};
use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use feed_bundles::{cursor::CURSOR_CHARS_MAX, rule::BundleRule};
use model::limits::ID_BYTES_MAX;
use schemars::{Schema, json_schema};
use web::{
    HttpProblem,
    description::{header_parameter, parameter_data},
    pagination::{CURSOR, LIMIT, ListParams},
};

use crate::{
    config::{PAGE_BUNDLES, PAGE_BUNDLES_MAX},
    request::{BUNDLE_BY, CATEGORY, KIND, PARTS, SAVED, THREAD, UNREAD},
};

const PERSON: &str = "id";
const BUNDLE: &str = "bundle";
const PAGE_PARAMS: [&str; 9] = [CURSOR, LIMIT, KIND, CATEGORY, THREAD, UNREAD, SAVED, PARTS, BUNDLE_BY];
const BUNDLE_PARAMS: [&str; 4] = [CURSOR, LIMIT, PARTS, BUNDLE_BY];
const RULED_PARAMS: [&str; 1] = [BUNDLE_BY];

/// Whose it is, and nothing else.
pub struct PersonAddress(pub Result<String, HttpProblem>);

/// Whose it is, and by what their entries are bundled.
pub struct RuledAddress {
    pub person: Result<String, HttpProblem>,
    pub params: Result<ListParams, HttpProblem>,
}

/// The same of counts, which a client may have.
pub struct CountsAddress(pub RuledAddress);

/// A page of a feed.
pub struct FeedAddress {
    pub person: Result<String, HttpProblem>,
    pub params: Result<ListParams, HttpProblem>,
}

/// A page of a bundle.
pub struct BundleAddress {
    pub person: Result<String, HttpProblem>,
    pub bundle: Result<String, HttpProblem>,
    pub params: Result<ListParams, HttpProblem>,
}

/// Whose it is, by the path.
pub async fn read_person<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String, HttpProblem> {
    read_segment(parts, state, PERSON).await
}

/// A part of the path, by its name.
async fn read_segment<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<String, HttpProblem> {
    let all = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    let Path(all) =
        all.map_err(|_| HttpProblem::bad_request("the person's id is not percent-encoded UTF-8"))?;
    let found = all.into_iter().find(|(given, _)| given == name).map(|(_, text)| text);
    found.ok_or_else(|| HttpProblem::bad_request("the path lacks a part"))
}

pub async fn read_params<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    known: &[&str],
) -> Result<ListParams, HttpProblem> {
    ListParams::parse(Query::<Vec<(String, String)>>::from_request_parts(parts, state).await, known)
}

impl<S: Send + Sync> FromRequestParts<S> for PersonAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let person = read_person(parts, state).await;
        let params = read_params(parts, state, &[]).await;
        Ok(Self(params.and(person)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RuledAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let person = read_person(parts, state).await;
        Ok(Self { person, params: read_params(parts, state, &RULED_PARAMS).await })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CountsAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        RuledAddress::from_request_parts(parts, state).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for FeedAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let person = read_person(parts, state).await;
        Ok(Self { person, params: read_params(parts, state, &PAGE_PARAMS).await })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BundleAddress {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let person = read_person(parts, state).await;
        let bundle = read_segment(parts, state, BUNDLE).await;
        Ok(Self { person, bundle, params: read_params(parts, state, &BUNDLE_PARAMS).await })
    }
}

fn path_parameter(name: &str, schema: Schema) -> Parameter {
    Parameter::Path { parameter_data: parameter_data(name, true, schema), style: PathStyle::Simple }
}

fn query_parameter(name: &str) -> Parameter {
    query_parameter_of(name, query_schema(name))
}

pub fn query_parameter_of(name: &str, schema: Schema) -> Parameter {
    Parameter::Query {
        parameter_data: parameter_data(name, false, schema),
        allow_reserved: false,
        style: QueryStyle::Form,
        allow_empty_value: None,
    }
}

fn query_schema(name: &str) -> Schema {
    let flag =
        |description: &str| json_schema!({"type": "boolean", "default": false, "description": description});
    match name {
        CURSOR => json_schema!({
            "type": "string", "maxLength": CURSOR_CHARS_MAX,
            "description": "the `next` of the answer before; left out or empty at the beginning",
        }),
        LIMIT => json_schema!({
            "type": "integer", "minimum": 1, "maximum": PAGE_BUNDLES_MAX, "default": PAGE_BUNDLES,
        }),
        KIND => json_schema!({"type": "string", "description": "only bundles with an entry of this kind"}),
        CATEGORY => {
            json_schema!({"type": "string", "description": "only bundles with an entry of this category"})
        }
        THREAD => json_schema!({
            "type": "string", "description": "only bundles with an entry about this subject, or one that hangs on it",
        }),
        UNREAD => flag("only bundles with something unread"),
        SAVED => flag("only bundles with something saved"),
        PARTS => flag("the parts of a sentence instead of the sentence"),
        _ => json_schema!({
            "type": "string", "enum": BundleRule::ALL.map(BundleRule::name), "default": BundleRule::default().name(),
            "description": "by what entries are bundled",
        }),
    }
}

pub fn person_parameter() -> Parameter {
    path_parameter(PERSON, json_schema!({"type": "string", "minLength": 1, "maxLength": ID_BYTES_MAX}))
}

pub fn etag_parameter() -> Parameter {
    header_parameter("If-None-Match", json_schema!({"type": "string"}))
}

impl OperationInput for PersonAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        add_parameters(context, operation, [person_parameter()]);
    }
}

impl OperationInput for RuledAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let params = RULED_PARAMS.map(query_parameter);
        add_parameters(context, operation, [person_parameter()].into_iter().chain(params));
    }
}

impl OperationInput for CountsAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        RuledAddress::operation_input(context, operation);
        add_parameters(context, operation, [etag_parameter()]);
    }
}

impl OperationInput for FeedAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let params = PAGE_PARAMS.map(query_parameter);
        add_parameters(
            context,
            operation,
            [person_parameter()].into_iter().chain(params).chain([etag_parameter()]),
        );
    }
}

impl OperationInput for BundleAddress {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let bundle =
            path_parameter(BUNDLE, json_schema!({"type": "string", "description": "as a page names it"}));
        let params = BUNDLE_PARAMS.map(query_parameter);
        let all = [person_parameter(), bundle].into_iter().chain(params).chain([etag_parameter()]);
        add_parameters(context, operation, all);
    }
}
