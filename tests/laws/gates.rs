//! Engines with gates: a test closes one, and whoever comes to it waits there until it is opened again. So a
//! schedule says who is overtaken by whom. A gate that was never closed lets everybody through.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use courier::{Courier, CourierError, HandoverGate, HandoverOutcome, Message, decorator::CourierDecorator};
use house::HouseEngines;
use model::{Channel, Crowd, CrowdEnrolment, DayRow, MarkAction, Tenant, UtcMillis};
use store::{
    DayRows, JournalClaim, JournalClaimOutcome, JournalRecord, Store, StoreError, decorator::StoreDecorator,
};
use tokio::sync::watch;
use topic::{
    CommitError, GroupMembership, Member, MemberEvent, NewRecord, TopicError, Topics, Turn,
    decorator::{MemberDecorator, TopicsDecorator},
};

/// What somebody looks at before each append.
pub type AppendSpy = Arc<dyn Fn(Vec<NewRecord>) -> futures::future::BoxFuture<'static, ()> + Send + Sync>;

/// All gates of one house. Cheap to clone.
#[derive(Clone, Default)]
pub struct HouseGates {
    gates: Arc<Mutex<BTreeMap<&'static str, watch::Sender<GateState>>>>,
    /// So many others go first before a member of the digest hears of anything.
    pub late: usize,
    pub spy: Option<AppendSpy>,
    /// The courier cannot tell what became of a mail.
    pub blind: bool,
    not_now: Arc<AtomicUsize>,
    turned_away: Arc<AtomicUsize>,
    broken: Arc<AtomicUsize>,
    in_hand: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum GateState {
    #[default]
    Open,
    Closed,
    /// Closed, and somebody stands before it.
    Waiting,
}

impl fmt::Debug for HouseGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gates")
    }
}

impl HouseGates {
    /// Records come late to the digest.
    pub fn with_delay(by: usize) -> Self {
        Self { late: by, ..Self::default() }
    }

    /// Somebody looks at each append before it is done.
    pub fn with_spy(spy: AppendSpy) -> Self {
        Self { spy: Some(spy), ..Self::default() }
    }

    /// A courier that may be blind.
    pub fn with_courier(blind: bool) -> Self {
        Self { blind, ..Self::default() }
    }

    fn gate(&self, name: &'static str) -> watch::Sender<GateState> {
        self.gates.lock().unwrap().entry(name).or_insert_with(|| watch::Sender::new(GateState::Open)).clone()
    }

    /// The courier takes nothing for so many times.
    pub fn defer_times(&self, times: usize) {
        self.not_now.store(times, Ordering::SeqCst);
    }

    /// For so many times the courier does not come to its gate.
    pub fn turn_away(&self, times: usize) {
        self.turned_away.store(times, Ordering::SeqCst);
    }

    /// So many deliveries break, each after its claim.
    pub fn break_deliveries(&self, times: usize) {
        self.broken.store(times, Ordering::SeqCst);
    }

    pub fn close(&self, name: &'static str) {
        self.gate(name).send_replace(GateState::Closed);
    }

    pub fn open(&self, name: &'static str) {
        self.gate(name).send_replace(GateState::Open);
    }

    /// Whether somebody stands before the gate.
    pub fn is_reached(&self, name: &'static str) -> bool {
        *self.gate(name).borrow() == GateState::Waiting
    }

    /// Returns when somebody stands before the gate.
    pub async fn wait_reached(&self, name: &'static str) {
        let mut at = self.gate(name).subscribe();
        let reached = at.wait_for(|at| *at == GateState::Waiting);
        drop(
            tokio::time::timeout(std::time::Duration::from_secs(60), reached)
                .await
                .expect("nobody came")
                .unwrap(),
        );
    }

    /// Returns when no message of this house is being handed over.
    pub async fn wait_idle(&self) {
        let nothing = async {
            while self.in_hand.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), nothing).await.expect("somebody is stuck");
    }

    async fn pass(&self, name: &'static str) {
        let gate = self.gate(name);
        gate.send_if_modified(|at| {
            std::mem::replace(at, if *at == GateState::Open { GateState::Open } else { GateState::Waiting })
                == GateState::Closed
        });
        // The sender is in our hands, so it cannot be gone.
        drop(gate.subscribe().wait_for(|at| *at == GateState::Open).await);
    }

    pub fn around(&self, engines: HouseEngines) -> HouseEngines {
        let HouseEngines { topics, store, courier, live, schemas } = engines;
        HouseEngines {
            schemas,
            live,
            topics: Arc::new(GatedTopics { inner: topics, gates: self.clone() }),
            store: Arc::new(GatedStore { inner: store, gates: self.clone() }),
            courier: Arc::new(GatedCourier { inner: courier, gates: self.clone() }),
        }
    }
}

/// A message that is being handed over, until it is or the house is gone.
struct HandOverGuard(Arc<AtomicUsize>);

impl HandOverGuard {
    fn enter(gates: &HouseGates) -> Self {
        gates.in_hand.fetch_add(1, Ordering::SeqCst);
        Self(gates.in_hand.clone())
    }
}

