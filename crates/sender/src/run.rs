//! The sender in the loop: reads the journal and the facts of a batch at once, then checks, claims, hands
//! over and records each Ready, several at a time. Its reports are the turn's records.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context as _;
use async_trait::async_trait;
use catalogue::Catalogue;
use courier::{Call, Courier, Gate, Handed, Message};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, future::join_all};
use model::{
    Channel, Fact, Millis, Row, State, Tenant, World,
    civil::Zones,
    delivery::Delivery,
    device::Device,
    entry::DayKey,
    fault::{self, Fault},
    partition::Partitions,
    person::profile,
    ready::Ready,
};
use prometheus::IntCounter;
use render::Renderer;
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, crash};
use store::{Claim, Claimed, Journalled, Record, Recorded, StateKey, Store, StoreError, world};
use tokio::{task::JoinSet, time::timeout};
use topic::{
    Batch, Membership, Mode, NewRecord, Topics,
    drive::{Drive, Work, drive},
};
use wire::{Inbox, topics};

use crate::{
    check::{self, Checked, Facts, Left},
    config::{Config, GOODBYE, GROUP, SLOW_MS, TRIES, retry_ms},
    loaded::{by_three, days_of, keys_of, left, unhooked, wanted},
    message::{Making, message_id, sender_of},
    metrics::SenderMetrics,
    past::{self, Past, goes_on, is_alone, unclear},
    readys, report, returns,
};

/// What the sender is given.
#[derive(Clone)]
pub struct Ports {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub courier: Arc<dyn Courier>,
    pub catalogue: Arc<Catalogue>,
    pub renderer: Arc<Renderer>,
    pub zones: Zones,
    pub partitions: Partitions,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: SenderMetrics,
}

/// The topic the sender reads.
pub fn membership() -> Membership {
    Membership {
        group: GROUP.into(),
        lead: topics::READY.into(),
        companions: Vec::new(),
        state: None,
        mode: Mode::Plain,
    }
}

/// Runs the sender until the shutdown.
pub async fn run(ports: Ports, config: Config) -> anyhow::Result<()> {
    let drive_with = Drive {
        topics: ports.topics.clone(),
        membership: membership(),
        clock: ports.clock.clone(),
        quiet: ports.quiet.clone(),
        shutdown: ports.shutdown.clone(),
        records_max: config.records_max,
    };
    // Random, since in containers each process has the same number: two claims must never look like one.
    let own = RandomState::new().hash_one(std::process::id()).to_be_bytes();
    let (claims, slow) = (AtomicU64::new(0), Mutex::default());
    let desk = Arc::new(Desk { ports, config, own, claims, slow });
    drive(drive_with, &mut Sender(desk.clone())).await?;
    desk.close().await;
    Ok(())
}

struct Sender(Arc<Desk>);

/// What deliveries have in common. One that takes long goes on after its turn.
struct Desk {
    ports: Ports,
    config: Config,
    /// What no other process has.
    own: [u8; 8],
    claims: AtomicU64,
    /// Deliveries whose turns did not wait for them. They end with the sender.
    slow: Mutex<Vec<UnderWay>>,
}

/// One delivery; dropped, it ends where it is, as by a crash.
type UnderWay = JoinSet<anyhow::Result<Delivery>>;

/// What was loaded for a batch.
struct Loaded {
    journal: BTreeMap<model::ReadyId, Journalled>,
    facts: check::FactsOf,
    world: World,
}

