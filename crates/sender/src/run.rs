//! The sender in the loop: reads the journal and the facts of a batch at once, then checks, claims, hands
//! over and records each Ready, several at a time. Its reports are the turn's records.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use async_trait::async_trait;
use catalogue::Catalogue;
use courier::{Call, Courier, Gate, Handed, Message};
use futures::future::join_all;
use model::{
    EntryKey, Fact, Millis, Row, State, Tenant,
    civil::Zones,
    delivery::Delivery,
    device::Device,
    entry::DayKey,
    fault::{self, Fault},
    partition::Partitions,
    ready::Ready,
    returns::{Slip, Sort},
};
use prometheus::IntCounter;
use render::Renderer;
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, crash};
use store::{Claim, Journalled, Record, Recorded, StateKey, Store, world};
use tokio::{sync::Semaphore, time::timeout};
use topic::{
    Batch, Membership, Mode, NewRecord, Topics,
    drive::{Drive, Work, drive},
};
use wire::{Inbox, Returned, topics};

use crate::{
    check::{self, Checked, Facts, Left},
    config::{Config, GOODBYE, GROUP, RECALL, ROUND, TRIES},
    loaded::{Loaded, days_of, facts_of, keys_of, left, unhooked, wanted},
    message::{Making, message_id, sender_of},
    metrics::SenderMetrics,
    past::{self, Past, is_ours, unclear},
    readys, report, returns,
    slow::{Slow, UnderWay},
    tokens::Tokens,
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
    let (tokens, places) = (Tokens::default(), Semaphore::new(config.at_once_max.max(1)));
    let desk = Arc::new(Desk { ports, config, tokens, places, slow: Slow::default() });
    drive(drive_with, &mut Sender(desk.clone())).await?;
    desk.close().await;
    Ok(())
}

struct Sender(Arc<Desk>);

