//! What every engine promises, as a list that can be run against any of them.
//!
//! The list knows nothing of an engine but the port. It names its topics and groups by a word of the
//! harness's, so that it can run again on a cluster that keeps them. Whatever must come is waited for as
//! long as the harness has patience; nothing is ever concluded from having waited in vain, but where the
//! promise is that something comes.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::BoxFuture;

use crate::port::{TopicError, Topics};

mod bench;
mod disk;
mod groups;
mod handover;
mod log;
mod rounds;
mod state;
mod turns;
mod upkeep;

#[cfg(test)]
pub(crate) mod tests;

use bench::TopicsBench;
pub use disk::cut_power;

/// Opens the engine that is looked at.
#[async_trait]
pub trait TopicsHarness: Send + Sync {
    /// An engine in which nothing exists that the word of [`TopicsHarness::word`] names.
    async fn open_fresh(&self) -> Result<Arc<dyn Topics>, TopicError>;

    /// The process that uses the engine dies at this instant, and another one opens what it left.
    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError>;

    /// A word for names, another one each time.
    fn word(&self) -> String;

    /// How long to wait for what must come.
    fn patience(&self) -> Duration;
}

/// One promise.
pub struct TopicsPromise {
    pub name: &'static str,
    /// The promise in one sentence.
    pub law: &'static str,
    check: for<'a> fn(&'a TopicsBench<'a>) -> BoxFuture<'a, anyhow::Result<()>>,
}

impl TopicsPromise {
    /// Whether the engine keeps it, and if not, how it was broken.
    pub async fn check(&self, harness: &dyn TopicsHarness) -> Result<(), String> {
        let outcome = match TopicsBench::open(harness).await {
            Ok(bench) => (self.check)(&bench).await,
            Err(error) => Err(error),
        };
        outcome.map_err(|error| format!("{error:#}"))
    }
}

/// All promises, simple ones first.
pub fn all_promises() -> Vec<TopicsPromise> {
    let lists = [
        log::PROMISES,
        state::PROMISES,
        groups::PROMISES,
        handover::PROMISES,
        turns::PROMISES,
        rounds::PROMISES,
        upkeep::PROMISES,
    ];
    let rows = lists.into_iter().flatten();
    rows.map(|(name, law, check)| TopicsPromise { name, law, check: *check }).collect()
}

/// Runs the whole list.
pub async fn run_promises(harness: &dyn TopicsHarness) -> Vec<(&'static str, Result<(), String>)> {
    let mut out = Vec::new();
    for promise in all_promises() {
        out.push((promise.name, promise.check(harness).await));
    }
    out
}

/// A row of the list, as the modules write it.
type TopicsPromiseRow =
    (&'static str, &'static str, for<'a> fn(&'a TopicsBench<'a>) -> BoxFuture<'a, anyhow::Result<()>>);