impl Drop for HandOverGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether something is to happen once more.
fn count_down(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

#[derive(Debug)]
struct GatedTopics {
    inner: Arc<dyn Topics>,
    gates: HouseGates,
}

#[async_trait]
impl TopicsDecorator for GatedTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.inner
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        if let Some(spy) = &self.gates.spy {
            spy(records.clone()).await;
        }
        self.inner.append(records).await
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        let group = membership.group.clone();
        let inner = self.inner.join(membership).await?;
        Ok(Box::new(GatedMember { inner, gates: self.gates.clone(), group, held: None }))
    }
}

struct GatedMember {
    inner: Box<dyn Member>,
    gates: HouseGates,
    group: Arc<str>,
    /// What came while the gate was closed; kept here, for the call may be dropped half-way.
    held: Option<MemberEvent>,
}

#[async_trait]
impl MemberDecorator for GatedMember {
    fn inner(&self) -> &dyn Member {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.inner
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        if &*self.group == digest::config::GROUP {
            for _ in 0..self.gates.late {
                tokio::task::yield_now().await;
            }
        }
        if self.held.is_none() {
            self.held = Some(self.inner.next(most).await?);
        }
        if self.group.starts_with(sender::config::GROUP) && matches!(self.held, Some(MemberEvent::Records(_)))
        {
            self.gates.pass("sender reads").await;
        }
        self.held.take().ok_or_else(|| TopicError::Broken("nothing was held".to_owned()))
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let is_ready = |record: &NewRecord| wire::topics::READY_LANES.contains(&&*record.topic);
        let closing = turn.records.iter().any(is_ready);
        if &*self.group == digest::config::GROUP && closing {
            self.gates.pass("before the commit").await;
        }
        self.inner.commit(turn).await
    }
}

#[derive(Debug)]
struct GatedCourier {
    inner: Arc<dyn Courier>,
    gates: HouseGates,
}

#[async_trait]
impl CourierDecorator for GatedCourier {
    fn inner(&self) -> &dyn Courier {
        &*self.inner
    }

    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let _in_hand = HandOverGuard::enter(&self.gates);
        self.gates.pass("before the hand-over").await;
        if count_down(&self.gates.turned_away) {
            return Ok(HandoverOutcome::NotNow("nobody is reached".to_owned()));
        }
        if count_down(&self.gates.not_now) {
            // As protocols go: it is claimed, offered, and turned down.
            let handed = if gate.may_go().await {
                HandoverOutcome::NotNow("not now".to_owned())
            } else {
                HandoverOutcome::Stopped
            };
            self.gates.pass("after the hand-over").await;
            return Ok(handed);
        }
        if count_down(&self.gates.broken) {
            let may_go = gate.may_go().await;
            panic!("this delivery was to break, and might go: {may_go}");
        }
        let handed = self.inner.hand(message, gate).await;
        self.gates.pass("after the hand-over").await;
        handed
    }

    async fn was_sent(&self, channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError> {
        if self.gates.blind { Ok(None) } else { self.inner.was_sent(channel, message_id).await }
    }
}

#[derive(Debug)]
struct GatedStore {
    inner: Arc<dyn Store>,
    gates: HouseGates,
}

#[async_trait]
impl StoreDecorator for GatedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn claim(&self, tenant: &Tenant, claim: JournalClaim) -> Result<JournalClaimOutcome, StoreError> {
        self.gates.pass("before the claim").await;
        let claimed = self.inner.claim(tenant, claim).await;
        self.gates.pass("after the claim").await;
        claimed
    }

    async fn record(&self, tenant: &Tenant, record: JournalRecord) -> Result<(), StoreError> {
        self.gates.pass("before the record").await;
        let recorded = self.inner.record(tenant, record).await;
        self.gates.pass("after the record").await;
        recorded
    }

    async fn write(&self, rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        let is_taken =
            |row: &DayRow| matches!(row, DayRow::Mark(mark) if matches!(mark.what, MarkAction::Taken(_)));
        if rows.iter().any(|of_day| of_day.rows.iter().any(is_taken)) {
            self.gates.pass("before the marks").await;
        }
        self.inner.write(rows, now).await
    }

    async fn enrol(&self, enrolments: Vec<CrowdEnrolment>) -> Result<(), StoreError> {
        let of_places = |on| {
            let is_such = |one: &CrowdEnrolment| matches!(one.crowd, Crowd::Cell(_)) && one.on == on;
            enrolments.iter().any(is_such)
        };
        let (enters, leaves) = (of_places(true), of_places(false));
        if enters {
            self.gates.pass("before entering").await;
        } else if leaves && !self.gates.is_reached("before leaving") {
            // Whoever is second finds a row that was left behind, and ends it.
            self.gates.pass("before leaving").await;
        }
        let enrolled = self.inner.enrol(enrolments).await;
        if enters {
            self.gates.pass("after entering").await;
        }
        enrolled
    }
}
