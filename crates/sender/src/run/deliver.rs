//! One delivery, from what the journal says of its Ready to the report.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicBool};

use anyhow::Context as _;
use courier::{Handed, Message};
use model::{
    EntryKey, Why,
    delivery::Delivery,
    fault::{self, Fault},
    ready::Ready,
};
use runtime::{clock::Stopwatch, crash, retry};
use store::{Claim, Journalled, Record, Recorded};

use super::{Desk, asked, gate::ClaimGate};
use crate::{
    check::{self, Checked, Facts, Left},
    config::{BUSY, RECALL, REMADE_MAX},
    loaded::Loaded,
    message::{Making, message_id, sender_of},
    past::{self, Past, is_ours, unclear},
    report,
};

/// What came of handing a message over.
enum Tried {
    Told(Box<Delivery>),
    /// Other facts have come meanwhile: the message is made anew of these.
    Changed(Arc<Loaded>),
    /// It has no turn yet.
    Busy(String),
}

impl Tried {
    fn told(delivery: Delivery) -> Self {
        Self::Told(Box::new(delivery))
    }
}

impl Desk {
    /// One Ready, from the journal to the report.
    pub(super) async fn deliver(&self, ready: &Ready, loaded: Arc<Loaded>) -> anyhow::Result<Delivery> {
        let now = self.now();
        let mut journalled = loaded.journal.get(&ready.id).cloned().unwrap_or_default();
        loop {
            return match past::past(ready, &journalled, now) {
                Past::Unclear(claim) if fault::planted(Fault::ClaimIgnored) => {
                    self.send(ready, claim.attempt, loaded, &journalled).await
                }
                Past::Ended(record) => Ok(report::of_record(ready, &record)),
                Past::NotBefore(until) => Ok(report::deferred(ready, until, now)),
                Past::Unclear(claim) => {
                    if let Some(left_ms) = self.held_for(ready, &claim).await? {
                        if ready.is_recalled() {
                            // Its owner has no room for it, and the log is not to go around faster than this.
                            retry::wait(RECALL).await;
                        }
                        return Ok(report::deferred(ready, now.plus(left_ms), now));
                    }
                    let record = self.resolve(ready, &claim, &loaded, &journalled).await?;
                    journalled.records.push(record);
                    continue;
                }
                Past::Open(attempt) if ready.is_recalled() => {
                    let what = past::recalled(&journalled);
                    self.ended(ready, attempt, what, Left::new()).await
                }
                Past::Open(attempt) if !check::is_known(ready, &self.ports.catalogue) => {
                    self.tally.note(
                        ready.channel,
                        "given back",
                        "this catalogue does not have its plan or its kinds",
                    );
                    self.ended(ready, attempt, past::recalled(&journalled), Left::new()).await
                }
                Past::Open(attempt) => self.send(ready, attempt, loaded, &journalled).await,
            };
        }
    }

    /// For how many milliseconds a claim without a record may still be in the hands of whoever has it. That runs from when
    /// this process saw it first, by its own clock: those of two processes are never compared.
    async fn held_for(&self, ready: &Ready, claim: &Claim) -> anyhow::Result<Option<i64>> {
        let stood = self.sightings.stood(claim.token, self.ports.clock.steady());
        let left_ms = self.config.claim_ms.saturating_sub(stood).saturating_add(1);
        let is_held = left_ms > 0
            && !past::tells_nothing(ready, claim)
            && self.outcome(ready).await? != courier::Outcome::Sent;
        Ok(is_held.then_some(left_ms))
    }

    async fn outcome(&self, ready: &Ready) -> anyhow::Result<courier::Outcome> {
        let id = message_id(ready, sender_of(ready, &self.ports.catalogue));
        Ok(self.ports.courier.outcome(ready.channel, &id).await?)
    }

