//! The gate of a message: what is true of it is asked once more, and the attempt is claimed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use async_trait::async_trait;
use courier::{CallPayload, HandoverGate};
use model::{
    Fact, UtcMillis, VersionedState,
    device::PushDevice,
    fault::{self, PlantedFault},
    ready::{Ready, ReadyEntry},
    returns::{ReturnSort, Slip},
};
use prometheus::IntCounter;
use room::records::{inbox_record, returned_record};
use runtime::crash_point;
use store::StateKey;
use wire::{InboxItem, ReturnNotice};

use super::{DeliveryService, ask_again};
use crate::{
    check::{self, CheckedReady},
    config::{FRESH_MS, REMADE_MAX},
    facts::{LoadedBatch, SenderFacts, device_removal, hook_removal},
    journal::is_ours,
    load, returns,
};

/// Claims the attempt when the courier asks, as late as its protocol allows.
pub(super) struct ClaimGate<'a> {
    pub desk: &'a DeliveryService,
    pub ready: &'a Ready,
    pub attempt: u16,
    /// What the message was made of.
    pub loaded: &'a LoadedBatch,
    pub facts: &'a SenderFacts,
    pub checked: &'a CheckedReady,
    /// Messages of this Ready that were given up, since other facts had come.
    pub given_up: usize,
    /// Whether the attempt is ours.
    pub claimed: AtomicBool,
    /// What is known by now, where the message does not fit it any more.
    pub changed: Mutex<Option<Arc<LoadedBatch>>>,
}

#[async_trait]
impl HandoverGate for ClaimGate<'_> {
    async fn may_go(&self) -> bool {
        if self.desk.is_paused(self.ready) {
            return false;
        }
        match self.still_fits().await {
            Ok(true) => {}
            Ok(false) => return false,
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, error = format!("{error:#}"), "could not be checked again");
                return false;
            }
        }
        let told = self.checked.told.iter().flat_map(ReadyEntry::keys).collect();
        let since = self.desk.deps.room.clock.steady();
        let claim = self.desk.build_claim(self.ready, self.attempt, told);
        if !self.leaves_slip(claim.at).await {
            return false;
        }
        let store = &self.desk.deps.room.store;
        let claimed = ask_again(|| store.claim(&self.ready.tenant, claim.clone())).await;
        crash_point::point(crash_point::CLAIMED);
        let is_ours = match claimed {
            Ok(claimed) => is_ours(&claim, &claimed),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, %error, "could not be claimed");
                false
            }
        };
        self.claimed.store(is_ours, Ordering::Relaxed);
        is_ours && self.desk.deps.room.clock.steady() - since < self.desk.config.claim_ms
    }

    async fn note_dead_device(&self, device: &PushDevice) {
        let gone = &self.desk.deps.metrics.devices_gone_total;
        self.apply_removal(
            device_removal(&self.facts.profile, device),
            gone.with_label_values(&[device.platform.name()]),
        )
        .await;
    }

    async fn note_dead_address(&self, call: &CallPayload) {
        let gone = &self.desk.deps.metrics.hooks_gone_total;
        self.apply_removal(
            hook_removal(&self.facts.profile, call),
            gone.with_label_values(&[call.hook.name()]),
        )
        .await;
    }

    async fn note_return(&self, what: ReturnSort, code: &str) {
        let came_back = &self.desk.deps.metrics.came_back_total;
        self.count_noted(self.note_return(what, code).await, &came_back.with_label_values(&[what.name()]));
    }
}

