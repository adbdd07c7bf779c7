//! The product's service of live connections in a scenario: it knows what the story states.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use anyhow::ensure;
use async_trait::async_trait;
use live::LiveConnections;
use model::{Person, Tenant};

/// Who is connected, as far as was said; outlives restarts of the house.
#[derive(Debug, Default)]
pub(super) struct ScriptedApps(Mutex<BTreeMap<Person, bool>>);

impl ScriptedApps {
    pub fn set(&self, person: &Person, connected: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(person.clone(), connected);
    }
}

#[async_trait]
impl LiveConnections for ScriptedApps {
    async fn find_connected(&self, _: &Tenant, persons: &[Person]) -> anyhow::Result<BTreeSet<Person>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(persons.iter().all(|person| known.contains_key(person)), "the story does not say");
        Ok(persons.iter().filter(|person| known[*person]).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_apps_of_a_story_keep_the_promises_of_the_port() {
        let apps = ScriptedApps::default();
        let persons = ["ann", "ben"].map(|name| Person::new(name).unwrap());
        persons.iter().for_each(|person| apps.set(person, true));
        apps.set(&Person::new("nobody-in-particular").unwrap(), false);
        live::conformance::check_live_engine(&apps, &Tenant::new("main").unwrap(), &persons).await.unwrap();
        assert!(
            apps.find_connected(&Tenant::new("main").unwrap(), &[Person::new("cleo").unwrap()])
                .await
                .is_err()
        );
    }
}
