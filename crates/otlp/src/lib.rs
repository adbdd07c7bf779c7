//! Spans on their way to a receiver of OpenTelemetry: OTLP over HTTP, in protobuf.
//!
//! A thread of its own takes spans from the queue and posts them ([`exporter`]); [`mod@encode`] makes the request of
//! `messages`. Nobody waits
//! for it. A receiver that does not answer costs a warning and a count.

mod encode;
pub mod exporter;
mod messages;

pub use exporter::{Settings, SpanExporter};
