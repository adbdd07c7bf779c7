//! The list notices every lie, and nothing but lies.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::StreamExt as _;

use super::{LyingTopics, TopicsLie};
use crate::{
    conformance::{TopicsHarness, all_promises, run_promises, tests::EmbeddedHarness},
    port::{TopicError, Topics},
};

struct LyingTopicsHarness {
    honest: EmbeddedHarness,
    lie: Option<TopicsLie>,
}

#[async_trait]
impl TopicsHarness for LyingTopicsHarness {
    async fn open_fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
        Ok(Arc::new(LyingTopics::new(self.honest.open_fresh().await?, self.lie)))
    }

    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError> {
        Ok(Arc::new(LyingTopics::new(self.honest.crash_and_reopen().await?, self.lie)))
    }

    fn word(&self) -> String {
        self.honest.word()
    }

    fn patience(&self) -> Duration {
        self.honest.patience()
    }
}

fn lying_harness(lie: Option<TopicsLie>, patience: Duration) -> LyingTopicsHarness {
    LyingTopicsHarness { honest: EmbeddedHarness::new(patience), lie }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_lie_every_promise_is_kept() {
    let outcomes = run_promises(&lying_harness(None, Duration::from_secs(60))).await;
    let broken: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lie_is_noticed() {
    let noticed = futures::stream::iter(TopicsLie::ALL)
        .map(|(lie, broken)| async move {
            let mut missed = Vec::new();
            for promise in all_promises().iter().filter(|p| broken.contains(&p.name)) {
                // Some lies show in nothing coming, so the patience is the length of this test.
                let harness = lying_harness(Some(*lie), Duration::from_secs(3));
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
    let named: BTreeSet<&str> =
        TopicsLie::ALL.iter().flat_map(|(_, broken)| broken.iter().copied()).collect();
    let promised: BTreeSet<&str> = all_promises().iter().map(|p| p.name).collect();
    assert_eq!(named, promised);
}