    /// Records what the courier says of a claim that nobody holds any more; only if it cannot tell either is
    /// it unknown.
    async fn resolve(
        &self,
        ready: &Ready,
        claim: &Claim,
        loaded: &Loaded,
        journalled: &Journalled,
    ) -> anyhow::Result<Record> {
        let what = match self.outcome(ready).await? {
            _ if past::tells_nothing(ready, claim) => Recorded::NotSent,
            courier::Outcome::Sent => Recorded::Sent,
            courier::Outcome::NotSent => Recorded::NotSent,
            courier::Outcome::CannotTell => self.unclear(ready, journalled),
        };
        let (facts, now) = (loaded.facts.get(&ready.id), self.now());
        let left = check::untold(ready, claim, facts, &loaded.world, &self.ports.catalogue, now);
        let (what, left) = past::failed(ready, claim.attempt, journalled, (what, left), now);
        self.record(ready, claim.attempt, what, left).await
    }

    /// How an attempt is recorded of which nobody can say whether it was sent.
    fn unclear(&self, ready: &Ready, journalled: &Journalled) -> Recorded {
        unclear(ready, journalled, &self.ports.catalogue)
    }

    /// Makes the message and hands it over, as long as others go first or other facts come.
    async fn send(
        &self,
        ready: &Ready,
        attempt: u16,
        mut loaded: Arc<Loaded>,
        past: &Journalled,
    ) -> anyhow::Result<Delivery> {
        let (since, mut given_up) = (self.ports.clock.steady(), 0);
        loop {
            match self.try_once(ready, attempt, &loaded, past, given_up).await? {
                Tried::Told(delivery) => return Ok(*delivery),
                Tried::Changed(_) if given_up > REMADE_MAX => {
                    return Ok(report::comes_again(ready, self.now()));
                }
                Tried::Changed(known) => (loaded, given_up) = (known, given_up + 1),
                Tried::Busy(why) => {
                    let has_waited = self.ports.clock.steady() - since >= self.config.claim_ms;
                    if has_waited || self.ports.shutdown.started() {
                        self.waits(ready, "busy", &why);
                        return Ok(report::comes_again(ready, self.now()));
                    }
                    retry::wait(BUSY).await;
                }
            }
        }
    }

