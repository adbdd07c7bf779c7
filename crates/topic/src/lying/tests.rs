//! The list notices every lie, and nothing but lies.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::StreamExt as _;

use super::{Lie, Lying};
use crate::{
    conformance::{Harness, promises, run, tests::EmbeddedHarness},
    port::{TopicError, Topics},
};

struct LyingHarness {
    honest: EmbeddedHarness,
    lie: Option<Lie>,
}

#[async_trait]
impl Harness for LyingHarness {
    async fn fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
        Ok(Arc::new(Lying::new(self.honest.fresh().await?, self.lie)))
    }

    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError> {
        Ok(Arc::new(Lying::new(self.honest.crash_and_reopen().await?, self.lie)))
    }

    fn word(&self) -> String {
        self.honest.word()
    }

    fn patience(&self) -> Duration {
        self.honest.patience()
    }
}

fn harness(lie: Option<Lie>, patience: Duration) -> LyingHarness {
    LyingHarness { honest: EmbeddedHarness::new(patience), lie }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_lie_every_promise_is_kept() {
    let outcomes = run(&harness(None, Duration::from_secs(60))).await;
    let broken: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lie_is_noticed() {
    let noticed = futures::stream::iter(Lie::ALL)
        .map(|(lie, broken)| async move {
            let mut missed = Vec::new();
            for promise in promises().iter().filter(|p| broken.contains(&p.name)) {
                // Some lies show in nothing coming, so the patience is the length of this test.
                let harness = harness(Some(*lie), Duration::from_secs(3));
                if promise.check(&harness).await.is_ok() {
                    missed.push((*lie, promise.name));
                }
            }
            missed
        })
        .buffer_unordered(8)
        .collect::<Vec<_>>()
        .await;
    let missed: Vec<_> = noticed.into_iter().flatten().collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

#[test]
fn every_promise_is_broken_by_some_lie() {
    let named: BTreeSet<&str> = Lie::ALL.iter().flat_map(|(_, broken)| broken.iter().copied()).collect();
    let promised: BTreeSet<&str> = promises().iter().map(|p| p.name).collect();
    assert_eq!(named, promised);
}
