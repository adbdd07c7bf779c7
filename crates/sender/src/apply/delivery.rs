//! One delivery, from what the journal says of its Ready to the report.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicBool};

use catalogue::Catalogue;
use courier::{HandoverOutcome, Message, MessagePayload};
use model::{
    VersionedState,
    delivery::Delivery,
    fault::{self, PlantedFault},
    ready::Ready,
};
use runtime::{clock::SteadyStopwatch, crash_point, retry};
use store::{JournalClaim, JournalOutcome, JournalRecord, JournalRows, StateKey};
use traces::{SpanAttribute, SpanName};

use super::{DeliveryService, ask_again, gate::ClaimGate, renewals::RenewalOutcome};
use crate::{
    badge, check,
    config::{BUSY, RECALL, REMADE_MAX},
    decide::{DeliveryStep, decide_delivery, decide_message},
    facts::LoadedBatch,
    journal::{self, record_unclear},
    left_out_entries::LeftOutEntries,
    message::{MessageMaker, message_id, sender_of},
    report,
};

/// What came of handing a message over.
enum SendAttempt {
    Told(Box<Delivery>),
    /// Other facts have come meanwhile: the message is made anew of these.
    Changed(Arc<LoadedBatch>),
    /// It has no turn yet.
    Busy(String),
}

impl SendAttempt {
    fn from_delivery(delivery: Delivery) -> Self {
        Self::Told(Box::new(delivery))
    }
}

impl DeliveryService {
    /// One Ready, with the pushes that are put into other words on its occasion.
    pub(crate) async fn deliver_ready(
        &self,
        ready: &Ready,
        loaded: Arc<LoadedBatch>,
    ) -> anyhow::Result<Delivery> {
        if !ready.is_wordless() {
            return self.deliver_journalled(ready, loaded).await;
        }
        match self.renew_pushes(ready, loaded).await? {
            RenewalOutcome::Done(loaded) => self.deliver_journalled(ready, loaded).await,
            RenewalOutcome::Waits(until) => Ok(report::report_deferred(ready, until, self.now())),
        }
    }

    /// One Ready, from the journal to the report.
    pub(super) async fn deliver_journalled(
        &self,
        ready: &Ready,
        loaded: Arc<LoadedBatch>,
    ) -> anyhow::Result<Delivery> {
        let (now, catalogue) = (self.now(), self.catalogue_of(ready));
        let mut journalled = loaded.journal.get(&ready.id).cloned().unwrap_or_default();
        loop {
            return match decide_delivery(ready, &journalled, catalogue, now) {
                DeliveryStep::Report(delivery) => Ok(*delivery),
                DeliveryStep::Resolve(claim) => {
                    if let Some(left_ms) = self.claim_left_ms(ready, &claim).await? {
                        if ready.is_recalled() {
                            // Its owner has no room for it, and the log is not to go around faster than this.
                            retry::wait_real_time(RECALL).await;
                        }
                        return Ok(report::report_deferred(ready, now.plus(left_ms), now));
                    }
                    let record = self.resolve_claim(ready, &claim, &loaded, &journalled).await?;
                    journalled.records.push(record);
                    continue;
                }
                DeliveryStep::GiveBack { attempt, is_known } => {
                    if !is_known {
                        let why = "this catalogue does not have its plan or its kinds";
                        self.tally.note_message(ready.channel, "given back", why);
                    }
                    let what = journal::record_recall(&journalled);
                    self.end_attempt(ready, attempt, what, LeftOutEntries::new()).await
                }
                DeliveryStep::Send(attempt) if self.is_paused(ready) => {
                    self.tally.note_message(ready.channel, "given back", "an operator has paused it");
                    let what = journal::record_recall(&journalled);
                    self.end_attempt(ready, attempt, what, LeftOutEntries::new()).await
                }
                DeliveryStep::Send(attempt) => self.send_ready(ready, attempt, loaded, &journalled).await,
            };
        }
    }

    /// Whether an operator has stopped what it belongs to: then what it tells waits in the person's days.
    pub(super) fn is_paused(&self, ready: &Ready) -> bool {
        self.deps.room.pauses.current().has(&ready.tenant, &ready.plan)
    }