/// What deliveries have in common. One that takes long goes on after its turn.
struct Desk {
    ports: Ports,
    config: Config,
    tokens: Tokens,
    /// Of those that are under way and not slow.
    places: Semaphore,
    slow: Slow,
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
        self.slow.forget_ended();
        let now = self.now();
        let (readys, mut records) = readys::read(&batch.records, now)?;
        self.ports.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(records.len() as u64);
        let (loaded, watch) = (Arc::new(self.load(&readys).await?), Stopwatch::start());
        let told = readys.into_iter().map(|ready| self.told(Arc::new(ready), loaded.clone(), &watch));
        // All of them end, also where one fails: nobody is cut off with a message in hand.
        for delivery in join_all(told).await.into_iter().collect::<anyhow::Result<Vec<_>>>()? {
            records.push(report::inbox_record(delivery, self.ports.partitions)?);
        }
        Ok(records)
    }

    /// What became of a Ready. Where the other side takes its time nobody else waits for it: the Ready comes again, and
    /// by then the journal knows.
    async fn told(
        self: &Arc<Self>,
        ready: Arc<Ready>,
        loaded: Arc<Loaded>,
        round: &Stopwatch,
    ) -> anyhow::Result<Delivery> {
        let _place = self.places.acquire().await.context("a place")?;
        if round.elapsed() > ROUND {
            return Ok(report::comes_again(&ready, self.now()));
        }
        let mut under_way = UnderWay::new();
        let (desk, own) = (self.clone(), ready.clone());
        under_way.spawn(async move { desk.deliver(&own, &loaded).await });
        match timeout(self.config.patience, under_way.join_next()).await {
            Ok(ended) => ended.context("a delivery")?.context("a delivery was cut off")?,
            Err(_) => {
                self.slow.add(under_way);
                Ok(report::comes_again(&ready, self.now()))
            }
        }
    }

    fn now(&self) -> Millis {
        Millis(self.ports.clock.now())
    }

    /// Waits for the deliveries that are under way, but not for ever: what becomes of the others the journal finds out.
    async fn close(&self) {
        let ended =
            join_all(self.slow.take().into_iter().map(|mut one| async move { one.join_next().await }));
        if timeout(GOODBYE, ended).await.is_err() {
            tracing::warn!("deliveries are left to the journal: the other side does not answer");
        }
    }

    /// One Ready, from the journal to the report.
    async fn deliver(&self, ready: &Ready, loaded: &Loaded) -> anyhow::Result<Delivery> {
        let now = self.now();
        let mut journalled = loaded.journal.get(&ready.id).cloned().unwrap_or_default();
        let delivery = loop {
            break match past::past(ready, &journalled, now) {
                Past::Unclear(claim) if fault::planted(Fault::ClaimIgnored) => {
                    self.send(ready, claim.attempt, loaded, &journalled).await?
                }
                Past::Ended(record) => report::of_record(ready, &record),
                Past::NotBefore(until) => report::deferred(ready, until, now),
                Past::Unclear(claim) if self.is_held(ready, &claim).await? => {
                    if ready.is_recalled() {
                        // Its owner has no room for it, and the log is not to go around faster than this.
                        runtime::retry::wait(RECALL).await;
                    }
                    report::deferred(ready, claim.deadline.plus(1), now)
                }
                Past::Unclear(claim) => {
                    let record = self.resolve(ready, &claim, loaded, &journalled).await?;
                    journalled.records.push(record);
                    continue;
                }
                Past::Open(attempt) if ready.is_recalled() => {
                    let what = past::recalled(&journalled);
                    self.ended(ready, attempt, what, Left::new()).await?
                }
                Past::Open(attempt) => self.send(ready, attempt, loaded, &journalled).await?,
            };
        };
        let outcome = report::outcome_name(&delivery);
        self.ports.metrics.outcomes_total.with_label_values(&[ready.channel.name(), outcome]).inc();
        Ok(delivery)
    }

    /// Whether a claim without a record may still be sent by whoever has it.
    async fn is_held(&self, ready: &Ready, claim: &Claim) -> anyhow::Result<bool> {
        Ok(!past::tells_nothing(ready, claim)
            && self.now() <= claim.deadline
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
            _ if past::tells_nothing(ready, claim) => Recorded::NotSent,
            courier::Outcome::Sent => Recorded::Sent,
            courier::Outcome::NotSent => Recorded::NotSent,
            courier::Outcome::CannotTell => self.unclear(ready, journalled),
        };
        let (facts, now) = (loaded.facts.get(&ready.id), self.now());
        let left = check::untold(ready, claim, facts, &loaded.world, &self.ports.catalogue, now);
        let (what, left) = past::failed(ready, claim.attempt, journalled, (what, left), now);
        let ours = self.record(ready, claim.attempt, what, left).await?;
        // Whoever had the claim may have recorded it a moment before.
        self.standing(ready, ours).await
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
    async fn send(
        &self,
        ready: &Ready,
        attempt: u16,
        loaded: &Loaded,
        past: &Journalled,
    ) -> anyhow::Result<Delivery> {
        let now = self.now();
        let unknown = Facts::default();
        let facts = loaded.facts.get(&ready.id).unwrap_or(&unknown);
        let checked = check::check(ready, facts, &loaded.world, &self.ports.catalogue, now);
        for (_, why) in &checked.left {
            self.ports.metrics.left_out_total.with_label_values(&[why.text()]).inc();
        }
        let catalogue = &self.ports.catalogue;
        if checked.told.is_empty() && !check::wants_badge(ready, facts, catalogue, now) {
            return self.ended(ready, attempt, Recorded::Nothing, checked.left).await;
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
                return self.ended(ready, attempt, Recorded::Refused, checked.left).await;
            }
        };
        let (profile, claimed) = (&facts.profile, AtomicBool::new(false));
        let gate = ClaimGate { desk: self, ready, attempt, profile, checked: &checked, claimed };
        let handed = self.hand(ready, &message, &gate).await?;
        let is_claimed = gate.claimed.into_inner();
        let Some(what) = past::recorded(ready, &handed, || self.unclear(ready, past)) else {
            return Ok(self.stopped(ready));
        };
        let (what, left) = past::failed(ready, attempt, past, (what, checked.left), self.now());
        if !is_claimed && !fault::planted(Fault::RecordedUnclaimed) {
            return self.ended(ready, attempt, what, left).await;
        }
        Ok(report::of_attempt(ready, &self.record(ready, attempt, what, left).await?))
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
        let ours = self.record(ready, attempt, what, left).await?;
        Ok(report::of_attempt(ready, &self.standing(ready, ours).await?))
    }

    /// The first record of an attempt stands, whoever made it.
    async fn standing(&self, ready: &Ready, ours: Record) -> anyhow::Result<Record> {
        let found = self.ports.store.journalled(&ready.tenant, &[ready.id]).await.context("journal")?;
        let mut records = found.into_iter().flat_map(|found| found.records);
        Ok(records.find(|record| record.attempt == ours.attempt).unwrap_or(ours))
    }

    fn claim(&self, ready: &Ready, attempt: u16, told: Vec<EntryKey>) -> Claim {
        let (now, token) = (self.now(), self.tokens.next());
        Claim { ready: ready.id, attempt, token, at: now, deadline: now.plus(self.config.claim_ms), told }
    }

    async fn record(
        &self,
        ready: &Ready,
        attempt: u16,
        what: Recorded,
        left: Left,
    ) -> anyhow::Result<Record> {
        let record = Record { ready: ready.id, attempt, at: self.now(), what, left };
        asked(|| self.ports.store.record(&ready.tenant, record.clone())).await.context("journal")?;
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
        let rows = self.ports.store.read(&days, self.now()).await.context("days")?;
        let rows: BTreeMap<DayKey, Vec<Row>> = days.into_iter().zip(rows).collect();
        let states = self.ports.store.states(&keys_of(readys)).await.context("profiles")?;
        let facts = facts_of(readys, states, &rows);
        let refers_to = |state: &State| self.ports.catalogue.related_refs(state);
        let world = world::load(&*self.ports.store, wanted(readys), &refers_to)
            .await
            .context("the world of readys")?;
        Ok(Loaded { journal, facts, world })
    }
}

