//! Every statement that is sent, prepared once. All may be repeated but the lightweight transactions, which
//! the driver must not repeat by itself: their answer to the second try is not that of the first.

use futures::FutureExt as _;
use house_facts::day_ring::DayRing;
use model::{
    Day,
    limits::{DAY_ROWS_READ_MAX, SLICE_PERSONS_MAX},
};
use scylla::{
    client::session::Session,
    statement::{Consistency, Statement, prepared::PreparedStatement},
};
use tokio::sync::OnceCell;

use crate::{errors::CqlError, settings::Settings};

/// What has versions is written, and deleted, as of them.
const BY_VERSION: &str = "USING TIMESTAMP ?";

/// How the table of this number is called.
pub(crate) fn slot_name(slot: usize) -> String {
    format!("{slot:02}")
}

pub(crate) struct CqlStatements {
    pub merge: PreparedStatement,
    pub state: PreparedStatement,
    pub note: PreparedStatement,
    pub notes: PreparedStatement,
    pub enrol: PreparedStatement,
    pub members: PreparedStatement,
    pub member: PreparedStatement,
    pub following: FollowStatements,
    pub enter: PreparedStatement,
    pub journalled: PreparedStatement,
    pub answer: PreparedStatement,
    pub replace_answer: PreparedStatement,
    pub answered: PreparedStatement,
    pub say: PreparedStatement,
    pub said: PreparedStatement,
    pub keep: PreparedStatement,
    pub slip: PreparedStatement,
    pub mark: PreparedStatement,
    pub marks: PreparedStatement,
    pub hold: PreparedStatement,
    pub held: PreparedStatement,
    pub erasing: ErasureStatements,
    keyspace: String,
    /// Which days lie in which table.
    pub ring: DayRing,
    slots: Vec<OnceCell<DayTableStatements>>,
}

/// The statements of one table of days, prepared when it is first asked for.
pub(crate) struct DayTableStatements {
    pub write: PreparedStatement,
    pub read: PreparedStatement,
    /// All rows from a token on.
    pub from: PreparedStatement,
    /// The rows of a person's day behind one of them.
    pub behind: PreparedStatement,
    /// All rows of a person's day, also beyond what a reader is given.
    pub whole: PreparedStatement,
    pub erase: PreparedStatement,
}

/// The statements about what a person follows.
pub(crate) struct FollowStatements {
    pub write: PreparedStatement,
    /// Those behind a subject.
    pub read: PreparedStatement,
}

impl FollowStatements {
    async fn prepare(session: &Session, keyspace: &str) -> Result<Self, CqlError> {
        Ok(Self {
            write: prepare_repeatable(session, &format!(
                "INSERT INTO {keyspace}.follows (tenant, person, subject, standing) VALUES (?, ?, ?, ?) {BY_VERSION}"
            ))
            .await?,
            read: prepare_repeatable(session, &format!(
                "SELECT subject, standing FROM {keyspace}.follows WHERE tenant = ? AND person = ? AND subject > ?"
            ))
            .await?,
        })
    }
}

/// The statements that find what there is of a person, and take it away.
pub(crate) struct ErasureStatements {
    pub crowds: PreparedStatement,
    pub slips: PreparedStatement,
    pub state: PreparedStatement,
    pub note: PreparedStatement,
    pub member: PreparedStatement,
    pub follow: PreparedStatement,
    pub slip: PreparedStatement,
    pub journal: PreparedStatement,
}

