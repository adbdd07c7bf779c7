//! The port of live connections: whether somebody's app is connected at this moment. Only the product knows, so it is
//! asked, and only when it matters: for persons who were seen lately on a surface with `ask: live`, when a window is
//! due that presence would hold.
//!
//! [`LiveConnections`] is the contract, [`UnknownConnections`] the engine where no service was named, [`conformance`] what every engine
//! keeps.

#[cfg(any(test, doc, feature = "testing"))]
pub mod conformance;

use std::{collections::BTreeSet, fmt};

use async_trait::async_trait;
use model::{Person, Tenant};

/// Persons of one question.
pub const PERSONS_AT_ONCE: usize = 100;

/// The service that knows of live connections.
#[async_trait]
pub trait LiveConnections: Send + Sync + fmt::Debug {
    /// Which of these persons have a connection now, and nobody else. An error means that nobody can say; whoever
    /// asks goes on without an answer, so it comes soon or not at all.
    async fn find_connected(&self, tenant: &Tenant, persons: &[Person]) -> anyhow::Result<BTreeSet<Person>>;
}

/// Where no service was named: nobody can say.
#[derive(Clone, Copy, Debug)]
pub struct UnknownConnections;

#[async_trait]
impl LiveConnections for UnknownConnections {
    async fn find_connected(&self, _: &Tenant, _: &[Person]) -> anyhow::Result<BTreeSet<Person>> {
        anyhow::bail!("no presence service is configured")
    }
}