    /// For how many milliseconds a claim without a record may still be in the hands of whoever has it. That runs from when
    /// this process saw it first, by its own clock: those of two processes are never compared.
    async fn claim_left_ms(&self, ready: &Ready, claim: &JournalClaim) -> anyhow::Result<Option<i64>> {
        let stood = self.sightings.standing_ms(claim.token, self.deps.room.clock.steady());
        let left_ms = self.config.claim_ms.saturating_sub(stood).saturating_add(1);
        let is_held =
            left_ms > 0 && !journal::tells_nothing(ready, claim) && self.was_sent(ready).await? != Some(true);
        Ok(is_held.then_some(left_ms))
    }

    /// What the courier says of a message that it was handed; nothing if it cannot tell.
    async fn was_sent(&self, ready: &Ready) -> anyhow::Result<Option<bool>> {
        let id = message_id(ready, sender_of(ready, self.catalogue_of(ready)));
        Ok(self.deps.courier.was_sent(ready.channel, &id).await?)
    }

    /// Records what the courier says of a claim that nobody holds any more; only if it cannot tell either is
    /// it unknown.
    async fn resolve_claim(
        &self,
        ready: &Ready,
        claim: &JournalClaim,
        loaded: &LoadedBatch,
        journalled: &JournalRows,
    ) -> anyhow::Result<JournalRecord> {
        let what = match self.was_sent(ready).await? {
            _ if journal::tells_nothing(ready, claim) => JournalOutcome::NotSent,
            Some(true) => JournalOutcome::Sent,
            Some(false) => JournalOutcome::NotSent,
            None => self.unclear_record(ready, journalled),
        };
        let (facts, now) = (loaded.facts.get(&ready.id), self.now());
        let left = check::untold_entries(ready, claim, facts, &loaded.world, self.catalogue_of(ready), now);
        let (what, left) = journal::record_failure(ready, claim.attempt, journalled, (what, left), now);
        self.record_attempt(ready, claim.attempt, what, left).await
    }

    /// How an attempt is recorded of which nobody can say whether it was sent.
    fn unclear_record(&self, ready: &Ready, journalled: &JournalRows) -> JournalOutcome {
        record_unclear(ready, journalled, self.catalogue_of(ready))
    }

    /// Makes the message and hands it over, as long as others go first or other facts come.
    async fn send_ready(
        &self,
        ready: &Ready,
        attempt: u16,
        mut loaded: Arc<LoadedBatch>,
        past: &JournalRows,
    ) -> anyhow::Result<Delivery> {
        let (since, mut given_up) = (self.deps.room.clock.steady(), 0);
        loop {
            match self.try_once(ready, attempt, &loaded, past, given_up).await? {
                SendAttempt::Told(delivery) => return Ok(*delivery),
                SendAttempt::Changed(_) if given_up > REMADE_MAX => {
                    return Ok(report::report_comes_again(ready, self.now()));
                }
                SendAttempt::Changed(known) => (loaded, given_up) = (known, given_up + 1),
                SendAttempt::Busy(why) => {
                    let has_waited = self.deps.room.clock.steady() - since >= self.config.claim_ms;
                    if has_waited || self.deps.room.shutdown.is_started() {
                        self.note_wait(ready, "busy", &why);
                        return Ok(report::report_comes_again(ready, self.now()));
                    }
                    retry::wait_real_time(BUSY).await;
                }
            }
        }
    }

