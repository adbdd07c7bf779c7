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
use courier::{Call, Gate};
use model::{
    Fact, Millis, State,
    device::Device,
    fault::{self, Fault},
    ready::Ready,
    returns::{Slip, Sort},
};
use prometheus::IntCounter;
use runtime::crash;
use store::StateKey;
use wire::{Inbox, Returned};

use super::{Desk, asked};
use crate::{
    check::{self, Checked, Facts},
    config::{FRESH_MS, REMADE_MAX},
    loaded::{Loaded, left, unhooked},
    past::is_ours,
    report, returns,
};

/// Claims the attempt when the courier asks, as late as its protocol allows.
pub(super) struct ClaimGate<'a> {
    pub desk: &'a Desk,
    pub ready: &'a Ready,
    pub attempt: u16,
    /// What the message was made of.
    pub loaded: &'a Loaded,
    pub facts: &'a Facts,
    pub checked: &'a Checked,
    /// Messages of this Ready that were given up, since other facts had come.
    pub given_up: usize,
    /// Whether the attempt is ours.
    pub claimed: AtomicBool,
    /// What is known by now, where the message does not fit it any more.
    pub changed: Mutex<Option<Arc<Loaded>>>,
}

#[async_trait]
impl Gate for ClaimGate<'_> {
    async fn may_go(&self) -> bool {
        match self.still_fits().await {
            Ok(true) => {}
            Ok(false) => return false,
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, error = format!("{error:#}"), "could not be checked again");
                return false;
            }
        }
        let told = self.checked.told.iter().map(|entry| entry.key).collect();
        let since = self.desk.ports.clock.steady();
        let claim = self.desk.claim(self.ready, self.attempt, told);
        if !self.leaves_slip(claim.at).await {
            return false;
        }
        let store = &self.desk.ports.store;
        let claimed = asked(|| store.claim(&self.ready.tenant, claim.clone())).await;
        crash::point(crash::CLAIMED);
        let is_ours = match claimed {
            Ok(claimed) => is_ours(&claim, &claimed),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, %error, "could not be claimed");
                false
            }
        };
        self.claimed.store(is_ours, Ordering::Relaxed);
        is_ours && self.desk.ports.clock.steady() - since < self.desk.config.claim_ms
    }

    async fn gone(&self, device: &Device) {
        let gone = &self.desk.ports.metrics.devices_gone_total;
        self.part(left(&self.facts.profile, device), gone.with_label_values(&[device.platform.name()])).await;
    }

    async fn left(&self, call: &Call) {
        let gone = &self.desk.ports.metrics.hooks_gone_total;
        self.part(unhooked(&self.facts.profile, call), gone.with_label_values(&[call.hook.name()])).await;
    }

    async fn came_back(&self, what: Sort, code: &str) {
        let came_back = &self.desk.ports.metrics.came_back_total;
        self.counted(self.note(what, code).await, &came_back.with_label_values(&[what.name()]));
    }
}

impl ClaimGate<'_> {
    /// Law 9: a message may have waited for long since its facts were read. Then they are read again, and one that does not
    /// fit them any more is made anew.
    async fn still_fits(&self) -> anyhow::Result<bool> {
        let Desk { ports, .. } = self.desk;
        let is_fresh = ports.clock.steady() - self.loaded.at <= FRESH_MS;
        if is_fresh || fault::planted(Fault::StaleAtTheGate) {
            return Ok(true);
        }
        let loaded = self.desk.load(std::slice::from_ref(self.ready)).await?;
        let (facts, now) = (loaded.facts_of(self.ready), self.desk.now());
        let checked = check::check(self.ready, facts, &loaded.world, &ports.catalogue, now);
        // What changes all the time, such as where somebody is, does not hold a message for ever.
        let as_made = self.given_up >= REMADE_MAX || is_as_known(&facts.profile, &self.facts.profile);
        let is_wanted =
            !self.ready.is_badge() || check::wants_badge(self.ready, facts, &ports.catalogue, now);
        let fits = as_made && is_wanted && checked.told == self.checked.told;
        if !fits {
            *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(loaded));
        }
        Ok(fits)
    }

    /// What leads from the mail in hand back to its person.
    fn slip(&self, now: Millis) -> Option<Slip> {
        let plan = self.desk.ports.catalogue.plans.by_name.get(&self.ready.plan)?;
        returns::slip(self.ready, &plan.stream, &self.facts.profile, now)
    }

    /// Notes what came back of a mail before it had left, and tells it.
    async fn note(&self, what: Sort, code: &str) -> anyhow::Result<()> {
        let (Ready { tenant, person, .. }, ports) = (self.ready, &self.desk.ports);
        let now = Millis(ports.clock.now());
        let Some(slip) = self.slip(now) else { return Ok(()) };
        let key = StateKey::Notes(tenant.clone(), person.clone());
        ports.store.merge(vec![(key, slip.notes(what, code))]).await.context("the notes")?;
        let record = report::returned_record(&Returned::of(&slip, self.ready.id, (what, code), now))?;
        asked(|| ports.topics.append(vec![record.clone()])).await.context("what came back")
    }

    async fn part(&self, state: Option<State>, counts: IntCounter) {
        if let Some(state) = state {
            self.counted(self.leave(state).await, &counts);
        }
    }

    fn counted(&self, noted: anyhow::Result<()>, counts: &IntCounter) {
        match noted {
            Ok(()) => counts.inc(),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, error = format!("{error:#}"), "what came to light behind the gate is not noted");
            }
        }
    }

    /// Takes what reaches nobody out of its person's profile, stored and then announced. Only as it was when it was
    /// read: what was said anew since is newer.
    async fn leave(&self, state: State) -> anyhow::Result<()> {
        let Ready { tenant, person, .. } = self.ready;
        let ports = &self.desk.ports;
        let key = StateKey::Person(tenant.clone(), person.clone());
        ports.store.merge(vec![(key, state.clone())]).await.context("the profile")?;
        let fact = Fact::Profile { tenant: tenant.clone(), person: person.clone(), state };
        let record = report::person_record(&Inbox::Fact(fact), ports.partitions)?;
        asked(|| ports.topics.append(vec![record.clone()])).await.context("the inbox")?;
        Ok(())
    }

    /// Before the claim, so that whatever went out can be traced. Says whether it may go on.
    async fn leaves_slip(&self, now: Millis) -> bool {
        let Desk { ports, config, .. } = self.desk;
        let Some(slip) = config.returns.as_ref().and_then(|_| self.slip(now)) else { return true };
        let kept = asked(|| ports.store.keep(self.ready.id, slip.clone())).await;
        if let Err(error) = &kept {
            tracing::warn!(ready = %self.ready.id, %error, "what comes back of it could not be traced");
        }
        kept.is_ok()
    }
}

/// Whether two states say the same, whoever said it when.
fn is_as_known(one: &State, other: &State) -> bool {
    let said = |state: &State| -> BTreeMap<_, _> {
        let cells = state.cells.iter().filter_map(|(name, cell)| Some((name.clone(), cell.value.clone()?)));
        cells.collect()
    };
    said(one) == said(other)
}
