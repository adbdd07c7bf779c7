//! The description of an HTTP interface, OpenAPI 3.1: made from the types of its handlers, so that it cannot say
//! anything else than they do. What the types cannot say, [`describe_operation`] adds: a name, who may ask, and what can
//! go wrong.

use std::collections::BTreeSet;

use aide::{
    OperationInput, OperationOutput,
    generate::{GenContext, in_context},
    openapi::{
        Components, Header, HeaderStyle, MediaType, OpenApi, Operation, Parameter, ParameterData,
        ParameterSchemaOrContent, ReferenceOr, RequestBody, Response as ApiResponse, SchemaObject,
        SecurityScheme, StatusCode,
    },
    operation::set_body,
    transform::TransformOperation,
};
use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

use crate::{
    answer::AcceptedJson,
    etag::CachedJson,
    idempotency::IdempotentAnswer,
    json_body::JsonBody,
    problem::{HttpProblem, PROBLEM_MEDIA_TYPE, ProblemType},
};

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationAccess {
    /// A service with an API key, where there are keys.
    Key,
    /// The operator, with the token of `admin.json` or an access token: of the role `read` to look, of the role `operate`
    /// to change something.
    Token,
    /// A service with an API key, where there are keys; or a person with a token of their tenant's login.
    KeyOrPerson,
    /// A service or the operator, where there are keys or tokens.
    KeyOrToken,
    /// Everybody.
    Open,
}

/// What the types of a handler do not say.
#[derive(Clone, Copy, Debug)]
pub struct OperationDoc {
    /// By what clients that are made from the description call it.
    pub id: &'static str,
    pub summary: &'static str,
    pub access: OperationAccess,
    /// What can go wrong beside what always can.
    pub problems: &'static [ProblemType],
}

/// What can go wrong with every request.
const ALWAYS: [ProblemType; 3] = [ProblemType::BadRequest, ProblemType::ForeignOrigin, ProblemType::Internal];
/// While the house waits for its engines, or for room.
const STANDBY: [ProblemType; 3] = [ProblemType::Busy, ProblemType::NotReady, ProblemType::DiskFull];
/// Of a body.
const OF_BODY: [ProblemType; 4] = [
    ProblemType::UnreadableBody,
    ProblemType::BodyTooLarge,
    ProblemType::UnsupportedMediaType,
    ProblemType::InvalidBody,
];

/// To be called before the routes are made that are to be described. OpenAPI 3.1 stands on JSON Schema 2020-12, and
/// without a word `aide` takes an older draft.
pub fn begin_description() {
    let settings = SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.definitions_path = "#/components/schemas/".into());
    in_context(|context| context.schema = SchemaGenerator::new(settings));
}

/// Adds to an operation what its types do not say.
pub fn describe_operation(
    doc: OperationDoc,
) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    move |mut operation| {
        let described = operation.inner_mut();
        described.operation_id = Some(doc.id.to_owned());
        described.summary = Some(doc.summary.to_owned());
        set_access(described, doc.access);
        let body: &[ProblemType] = if described.request_body.is_some() { &OF_BODY } else { &[] };
        let standby: &[ProblemType] = if doc.access == OperationAccess::Open { &[] } else { &STANDBY };
        let key: &[ProblemType] = match doc.access {
            OperationAccess::Open => &[],
            OperationAccess::Token => &[ProblemType::Unauthorized, ProblemType::Forbidden],
            OperationAccess::Key | OperationAccess::KeyOrPerson | OperationAccess::KeyOrToken => {
                &[ProblemType::Unauthorized, ProblemType::MissingScope]
            }
        };
        for kind in ALWAYS.iter().chain(standby).chain(key).chain(body).chain(doc.problems) {
            let status = kind.status().as_u16();
            let responses = described.responses.get_or_insert_default();
            let reference = ReferenceOr::ref_(&format!("#/components/responses/Problem{status}"));
            responses.responses.entry(StatusCode::Code(status)).or_insert(reference);
        }
        if let Some(responses) = &mut described.responses {
            responses.responses.sort_by(|one, _, other, _| one.to_string().cmp(&other.to_string()));
        }
        operation
    }
}

