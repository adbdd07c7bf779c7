//! A span at work.

use std::sync::Arc;

use model::trace::{TraceContext, TraceParent};
use runtime::{
    clock::SteadyStopwatch,
    trace_scope::{TraceScope, with_scope},
};

use crate::{
    ended_span::{AttributeValue, EndedSpan, SpanAttribute},
    queue::SpanOutlet,
};

/// Characters of a text in an attribute, at most.
const TEXT_CHARS_MAX: usize = 256;

/// A span at work, or none: dropped, it ends.
#[derive(Debug, Default)]
pub struct Span(Option<Box<OpenSpan>>);

#[derive(Debug)]
struct OpenSpan {
    ended: EndedSpan,
    watch: SteadyStopwatch,
    outlet: Arc<SpanOutlet>,
}

impl Span {
    /// None: of a trace that is not recorded.
    pub fn none() -> Self {
        Self(None)
    }

    pub(crate) fn begin(outlet: &Arc<SpanOutlet>, ended: EndedSpan) -> Self {
        Self(Some(Box::new(OpenSpan { ended, watch: SteadyStopwatch::start(), outlet: outlet.clone() })))
    }

    pub fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Where its trace goes on.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().map(|open| open.ended.context)
    }

    /// What goes into the headers of what comes of it.
    pub fn as_parent(&self) -> Option<TraceParent> {
        let EndedSpan { context, state, .. } = &self.0.as_ref()?.ended;
        Some(TraceParent { context: *context, is_sampled: true, state: state.clone() })
    }

    /// Says something of what is done; what is said is made only where it is recorded.
    pub fn set<V: Into<AttributeValue>>(&mut self, name: SpanAttribute, value: impl FnOnce() -> V) {
        let Some(open) = &mut self.0 else { return };
        let value = match value().into() {
            AttributeValue::Text(text) => AttributeValue::Text(text.chars().take(TEXT_CHARS_MAX).collect()),
            count @ AttributeValue::Count(_) => count,
        };
        open.ended.attributes.retain(|(other, _)| *other != name);
        open.ended.attributes.push((name, value));
    }

    /// It came to nothing.
    pub fn fail(&mut self) {
        if let Some(open) = &mut self.0 {
            open.ended.has_failed = true;
        }
    }

    /// It did not happen: it is not told of.
    pub fn discard(mut self) {
        self.0 = None;
    }

    /// What is done as a part of it names it so.
    pub fn scope(&self) -> Option<TraceScope> {
        self.context().map(|TraceContext { trace, span }| TraceScope { trace, span })
    }

    /// Does something as a part of it: log lines name it, and spans begin below it.
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> T {
        with_scope(self.scope(), work).await
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let OpenSpan { mut ended, watch, outlet } = *open;
            ended.nanoseconds = u64::try_from(watch.elapsed().as_nanos()).unwrap_or(u64::MAX);
            outlet.push(ended);
        }
    }
}
