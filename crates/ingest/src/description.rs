//! How the intake is described: what a body may be, and what can go wrong with it.

use std::borrow::Cow;

use aide::{
    OperationInput,
    generate::GenContext,
    openapi::{MediaType, Operation, RequestBody},
    operation::{add_parameters, set_body},
};
use axum::extract::Request;
use courier::mail_returns::ReturnProvider;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;
use web::{
    ProblemType,
    description::{OperationAccess, OperationDoc, header_parameter, schema_object},
    limits::IDEMPOTENCY_KEY_BYTES_MAX,
};
use wire::cloud_event::ITEMS_MAX;

use crate::{
    admission::CloudEventSort,
    config::{PERSONS_MAX, SUBJECTS_MAX},
};

/// What can go wrong with a body of items, beside what always can.
const OF_ITEMS: &[ProblemType] = &[
    ProblemType::NothingAccepted,
    ProblemType::BodyTooSlow,
    ProblemType::KeyReused,
    ProblemType::HouseBehind,
    ProblemType::QuotaExceeded,
];

/// A request with items, read bit by bit within bounds.
#[derive(Debug)]
pub struct IntakeRequest(pub Request);

impl OperationInput for IntakeRequest {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let key = json_schema!({
            "type": "string",
            "pattern": format!("^[\\x21-\\x7e]{{1,{IDEMPOTENCY_KEY_BYTES_MAX}}}$"),
            "description": "the first 202 or 400 under a key stands for a day and is given again",
        });
        add_parameters(context, operation, [header_parameter("Idempotency-Key", key)]);
        let one = context.schema.subschema_for::<CloudEventItem>();
        let many = json_schema!({"type": "array", "minItems": 1, "maxItems": ITEMS_MAX, "items": one});
        let either = json_schema!({"anyOf": [one, many]});
        let forms = [
            ("application/json", either),
            ("application/cloudevents+json", one),
            ("application/cloudevents-batch+json", many),
        ];
        let media = |schema| MediaType { schema: Some(schema_object(schema)), ..MediaType::default() };
        let content = forms.map(|(form, schema)| (form.to_owned(), media(schema)));
        let body = RequestBody {
            description: Some(
                "CloudEvents, at most 1 MiB. Lines of them (application/x-ndjson) and Avro (application/avro, \
                 avro/binary, application/vnd.confluent.avro) are taken too."
                    .to_owned(),
            ),
            content: content.into_iter().collect(),
            required: true,
            ..RequestBody::default()
        };
        set_body(context, operation, body);
    }
}

/// A request of a provider of mail, in the form of its own webhooks.
#[derive(Debug)]
pub struct ReturnsRequest(pub Request);

impl OperationInput for ReturnsRequest {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let media = MediaType { schema: Some(schema_object(json_schema!({}))), ..MediaType::default() };
        let content = [("application/json".to_owned(), media)].into_iter().collect();
        let description = Some("as the provider posts it".to_owned());
        let body = RequestBody { description, content, required: true, ..RequestBody::default() };
        set_body(context, operation, body);
    }
}

/// What the types of the handlers of items do not say.
pub fn items_doc(sort: CloudEventSort) -> OperationDoc {
    let (id, summary) = match sort {
        CloudEventSort::Change => ("postChanges", "What happened to subjects"),
        CloudEventSort::Fact => ("postFacts", "What is true of persons"),
        CloudEventSort::Feedback => ("postFeedback", "What persons did with what they were told"),
    };
    OperationDoc { id, summary, access: OperationAccess::Key, problems: OF_ITEMS }
}

/// The same of returned mails.
pub fn returns_doc(provider: ReturnProvider) -> OperationDoc {
    let (id, summary) = match provider {
        ReturnProvider::Ses => ("postReturnsOfSes", "What came back of mails, as SES posts it"),
        ReturnProvider::Postmark => {
            ("postReturnsOfPostmark", "What came back of mails, as Postmark posts it")
        }
        ReturnProvider::SendGrid => {
            ("postReturnsOfSendgrid", "What came back of mails, as SendGrid posts it")
        }
    };
    OperationDoc { id, summary, access: OperationAccess::Key, problems: &[ProblemType::BodyTooSlow] }
}

/// One item. The fields of a subject are those of the catalogue, which another house has others of.
struct CloudEventItem;

impl JsonSchema for CloudEventItem {
    fn schema_name() -> Cow<'static, str> {
        "CloudEventItem".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        describe_event()
    }
}

fn describe_event() -> Schema {
    let text = || json!({"type": "string", "minLength": 1, "maxLength": 128});
    json_schema!({
        "type": "object",
        "description": "a CloudEvent, structured or flat; docs/http.md has both forms",
        "required": ["id", "source", "type"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": text(),
            "source": text(),
            "type": text(),
            "subject": {"type": "string"},
            "subjects": {"type": "array", "maxItems": SUBJECTS_MAX, "items": {"type": "string"}},
            "persons": {"type": "array", "maxItems": PERSONS_MAX, "items": {"anyOf": [
                {"type": "string"},
                {"type": "object", "required": ["person"],
                    "properties": {"person": {"type": "string"}, "score": {"type": "number"}}}
            ]}},
            "time": {"type": "string", "format": "date-time"},
            "actor": {"type": "string"},
            "version": {"type": ["integer", "string"]},
            "data": {"type": "object"}
        },
        "examples": [
            {"id": "1", "source": "shop", "type": "thing.changed", "subject": "thing:1", "name": "Ebb"},
            {"id": "2", "source": "shop", "type": "tidings.follow", "person": "eve", "target": "thing:1"},
            {"id": "3", "source": "app", "type": "tidings.read", "data": {"person": "eve", "all": true}}
        ]
    })
}
