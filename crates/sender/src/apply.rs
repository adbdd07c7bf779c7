//! What is done about Readys: attempts are claimed, ended and recorded, and what became of them is reported. [`delivery`]
//! is one Ready from the journal to the report, [`gate`] the claim within the courier's protocol, [`renewals`] are pushes that are
//! put into other words.

mod delivery;
mod gate;
mod renewals;

use anyhow::Context as _;
use model::{
    Channel, EntryKey, UtcMillis,
    delivery::{Delivery, DeliveryOutcome},
    ready::Ready,
    trace::TraceParent,
};
use room::records::stamp_trace;
use runtime::retry::retry_while;
use store::{JournalClaim, JournalOutcome, JournalRecord};
use traces::{Span, SpanAttribute, SpanName};

use crate::{
    config::{Config, TRIES},
    deps::Deps,
    journal::is_ours,
    left_out_entries::LeftOutEntries,
    report,
    sightings::ClaimSightings,
    tally::WaitTally,
    tokens::ClaimTokens,
};

/// What deliveries have in common. One that takes long goes on after its turn.
pub(crate) struct DeliveryService {
    pub deps: Deps,
    pub config: Config,
    tokens: ClaimTokens,
    sightings: ClaimSightings,
    pub tally: WaitTally,
}

impl DeliveryService {
    pub fn new(deps: Deps, config: Config) -> Self {
        let (tokens, sightings, tally) = Default::default();
        Self { deps, config, tokens, sightings, tally }
    }

    pub fn now(&self) -> UtcMillis {
        self.deps.room.now()
    }

    /// The span of a delivery, in the trace of the telling.
    pub fn begin_span(&self, ready: &Ready, parent: Option<&TraceParent>) -> Span {
        let mut span = self.deps.room.tracer.begin_child(SpanName::Send, parent);
        span.set(SpanAttribute::Tenant, || ready.tenant.as_str());
        span.set(SpanAttribute::Plan, || ready.plan.as_str());
        span.set(SpanAttribute::Channel, || ready.channel.name());
        span.set(SpanAttribute::Ready, || ready.id.to_string());
        span.set(SpanAttribute::Attempt, || usize::from(ready.attempt));
        span
    }

    /// A Ready that waits, with no fault of its own.
    pub fn note_wait(&self, ready: &Ready, what: &'static str, why: &str) {
        tracing::debug!(ready = %ready.id, what, why, "not handed over, tried again later");
        self.tally.note_message(ready.channel, what, why);
        self.count_wait(ready, what);
    }

    /// A Ready that found no place goes back to its owner, and comes again at once where this process is to end.
    pub fn give_back(&self, ready: &Ready) -> Delivery {
        let now = self.now();
        if self.deps.room.shutdown.is_started() {
            self.note_wait(ready, "no place", "the process ends");
            return report::report_deferred(ready, now, now);
        }
        self.note_wait(ready, "no place", "the maximum is under way");
        report::report_comes_again(ready, now)
    }

    pub fn count_wait(&self, ready: &Ready, what: &'static str) {
        self.deps.metrics.waits_total.with_label_values(&[ready.channel.name(), what]).inc();
    }

    /// Reports what became of a delivery that its turn did not wait for, once that turn has said so. What is deferred was
    /// deferred by the turn.
    pub async fn report_late(
        &self,
        delivery: &Delivery,
        parent: Option<&TraceParent>,
        turn_end: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        if matches!(delivery.outcome, DeliveryOutcome::Deferred { .. }) {
            return Ok(());
        }
        turn_end.await;
        let record = report::delivery_record(delivery.clone(), self.deps.room.partitions)?;
        let record = stamp_trace(record, parent);
        ask_again(|| self.deps.room.topics.append(vec![record.clone()])).await.context("the inbox")
    }

