//! Events: each is told to the persons that it names and to the first members of its crowds; the rest of a large
//! audience becomes slices.

use anyhow::bail;
use futures::{StreamExt as _, stream};
use model::{Event, Kind, Slice, UtcMillis};
use room::records::{slice_record, stamp_trace};
use runtime::trace_scope::with_scope;
use topic::NewRecord;
use traces::{Span, SpanAttribute, SpanName};

use super::FanoutWork;
use crate::{
    apply,
    config::{EVENTS_AT_ONCE, SHEET_ROWS_MAX},
    decide,
    facts::SubjectStates,
    load,
    reach::EventReach,
    read::FanoutItem,
    recipient_sheet::RecipientSheet,
    search::CrowdSearch,
};

impl FanoutWork {
    /// Tells each event to whom it names and to the first of its crowds, a sheet at a time. Returns the
    /// announcements of the last sheet, and the slices that tell the others.
    pub(super) async fn tell_events(
        &self,
        events: &[FanoutItem<Event>],
        now: UtcMillis,
    ) -> anyhow::Result<Vec<NewRecord>> {
        let known = load::load_subjects(&self.deps, events).await?;
        let mut spans: Vec<Span> = events.iter().map(|event| self.begin_span(event)).collect();
        let mut begun = Vec::with_capacity(events.len());
        for (event, span) in events.iter().zip(&spans) {
            begun.push(with_scope(span.scope(), self.begin_event(event, &known)));
        }
        let mut begun = stream::iter(begun).buffered(EVENTS_AT_ONCE);
        let (mut sheet, mut slices) = (RecipientSheet::default(), Vec::new());
        let mut heard = events.iter().zip(&mut spans);
        while let Some(next) = begun.next().await {
            let (mut found, left) = next?;
            let Some((of, span)) = heard.next() else { break };
            found.set_trace(span.context());
            describe_reach(span, &found, left.len());
            let parent = span.as_parent();
            slices.extend(left.into_iter().map(|slice| (slice, of.again.clone(), parent.clone())));
            if !sheet.is_empty() && sheet.rows() + found.rows() > SHEET_ROWS_MAX {
                let announcements = self.tell_sheet(std::mem::take(&mut sheet), now).await?;
                apply::announce(&self.deps, announcements).await?;
                if self.deps.room.shutdown.is_started() {
                    // A large turn is not waited for: what was told is told again, harmlessly.
                    bail!("stopped within a turn");
                }
            }
            sheet.append(found);
        }
        // Most turns have one sheet: it is announced with the turn's own records, and synced once.
        let mut of_turn = self.tell_sheet(sheet, now).await?;
        self.deps.metrics.note_told(events, self.deps.room.now());
        self.deps.metrics.count_begun_slices(slices.len());
        for (slice, again, parent) in &slices {
            let partition = self.deps.room.partitions.of_subject(&slice.event.tenant, &slice.event.subject);
            let record =
                slice_record(slice, again.as_ref(), partition, self.deps.room.editions.own_edition())?;
            of_turn.push(stamp_trace(record, parent.as_ref()));
        }
        Ok(of_turn)
    }

    /// The span of an event, in the trace that it came in.
    fn begin_span(&self, heard: &FanoutItem<Event>) -> Span {
        let mut span = self.deps.room.tracer.begin_child(SpanName::Resolve, heard.trace.as_ref());
        span.set(SpanAttribute::Tenant, || heard.what.tenant.as_str());
        span.set(SpanAttribute::Event, || heard.what.key.to_string());
        span
    }

    /// Whom an event names, and the first of its crowds; and what is left of these.
    async fn begin_event(
        &self,
        heard: &FanoutItem<Event>,
        known: &SubjectStates,
    ) -> anyhow::Result<(RecipientSheet, Vec<Slice>)> {
        let FanoutItem { what: event, again, .. } = heard;
        let EventReach { named: mut sheet, slices, listed } =
            decide::find_reach(heard, known.of_event(event), &self.deps.room.catalogue, self.sizes.inline);
        let (mut room, mut left) = (self.sizes.inline, Vec::from_iter(listed));
        for slice in slices {
            let (mut search, mut few) = (CrowdSearch::new(slice.clone()), RecipientSheet::default());
            // A crowd that is not done with one part may go on for very long, also if nearly everybody left it.
            let again = again.as_ref();
            let found =
                load::find_members(&self.deps, &mut search, again, room, &mut few, CrowdSearch::is_within)
                    .await?;
            // A small audience is told at once, and a large one by its slices alone: less is written and synced.
            if !search.is_done() {
                left.push(slice);
            } else {
                room = room.saturating_sub(found);
                sheet.append(few);
            }
        }
        Ok((sheet, left))
    }
}

/// How far an event reaches.
fn describe_reach(span: &mut Span, found: &RecipientSheet, slices: usize) {
    span.set(SpanAttribute::Rows, || found.rows());
    span.set(SpanAttribute::Slices, || slices);
    span.set(SpanAttribute::Kinds, || {
        found.list_kinds().into_iter().map(Kind::as_str).collect::<Vec<_>>().join(",")
    });
}