    /// Checks, claims, hands over, records.
    async fn try_once(
        &self,
        ready: &Ready,
        attempt: u16,
        loaded: &Loaded,
        past: &Journalled,
        given_up: usize,
    ) -> anyhow::Result<Tried> {
        let (now, facts, catalogue) = (self.now(), loaded.facts_of(ready), &self.ports.catalogue);
        let mut checked = check::check(ready, facts, &loaded.world, catalogue, now);
        if checked.told.is_empty() && !check::wants_badge(ready, facts, catalogue, now) {
            return self.ended(ready, attempt, Recorded::Nothing, checked.left).await.map(Tried::told);
        }
        let Some(message) = self.message(ready, loaded, facts, &mut checked) else {
            return self.ended(ready, attempt, Recorded::Refused, checked.left).await.map(Tried::told);
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
        let handed = self.hand(ready, &message, &gate).await?;
        let is_claimed = gate.claimed.into_inner();
        if let Some(loaded) = gate.changed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Tried::Changed(loaded));
        }
        match &handed {
            Handed::Busy(why) if !is_claimed => return Ok(Tried::Busy(why.clone())),
            Handed::NotNow(why) => self.waits(ready, "not now", why),
            Handed::Away(why) | Handed::Busy(why) => self.waits(ready, "away", why),
            Handed::Accepted | Handed::Stopped | Handed::Refused(_) | Handed::Unknown(_) => {}
        }
        if matches!(handed, Handed::Away(_)) && !is_claimed {
            return Ok(Tried::told(report::comes_again(ready, self.now())));
        }
        let Some(what) = past::recorded(ready, &handed, || self.unclear(ready, past)) else {
            return Ok(Tried::told(self.stopped(ready)));
        };
        let (what, left) = past::failed(ready, attempt, past, (what, checked.left), self.now());
        if !is_claimed && !fault::planted(Fault::RecordedUnclaimed) {
            return self.ended(ready, attempt, what, left).await.map(Tried::told);
        }
        Ok(Tried::told(report::of_attempt(ready, &self.record(ready, attempt, what, left).await?)))
    }

    /// The message of what holds. What cannot be written is left out and the rest is told; none, if nothing can.
    fn message(
        &self,
        ready: &Ready,
        loaded: &Loaded,
        facts: &Facts,
        checked: &mut Checked,
    ) -> Option<Message> {
        let making = Making {
            catalogue: &self.ports.catalogue,
            renderer: &self.ports.renderer,
            zones: &self.ports.zones,
            world: &loaded.world,
            links: self.config.links.as_ref(),
            returns: self.config.returns.as_ref(),
        };
        let error = match making.message(ready, facts, checked) {
            Ok(message) => return Some(message),
            Err(error) => format!("{error:#}"),
        };
        // It will not be made by trying again: what fails ends, and a person looks.
        let unwritten = making.unwritten(ready, facts, checked);
        let (ready_id, plan, entries) = (ready.id, &ready.plan, unwritten.len());
        tracing::error!(ready = %ready_id, %plan, entries, error, "entries of a message could not be written");
        checked.told.retain(|entry| !unwritten.contains(&entry.key));
        checked.left.extend(unwritten.into_iter().map(|key| (key, Why::Refused)));
        if checked.told.is_empty() { None } else { making.message(ready, facts, checked).ok() }
    }

    async fn hand(&self, ready: &Ready, message: &Message, gate: &ClaimGate<'_>) -> anyhow::Result<Handed> {
        let watch = Stopwatch::start();
        let handed = self.ports.courier.hand(message, gate).await?;
        let seconds = watch.elapsed().as_secs_f64();
        self.ports.metrics.hand_over_seconds.with_label_values(&[ready.channel.name()]).observe(seconds);
        if handed == Handed::Accepted {
            crash::point(crash::SENT);
        }
        Ok(handed)
    }

    /// Somebody else's claim stands, or our own was too late; the journal knows more next time.
    fn stopped(&self, ready: &Ready) -> Delivery {
        let now = self.now();
        report::deferred(ready, now.plus(self.config.claim_ms), now)
    }

    /// Ends an attempt that came to no gate. Somebody else may have the same Ready in hand: who records has the claim.
    async fn ended(
        &self,
        ready: &Ready,
        attempt: u16,
        what: Recorded,
        left: Left,
    ) -> anyhow::Result<Delivery> {
        let claim = self.claim(ready, attempt, Vec::new());
        let claimed =
            asked(|| self.ports.store.claim(&ready.tenant, claim.clone())).await.context("journal")?;
        if !is_ours(&claim, &claimed) {
            return Ok(self.stopped(ready));
        }
        Ok(report::of_attempt(ready, &self.record(ready, attempt, what, left).await?))
    }

    /// The first record of an attempt stands, whoever made it.
    async fn standing(&self, ready: &Ready, ours: Record) -> anyhow::Result<Record> {
        let found = self.ports.store.journalled(&ready.tenant, &[ready.id]).await.context("journal")?;
        let mut records = found.into_iter().flat_map(|found| found.records);
        Ok(records.find(|record| record.attempt == ours.attempt).unwrap_or(ours))
    }

    pub(super) fn claim(&self, ready: &Ready, attempt: u16, told: Vec<EntryKey>) -> Claim {
        let (now, token) = (self.now(), self.tokens.next());
        Claim { ready: ready.id, attempt, token, at: now, deadline: now.plus(self.config.claim_ms), told }
    }

    /// Records an attempt. The first record stands: what ends a Ready is looked up, for somebody else may have found out more
    /// while we were away. What was sent was sent, and what goes on the journal tells the next time.
    async fn record(
        &self,
        ready: &Ready,
        attempt: u16,
        what: Recorded,
        left: Left,
    ) -> anyhow::Result<Record> {
        let ours = Record { ready: ready.id, attempt, at: self.now(), what, left };
        asked(|| self.ports.store.record(&ready.tenant, ours.clone())).await.context("journal")?;
        let is_plain = matches!(what, Recorded::Sent | Recorded::NotSent | Recorded::Away);
        let stands = if is_plain { ours.clone() } else { self.standing(ready, ours.clone()).await? };
        if stands == ours {
            self.count(ready, &ours);
        }
        Ok(stands)
    }

    /// Each outcome once: where it is recorded, and not where it is reported again.
    fn count(&self, ready: &Ready, record: &Record) {
        let metrics = &self.ports.metrics;
        let outcome = report::outcome_name(record.what);
        metrics.outcomes_total.with_label_values(&[ready.channel.name(), outcome]).inc();
        for (_, why) in &record.left {
            metrics.left_out_total.with_label_values(&[why.text()]).inc();
        }
    }
}