/// Says who may ask for an operation.
pub fn set_access(operation: &mut Operation, access: OperationAccess) {
    let scheme = |name: &str| [(name.to_owned(), Vec::new())].into_iter().collect();
    let (tag, security) = match access {
        OperationAccess::Key => ("services", vec![scheme("key"), Default::default()]),
        OperationAccess::KeyOrPerson => {
            ("services", vec![scheme("key"), scheme("person"), Default::default()])
        }
        OperationAccess::Token => ("operators", vec![scheme("token")]),
        OperationAccess::KeyOrToken => ("machines", vec![scheme("key"), scheme("token"), Default::default()]),
        OperationAccess::Open => ("machines", vec![Default::default()]),
    };
    operation.tags = vec![tag.to_owned()];
    operation.security = security;
}

/// Adds to a description what all operations refer to.
pub fn add_components(api: &mut OpenApi) {
    let components = api.components.get_or_insert_with(Components::default);
    let statuses: BTreeSet<u16> = ProblemType::ALL.iter().map(|kind| kind.status().as_u16()).collect();
    for status in statuses {
        let response = ReferenceOr::Item(problem_response(status));
        components.responses.insert(format!("Problem{status}"), response);
    }
    components.schemas.insert("Problem".to_owned(), schema_object(problem_schema()));
    let schemes = [
        ("key", None, "an API key of `api_keys`; none is needed where none is set"),
        (
            "person",
            Some("JWT"),
            "a token by which the login of a tenant says who a person is, by EdDSA or ES256, as `person_tokens` names it; for \
            what is of that person",
        ),
        (
            "token",
            None,
            "an access token of `access_tokens`: `metrics` for `/metrics` alone, `read` for every `GET`, `operate` for \
            everything; or the token of `admin.json` in the data directory, which may do everything",
        ),
    ];
    for (name, format, description) in schemes {
        let scheme = SecurityScheme::Http {
            scheme: "bearer".to_owned(),
            bearer_format: format.map(str::to_owned),
            description: Some(description.to_owned()),
            extensions: Default::default(),
        };
        components.security_schemes.insert(name.to_owned(), ReferenceOr::Item(scheme));
    }
}

/// All that can go wrong with one status.
fn problem_response(status: u16) -> ApiResponse {
    let kinds: Vec<&ProblemType> =
        ProblemType::ALL.iter().filter(|kind| kind.status().as_u16() == status).collect();
    let types: Vec<String> = kinds.iter().map(|kind| kind.reference()).collect();
    let examples = kinds.iter().map(|kind| {
        let example = json!({"type": kind.reference(), "title": kind.title(), "status": status,
            "detail": kind.occasion()});
        example
    });
    let schema = json_schema!({
        "allOf": [{"$ref": "#/components/schemas/Problem"}],
        "properties": {"type": {"enum": types}, "status": {"const": status}},
        "examples": examples.collect::<Vec<_>>(),
    });
    let titles: Vec<&str> = kinds.iter().map(|kind| kind.title()).collect();
    let mut response = ApiResponse { description: titles.join("; or: "), ..ApiResponse::default() };
    let media = MediaType { schema: Some(schema_object(schema)), ..MediaType::default() };
    response.content.insert(PROBLEM_MEDIA_TYPE.to_owned(), media);
    let mut add = |name: &str, is_required: bool, schema: Schema| {
        response.headers.insert(name.to_owned(), ReferenceOr::Item(answer_header(is_required, schema)));
    };
    match status {
        401 => add("WWW-Authenticate", true, json_schema!({"type": "string"})),
        429 => add("Retry-After", true, json_schema!({"type": "integer", "minimum": 1})),
        503 | 507 => add("Retry-After", false, json_schema!({"type": "integer", "minimum": 1})),
        _ => {}
    }
    response
}