#[async_trait]
impl Work for Sender {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.0.turn(batch).await
    }

    async fn turns(&mut self, round: &[(Batch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        join_all(round.iter().map(|(batch, _)| self.0.turn(batch))).await
    }
}

impl Desk {
    async fn turn(self: &Arc<Self>, batch: &Batch) -> anyhow::Result<Vec<NewRecord>> {
        self.forget_ended();
        let now = Millis(self.ports.clock.now());
        let (readys, mut records) = readys::read(&batch.records, now)?;
        self.ports.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(records.len() as u64);
        let loaded = Arc::new(self.load(&readys).await?);
        let deliveries = readys.into_iter().map(|ready| self.told(Arc::new(ready), loaded.clone()).boxed());
        let deliveries: Vec<_> = deliveries.collect();
        let deliveries = futures::stream::iter(deliveries).buffered(self.config.at_once_max.max(1));
        let deliveries: Vec<Delivery> = deliveries.try_collect().await?;
        for delivery in deliveries {
            records.push(report::inbox_record(delivery, self.ports.partitions)?);
        }
        Ok(records)
    }

    /// What became of a Ready. Where the other side takes its time nobody else waits for it: the Ready comes again, and
    /// by then the journal knows.
    async fn told(self: &Arc<Self>, ready: Arc<Ready>, loaded: Arc<Loaded>) -> anyhow::Result<Delivery> {
        let mut under_way = UnderWay::new();
        let (desk, own) = (self.clone(), ready.clone());
        under_way.spawn(async move { desk.deliver(&own, &loaded).await });
        match timeout(self.config.patience, under_way.join_next()).await {
            Ok(ended) => ended.context("a delivery")?.context("a delivery was cut off")?,
            Err(_) => {
                lock(&self.slow).push(under_way);
                let now = Millis(self.ports.clock.now());
                Ok(report::deferred(&ready, now.plus(SLOW_MS), now))
            }
        }
    }

    /// Waits for the deliveries that are under way, but not for ever: what becomes of the others the journal finds out.
    async fn close(&self) {
        let slow = std::mem::take(&mut *lock(&self.slow));
        let ended = join_all(slow.into_iter().map(|mut one| async move { one.join_next().await }));
        if timeout(GOODBYE, ended).await.is_err() {
            tracing::warn!("deliveries are left to the journal: the other side does not answer");
        }
    }

    /// Forgets deliveries that ended by themselves.
    fn forget_ended(&self) {
        lock(&self.slow).retain_mut(|one| match one.try_join_next() {
            Some(Ok(Err(error))) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "a slow delivery failed; the journal finds out what became of it");
                false
            }
            Some(_) => false,
            None => true,
        });
    }

    /// One Ready, from the journal to the report.
    async fn deliver(&self, ready: &Ready, loaded: &Loaded) -> anyhow::Result<Delivery> {
        let now = Millis(self.ports.clock.now());
        let mut journalled = loaded.journal.get(&ready.id).cloned().unwrap_or_default();
        let delivery = loop {
            let taken =
                if fault::planted(Fault::ClaimIgnored) { Past::Open } else { past::past(ready, &journalled) };
            break match taken {
                Past::Ended(record) => report::of_record(ready, &record),
                Past::NotBefore(until) => report::deferred(ready, until, now),
                Past::Unclear(claim) if self.is_held(ready, &claim).await? => {
                    report::deferred(ready, claim.deadline.plus(1), now)
                }
                Past::Unclear(claim) => {
                    let record = self.resolve(ready, &claim, loaded, &journalled).await?;
                    journalled.records.push(record);
                    continue;
                }
                Past::Open => self.send(ready, loaded, &journalled).await?,
            };
        };
        let outcome = report::outcome_name(&delivery);
        self.ports.metrics.outcomes_total.with_label_values(&[ready.channel.name(), outcome]).inc();
        Ok(delivery)
    }

    /// Whether a claim without a record may still be sent by whoever has it.
    async fn is_held(&self, ready: &Ready, claim: &Claim) -> anyhow::Result<bool> {
        Ok(Millis(self.ports.clock.now()) <= claim.deadline
            && self.outcome(ready).await? != courier::Outcome::Sent)
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
            courier::Outcome::Sent => Recorded::Sent,
            courier::Outcome::NotSent => Recorded::NotSent,
            courier::Outcome::CannotTell => self.unclear(ready, journalled),
        };
        let (facts, now) = (loaded.facts.get(&ready.id), Millis(self.ports.clock.now()));
        let left = check::untold(ready, claim, facts, &loaded.world, &self.ports.catalogue, now);
        let ours = self.record(ready, claim.attempt, what, left).await?;
        // Whoever had the claim may have recorded it a moment before: the first record stands.
        let found = self.ports.store.journalled(&ready.tenant, &[ready.id]).await.context("journal")?;
        let mut standing = found.into_iter().flat_map(|found| found.records);
        Ok(standing.find(|record| record.attempt == claim.attempt).unwrap_or(ours))
    }

    /// How an attempt is recorded of which nobody can say whether it was sent; counted, also where another one follows.
    fn unclear(&self, ready: &Ready, journalled: &Journalled) -> Recorded {
        let what = unclear(ready, journalled, &self.ports.catalogue);
        if what == Recorded::Unsure {
            self.ports.metrics.outcomes_total.with_label_values(&[ready.channel.name(), "unsure"]).inc();
        }
        what
    }

    /// Checks, claims, hands over, records.
    async fn send(&self, ready: &Ready, loaded: &Loaded, past: &Journalled) -> anyhow::Result<Delivery> {
        let now = Millis(self.ports.clock.now());
        let unknown = Facts::default();
        let facts = loaded.facts.get(&ready.id).unwrap_or(&unknown);
        let checked = check::check(ready, facts, &loaded.world, &self.ports.catalogue, now);
        for (_, why) in &checked.left {
            self.ports.metrics.left_out_total.with_label_values(&[why.text()]).inc();
        }
        let catalogue = &self.ports.catalogue;
        if checked.told.is_empty() && !check::wants_badge(ready, facts, catalogue, now) {
            let record = self.record(ready, ready.attempt, Recorded::Nothing, checked.left).await?;
            return Ok(report::of_record(ready, &record));
        }
        let making = Making {
            catalogue: &self.ports.catalogue,
            renderer: &self.ports.renderer,
            zones: &self.ports.zones,
            world: &loaded.world,
            links: self.config.links.as_ref(),
            returns: self.config.returns.as_ref(),
        };
        let message = match making.message(ready, facts, &checked) {
            Ok(message) => message,
            Err(error) => {
                // A mail that cannot be made will not be made by trying: it ends, and a person looks.
                tracing::error!(ready = %ready.id, plan = %ready.plan, error = format!("{error:#}"), "a mail could not be made");
                let record = self.record(ready, ready.attempt, Recorded::Refused, checked.left).await?;
                return Ok(report::of_record(ready, &record));
            }
        };
        let handed = self.hand(ready, &facts.profile, &message, &checked).await?;
        self.handed(ready, handed, past, checked.left).await
    }

    async fn hand(
        &self,
        ready: &Ready,
        profile: &State,
        message: &Message,
        checked: &Checked,
    ) -> anyhow::Result<Handed> {
        let watch = Stopwatch::start();
        let gate = ClaimGate { desk: self, ready, profile, checked };
        let handed = self.ports.courier.hand(message, &gate).await?;
        let seconds = watch.elapsed().as_secs_f64();
        self.ports.metrics.hand_over_seconds.with_label_values(&[ready.channel.name()]).observe(seconds);
        Ok(handed)
    }

    /// Records what became of a hand-over, and says what is reported.
    async fn handed(
        &self,
        ready: &Ready,
        handed: Handed,
        past: &Journalled,
        left: Left,
    ) -> anyhow::Result<Delivery> {
        if handed == Handed::Accepted {
            crash::point(crash::SENT);
        }
        let Some(what) = past::recorded(ready, &handed, || self.unclear(ready, past)) else {
            // Somebody else's claim stands, or our own was too late; the journal knows more next time.
            let now = Millis(self.ports.clock.now());
            return Ok(report::deferred(ready, now.plus(self.config.claim_ms), now));
        };
        let record = self.record(ready, ready.attempt, what, left).await?;
        if goes_on(&record) {
            let until = record.at.plus(retry_ms(ready.id, ready.attempt));
            return Ok(report::deferred(ready, until, record.at));
        }
        Ok(report::of_record(ready, &record))
    }

    async fn record(
        &self,
        ready: &Ready,
        attempt: u16,
        what: Recorded,
        left: Left,
    ) -> anyhow::Result<Record> {
        let record = Record { ready: ready.id, attempt, at: Millis(self.ports.clock.now()), what, left };
        self.ports.store.record(&ready.tenant, record.clone()).await.context("journal")?;
        Ok(record)
    }

    /// The journal, profiles, days, subjects and follows of all Readys of a batch, each read once.
    async fn load(&self, readys: &[Ready]) -> anyhow::Result<Loaded> {
        let mut journal = BTreeMap::new();
        let tenants: BTreeSet<&Tenant> = readys.iter().map(|ready| &ready.tenant).collect();
        for tenant in tenants {
            let ids: Vec<_> =
                readys.iter().filter(|ready| ready.tenant == *tenant).map(|ready| ready.id).collect();
            let found = self.ports.store.journalled(tenant, &ids).await.context("journal")?;
            journal.extend(ids.into_iter().zip(found));
        }
        let days: BTreeSet<DayKey> = readys.iter().flat_map(days_of).collect();
        let days: Vec<DayKey> = days.into_iter().collect();
        let rows = self.ports.store.read(&days, Millis(self.ports.clock.now())).await.context("days")?;
        let rows: BTreeMap<DayKey, Vec<Row>> = days.into_iter().zip(rows).collect();
        let states = self.ports.store.states(&keys_of(readys)).await.context("profiles")?;
        let mut facts = BTreeMap::new();
        for (ready, [profile, mutes, notes]) in readys.iter().zip(by_three(states)) {
            let own: BTreeSet<DayKey> = days_of(ready).into_iter().collect();
            let view =
                model::fold::fold(own.iter().filter_map(|day| rows.get(day)).flatten()).with_notes(&notes);
            facts.insert(ready.id, Facts { profile, mutes, notes, view });
        }
        let refers_to = |state: &State| self.ports.catalogue.related_refs(state);
        let world = world::load(&*self.ports.store, wanted(readys), &refers_to)
            .await
            .context("the world of readys")?;
        Ok(Loaded { journal, facts, world })
    }

    fn token(&self) -> [u8; 16] {
        let mut token = [0; 16];
        token[..8].copy_from_slice(&self.own);
        token[8..].copy_from_slice(&self.claims.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        token
    }
}

