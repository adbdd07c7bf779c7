//! Spans as OTLP has them.

use model::trace::TraceContext;
use traces::{AttributeValue, EndedSpan, SpanAttribute, SpanName};

use crate::messages::{
    AttributeContent, AttributePair, ContentForm, ExportRequest, ResourceSpans, ScopeSpans, SpanLink,
    SpanResource, SpanScope, SpanStatus, WireSpan,
};

/// Bits of a span's flags: it is sampled.
const SAMPLED: u32 = 1;
/// A status that is an error.
const ERROR: i32 = 2;

/// What a span is to its parent, by the numbers of the standard.
#[derive(Clone, Copy)]
enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

/// A request with these spans, of a service of this name.
pub(crate) fn encode_request(service: &str, spans: Vec<EndedSpan>) -> ExportRequest {
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![text_pair("service.name", service), text_pair("service.version", version)];
    let scope = Some(SpanScope { name: "tidings".to_owned() });
    let scope_spans = vec![ScopeSpans { scope, spans: spans.into_iter().map(encode_span).collect() }];
    let resource = Some(SpanResource { attributes });
    ExportRequest { resource_spans: vec![ResourceSpans { resource, scope_spans }] }
}

fn encode_span(ended: EndedSpan) -> WireSpan {
    let link = |context: TraceContext| SpanLink {
        trace_id: context.trace.to_vec(),
        span_id: context.span.to_vec(),
        flags: SAMPLED,
    };
    WireSpan {
        trace_id: ended.context.trace.to_vec(),
        span_id: ended.context.span.to_vec(),
        trace_state: ended.state.as_deref().unwrap_or_default().to_owned(),
        parent_span_id: ended.parent.map(Vec::from).unwrap_or_default(),
        name: ended.name.text().to_owned(),
        kind: kind_of(ended.name) as i32,
        start_time_unix_nano: ended.began,
        end_time_unix_nano: ended.began.saturating_add(ended.nanoseconds),
        attributes: ended.attributes.into_iter().map(encode_attribute).collect(),
        links: ended.links.into_iter().map(link).collect(),
        dropped_links_count: u32::try_from(ended.links_dropped).unwrap_or(u32::MAX),
        status: ended.has_failed.then_some(SpanStatus { code: ERROR }),
        flags: SAMPLED,
    }
}

fn kind_of(name: SpanName) -> SpanKind {
    match name {
        SpanName::Accept => SpanKind::Server,
        SpanName::TakeUp
        | SpanName::Resolve
        | SpanName::Slice
        | SpanName::Gather
        | SpanName::Send
        | SpanName::Report => SpanKind::Consumer,
        SpanName::Tell => SpanKind::Producer,
        SpanName::Render => SpanKind::Internal,
        SpanName::HandOver => SpanKind::Client,
    }
}

fn encode_attribute((name, value): (SpanAttribute, AttributeValue)) -> AttributePair {
    match value {
        AttributeValue::Text(text) => pair(name.text(), ContentForm::Text(text)),
        AttributeValue::Count(count) => pair(name.text(), ContentForm::Count(count)),
    }
}

fn text_pair(key: &str, text: &str) -> AttributePair {
    pair(key, ContentForm::Text(text.to_owned()))
}

fn pair(key: &str, value: ContentForm) -> AttributePair {
    AttributePair { key: key.to_owned(), value: Some(AttributeContent { value: Some(value) }) }
}