impl ErasureStatements {
    async fn prepare(session: &Session, settings: &Settings) -> Result<Self, CqlError> {
        let (keyspace, journal, by_version) = (&settings.keyspace, settings.journal_keyspace(), BY_VERSION);
        Ok(Self {
            // The cluster looks through the table for us: it is one walk, whoever is looked for.
            crowds: prepare_repeatable(session, &format!(
                "SELECT tenant, crowd, shard, standing FROM {keyspace}.crowds WHERE person = ? ALLOW FILTERING"
            ))
            .await?,
            slips: prepare_repeatable(session, &format!("SELECT ready, body FROM {keyspace}.slips")).await?,
            state: prepare_repeatable(session, &format!(
                "DELETE FROM {keyspace}.states {by_version} WHERE tenant = ? AND owner = ? AND field = ?"
            ))
            .await?,
            note: prepare_repeatable(session, &format!(
                "DELETE FROM {keyspace}.notes {by_version} WHERE tenant = ? AND shard = ? AND person = ? AND field = ?"
            ))
            .await?,
            member: prepare_repeatable(session, &format!(
                "DELETE FROM {keyspace}.crowds {by_version} \
                 WHERE tenant = ? AND crowd = ? AND shard = ? AND person = ?"
            ))
            .await?,
            follow: prepare_repeatable(session, &format!(
                "DELETE FROM {keyspace}.follows {by_version} WHERE tenant = ? AND person = ? AND subject = ?"
            ))
            .await?,
            slip: prepare_repeatable(session, &format!("DELETE FROM {keyspace}.slips WHERE ready = ?")).await?,
            journal: session.prepare(format!(
                "DELETE FROM {journal}.journal WHERE tenant = ? AND ready = ? AND attempt = ? AND part = ? IF EXISTS"
            ))
            .await?,
        })
    }
}

impl CqlStatements {
    pub(crate) async fn prepare(session: &Session, settings: &Settings) -> Result<Self, CqlError> {
        let (keyspace, journal, by_version) = (&settings.keyspace, settings.journal_keyspace(), BY_VERSION);
        let ring = DayRing::new(settings.day_life);
        let plain = |cql: String| async move { prepare_repeatable(session, &cql).await };
        let transaction = |cql: String| async move { Ok::<_, CqlError>(session.prepare(cql).boxed().await?) };
        // What a decision rests on has to see a transaction that nobody knows the end of.
        let mut journalled = plain(format!(
            "SELECT attempt, part, body FROM {journal}.journal WHERE tenant = ? AND ready = ?"
        ))
        .await?;
        journalled.set_consistency(Consistency::LocalSerial);
        Ok(Self {
            merge: plain(format!(
                "INSERT INTO {keyspace}.states (tenant, owner, field, value) VALUES (?, ?, ?, ?) {by_version}"
            ))
            .await?,
            state: plain(format!("SELECT field, value FROM {keyspace}.states WHERE tenant = ? AND owner = ?")).await?,
            note: plain(format!(
                "INSERT INTO {keyspace}.notes (tenant, shard, person, field, value) VALUES (?, ?, ?, ?, ?) {by_version}"
            ))
            .await?,
            notes: plain(format!(
                "SELECT person, field, value FROM {keyspace}.notes WHERE tenant = ? AND shard = ? AND person IN ?"
            ))
            .await?,
            enrol: plain(format!(
                "INSERT INTO {keyspace}.crowds (tenant, crowd, shard, person, standing) VALUES (?, ?, ?, ?, ?) \
                 {by_version} AND TTL ?"
            ))
            .await?,
            members: prepare_members(session, keyspace).await?,
            member: plain(format!(
                "SELECT standing FROM {keyspace}.crowds WHERE tenant = ? AND crowd = ? AND shard = ? AND person = ?"
            ))
            .await?,
            following: FollowStatements::prepare(session, keyspace).await?,
            enter: transaction(format!(
                "INSERT INTO {journal}.journal (tenant, ready, attempt, part, body) VALUES (?, ?, ?, ?, ?) \
                 IF NOT EXISTS USING TTL ?"
            ))
            .await?,
            journalled,
            answer: transaction(format!(
                "UPDATE {journal}.answers USING TTL ? SET at = ?, answer = ? WHERE tenant = ? AND key = ? IF at = null AND answer = null"
            ))
            .await?,
            replace_answer: transaction(format!(
                "UPDATE {journal}.answers USING TTL ? SET at = ?, answer = ? WHERE tenant = ? AND key = ? IF at = ? AND answer = ?"
            ))
            .await?,
            answered: plain(format!("SELECT at, answer FROM {journal}.answers WHERE tenant = ? AND key = ?"))
                .await?,
            say: plain(format!(
                "INSERT INTO {keyspace}.first_words (event, body) VALUES (?, ?) {by_version} AND TTL ?"
            ))
            .await?,
            said: plain(format!("SELECT body FROM {keyspace}.first_words WHERE event = ?")).await?,
            keep: plain(format!("INSERT INTO {keyspace}.slips (ready, body) VALUES (?, ?) USING TTL ?")).await?,
            slip: plain(format!("SELECT body FROM {keyspace}.slips WHERE ready = ?")).await?,
            // Everybody who writes is in our data centre, so nobody need wait for another, which may be dead.
            mark: plain(format!("INSERT INTO {keyspace}.marks (name, day) VALUES (?, ?) {by_version}")).await?,
            marks: plain(format!("SELECT name, day FROM {keyspace}.marks")).await?,
            hold: plain(format!("INSERT INTO {keyspace}.days_held (part, day) VALUES (0, ?) USING TTL ?")).await?,
            held: plain(format!("SELECT day FROM {keyspace}.days_held WHERE part = 0")).await?,
            erasing: ErasureStatements::prepare(session, settings).await?,
            keyspace: keyspace.clone(),
            ring,
            slots: (0..ring.tables()).map(|_| OnceCell::new()).collect(),
        })
    }

