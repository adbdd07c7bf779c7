//! The list of promises on a real cluster.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::StreamExt as _;
use runtime::{Clock, clock::SteadyStopwatch};
use topic::{
    Topics,
    conformance::{TopicsHarness, TopicsPromise, all_promises},
    port::TopicError,
};
use topic_kafka::{KafkaTopics, Settings, settings::GroupProtocol};

use crate::cluster::cluster_settings;

/// Promises that run at the same time; most of them wait most of the time.
const AT_ONCE: usize = 12;

/// A cluster that keeps what it is given, so each look at it uses another word.
struct KafkaTopicsHarness {
    settings: Settings,
    word: String,
    now: Mutex<Vec<KafkaTopics>>,
}

impl KafkaTopicsHarness {
    fn new(protocol: GroupProtocol) -> Self {
        static WORDS: AtomicUsize = AtomicUsize::new(0);
        let word = WORDS.fetch_add(1, Ordering::Relaxed);
        let mut settings = cluster_settings(&format!("conformance-{word}"));
        settings.protocol = protocol;
        // Whoever stands still for longer than that has fallen silent, so it is longer than a busy machine stands still.
        settings.session = Duration::from_secs(8);
        // Half of it is what a turn in flight has to end when its partition goes: on a busy machine a second is little.
        settings.more = BTreeMap::from([("max.poll.interval.ms".to_owned(), "16000".to_owned())]);
        Self { settings, word: format!("w{word}"), now: Mutex::default() }
    }

    fn open(&self) -> Result<Arc<dyn Topics>, TopicError> {
        let kafka = KafkaTopics::open(self.settings.clone(), Clock::real(0))?;
        self.now.lock().unwrap().push(kafka.clone());
        Ok(Arc::new(kafka))
    }
}

#[async_trait]
impl TopicsHarness for KafkaTopicsHarness {
    async fn open_fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
        self.open()
    }

    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError> {
        for kafka in self.now.lock().unwrap().drain(..) {
            kafka.sever();
        }
        self.open()
    }

    fn word(&self) -> String {
        self.word.clone()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// Runs promises, several at a time, and prints how long each took.
async fn check_promises(protocol: GroupProtocol, which: impl Fn(&TopicsPromise) -> bool) {
    let begun = SteadyStopwatch::start();
    let kept = all_promises().into_iter().rev().filter(|promise| which(promise)).map(|promise| async move {
        let took = SteadyStopwatch::start();
        let cluster = KafkaTopicsHarness::new(protocol);
        let outcome = promise.check(&cluster).await;
        println!(
            "{:>6} ms  {}: {}",
            took.elapsed().as_millis(),
            promise.name,
            outcome.clone().err().unwrap_or_default()
        );
        (promise.name, outcome)
    });
    let outcomes: Vec<_> = futures::stream::iter(kept).buffer_unordered(AT_ONCE).collect().await;
    println!("{} promises in {} ms", outcomes.len(), begun.elapsed().as_millis());
    assert!(!outcomes.is_empty());
    let broken: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

fn is_selected(promise: &TopicsPromise) -> bool {
    std::env::var("PROMISE").map_or(true, |word| promise.name.contains(&word))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kafka_keeps_every_promise() {
    check_promises(GroupProtocol::Classic, is_selected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_newer_protocol_keeps_them_too() {
    check_promises(GroupProtocol::Consumer, is_selected).await;
}
