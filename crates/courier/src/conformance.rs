//! The promises of a courier, as data, and a runner for any engine.
//!
//! Each promise is one sentence of [`crate::port`] and a check that finds an engine that breaks it; that
//! the checks do find them is shown with [`crate::lying_courier`]. Nothing here knows an engine: one implements
//! [`CourierHarness`] and runs all of them unchanged.

mod gate;
mod outcome;
mod samples;
mod text;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures::future::BoxFuture;
use model::Channel;

use crate::{
    outbox::OutboxMail,
    port::{Courier, CourierError, HandoverGate, HandoverOutcome, Message},
};

/// How the suite gets at an engine.
#[async_trait]
pub trait CourierHarness: Send + Sync {
    /// A courier, and another side that has received nothing.
    async fn open(&self) -> Result<Arc<dyn Courier>, BrokenCourierPromise>;

    /// The courier's process dies at this instant, and another one opens what it left. The one given is
    /// not used any more.
    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, BrokenCourierPromise>;

    /// The mails that the other side has, as bytes; one that arrived twice is there twice.
    async fn arrived_mails(&self) -> Result<Vec<Vec<u8>>, BrokenCourierPromise>;

    /// Whether the engine knows for good what it sent, and takes a mail that it has already without
    /// sending it again. A folder does; a connection to a server does not.
    fn knows_sent(&self) -> bool;
}

/// How a promise was broken.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenCourierPromise(pub String);

impl fmt::Debug for BrokenCourierPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<CourierError> for BrokenCourierPromise {
    fn from(error: CourierError) -> Self {
        Self(error.to_string())
    }
}

type CourierCheckResult = Result<(), BrokenCourierPromise>;
type CourierCheck = for<'a> fn(&'a dyn CourierHarness) -> BoxFuture<'a, CourierCheckResult>;

/// One promise of the port.
#[derive(Clone, Copy)]
pub struct CourierPromise {
    pub name: &'static str,
    pub says: &'static str,
    check: CourierCheck,
}

impl CourierPromise {
    /// Whether an engine keeps it.
    pub async fn check(&self, harness: &dyn CourierHarness) -> CourierCheckResult {
        (self.check)(harness).await
    }
}

impl fmt::Debug for CourierPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.says)
    }
}

/// All promises, in the order of the port.
pub fn all_promises() -> impl Iterator<Item = CourierPromise> {
    [gate::PROMISES, outcome::PROMISES, text::PROMISES].into_iter().flatten().copied()
}

/// The promise of this name.
pub fn find_promise(name: &str) -> Option<CourierPromise> {
    all_promises().find(|promise| promise.name == name)
}

/// Runs the whole suite; returns the promises that were broken, and how.
pub async fn run_promises(harness: &dyn CourierHarness) -> Vec<(CourierPromise, BrokenCourierPromise)> {
    let mut broken = Vec::new();
    for promise in all_promises() {
        if let Err(how) = promise.check(harness).await {
            broken.push((promise, how));
        }
    }
    broken
}

/// A gate that always says the same.
struct FixedGate(bool);

#[async_trait]
impl HandoverGate for FixedGate {
    async fn may_go(&self) -> bool {
        self.0
    }
}

/// Hands a message over to a courier that must take it.
async fn hand_accepted(courier: &dyn Courier, message: &Message) -> CourierCheckResult {
    check_same("a good message", &courier.hand(message, &FixedGate(true)).await?, &HandoverOutcome::Accepted)
}

/// The one mail that has arrived.
async fn only_mail(harness: &dyn CourierHarness) -> Result<OutboxMail, BrokenCourierPromise> {
    let mut arrived = harness.arrived_mails().await?;
    check_same("mails that arrived", &arrived.len(), &1)?;
    Ok(OutboxMail::parse(arrived.remove(0)))
}

/// Whether `outcome` says what is true, as far as the engine can know it.
async fn check_outcome(
    harness: &dyn CourierHarness,
    courier: &dyn Courier,
    id: &str,
    truth: Option<bool>,
) -> CourierCheckResult {
    let told = courier.was_sent(Channel::Email, id).await?;
    if !harness.knows_sent() && told.is_none() {
        return Ok(());
    }
    check_same("the outcome", &told, &truth)
}

/// Compares what was found with what was promised. Only what the suite made up is compared, so nothing
/// that is private is quoted.
fn check_same<T: PartialEq + fmt::Debug>(
    what: impl fmt::Display,
    found: &T,
    promised: &T,
) -> CourierCheckResult {
    if found == promised {
        return Ok(());
    }
    let cut = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
    Err(BrokenCourierPromise(format!("{what}: found {}, promised {}", cut(found), cut(promised))))
}