    /// The statements of the table that holds this day.
    pub(crate) async fn slot(&self, session: &Session, day: Day) -> Result<&DayTableStatements, CqlError> {
        let slot = self.ring.table(day);
        self.slots[slot]
            .get_or_try_init(|| {
                DayTableStatements::prepare(session, format!("{}.days_{}", self.keyspace, slot_name(slot)))
            })
            .await
    }
}

/// The members of a shard of a crowd, a slice a page.
async fn prepare_members(session: &Session, keyspace: &str) -> Result<PreparedStatement, CqlError> {
    let mut members = prepare_repeatable(session, &format!(
        "SELECT person, standing FROM {keyspace}.crowds WHERE tenant = ? AND crowd = ? AND shard = ? AND person > ?"
    ))
    .await?;
    members.set_page_size(SLICE_PERSONS_MAX as i32);
    Ok(members)
}

impl DayTableStatements {
    async fn prepare(session: &Session, table: String) -> Result<Self, CqlError> {
        let one = "tenant = ? AND person = ? AND day = ?";
        let mut read = prepare_repeatable(
            session,
            &format!("SELECT row, body FROM {table} WHERE {one} LIMIT {DAY_ROWS_READ_MAX}"),
        )
        .await?;
        // In one page, so that what was written together is seen together.
        read.set_page_size(DAY_ROWS_READ_MAX as i32);
        Ok(Self {
            write: prepare_repeatable(
                session,
                &format!(
                    "INSERT INTO {table} (tenant, person, day, row, body) VALUES (?, ?, ?, ?, ?) USING TTL ?"
                ),
            )
            .await?,
            read,
            from: prepare_repeatable(
                session,
                &format!(
                    "SELECT token(tenant, person, day), tenant, person, day, row, body FROM {table} \
                     WHERE token(tenant, person, day) >= ?"
                ),
            )
            .await?,
            behind: prepare_repeatable(
                session,
                &format!("SELECT row, body FROM {table} WHERE {one} AND row > ?"),
            )
            .await?,
            whole: prepare_repeatable(session, &format!("SELECT row, body FROM {table} WHERE {one}")).await?,
            erase: prepare_repeatable(session, &format!("DELETE FROM {table} WHERE {one}")).await?,
        })
    }
}

/// Boxed is what the driver keeps meanwhile: it is some kilobytes, and there are many of these.
async fn prepare_repeatable(session: &Session, cql: &str) -> Result<PreparedStatement, CqlError> {
    let mut prepared = session.prepare(Statement::new(cql)).boxed().await?;
    prepared.set_is_idempotent(true);
    Ok(prepared)
}