    /// Checks, claims, hands over, records.
    async fn try_once(
        &self,
        ready: &Ready,
        attempt: u16,
        loaded: &LoadedBatch,
        past: &JournalRows,
        given_up: usize,
    ) -> anyhow::Result<SendAttempt> {
        let (now, facts, catalogue) = (self.now(), loaded.facts_of(ready), self.catalogue_of(ready));
        let mut checked = check::check_ready(ready, facts, &loaded.world, catalogue, now);
        if checked.told.is_empty() && !check::wants_wordless(ready, facts, (&loaded.world, catalogue), now) {
            return self
                .end_attempt(ready, attempt, JournalOutcome::Nothing, checked.left)
                .await
                .map(SendAttempt::from_delivery);
        }
        let rendering = self.deps.room.tracer.begin_here(SpanName::Render);
        let message = decide_message(&self.message_maker(ready, loaded), ready, facts, &mut checked);
        drop(rendering);
        let Some(message) = message else {
            return self
                .end_attempt(ready, attempt, JournalOutcome::Refused, checked.left)
                .await
                .map(SendAttempt::from_delivery);
        };
        let (claimed, changed) = (AtomicBool::new(false), Mutex::default());
        let gate = ClaimGate {
            desk: self,
            ready,
            attempt,
            loaded,
            facts,
            checked: &checked,
            given_up,
            claimed,
            changed,
        };
        let handed = self.hand_over(ready, &message, &gate).await?;
        let is_claimed = gate.claimed.into_inner();
        if let Some(loaded) = gate.changed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Ok(SendAttempt::Changed(loaded));
        }
        match &handed {
            HandoverOutcome::Busy(why) if !is_claimed => return Ok(SendAttempt::Busy(why.clone())),
            HandoverOutcome::NotNow(why) => self.note_wait(ready, "not now", why),
            HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => self.note_wait(ready, "away", why),
            HandoverOutcome::Accepted
            | HandoverOutcome::Stopped
            | HandoverOutcome::Refused(_)
            | HandoverOutcome::Unknown(_) => {}
        }
        if matches!(handed, HandoverOutcome::Away(_)) && !is_claimed {
            return Ok(SendAttempt::from_delivery(report::report_comes_again(ready, self.now())));
        }
        let Some(what) = journal::record_outcome(ready, &handed, || self.unclear_record(ready, past)) else {
            return Ok(SendAttempt::from_delivery(self.defer_stopped(ready)));
        };
        let (what, left) = journal::record_failure(ready, attempt, past, (what, checked.left), self.now());
        if !is_claimed && !fault::is_planted(PlantedFault::RecordedUnclaimed) {
            return self.end_attempt(ready, attempt, what, left).await.map(SendAttempt::from_delivery);
        }
        Ok(SendAttempt::from_delivery(report::report_attempt(
            ready,
            &self.record_attempt(ready, attempt, what, left).await?,
        )))
    }

    /// The one that the person of a Ready has.
    pub(super) fn catalogue_of(&self, ready: &Ready) -> &Catalogue {
        self.deps.room.catalogue.for_person(&ready.person)
    }

    fn message_maker<'a>(&'a self, ready: &Ready, loaded: &'a LoadedBatch) -> MessageMaker<'a> {
        MessageMaker {
            catalogue: self.catalogue_of(ready),
            renderer: self.deps.renderer.for_person(&ready.person),
            zones: &self.deps.room.zones,
            world: &loaded.world,
            links: self.config.links.as_ref(),
            returns: self.config.returns.as_ref(),
            now: self.now(),
        }
    }

    /// Notes which number the devices were told. Without the note they may be told it once more; or, where it is that of an older
    /// note, hear of it with the next change alone.
    async fn note_icon(&self, ready: &Ready, note: Option<VersionedState>) {
        let Some(note) = note else { return };
        let key = StateKey::Notes(ready.tenant.clone(), ready.person.clone());
        let note = vec![(key, note)];
        if let Err(error) = ask_again(|| self.deps.room.store.merge(note.clone())).await {
            tracing::warn!(ready = %ready.id, %error, "the number on an icon is not noted");
        }
    }

    async fn hand_over(
        &self,
        ready: &Ready,
        message: &Message,
        gate: &ClaimGate<'_>,
    ) -> anyhow::Result<HandoverOutcome> {
        let (watch, mut span) =
            (SteadyStopwatch::start(), self.deps.room.tracer.begin_here(SpanName::HandOver));
        span.set(SpanAttribute::Channel, || ready.channel.name());
        let handed = self.deps.courier.hand(message, gate).await?;
        span.set(SpanAttribute::Outcome, || handed.name());
        drop(span);
        let seconds = watch.elapsed().as_secs_f64();
        self.deps.metrics.hand_over_seconds.with_label_values(&[ready.channel.name()]).observe(seconds);
        if handed == HandoverOutcome::Accepted {
            crash_point::point(crash_point::SENT);
            if let MessagePayload::Push(push) = &message.way {
                self.note_icon(ready, badge::note_told(push, gate.facts, self.now())).await;
            }
        }
        Ok(handed)
    }
}
