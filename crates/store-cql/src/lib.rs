//! The store on a cluster: ScyllaDB and Apache Cassandra, with the CQL that both have.
//!
//! [`Settings`] say where it is; [`migrate_keyspaces`] lays the tables out, [`CqlStore`] works with them. One driver's
//! session (`connect`) with its statements prepared (`statements`) is an `engine`: it sends as many requests
//! at once as the cluster answers in good time (`request_window`), tries again what may be repeated, and says of each error what it
//! asks for (`errors`). On it stand the ports: `days` with `put`, `scan` and the `marks` of closed days,
//! `states` with their `cells` and what is `known` of them lately, `crowds`, `journal`, `words`, `slips`, `erase`.
//!
//! What makes it safe to repeat a write: rows of days never differ; states and crowds order by version,
//! settled by content (`cells`); the journal recognises its own token. Nothing is deleted but what an erasure takes
//! away (`erase`). The day tables are told in `docs/decisions/011-day-tables.md`.

mod cells;
mod connection;
mod crowds;
mod day_marks;
mod days;
mod engine;
mod erase;
mod errors;
mod first_words;
mod journal;
mod known_states;
mod migration;
mod migration_lease;
mod request_window;
mod scan;
mod settings;
mod slips;
mod statements;
mod states;
mod write_steps;

use std::{collections::HashSet, fmt, sync::Mutex};

use day_marks::DayMarks;
use engine::CqlEngine;
use futures::{FutureExt as _, future::BoxFuture};
use known_states::KnownStates;
use model::{Day, DayLife};
use store::{StoreError, StoreSetup};

pub use connection::open_session;
pub use migration::{CqlMigration, migrate_keyspaces};
pub use settings::{CqlLogin, CqlTls, Settings};

/// The store on a cluster.
pub struct CqlStore {
    keyspace: String,
    engine: CqlEngine,
    marks: DayMarks,
    known: KnownStates,
    /// Days of which the list of days is known to tell.
    held: Mutex<HashSet<Day>>,
}

impl CqlStore {
    /// Connects. Refuses a keyspace that is not laid out, and says what to run.
    ///
    /// Boxed: to connect and to prepare takes a quarter of a megabyte, which is too much for the stack of a thread.
    pub fn open(settings: Settings) -> BoxFuture<'static, Result<Self, StoreError>> {
        let open = async move {
            let engine = CqlEngine::open(&settings).await?;
            let marks = DayMarks::open(&engine, &settings).await?;
            Ok(Self {
                keyspace: settings.keyspace,
                engine,
                marks,
                known: KnownStates::default(),
                held: Mutex::default(),
            })
        };
        open.boxed()
    }

    /// Takes everything out of the tables: for tests and scenarios, which are alone.
    pub async fn empty_tables(settings: &Settings) -> anyhow::Result<()> {
        migration::empty_tables(settings).await
    }
}

impl StoreSetup for CqlStore {
    fn day_life(&self) -> DayLife {
        self.engine.statements.ring.life()
    }
}

impl fmt::Debug for CqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CqlStore").field("keyspace", &self.keyspace).finish_non_exhaustive()
    }
}
