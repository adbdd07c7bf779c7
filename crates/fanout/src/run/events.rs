//! Events: each is told to the persons that it names and to the first members of its crowds; the rest of a large
//! audience becomes slices.

use anyhow::bail;
use futures::{StreamExt as _, stream};
use model::{Event, Slice, UtcMillis};
use room::records::slice_record;
use topic::NewRecord;

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
        let mut begun = Vec::with_capacity(events.len());
        for event in events {
            begun.push(self.begin_event(event, &known));
        }
        let mut begun = stream::iter(begun).buffered(EVENTS_AT_ONCE);
        let (mut sheet, mut slices) = (RecipientSheet::default(), Vec::new());
        let mut heard = events.iter();
        while let Some(next) = begun.next().await {
            let again = heard.next().and_then(|heard| heard.again.clone());
            let (found, left) = next?;
            slices.extend(left.into_iter().map(|slice| (slice, again.clone())));
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
        for (slice, again) in &slices {
            let (partitions, edition) = (self.deps.room.partitions, self.deps.room.editions.own_edition());
            of_turn.push(slice_record(slice, again.as_ref(), partitions, edition)?);
        }
        Ok(of_turn)
    }

    /// Whom an event names, and the first of its crowds; and what is left of these.
    async fn begin_event(
        &self,
        heard: &FanoutItem<Event>,
        known: &SubjectStates,
    ) -> anyhow::Result<(RecipientSheet, Vec<Slice>)> {
        let FanoutItem { what: event, again } = heard;
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
            if search.rest().is_some() {
                left.push(slice);
            } else {
                room = room.saturating_sub(found);
                sheet.append(few);
            }
        }
        Ok((sheet, left))
    }
}