/// Claims the attempt when the courier asks, as late as its protocol allows.
struct ClaimGate<'a> {
    desk: &'a Desk,
    ready: &'a Ready,
    profile: &'a State,
    checked: &'a Checked,
}

#[async_trait]
impl Gate for ClaimGate<'_> {
    async fn may_go(&self) -> bool {
        let now = Millis(self.desk.ports.clock.now());
        let claim = Claim {
            ready: self.ready.id,
            attempt: self.ready.attempt,
            token: self.desk.token(),
            at: now,
            deadline: now.plus(self.desk.config.claim_ms),
            told: self.checked.told.iter().map(|entry| entry.key).collect(),
        };
        if !self.leaves_slip(now).await {
            return false;
        }
        let store = &self.desk.ports.store;
        let claimed = asked(|| store.claim(&self.ready.tenant, claim.clone())).await;
        crash::point(crash::CLAIMED);
        let is_ours = match claimed {
            Ok(Claimed::Yours) => true,
            // Asked for once more after an answer that was lost, it may be our own that stands.
            Ok(Claimed::Theirs(standing)) if standing.token == claim.token => true,
            Ok(Claimed::Theirs(_)) => return fault::planted(Fault::ClaimIgnored),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, %error, "could not be claimed");
                false
            }
        };
        is_ours && self.is_alone().await && Millis(self.desk.ports.clock.now()) < claim.deadline
    }

    async fn gone(&self, device: &Device) {
        let gone = &self.desk.ports.metrics.devices_gone_total;
        self.part(left(self.profile, device), gone.with_label_values(&[device.platform.name()])).await;
    }

    async fn left(&self, call: &Call) {
        let gone = &self.desk.ports.metrics.hooks_gone_total;
        self.part(unhooked(self.profile, call), gone.with_label_values(&[call.hook.name()])).await;
    }
}

