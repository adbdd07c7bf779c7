//! Spans of the work that rooms do, for whoever wants to see the way of one event.
//!
//! A [`Tracer`] says which traces are recorded and begins their spans; without one nothing is. A [`Span`] of a trace
//! that nobody records is empty and costs nothing. One that ends waits in a queue with an end ([`SpanQueue`]): whoever
//! takes spans away (an adapter) is never waited for, and what has no room is dropped and counted ([`metrics`]).
//!
//! No decision looks at any of it. What a span holds is bounded, and it holds no address, no text of a person, and no
//! person's id: its attributes are those of [`SpanAttribute`].

mod ended_span;
pub mod metrics;
mod queue;
mod sampler;
mod span;
mod tracer;

pub use ended_span::{AttributeValue, EndedSpan, SpanAttribute, SpanName};
pub use queue::SpanQueue;
pub use span::Span;
pub use tracer::Tracer;
