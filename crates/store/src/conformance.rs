//! The promises of the store, as data, and a runner for any engine.
//!
//! Each promise is one sentence of [`crate::port`] and a check that finds an engine that breaks it; that
//! the checks do find them is shown with [`crate::lying`]. Nothing here knows an engine: one implements
//! [`Harness`] and runs all of them unchanged.

mod answers;
mod apart;
mod closing;
mod crowds;
mod days;
mod erase;
mod journal;
mod samples;
mod slips;
mod states;
mod words;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures::future::BoxFuture;
use model::entry::DayKey;

use crate::port::{Store, StoreError};

/// How the suite gets at an engine.
#[async_trait]
pub trait Harness: Send {
    /// A store with nothing in it.
    async fn open(&mut self) -> Result<Arc<dyn Store>, Broken>;

    /// The store as it is found after a crash at this instant: what had returned is there, what was only
    /// on its way may be. The one given is not used any more.
    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, Broken>;

    /// Sees to it that reads of this day fail from now on, with an error that trying again does not cure;
    /// `false` if this engine cannot be brought to that.
    async fn spoil(&mut self, store: &dyn Store, key: &DayKey) -> Result<bool, Broken>;
}

/// How a promise was broken.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

type Kept = Result<(), Broken>;
type Check = for<'a> fn(&'a mut dyn Harness) -> BoxFuture<'a, Kept>;

/// One promise of the port.
#[derive(Clone, Copy)]
pub struct Promise {
    pub name: &'static str,
    pub says: &'static str,
    check: Check,
}

impl Promise {
    /// Whether an engine keeps it.
    pub async fn check(&self, harness: &mut dyn Harness) -> Kept {
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
    let all = [
        days::PROMISES,
        closing::PROMISES,
        states::PROMISES,
        crowds::PROMISES,
        journal::PROMISES,
        answers::PROMISES,
        words::PROMISES,
        slips::PROMISES,
        erase::PROMISES,
        apart::PROMISES,
    ];
    all.into_iter().flatten().copied()
}

/// The promise of this name.
pub fn promise(name: &str) -> Option<Promise> {
    promises().find(|promise| promise.name == name)
}

/// Runs the whole suite; returns the promises that were broken, and how.
pub async fn run(harness: &mut dyn Harness) -> Vec<(Promise, Broken)> {
    let mut broken = Vec::new();
    for promise in promises() {
        if let Err(how) = promise.check(harness).await {
            broken.push((promise, how));
        }
    }
    broken
}

/// Compares what was found with what was promised.
fn same<T: PartialEq + fmt::Debug>(what: impl fmt::Display, found: &T, promised: &T) -> Kept {
    if found == promised {
        return Ok(());
    }
    let cut = |value: &T| {
        let text = format!("{value:?}");
        text.chars().take(400).collect::<String>()
    };
    Err(Broken(format!("{what}: found {}, promised {}", cut(found), cut(promised))))
}

fn held(what: impl fmt::Display, holds: bool) -> Kept {
    if holds { Ok(()) } else { Err(Broken(what.to_string())) }
}