fn problem_schema() -> Schema {
    json_schema!({
        "type": "object",
        "description": "What went wrong, as RFC 9457 has it. More members may come.",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference", "description": "the same in every house"},
            "title": {"type": "string", "minLength": 1, "description": "the type in words"},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string", "minLength": 1, "description": "what went wrong this time, for people"},
            "at": {"type": "string",
                "description": "where in the body: a JSON pointer, empty for the whole of it, or line and column"},
            "retry": {"type": "integer", "minimum": 1, "description": "seconds, as in the header Retry-After"},
            "accepted": {"const": 0, "description": "of nothing-accepted"},
            "rejected": {"type": "array", "items": {"$ref": "#/components/schemas/RejectedItem"},
                "description": "of nothing-accepted"},
            "notes": {"type": "array", "items": {"$ref": "#/components/schemas/NotedItem"},
                "description": "of nothing-accepted"}
        }
    })
}

/// A schema where the description wants one.
pub fn schema_object(json_schema: Schema) -> SchemaObject {
    SchemaObject { json_schema, example: None, external_docs: None }
}

/// A header of an answer.
pub fn answer_header(is_required: bool, schema: Schema) -> Header {
    Header {
        description: None,
        style: HeaderStyle::Simple,
        required: is_required,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schema_object(schema)),
        example: None,
        examples: Default::default(),
        extensions: Default::default(),
    }
}

/// What a parameter is called, whether it must be there, and what it is.
pub fn parameter_data(name: &str, is_required: bool, schema: Schema) -> ParameterData {
    let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    ParameterData {
        name: name.to_owned(),
        description,
        required: is_required,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schema_object(schema)),
        example: None,
        examples: Default::default(),
        explode: None,
        extensions: Default::default(),
    }
}

/// A header that a request may have.
pub fn header_parameter(name: &str, schema: Schema) -> Parameter {
    Parameter::Header { parameter_data: parameter_data(name, false, schema), style: HeaderStyle::Simple }
}

/// An answer of JSON.
fn json_response(description: &str, schema: Schema) -> ApiResponse {
    let mut response = ApiResponse { description: description.to_owned(), ..ApiResponse::default() };
    let media = MediaType { schema: Some(schema_object(schema)), ..MediaType::default() };
    response.content.insert("application/json".to_owned(), media);
    response
}

impl OperationOutput for HttpProblem {
    type Inner = Self;
}

impl<T: JsonSchema> OperationInput for JsonBody<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let schema = context.schema.subschema_for::<T>();
        let media = MediaType { schema: Some(schema_object(schema)), ..MediaType::default() };
        let content = [("application/json".to_owned(), media)].into_iter().collect();
        let body = RequestBody { content, required: true, ..RequestBody::default() };
        set_body(context, operation, body);
    }
}

impl<T: JsonSchema> OperationOutput for AcceptedJson<T> {
    type Inner = T;

    fn inferred_responses(context: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        vec![(Some(202), json_response("it has begun", context.schema.subschema_for::<T>()))]
    }
}

impl<T: JsonSchema> OperationOutput for IdempotentAnswer<T> {
    type Inner = T;

    fn inferred_responses(context: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        let schema = context.schema.subschema_for::<T>();
        vec![(Some(202), json_response("what was accepted is durable", schema))]
    }
}

impl<T: JsonSchema> OperationOutput for CachedJson<T> {
    type Inner = T;

    fn inferred_responses(context: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        let mut whole = json_response("as it is now", context.schema.subschema_for::<T>());
        let mut unchanged =
            ApiResponse { description: "nothing has changed".to_owned(), ..ApiResponse::default() };
        for response in [&mut whole, &mut unchanged] {
            let text = ReferenceOr::Item(answer_header(true, json_schema!({"type": "string"})));
            response.headers.insert("ETag".to_owned(), text.clone());
            response.headers.insert("Cache-Control".to_owned(), text);
        }
        vec![(Some(200), whole), (Some(304), unchanged)]
    }
}

/// A description, as it is shown.
#[derive(Debug)]
pub struct DescriptionText(pub String);

impl IntoResponse for DescriptionText {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

impl OperationOutput for DescriptionText {
    type Inner = Value;

    fn inferred_responses(_: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        vec![(Some(200), json_response("OpenAPI 3.1", json_schema!({"type": "object"})))]
    }
}
