//! What a request's headers say of its body.

use axum::http::{HeaderMap, HeaderValue};
use model::trace::TraceParent;
use topic::RecordHeaders;
use wire::{
    trace::{TRACEPARENT, TRACESTATE, parse_parent},
    upstream::{HTTP_PREFIX, is_binary},
};

/// What a body may be said to be; nothing said is as good.
pub const MEDIA_TYPES: [&str; 7] = [
    "application/json",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "application/x-ndjson",
    "application/avro",
    "avro/binary",
    "application/vnd.confluent.avro",
];

/// The attributes of a CloudEvent in binary mode; none of any other request.
pub fn cloud_event_attributes(headers: &HeaderMap) -> RecordHeaders {
    let value = |value: &HeaderValue| unescape_attribute(value.as_bytes());
    let all: RecordHeaders = headers.iter().map(|(name, of)| (name.as_str().to_owned(), value(of))).collect();
    if !is_binary(&all, HTTP_PREFIX) {
        return RecordHeaders::new();
    }
    all.into_iter().filter(|(name, _)| name.starts_with(HTTP_PREFIX)).collect()
}

/// The trace in which a request was made, if it names one.
pub fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (parent, other) = (parents.next()?, parents.next());
    let states = headers.get_all(TRACESTATE).iter().map(HeaderValue::as_bytes);
    if other.is_some() { None } else { parse_parent(parent.as_bytes(), states) }
}

/// CloudEvents writes what is no plain ASCII as `%` and two digits. What is none of these stays as it is.
fn unescape_attribute(mut value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    while let Some((byte, rest)) = value.split_first() {
        let digits = rest.split_first_chunk::<2>().filter(|_| *byte == b'%');
        let escaped = digits.and_then(|(digits, rest)| {
            let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            Some((u8::from_str_radix(digits, 16).ok()?, rest))
        });
        let (byte, rest) = escaped.unwrap_or((*byte, rest));
        bytes.push(byte);
        value = rest;
    }
    bytes
}
