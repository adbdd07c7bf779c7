//! The promises of a courier, as data, and a runner for any engine.
//!
//! Each promise is one sentence of [`crate::port`] and a check that finds an engine that breaks it; that
//! the checks do find them is shown with [`crate::lying`]. Nothing here knows an engine: one implements
//! [`Harness`] and runs all of them unchanged.

mod gate;
mod outcome;
mod samples;
mod text;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures::future::BoxFuture;
use model::Channel;

use crate::{
    outbox::Mail,
    port::{Courier, CourierError, Gate, Handed, Message, Outcome},
};

/// How the suite gets at an engine.
#[async_trait]
pub trait Harness: Send + Sync {
    /// A courier, and another side that has received nothing.
    async fn open(&self) -> Result<Arc<dyn Courier>, Broken>;

    /// The courier's process dies at this instant, and another one opens what it left. The one given is
    /// not used any more.
    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, Broken>;

    /// The mails that the other side has, as bytes; one that arrived twice is there twice.
    async fn arrived(&self) -> Result<Vec<Vec<u8>>, Broken>;

    /// Whether the engine knows for good what it sent, and takes a mail that it has already without
    /// sending it again. A folder does; a connection to a server does not.
    fn knows(&self) -> bool;
}

/// How a promise was broken.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<CourierError> for Broken {
    fn from(error: CourierError) -> Self {
        Self(error.to_string())
    }
}

type Kept = Result<(), Broken>;
type Check = for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Kept>;

/// One promise of the port.
#[derive(Clone, Copy)]
pub struct Promise {
    pub name: &'static str,
    pub says: &'static str,
    check: Check,
}

impl Promise {
    /// Whether an engine keeps it.
    pub async fn check(&self, harness: &dyn Harness) -> Kept {
        (self.check)(harness).await
    }
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.says)
    }
}

/// All promises, in the order of the port.
pub fn promises() -> impl Iterator<Item = Promise> {
    [gate::PROMISES, outcome::PROMISES, text::PROMISES].into_iter().flatten().copied()
}

/// The promise of this name.
pub fn promise(name: &str) -> Option<Promise> {
    promises().find(|promise| promise.name == name)
}

/// Runs the whole suite; returns the promises that were broken, and how.
pub async fn run(harness: &dyn Harness) -> Vec<(Promise, Broken)> {
    let mut broken = Vec::new();
    for promise in promises() {
        if let Err(how) = promise.check(harness).await {
            broken.push((promise, how));
        }
    }
    broken
}

/// A gate that always says the same.
struct Says(bool);

#[async_trait]
impl Gate for Says {
    async fn may_go(&self) -> bool {
        self.0
    }
}

/// Hands a message over to a courier that must take it.
async fn accept(courier: &dyn Courier, message: &Message) -> Kept {
    same("a good message", &courier.hand(message, &Says(true)).await?, &Handed::Accepted)
}

/// The one mail that has arrived.
async fn only(harness: &dyn Harness) -> Result<Mail, Broken> {
    let mut arrived = harness.arrived().await?;
    same("mails that arrived", &arrived.len(), &1)?;
    Ok(Mail::parse(arrived.remove(0)))
}

/// Whether `outcome` says what is true, as far as the engine can know it.
async fn tells(harness: &dyn Harness, courier: &dyn Courier, id: &str, truth: Outcome) -> Kept {
    let told = courier.outcome(Channel::Email, id).await?;
    if !harness.knows() && told == Outcome::CannotTell {
        return Ok(());
    }
    same("the outcome", &told, &truth)
}

/// Compares what was found with what was promised. Only what the suite made up is compared, so nothing
/// that is private is quoted.
fn same<T: PartialEq + fmt::Debug>(what: impl fmt::Display, found: &T, promised: &T) -> Kept {
    if found == promised {
        return Ok(());
    }
    let cut = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
    Err(Broken(format!("{what}: found {}, promised {}", cut(found), cut(promised))))
}
