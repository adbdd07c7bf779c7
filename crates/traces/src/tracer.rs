//! The tracer: begins spans of the traces that are recorded, and puts what ended into the queue.

use std::{fmt, sync::Arc};

use model::{
    limits::TRACES_MAX,
    trace::{TraceContext, TraceParent},
};
use runtime::{Clock, trace_scope};
use share_ratio::ShareRatio;

use crate::{
    ended_span::{EndedSpan, SpanName},
    metrics::TraceMetrics,
    queue::{SpanOutlet, SpanQueue},
    sampler::IdSource,
    span::Span,
};

/// Begins spans, where traces are recorded. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<TracerCore>>);

pub(crate) struct TracerCore {
    clock: Clock,
    /// Of the traces that begin here.
    share: ShareRatio,
    ids: IdSource,
    outlet: Arc<SpanOutlet>,
}

impl fmt::Debug for TracerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracerCore").field("share", &self.share).finish_non_exhaustive()
    }
}

impl Tracer {
    /// Records this share of the traces that begin here, and all that somebody else records; as many spans may wait.
    pub fn new(
        clock: Clock,
        share: ShareRatio,
        waiting_max: usize,
        metrics: TraceMetrics,
    ) -> (Self, SpanQueue) {
        let (outlet, queue) = SpanOutlet::open(waiting_max, metrics);
        let core = TracerCore { clock, share, ids: IdSource::default(), outlet: Arc::new(outlet) };
        (Self(Some(Arc::new(core))), queue)
    }

    /// Whether anything may be recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A span where something comes in: of the caller's trace if it has one and records it, of a new one if it has none
    /// and the draw says so.
    pub fn begin_root(&self, name: SpanName, parent: impl FnOnce() -> Option<TraceParent>) -> Span {
        let Some(core) = &self.0 else { return Span::none() };
        match parent() {
            Some(parent) if parent.is_sampled => core.begin_below(name, &parent),
            Some(_) => Span::none(),
            None if core.ids.draws(core.share) => core.begin_trace(name, Vec::new()),
            None => Span::none(),
        }
    }

    /// A span of what came from one of ours: only of a trace that is recorded.
    pub fn begin_child(&self, name: SpanName, parent: Option<&TraceParent>) -> Span {
        let (Some(core), Some(parent)) = (&self.0, parent) else { return Span::none() };
        if parent.is_sampled { core.begin_below(name, parent) } else { Span::none() }
    }

    /// The same, below the span that is at work here.
    pub fn begin_here(&self, name: SpanName) -> Span {
        let scope = self.0.as_ref().and_then(|_| trace_scope::current_scope());
        let parent = scope.map(|scope| TraceParent {
            context: TraceContext { trace: scope.trace, span: scope.span },
            is_sampled: true,
            state: None,
        });
        self.begin_child(name, parent.as_ref())
    }

    /// A span where many become one: a trace of its own that is linked to theirs.
    pub fn begin_linked(&self, name: SpanName, links: Vec<TraceContext>) -> Span {
        match &self.0 {
            Some(core) if !links.is_empty() => core.begin_trace(name, links),
            _ => Span::none(),
        }
    }

    /// Nothing waits any more: whoever takes spans takes the last ones and is told that there are no more.
    pub fn close(&self) {
        if let Some(core) = &self.0 {
            core.outlet.close();
        }
    }
}

impl TracerCore {
    fn begin_trace(self: &Arc<Self>, name: SpanName, links: Vec<TraceContext>) -> Span {
        let context = TraceContext { trace: self.ids.next_trace(), span: self.ids.next_span() };
        self.begin(name, context, None, links)
    }

    fn begin_below(self: &Arc<Self>, name: SpanName, parent: &TraceParent) -> Span {
        let context = TraceContext { span: self.ids.next_span(), ..parent.context };
        self.begin(name, context, Some(parent), Vec::new())
    }