/// Claims the attempt when the courier asks, as late as its protocol allows.
struct ClaimGate<'a> {
    desk: &'a Desk,
    ready: &'a Ready,
    attempt: u16,
    profile: &'a State,
    checked: &'a Checked,
    /// Whether the attempt is ours.
    claimed: AtomicBool,
}

#[async_trait]
impl Gate for ClaimGate<'_> {
    async fn may_go(&self) -> bool {
        let told = self.checked.told.iter().map(|entry| entry.key).collect();
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
        is_ours && self.desk.now() < claim.deadline
    }

    async fn gone(&self, device: &Device) {
        let gone = &self.desk.ports.metrics.devices_gone_total;
        self.part(left(self.profile, device), gone.with_label_values(&[device.platform.name()])).await;
    }

    async fn left(&self, call: &Call) {
        let gone = &self.desk.ports.metrics.hooks_gone_total;
        self.part(unhooked(self.profile, call), gone.with_label_values(&[call.hook.name()])).await;
    }

    async fn came_back(&self, what: Sort, code: &str) {
        let came_back = &self.desk.ports.metrics.came_back_total;
        self.counted(self.note(what, code).await, &came_back.with_label_values(&[what.name()]));
    }
}

impl ClaimGate<'_> {
    /// What leads from the mail in hand back to its person.
    fn slip(&self, now: Millis) -> Option<Slip> {
        let plan = self.desk.ports.catalogue.plans.by_name.get(&self.ready.plan)?;
        returns::slip(self.ready, &plan.stream, self.profile, now)
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

/// What an engine answers, which may be busy for a moment: whoever stops here comes again only after the claim's deadline.
async fn asked<T, E, A>(ask: impl Fn() -> A) -> Result<T, E>
where
    A: Future<Output = Result<T, E>>,
{
    for _ in 1..TRIES {
        if let Ok(answer) = ask().await {
            return Ok(answer);
        }
    }
    ask().await
}
