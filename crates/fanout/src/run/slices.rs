//! Slices of large audiences (law 13): each round tells a few at the same time, which share what may be in hand, and writes
//! what is left of each: one slice, or several.

use anyhow::Context as _;
use futures::{StreamExt as _, stream::FuturesUnordered};
use model::{
    Slice, Tenant, UtcMillis,
    fault::{self, PlantedFault},
    partition::PartitionCount,
};
use room::records::{slice_record, stamp_trace};
use runtime::{crash_point, trace_scope::with_scope};
use tokio::task::spawn_blocking;
use topic::NewRecord;
use traces::{Span, SpanAttribute, SpanName};

use super::FanoutWork;
use crate::{
    apply::{self, while_writing},
    config::{CROWD_PARTS_MAX, LIGHT_SLICES_MAX, PARTS_OF_SLICE},
    decide, load,
    read::FanoutItem,
    recipient_sheet::{RecipientSheet, ResolvedSheet},
    records::pending_records,
    search::{CrowdSearch, PartSizes},
};

impl FanoutWork {
    /// Law 13: tells one slice, and returns what belongs to its turn: the announcements, and the slices of what is
    /// left. While parts are written the next ones are made.
    pub(super) async fn tell_slice(
        &self,
        slice: FanoutItem<Slice>,
        at: (u32, UtcMillis),
        at_once: usize,
    ) -> anyhow::Result<Vec<NewRecord>> {
        let mut span = self.deps.room.tracer.begin_child(SpanName::Slice, slice.trace.as_ref());
        span.set(SpanAttribute::Tenant, || slice.what.event.tenant.as_str());
        span.set(SpanAttribute::Event, || slice.what.event.key.to_string());
        with_scope(span.scope(), self.walk_slice(slice, &mut span, at, at_once)).await
    }

    async fn walk_slice(
        &self,
        slice: FanoutItem<Slice>,
        span: &mut Span,
        (partition, now): (u32, UtcMillis),
        at_once: usize,
    ) -> anyhow::Result<Vec<NewRecord>> {
        let FanoutItem { what: slice, again, trace: parent } = slice;
        let is_first = slice.from.is_none();
        let mut sheet = decide::listed_sheet(&slice, again.as_ref(), &self.deps.room.catalogue);
        let (mut search, mut all, mut writes) =
            (CrowdSearch::new(slice), Vec::new(), FuturesUnordered::new());
        let whole = self.slice_size(&search.slice().event.tenant, at_once);
        let a_part = whole.min(self.sizes.slice.div_ceil(PARTS_OF_SLICE));
        // The sooner a large crowd is cut, the sooner others tell it too.
        let mut room = if is_first && self.config.crowd_parts > 1 { a_part } else { whole };
        // One part alone first, so that something is written while the others are read.
        let mut most = a_part;
        loop {
            sheet.set_trace(span.context());
            for part in sheet.parts(a_part) {
                let ResolvedSheet { rows, announced, counts } =
                    while_writing(load::resolve_sheet(&self.deps, part), &mut writes).await?;
                all.extend(announced);
                writes.push(async move {
                    let written = apply::write_rows(&self.deps, rows, now).await;
                    self.deps.metrics.count_rows(counts);
                    if fault::is_planted(PlantedFault::SliceSkipped) { Ok(()) } else { written }
                });
            }
            if room == 0 {
                break;
            }
            sheet = RecipientSheet::default();
            let finding =
                load::find_members(&self.deps, &mut search, again.as_ref(), most, &mut sheet, |_| false);
            let found = while_writing(finding, &mut writes).await?;
            if found == 0 {
                break;
            }
            room = room.saturating_sub(found);
            most = room;
        }
        span.set(SpanAttribute::Persons, || all.len());
        // On a thread of its own: this one starts what is still to be written.
        let edition = self.deps.room.editions.own_edition();
        let encoding = spawn_blocking(move || pending_records(all, edition));
        let announcements =
            while_writing(async { encoding.await.context("encode announcements")? }, &mut writes).await;
        while let Some(written) = writes.next().await {
            written?;
        }
        crash_point::point(crash_point::STORED);
        let mut of_turn = announcements?;
        let left = self.cut_rest(search).await?;
        match left.len() {
            0 => self.deps.metrics.count_ended_slice(),
            parts => self.deps.metrics.count_begun_slices(parts - 1),
        }
        for (part, next) in (0..).zip(&left) {
            let lies = lie_apart(partition, part, self.deps.room.partitions);
            let record = slice_record(next, again.as_ref(), lies, edition)?;
            // The next one is of the event's trace as this one is, and not below it.
            let parent = parent.as_ref().filter(|_| span.is_recorded());
            of_turn.push(stamp_trace(record, parent));
        }
        Ok(of_turn)
    }

    /// Persons that a round with so many slices tells of a tenant's: its share of a whole slice, of others than the heaviest
    /// tenant as much as their weight says, since each part of a crowd has its turn as often as another.
    fn slice_size(&self, tenant: &Tenant, at_once: usize) -> usize {
        let whole = self.sizes.slice;
        (whole * self.config.shares.weight(tenant) as usize
            / self.config.shares.weight_max() as usize
            / at_once.max(1))
        .max(whole.div_ceil(LIGHT_SLICES_MAX))
    }

    /// What is left of a slice. A large crowd is cut, so that every process has a part of it.
    async fn cut_rest(&self, search: CrowdSearch) -> anyhow::Result<Vec<Slice>> {
        let sizes = PartSizes { share: self.sizes.slice.div_ceil(2), most: self.config.crowd_parts };
        let mut places = Vec::new();
        if let Some((crowd, cut)) = search.begun(sizes) {
            let cutting = self.deps.room.store.cut_crowd(&search.slice().event.tenant, crowd, cut);
            places = cutting.await.context("cut a crowd")?;
            if fault::is_planted(PlantedFault::PartForgotten) && places.len() > 1 {
                places.pop();
            }
        }
        Ok(search.rest(places, sizes))
    }
}

/// The partition of a part, the first of which stays where the whole was. Neighbours are often read by one process, and so
/// are those that are a round number apart.
fn lie_apart(partition: u32, part: u32, partitions: PartitionCount) -> u32 {
    let step = partitions.count() / CROWD_PARTS_MAX as u32 + 1;
    (partition + part * step) % partitions.count()
}