impl ClaimGate<'_> {
    /// Law 9: a message may have waited for long since its facts were read. Then they are read again, and one that does not
    /// fit them any more is made anew.
    async fn still_fits(&self) -> anyhow::Result<bool> {
        let DeliveryService { deps, .. } = self.desk;
        let is_fresh = deps.room.clock.steady() - self.loaded.at <= FRESH_MS;
        if is_fresh || fault::is_planted(PlantedFault::StaleAtTheGate) {
            return Ok(true);
        }
        let (_, loaded) = load::load_batch(deps, vec![self.ready.clone()]).await?;
        let (facts, now) = (loaded.facts_of(self.ready), self.desk.now());
        let catalogue = self.desk.catalogue_of(self.ready);
        let checked = check::check_ready(self.ready, facts, &loaded.world, catalogue, now);
        // What changes all the time, such as where somebody is, does not hold a message for ever.
        let as_made = self.given_up >= REMADE_MAX || is_as_known(&facts.profile, &self.facts.profile);
        let is_wanted = !self.ready.is_wordless()
            || check::wants_wordless(self.ready, facts, (&loaded.world, catalogue), now);
        let names_same = facts.erased == self.facts.erased;
        let fits = as_made && is_wanted && names_same && checked.told == self.checked.told;
        if !fits {
            *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(loaded));
        }
        Ok(fits)
    }

    /// What leads from the mail in hand back to its person.
    fn slip(&self, now: UtcMillis) -> Option<Slip> {
        let plan = self.desk.catalogue_of(self.ready).plans.by_name.get(&self.ready.plan)?;
        returns::build_slip(self.ready, &plan.stream, &self.facts.profile, now)
    }

    /// Notes what came back of a mail before it had left, and tells it.
    async fn note_return(&self, what: ReturnSort, code: &str) -> anyhow::Result<()> {
        let (Ready { tenant, person, .. }, deps) = (self.ready, &self.desk.deps);
        let now = deps.room.now();
        let Some(slip) = self.slip(now) else { return Ok(()) };
        let key = StateKey::Notes(tenant.clone(), person.clone());
        deps.room.store.merge(vec![(key, slip.notes(what, code))]).await.context("the notes")?;
        let record = returned_record(&ReturnNotice::from_slip(&slip, self.ready.id, (what, code), now))?;
        ask_again(|| deps.room.topics.append(vec![record.clone()])).await.context("what came back")
    }

    async fn apply_removal(&self, state: Option<VersionedState>, counts: IntCounter) {
        if let Some(state) = state {
            self.count_noted(self.remove_from_profile(state).await, &counts);
        }
    }

    fn count_noted(&self, noted: anyhow::Result<()>, counts: &IntCounter) {
        match noted {
            Ok(()) => counts.inc(),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, error = format!("{error:#}"), "what came to light behind the gate is not noted");
            }
        }
    }

    /// Takes what reaches nobody out of its person's profile, stored and then announced. Only as it was when it was
    /// read: what was said anew since is newer.
    async fn remove_from_profile(&self, state: VersionedState) -> anyhow::Result<()> {
        let Ready { tenant, person, .. } = self.ready;
        let deps = &self.desk.deps;
        let key = StateKey::Person(tenant.clone(), person.clone());
        deps.room.store.merge(vec![(key, state.clone())]).await.context("the profile")?;
        let fact = Fact::Profile { tenant: tenant.clone(), person: person.clone(), state };
        let record = inbox_record(&InboxItem::Fact(fact), deps.room.partitions)?;
        ask_again(|| deps.room.topics.append(vec![record.clone()])).await.context("the inbox")?;
        Ok(())
    }

    /// Before the claim, so that whatever went out can be traced: what comes back of it, and who opens it. Says whether it may go on.
    async fn leaves_slip(&self, now: UtcMillis) -> bool {
        let DeliveryService { deps, config, .. } = self.desk;
        let mail = self.desk.catalogue_of(self.ready).mails.get(&self.ready.plan);
        let is_asked_for = config.returns.is_some() || mail.is_some_and(|mail| mail.slots.is_some());
        let Some(slip) = self.slip(now).filter(|_| is_asked_for) else { return true };
        let kept = ask_again(|| deps.room.store.keep(self.ready.id, slip.clone())).await;
        if let Err(error) = &kept {
            tracing::warn!(ready = %self.ready.id, %error, "it could not be traced");
        }
        kept.is_ok()
    }
}

/// Whether two states say the same, whoever said it when.
fn is_as_known(one: &VersionedState, other: &VersionedState) -> bool {
    let said = |state: &VersionedState| -> BTreeMap<_, _> {
        let cells = state.cells.iter().filter_map(|(name, cell)| Some((name.clone(), cell.value.clone()?)));
        cells.collect()
    };
    said(one) == said(other)
}
