//! The spans of turns: what is read of a trace, and what is told of several. A turn that is not committed leaves none.

use std::collections::BTreeMap;

use model::{
    EntryKey, ReadyId,
    ready::Ready,
    trace::{ReadyTraces, TraceContext, TraceParent},
};
use runtime::trace_scope::TraceScope;
use topic::{RecordBatch, TopicRecord};
use traces::{Span, SpanAttribute, SpanName, Tracer};
use wire::{topics, trace};

use crate::decide::DigestDecision;

/// In which spans Readys are told.
pub(crate) type ReadyParents = BTreeMap<ReadyId, TraceParent>;

/// The spans of the turns that are under way, by their partitions.
#[derive(Debug, Default)]
pub(super) struct TurnSpans(BTreeMap<u32, Vec<Span>>);

impl TurnSpans {
    /// Begins those of what a turn reads. Whoever logs within it names the first.
    pub fn begin(&mut self, tracer: &Tracer, batch: &RecordBatch) -> Option<TraceScope> {
        self.discard(batch.partition);
        if !tracer.is_on() {
            return None;
        }
        let spans: Vec<Span> = batch.records.iter().flat_map(|record| begin_spans(tracer, record)).collect();
        let scope = spans.first().and_then(Span::scope);
        if !spans.is_empty() {
            self.0.insert(batch.partition, spans);
        }
        scope
    }

    /// Begins those of what a turn tells, each linked to all that it is of.
    pub fn begin_tellings(
        &mut self,
        tracer: &Tracer,
        partition: u32,
        decided: &DigestDecision,
    ) -> ReadyParents {
        let mut parents = ReadyParents::new();
        for ReadyTraces { ready, links } in &decided.traces {
            let Some(ready) = decided.ready.iter().find(|told| told.id == *ready) else { continue };
            let span = begin_telling(tracer, ready, links.clone());
            if let Some(parent) = span.as_parent() {
                parents.insert(ready.id, parent);
                self.0.entry(partition).or_default().push(span);
            }
        }
        parents
    }

    /// The turn is committed.
    pub fn end(&mut self, partition: u32) {
        self.0.remove(&partition);
    }

    /// It did not happen.
    pub fn discard(&mut self, partition: u32) {
        self.0.remove(&partition).into_iter().flatten().for_each(Span::discard);
    }
}

/// Of an announcement a span for each entry that is traced, of a report one.
fn begin_spans(tracer: &Tracer, record: &TopicRecord) -> Vec<Span> {
    if &*record.topic != topics::PENDING {
        let span = tracer.begin_child(SpanName::Report, trace::read_parent(&record.headers).as_ref());
        return if span.is_recorded() { vec![span] } else { Vec::new() };
    }
    let gather = |(entry, context): (EntryKey, TraceContext)| {
        let parent = TraceParent { context, is_sampled: true, state: None };
        let mut span = tracer.begin_child(SpanName::Gather, Some(&parent));
        span.set(SpanAttribute::Event, || entry.event.to_string());
        span
    };
    trace::read_entries(&record.headers).into_iter().map(gather).collect()
}

fn begin_telling(tracer: &Tracer, ready: &Ready, links: Vec<TraceContext>) -> Span {
    let mut span = tracer.begin_linked(SpanName::Tell, links);
    span.set(SpanAttribute::Tenant, || ready.tenant.as_str());
    span.set(SpanAttribute::Plan, || ready.plan.as_str());
    span.set(SpanAttribute::Channel, || ready.channel.name());
    span.set(SpanAttribute::Ready, || ready.id.to_string());
    span.set(SpanAttribute::Attempt, || usize::from(ready.attempt));
    span.set(SpanAttribute::Entries, || ready.entries.len());
    span
}
