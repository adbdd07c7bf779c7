//! Every promise of the store, on a cluster.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use async_trait::async_trait;
use house_facts::day_ring::DayRing;
use model::{SubjectRef, Tenant, Value, VersionedState, entry::DayKey};
use runtime::{clock::SteadyStopwatch, retry::wait_real_time};
use scylla::client::session_builder::SessionBuilder;
use store::{
    LATELY, StateKey, StateStore as _, Store,
    conformance::{self, BrokenStorePromise, StoreHarness},
};
use store_cql::{CqlStore, Settings, migrate_keyspaces};

/// One keyspace, emptied for each promise.
struct CqlStoreHarness {
    settings: Settings,
}

impl CqlStoreHarness {
    async fn start(&self) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        Ok(Arc::new(CqlStore::open(self.settings.clone()).await?))
    }
}

#[async_trait]
impl StoreHarness for CqlStoreHarness {
    async fn open(&mut self) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        CqlStore::empty_tables(&self.settings)
            .await
            .map_err(|error| BrokenStorePromise(format!("{error:#}")))?;
        self.start().await
    }

    /// Another process on the same keyspace: what had returned is there.
    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        drop(store);
        self.start().await
    }

    /// A row that nobody can read.
    async fn spoil(&mut self, _: &dyn Store, key: &DayKey) -> Result<bool, BrokenStorePromise> {
        let session = SessionBuilder::new().known_nodes(&self.settings.contact_points).build().await.unwrap();
        let table = format!(
            "{}.days_{:02}",
            self.settings.keyspace,
            DayRing::new(self.settings.day_life).table(key.day)
        );
        let cql = format!("INSERT INTO {table} (tenant, person, day, row, body) VALUES (?, ?, ?, ?, ?)");
        let values = (key.tenant.as_str(), key.person.as_str(), key.day.0, &b"?"[..], &b"not a row"[..]);
        session.query_unpaged(cql, values).await.unwrap();
        Ok(true)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_every_promise() {
    let settings =
        Settings { alone: true, ..Settings::from_contact_points(engines::cql().unwrap(), "conformance") };
    migrate_keyspaces(&settings).await.unwrap();
    let mut harness = CqlStoreHarness { settings };
    let mut broken = Vec::new();
    for promise in conformance::all_promises() {
        let watch = SteadyStopwatch::start();
        if let Err(how) = promise.check(&mut harness).await {
            println!("BROKEN {promise:?}: {how:?}");
            broken.push((promise, how));
        }
        println!("{:>6} ms  {promise:?}", watch.elapsed().as_millis());
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What another process wrote may be missing in what is only shown, and no longer than it says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_process_wrote_is_shown_a_moment_later() {
    let settings =
        Settings { alone: true, ..Settings::from_contact_points(engines::cql().unwrap(), "lately") };
    migrate_keyspaces(&settings).await.unwrap();
    CqlStore::empty_tables(&settings).await.unwrap();
    let [here, there] = [(); 2].map(|()| CqlStore::open(settings.clone()));
    let (here, there) = (here.await.unwrap(), there.await.unwrap());
    let (tenant, work) = (Tenant::new("main").unwrap(), SubjectRef::new("work:1").unwrap());
    let keys = [StateKey::Subject(tenant, work)];
    let mut before = vec![VersionedState::default()];
    for version in 1..4 {
        let watch = SteadyStopwatch::start();
        assert_eq!(here.states_lately(&keys).await.unwrap(), before, "{version}");
        let written = VersionedState::from_values(version, [("title", Some(Value::Flag(version % 2 == 0)))]);
        there.merge(vec![(keys[0].clone(), written.clone())]).await.unwrap();
        assert_eq!(here.states(&keys).await.unwrap(), std::slice::from_ref(&written), "as it is");
        let shown = here.states_lately(&keys).await.unwrap();
        assert!(shown == before || watch.elapsed() >= LATELY, "asked again within a moment: {shown:?}");
        wait_real_time(LATELY).await;
        before = vec![written];
    }
    assert_eq!(here.states_lately(&keys).await.unwrap(), before);
}
