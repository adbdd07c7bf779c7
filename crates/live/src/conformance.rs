//! The promises of the port of live connections, for any engine.

use anyhow::{Context as _, ensure};
use model::{Person, Tenant};

use crate::LiveConnections;

/// Checks an engine that knows of these persons that they are connected, and of nobody else.
pub async fn check_live_engine(
    live: &dyn LiveConnections,
    tenant: &Tenant,
    connected: &[Person],
) -> anyhow::Result<()> {
    let stranger = Person::new("nobody-in-particular")?;
    let all: Vec<Person> = connected.iter().cloned().chain([stranger]).collect();
    let found = live.find_connected(tenant, &all).await.context("everybody")?;
    ensure!(found.iter().eq(sort_persons(connected).iter()), "the answer has exactly the connected persons");
    for one in connected {
        let found = live.find_connected(tenant, std::slice::from_ref(one)).await.context("one")?;
        ensure!(found.len() == 1, "the answer has only persons that were asked for");
    }
    let none = live.find_connected(tenant, &[]).await.context("nobody")?;
    ensure!(none.is_empty(), "an empty question has an empty answer");
    Ok(())
}

fn sort_persons(persons: &[Person]) -> Vec<Person> {
    let mut sorted = persons.to_vec();
    sorted.sort();
    sorted
}
