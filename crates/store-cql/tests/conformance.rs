//! Every promise of the store, on a cluster.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use async_trait::async_trait;
use model::entry::DayKey;
use runtime::clock::Stopwatch;
use scylla::client::session_builder::SessionBuilder;
use store::{
    Store,
    conformance::{self, Broken, Harness},
};
use store_cql::{Cql, Settings, migrate};

/// One keyspace, emptied for each promise.
struct OnCql {
    settings: Settings,
}

impl OnCql {
    async fn start(&self) -> Result<Arc<dyn Store>, Broken> {
        Ok(Arc::new(Cql::open(self.settings.clone()).await?))
    }
}

#[async_trait]
impl Harness for OnCql {
    async fn open(&mut self) -> Result<Arc<dyn Store>, Broken> {
        Cql::empty(&self.settings).await.map_err(|error| Broken(format!("{error:#}")))?;
        self.start().await
    }

    /// Another process on the same keyspace: what had returned is there.
    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, Broken> {
        drop(store);
        self.start().await
    }

    /// A row that nobody can read.
    async fn spoil(&mut self, _: &dyn Store, key: &DayKey) -> Result<bool, Broken> {
        let session = SessionBuilder::new().known_nodes(&self.settings.contact_points).build().await.unwrap();
        let table = format!("{}.days_{:02}", self.settings.keyspace, key.day.0.rem_euclid(32));
        let cql = format!("INSERT INTO {table} (tenant, person, day, row, body) VALUES (?, ?, ?, ?, ?)");
        let values = (key.tenant.as_str(), key.person.as_str(), key.day.0, &b"?"[..], &b"not a row"[..]);
        session.query_unpaged(cql, values).await.unwrap();
        Ok(true)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_every_promise() {
    let settings = Settings { alone: true, ..Settings::at(engines::cql().unwrap(), "conformance") };
    migrate(&settings).await.unwrap();
    let mut harness = OnCql { settings };
    let mut broken = Vec::new();
    for promise in conformance::promises() {
        let watch = Stopwatch::start();
        if let Err(how) = promise.check(&mut harness).await {
            println!("BROKEN {promise:?}: {how:?}");
            broken.push((promise, how));
        }
        println!("{:>6} ms  {promise:?}", watch.elapsed().as_millis());
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
