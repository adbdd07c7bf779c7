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
use runtime::{Clock, clock::Stopwatch};
use topic::{
    Topics,
    conformance::{Harness, Promise, promises},
    port::TopicError,
};
use topic_kafka::{Kafka, Settings, settings::Protocol};

use crate::cluster::settings;

/// Promises that run at the same time; most of them wait most of the time.
const AT_ONCE: usize = 12;

/// A cluster that keeps what it is given, so each look at it uses another word.
struct Cluster {
    settings: Settings,
    word: String,
    now: Mutex<Vec<Kafka>>,
}

impl Cluster {
    fn new(protocol: Protocol) -> Self {
        static WORDS: AtomicUsize = AtomicUsize::new(0);
        let word = WORDS.fetch_add(1, Ordering::Relaxed);
        let mut settings = settings(&format!("conformance-{word}"));
        settings.protocol = protocol;
        // Whoever stands still for longer than that has fallen silent, so it is longer than a busy machine stands still.
        settings.session = Duration::from_secs(8);
        // Half of it is what a turn in flight has to end when its partition goes: on a busy machine a second is little.
        settings.more = BTreeMap::from([("max.poll.interval.ms".to_owned(), "16000".to_owned())]);
        Self { settings, word: format!("w{word}"), now: Mutex::default() }
    }

    fn open(&self) -> Result<Arc<dyn Topics>, TopicError> {
        let kafka = Kafka::open(self.settings.clone(), Clock::real(0))?;
        self.now.lock().unwrap().push(kafka.clone());
        Ok(Arc::new(kafka))
    }
}

#[async_trait]
impl Harness for Cluster {
    async fn fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
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
async fn all_kept(protocol: Protocol, which: impl Fn(&Promise) -> bool) {
    let begun = Stopwatch::start();
    let kept = promises().into_iter().rev().filter(|promise| which(promise)).map(|promise| async move {
        let took = Stopwatch::start();
        let cluster = Cluster::new(protocol);
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

fn only(promise: &Promise) -> bool {
    std::env::var("PROMISE").map_or(true, |word| promise.name.contains(&word))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kafka_keeps_every_promise() {
    all_kept(Protocol::Classic, only).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_newer_protocol_keeps_them_too() {
    all_kept(Protocol::Consumer, only).await;
}
