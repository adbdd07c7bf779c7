//! The lease of a migration: a row that its holder renews, and that is gone by itself when it does not.

use anyhow::{Context as _, bail};
use runtime::retry;
use scylla::{
    client::session::Session,
    serialize::row::SerializeRow,
    statement::{SerialConsistency, Statement},
};

/// It ends so many seconds after its holder last renewed it.
const LEASE_SECONDS: i32 = 120;
/// How often it is renewed.
const RENEWAL: std::time::Duration = std::time::Duration::from_secs(20);
/// Whoever waits asks about twice a second.
const WAIT_TRIES: u32 = 4;

#[derive(Debug)]
pub(crate) struct MigrationLease {
    table: String,
    holder: String,
}

impl MigrationLease {
    /// Waits for it, and says so once.
    pub async fn acquire(session: &Session, keyspace: &str) -> anyhow::Result<Self> {
        // Unlike any other session's.
        let holder = session.session_id().to_string();
        let lease = Self { table: format!("{keyspace}.schema_lock"), holder };
        let cql = format!(
            "INSERT INTO {} (name, holder) VALUES ('schema', ?) IF NOT EXISTS USING TTL ?",
            lease.table
        );
        let mut has_waited = false;
        // A lost answer is an error: run again, one waits until that lease has ended.
        while !run_transaction(session, &cql, (&lease.holder, LEASE_SECONDS)).await? {
            if !std::mem::replace(&mut has_waited, true) {
                tracing::info!(
                    "another migration is at work, or was broken off less than {LEASE_SECONDS} seconds ago; waiting for it"
                );
            }
            retry::pause_before_retry(WAIT_TRIES, u64::from(std::process::id())).await;
        }
        Ok(lease)
    }

    /// Does the work as long as the lease is held.
    pub async fn hold_while<T>(
        &self,
        session: &Session,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        let renewals = async {
            loop {
                retry::wait_real_time(RENEWAL).await;
                if let Err(error) = self.renew(session).await {
                    return error;
                }
            }
        };
        tokio::select! {
            worked = work => worked,
            lost = renewals => Err(lost),
        }
    }

    pub async fn release(&self, session: &Session) -> anyhow::Result<()> {
        let cql = format!("DELETE FROM {} WHERE name = 'schema' IF holder = ?", self.table);
        run_transaction(session, &cql, (&self.holder,)).await.map(|_| ())
    }

    async fn renew(&self, session: &Session) -> anyhow::Result<()> {
        let cql =
            format!("UPDATE {} USING TTL ? SET holder = ? WHERE name = 'schema' IF holder = ?", self.table);
        if !run_transaction(session, &cql, (LEASE_SECONDS, &self.holder, &self.holder)).await? {
            bail!("another migration took over; run `tidings migrate` again");
        }
        Ok(())
    }
}

async fn run_transaction(session: &Session, cql: &str, values: impl SerializeRow) -> anyhow::Result<bool> {
    let mut statement = Statement::new(cql);
    statement.set_serial_consistency(Some(SerialConsistency::LocalSerial));
    let rows = session.query_unpaged(statement, values).await?.into_rows_result()?;
    let at = rows.column_specs().get_by_name("[applied]").map(|(at, _)| at);
    let row = rows.first_row::<scylla::value::Row>()?;
    let applied = at.and_then(|at| row.columns.get(at)?.as_ref()?.as_boolean());
    applied.context("a transaction that does not tell whether it applied")
}