impl ClaimGate<'_> {
    async fn part(&self, state: Option<State>, counts: IntCounter) {
        let Some(state) = state else { return };
        match self.leave(state).await {
            Ok(()) => counts.inc(),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, error = format!("{error:#}"), "what reaches nobody any more stays for now");
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
        ports.topics.append(vec![record]).await.context("the inbox")?;
        Ok(())
    }

    /// Before the claim, so that whatever went out can be traced. Says whether it may go on.
    async fn leaves_slip(&self, now: Millis) -> bool {
        let Desk { ports, config, .. } = self.desk;
        let plan = ports.catalogue.plans.by_name.get(&self.ready.plan);
        let address = self.profile.text(profile::EMAIL).filter(|_| self.ready.channel == Channel::Email);
        let (Some(_), Some(plan), Some(address)) = (&config.returns, plan, address) else { return true };
        let slip = returns::slip(self.ready, &plan.stream, address, now);
        let kept = asked(|| ports.store.keep(self.ready.id, slip.clone())).await;
        if let Err(error) = &kept {
            tracing::warn!(ready = %self.ready.id, %error, "what comes back of it could not be traced");
        }
        kept.is_ok()
    }

    /// Another attempt may have been begun meanwhile by somebody who took over from us, or before us.
    async fn is_alone(&self) -> bool {
        if fault::planted(Fault::AloneUnchecked) {
            return true;
        }
        let store = &self.desk.ports.store;
        let own = std::slice::from_ref(&self.ready.id);
        let found = asked(|| store.journalled(&self.ready.tenant, own)).await;
        match found {
            Ok(journalled) => journalled.iter().all(|journalled| is_alone(self.ready.attempt, journalled)),
            Err(error) => {
                tracing::warn!(ready = %self.ready.id, %error, "the journal could not be read after the claim");
                false
            }
        }
    }
}

/// What the store answers, which may be busy for a moment: whoever stops here comes again only after the claim's deadline.
async fn asked<T, A>(ask: impl Fn() -> A) -> Result<T, StoreError>
where
    A: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..TRIES {
        if let Ok(answer) = ask().await {
            return Ok(answer);
        }
    }
    ask().await
}

/// What a panic left behind is still good: every change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