    /// Somebody else's claim stands, or our own was too late; the journal knows more next time.
    fn defer_stopped(&self, ready: &Ready) -> Delivery {
        let now = self.now();
        report::report_deferred(ready, now.plus(self.config.claim_ms), now)
    }

    /// Ends an attempt that came to no gate. Somebody else may have the same Ready in hand: who records has the claim.
    async fn end_attempt(
        &self,
        ready: &Ready,
        attempt: u16,
        what: JournalOutcome,
        left: LeftOutEntries,
    ) -> anyhow::Result<Delivery> {
        let claim = self.build_claim(ready, attempt, Vec::new());
        let claimed = ask_again(|| self.deps.room.store.claim(&ready.tenant, claim.clone()))
            .await
            .context("journal")?;
        if !is_ours(&claim, &claimed) {
            return Ok(self.defer_stopped(ready));
        }
        Ok(report::report_attempt(ready, &self.record_attempt(ready, attempt, what, left).await?))
    }

    /// The first record of an attempt stands, whoever made it.
    async fn standing_record(&self, ready: &Ready, ours: JournalRecord) -> anyhow::Result<JournalRecord> {
        let found = self.deps.room.store.read_journal(&ready.tenant, &[ready.id]).await.context("journal")?;
        let mut records = found.into_iter().flat_map(|found| found.records);
        Ok(records.find(|record| record.attempt == ours.attempt).unwrap_or(ours))
    }

    fn build_claim(&self, ready: &Ready, attempt: u16, told: Vec<EntryKey>) -> JournalClaim {
        let (now, token) = (self.now(), self.tokens.next());
        JournalClaim {
            ready: ready.id,
            attempt,
            token,
            at: now,
            deadline: now.plus(self.config.claim_ms),
            told,
            plan: (ready.channel == Channel::Push).then(|| ready.plan.clone()),
        }
    }

    /// Records an attempt. The first record stands: what ends a Ready is looked up, for somebody else may have found out more
    /// while we were away. What was sent was sent, and what goes on the journal tells the next time.
    async fn record_attempt(
        &self,
        ready: &Ready,
        attempt: u16,
        what: JournalOutcome,
        left: LeftOutEntries,
    ) -> anyhow::Result<JournalRecord> {
        let ours = JournalRecord { ready: ready.id, attempt, at: self.now(), what, left };
        ask_again(|| self.deps.room.store.record(&ready.tenant, ours.clone())).await.context("journal")?;
        let is_plain = matches!(what, JournalOutcome::Sent | JournalOutcome::NotSent | JournalOutcome::Away);
        let stands = if is_plain { ours.clone() } else { self.standing_record(ready, ours.clone()).await? };
        if stands == ours {
            self.count_record(ready, &ours);
        }
        Ok(stands)
    }

    /// Each outcome once: where it is recorded, and not where it is reported again.
    fn count_record(&self, ready: &Ready, record: &JournalRecord) {
        let metrics = &self.deps.metrics;
        let outcome = report::outcome_name(record.what);
        tracing::debug!(ready = %ready.id, attempt = record.attempt, outcome, "recorded");
        metrics.outcomes_total.with_label_values(&[ready.channel.name(), outcome]).inc();
        // New words of what was told are not late for what it tells.
        if record.what == JournalOutcome::Sent && ready.renews.is_none() {
            let plan = self.catalogue_of(ready).plans.by_name.get(&ready.plan);
            let paused = self.deps.room.pauses.current();
            metrics.note_told(ready, plan.is_some_and(|plan| plan.urgent), &paused, record.at);
        }
        for (_, why) in &record.left {
            metrics.left_out_total.with_label_values(&[why.text()]).inc();
        }
    }
}

/// What an engine answers, which may be busy for a moment: whoever stops here comes again only after the claim's deadline.
async fn ask_again<T, E, F: Future<Output = Result<T, E>>>(ask: impl Fn() -> F) -> Result<T, E> {
    retry_while(TRIES - 1, |_| true, ask).await
}
