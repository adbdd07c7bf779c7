//! Pushes that are put into other words on the occasion of a Ready without words, before that goes out itself.

use std::sync::Arc;

use anyhow::Context as _;
use model::{ReadyId, UtcMillis, delivery::DeliveryOutcome, ready::Ready};
use store::JournalRows;

use super::DeliveryService;
use crate::{
    badge,
    config::RENEWED_MAX,
    decide::{DeliveryStep, decide_delivery},
    facts::LoadedBatch,
    journal::{JournalVerdict, read_journal},
    load,
    renewal::build_renewal,
};

/// What came of the pushes that had to be put into other words.
pub(super) enum RenewalOutcome {
    /// All of it is done, and this is known now.
    Done(Arc<LoadedBatch>),
    /// One of them goes out later, and so does the Ready on whose occasion it is.
    Waits(UtcMillis),
}

impl DeliveryService {
    pub(super) async fn renew_pushes(
        &self,
        ready: &Ready,
        loaded: Arc<LoadedBatch>,
    ) -> anyhow::Result<RenewalOutcome> {
        let mut has_sent = false;
        for renewal in self.list_renewals(ready, &loaded).await? {
            let (readys, of_renewal) = load::load_batch(&self.deps, vec![renewal]).await?;
            let of_renewal = Arc::new(of_renewal);
            for renewal in readys {
                match self.deliver_journalled(&renewal, of_renewal.clone()).await?.outcome {
                    DeliveryOutcome::Deferred { until, .. } => return Ok(RenewalOutcome::Waits(until)),
                    DeliveryOutcome::Sent { .. } => has_sent = true,
                    // What became of a part of a push changes nothing of what was told.
                    DeliveryOutcome::Nothing { .. }
                    | DeliveryOutcome::Refused { .. }
                    | DeliveryOutcome::Returned { .. }
                    | DeliveryOutcome::Unknown { .. } => {}
                }
            }
        }
        if !has_sent {
            return Ok(RenewalOutcome::Done(loaded));
        }
        // They have the number too, so the one without words may have nothing to tell.
        let (_, loaded) = load::load_batch(&self.deps, vec![ready.clone()]).await?;
        Ok(RenewalOutcome::Done(Arc::new(loaded)))
    }

    /// Those that the journal has not ended.
    async fn list_renewals(&self, ready: &Ready, loaded: &LoadedBatch) -> anyhow::Result<Vec<Ready>> {
        let (now, catalogue, facts) = (self.now(), self.catalogue_of(ready), loaded.facts_of(ready));
        let journalled = loaded.journal.get(&ready.id).cloned().unwrap_or_default();
        let step = decide_delivery(ready, &journalled, catalogue, now);
        let is_sent = matches!(step, DeliveryStep::Send(_)) && !self.is_paused(ready) && now < ready.expires;
        let pushes = if is_sent { badge::list_partly_withdrawn(&facts.view, now) } else { Vec::new() };
        let told = self.read_of_journal(ready, &pushes).await?;
        let build = |(push, journalled): (&ReadyId, &JournalRows)| {
            build_renewal(ready, (*push, journalled), facts, (&loaded.world, catalogue), now)
        };
        // What is paused stays as it was told, until the next occasion after the pause.
        let built = pushes.iter().zip(&told).filter_map(build);
        let renewals: Vec<Ready> = built.filter(|renewal| !self.is_paused(renewal)).collect();
        let ids: Vec<ReadyId> = renewals.iter().map(|renewal| renewal.id).collect();
        let known = self.read_of_journal(ready, &ids).await?;
        let is_open = |(renewal, journalled): &(Ready, JournalRows)| {
            !matches!(read_journal(renewal, journalled, now), JournalVerdict::Ended(_))
        };
        let open = renewals.into_iter().zip(known).filter(is_open);
        Ok(open.map(|(renewal, _)| renewal).take(RENEWED_MAX).collect())
    }

    async fn read_of_journal(&self, ready: &Ready, ids: &[ReadyId]) -> anyhow::Result<Vec<JournalRows>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.deps.room.store.read_journal(&ready.tenant, ids).await.context("journal")
    }
}
