//! Whether somebody's app is connected, as the house itself knows it: by the streams of feeds that are open in any process. It
//! answers where the product names no service of its own.

use std::{collections::BTreeSet, fmt, sync::Arc};

use anyhow::Context as _;
use async_trait::async_trait;
use live::LiveConnections;
use model::{Person, Tenant, UtcMillis};
use room::open_streams::is_open;
use runtime::Clock;
use store::{StateKey, Store};

/// What the rooms `feed` of all processes note.
#[derive(Clone)]
pub struct StreamConnections {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
}

impl fmt::Debug for StreamConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamConnections").finish_non_exhaustive()
    }
}

#[async_trait]
impl LiveConnections for StreamConnections {
    async fn find_connected(&self, tenant: &Tenant, persons: &[Person]) -> anyhow::Result<BTreeSet<Person>> {
        let key = |person: &Person| StateKey::Streams(tenant.clone(), person.clone());
        let keys: Vec<StateKey> = persons.iter().map(key).collect();
        let noted = self.store.states(&keys).await.context("who has a stream open")?;
        let now = UtcMillis(self.clock.now());
        let open = persons.iter().zip(noted).filter(|(_, noted)| is_open(noted, now));
        Ok(open.map(|(person, _)| person.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use room::open_streams::note_open;
    use store_embedded::EmbeddedStore;

    use super::*;

    #[tokio::test]
    async fn open_streams_keep_the_promises_of_the_port() {
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(dir.path()).unwrap());
        let clock = Clock::real(0);
        let tenant = Tenant::new("main").unwrap();
        let persons = ["ben", "ann"].map(|name| Person::new(name).unwrap());
        for person in &persons {
            let key = StateKey::Streams(tenant.clone(), person.clone());
            store.merge(vec![(key, note_open("feed-1", UtcMillis(clock.now())))]).await.unwrap();
        }
        let live = StreamConnections { store, clock };
        live::conformance::check_live_engine(&live, &tenant, &persons).await.unwrap();
    }
}