    fn begin(
        self: &Arc<Self>,
        name: SpanName,
        context: TraceContext,
        parent: Option<&TraceParent>,
        mut links: Vec<TraceContext>,
    ) -> Span {
        let links_dropped = links.len().saturating_sub(TRACES_MAX);
        links.truncate(TRACES_MAX);
        let ended = EndedSpan {
            name,
            context,
            parent: parent.map(|parent| parent.context.span),
            state: parent.and_then(|parent| parent.state.clone()),
            links,
            links_dropped,
            began: u64::try_from(self.clock.now()).unwrap_or(0).saturating_mul(1_000_000),
            nanoseconds: 0,
            attributes: Vec::new(),
            has_failed: false,
        };
        Span::begin(&self.outlet, ended)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runtime::metrics::Metrics;

    use super::*;
    use crate::{ended_span::SpanAttribute, metrics::FULL};

    fn open(share: ShareRatio, waiting_max: usize) -> (Tracer, SpanQueue, Metrics) {
        let metrics = Metrics::default();
        let counts = TraceMetrics::declare(&metrics).unwrap();
        let (tracer, queue) = Tracer::new(Clock::still(1_000), share, waiting_max, counts);
        (tracer, queue, metrics)
    }

    fn parent(is_sampled: bool) -> TraceParent {
        let context = TraceContext { trace: [7; 16], span: [9; 8] };
        TraceParent { context, is_sampled, state: Some("a=1".into()) }
    }

    #[test]
    fn a_callers_trace_is_followed_and_others_are_drawn() {
        let check = |share: ShareRatio, parent: Option<TraceParent>, is_recorded: bool| {
            let (tracer, ..) = open(share, 1);
            let span = tracer.begin_root(SpanName::Accept, || parent.clone());
            assert_eq!(span.is_recorded(), is_recorded, "{share} {parent:?}");
        };
        check(ShareRatio::NONE, Some(parent(true)), true);
        check(ShareRatio::WHOLE, Some(parent(false)), false);
        check(ShareRatio::WHOLE, None, true);
        check(ShareRatio::NONE, None, false);
        let off = Tracer::default();
        assert!(!off.is_on());
        assert!(!off.begin_root(SpanName::Accept, || Some(parent(true))).is_recorded());
        assert!(!off.begin_linked(SpanName::Tell, vec![parent(true).context]).is_recorded());
        assert!(!off.begin_here(SpanName::Render).is_recorded());
    }

    #[test]
    fn a_span_says_whose_it_is_and_what_was_done() {
        let (tracer, queue, _) = open(ShareRatio::NONE, 9);
        let mut span = tracer.begin_child(SpanName::Resolve, Some(&parent(true)));
        span.set(SpanAttribute::Rows, || 2_usize);
        span.set(SpanAttribute::Rows, || 3_usize);
        span.set(SpanAttribute::Tenant, || "x".repeat(1_000));
        let context = span.context().unwrap();
        assert_eq!(span.as_parent().unwrap().state.as_deref(), Some("a=1"));
        drop(span);
        tracer.begin_child(SpanName::Send, Some(&parent(true))).discard();
        drop(tracer.begin_linked(SpanName::Tell, vec![context; TRACES_MAX + 3]));
        tracer.close();
        let spans = queue.take_batch(9, Duration::ZERO).unwrap();
        assert_eq!(queue.take_batch(9, Duration::ZERO), None);
        let [resolve, tell] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((resolve.context.trace, resolve.parent), ([7; 16], Some([9; 8])));
        assert_eq!(resolve.began, 1_000_000_000);
        assert_eq!(resolve.attributes[0], (SpanAttribute::Rows, 3_usize.into()));
        assert_eq!(resolve.attributes[1], (SpanAttribute::Tenant, "x".repeat(256).into()));
        assert_ne!(tell.context.trace, [7; 16], "what many come to has a trace of its own");
        assert_eq!((tell.parent, tell.links.len(), tell.links_dropped), (None, TRACES_MAX, 3));
    }

    #[test]
    fn what_has_no_room_is_dropped_and_counted() {
        let (tracer, queue, metrics) = open(ShareRatio::WHOLE, 2);
        (0..5).for_each(|_| drop(tracer.begin_root(SpanName::Accept, || None)));
        assert_eq!(metrics.sum_values("tidings_traces_spans_total", Some(("outcome", FULL))), 3.0);
        assert_eq!(queue.take_batch(9, Duration::ZERO).unwrap().len(), 2);
        drop(queue);
        drop(tracer.begin_root(SpanName::Accept, || None));
        assert_eq!(metrics.sum_values("tidings_traces_spans_total", Some(("outcome", FULL))), 4.0);
    }
}
