//! The promises of the store, as data, and a runner for any engine.
//!
//! Each promise is one sentence of [`crate::port`] and a check that finds an engine that breaks it; that
//! the checks do find them is shown with [`crate::lying_store`]. Nothing here knows an engine: one implements
//! [`StoreHarness`] and runs all of them unchanged.

/// The promises of one port: who checks it, what it is called, and what it says.
macro_rules! promises {
    ($($check:ident keeps $name:literal: $says:literal;)+) => {
        pub(super) const PROMISES: &[super::StorePromise] = &[$(super::StorePromise {
            name: $name,
            says: $says,
            check: |harness| Box::pin($check(harness)),
        }),+];
    };
}

mod answers;
mod crowds;
mod day_closing;
mod days;
mod erase;
mod first_words;
mod isolation;
mod journal;
pub(crate) mod samples;
mod slips;
mod states;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures::future::BoxFuture;
use model::entry::DayKey;

use crate::port::{Store, StoreError};

/// How the suite gets at an engine.
#[async_trait]
pub trait StoreHarness: Send {
    /// A store with nothing in it.
    async fn open(&mut self) -> Result<Arc<dyn Store>, BrokenStorePromise>;

    /// The store as it is found after a crash at this instant: what had returned is there, what was only
    /// on its way may be. The one given is not used any more.
    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, BrokenStorePromise>;

    /// Sees to it that reads of this day fail from now on, with an error that trying again does not cure;
    /// `false` if this engine cannot be brought to that.
    async fn spoil(&mut self, store: &dyn Store, key: &DayKey) -> Result<bool, BrokenStorePromise>;
}

/// How a promise was broken.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenStorePromise(pub String);

impl fmt::Debug for BrokenStorePromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for BrokenStorePromise {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

type StorePromiseResult = Result<(), BrokenStorePromise>;
type StorePromiseCheck = for<'a> fn(&'a mut dyn StoreHarness) -> BoxFuture<'a, StorePromiseResult>;

/// One promise of the port.
#[derive(Clone, Copy)]
pub struct StorePromise {
    pub name: &'static str,
    pub says: &'static str,
    check: StorePromiseCheck,
}

impl StorePromise {
    /// Whether an engine keeps it.
    pub async fn check(&self, harness: &mut dyn StoreHarness) -> StorePromiseResult {
        (self.check)(harness).await
    }
}

impl fmt::Debug for StorePromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.says)
    }
}

/// All promises, in the order of the port.
pub fn all_promises() -> impl Iterator<Item = StorePromise> {
    let all = [
        days::PROMISES,
        day_closing::PROMISES,
        states::PROMISES,
        crowds::PROMISES,
        journal::PROMISES,
        answers::PROMISES,
        first_words::PROMISES,
        slips::PROMISES,
        erase::PROMISES,
        isolation::PROMISES,
    ];
    all.into_iter().flatten().copied()
}

/// The promise of this name.
pub fn find_promise(name: &str) -> Option<StorePromise> {
    all_promises().find(|promise| promise.name == name)
}

/// Runs the whole suite; returns the promises that were broken, and how.
pub async fn run_store_suite(harness: &mut dyn StoreHarness) -> Vec<(StorePromise, BrokenStorePromise)> {
    let mut broken = Vec::new();
    for promise in all_promises() {
        if let Err(how) = promise.check(harness).await {
            broken.push((promise, how));
        }
    }
    broken
}

/// Compares what was found with what was promised.
fn expect_same<T: PartialEq + fmt::Debug>(
    what: impl fmt::Display,
    found: &T,
    promised: &T,
) -> StorePromiseResult {
    if found == promised {
        return Ok(());
    }
    let cut = |value: &T| {
        let text = format!("{value:?}");
        text.chars().take(400).collect::<String>()
    };
    Err(BrokenStorePromise(format!("{what}: found {}, promised {}", cut(found), cut(promised))))
}

fn expect_holds(what: impl fmt::Display, holds: bool) -> StorePromiseResult {
    if holds { Ok(()) } else { Err(BrokenStorePromise(what.to_string())) }
}
