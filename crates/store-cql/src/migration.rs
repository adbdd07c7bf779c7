//! Lays the tables out: versions of the schema, each a file of statements that may be repeated. However many
//! are started, one works at a time: a second one waits and finds it done.
//!
//! Whatever else is migrated, in the log or in a registry, is done by whoever holds the same [`MigrationLease`].

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, bail};
use house_facts::day_ring::{DayRing, describe_other_life};
use model::DayLife;
use runtime::retry;
use scylla::client::session::Session;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    connection::{connect, datacenters, is_scylla},
    errors::CqlError,
    migration_lease::MigrationLease,
    settings::Settings,
    statements::slot_name,
};

/// How often, and how long apart, nodes are asked for their data centre.
const CENTER_LOOKS: usize = 30;
const CENTER_PAUSE: Duration = Duration::from_secs(1);

/// The versions, oldest first; what was released is never changed.
const VERSIONS: &[&str] = &[
    include_str!("migrations/001.cql"),
    include_str!("migrations/002.cql"),
    include_str!("migrations/003.cql"),
    include_str!("migrations/004.cql"),
];

/// Changing a schema takes longer than reading a row.
const DDL_TIMEOUT: Duration = Duration::from_secs(60);

/// A migration that is alone: keyspaces are there, and no other one is at work.
pub struct CqlMigration {
    session: Session,
    settings: Settings,
    lease: MigrationLease,
    done: Vec<String>,
}

impl CqlMigration {
    /// Creates the keyspaces where they are missing, and waits until no other migration is at work.
    pub async fn begin(settings: &Settings) -> anyhow::Result<Self> {
        let settings = Settings { timeout: DDL_TIMEOUT.max(settings.timeout), ..settings.clone() };
        let session = connect(&settings).await.context("connect to the cluster")?;
        let mut done = Vec::new();
        for keyspace in [settings.keyspace.clone(), settings.journal_keyspace()] {
            done.extend(lay_keyspace(&session, &settings, &keyspace).await?);
        }
        lay_books(&session, &settings).await.context("create the table of versions")?;
        let lease = MigrationLease::acquire(&session, &settings.journal_keyspace()).await?;
        Ok(Self { session, settings, lease, done })
    }

    /// Brings the keyspaces to this version's schema and does the rest of the work, which ends early if the lease is lost.
    /// Returns a line for each thing that was done, or that somebody should know.
    pub async fn run(
        mut self,
        rest: impl Future<Output = anyhow::Result<Vec<String>>>,
    ) -> anyhow::Result<Vec<String>> {
        let work = async {
            let laid = lay_versions(&self.session, &self.settings).await?;
            anyhow::Ok([laid, rest.await?].concat())
        };
        let worked = self.lease.hold_while(&self.session, work).await;
        // Also after a failure: the next one has not to wait.
        let released = self.lease.release(&self.session).await;
        self.done.extend(worked?);
        released.map(|()| self.done)
    }
}

/// Brings the keyspaces alone to this version's schema, and says what was done.
pub async fn migrate_keyspaces(settings: &Settings) -> anyhow::Result<Vec<String>> {
    CqlMigration::begin(settings).await?.run(async { Ok(Vec::new()) }).await
}

/// Refuses keyspaces that are not of this version; newer ones will do, since versions only add.
pub(crate) async fn check_laid_out(session: &Session, settings: &Settings) -> Result<(), CqlError> {
    let keyspace = &settings.keyspace;
    let has_table = |table: &str| {
        let cluster = session.get_cluster_state();
        cluster.get_keyspace(keyspace).is_some_and(|found| found.tables.contains_key(table))
    };
    let is_there = has_table("schema_versions");
    let found = if is_there { laid_out_version(session, settings).await? } else { None };
    match found {
        Some(version) if version >= VERSIONS.len() => {
            let life = if has_table(SETUP) { read_life(session, settings).await? } else { None };
            refuse_other_life(settings, life.as_deref()).map_err(CqlError::hopeless)?;
            check_replicated(session, settings).await
        }
        Some(version) => Err(CqlError::hopeless(format!(
            "keyspace {keyspace} has version {version}, but this release needs {}: run `tidings migrate`",
            VERSIONS.len()
        ))),
        None => {
            Err(CqlError::hopeless(format!("the keyspace {keyspace} does not exist: run `tidings migrate`")))
        }
    }
}

/// Refuses keyspaces that fewer nodes keep than is configured: what was acknowledged would be lost with one of them.
async fn check_replicated(session: &Session, settings: &Settings) -> Result<(), CqlError> {
    for keyspace in [settings.keyspace.clone(), settings.journal_keyspace()] {
        if let Some(found) = read_replication(session, &keyspace).await?
            && let Some(says) = describe_lack(&keyspace, &found, &wanted_replication(session, settings))
        {
            return Err(CqlError::hopeless(says));
        }
    }
    Ok(())
}

/// How a keyspace that is there is replicated.
async fn read_replication(
    session: &Session,
    name: &str,
) -> Result<Option<BTreeMap<String, String>>, CqlError> {
    let query = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let rows = session.query_unpaged(query, (name,)).await?.into_rows_result()?;
    Ok(rows.maybe_first_row::<(BTreeMap<String, String>,)>()?.map(|(found,)| found))
}

/// What a keyspace lacks. One of `SimpleStrategy` has one number for all data centres.
fn describe_lack(
    keyspace: &str,
    found: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, String>,
) -> Option<String> {
    let copies = |text: Option<&String>| text.and_then(|text| text.split('/').next()?.parse::<u32>().ok());
    let (center, found, wanted) = wanted.iter().find_map(|(center, wanted)| {
        let found = copies(found.get(center).or_else(|| found.get("replication_factor"))).unwrap_or(0);
        let wanted = copies(Some(wanted))?;
        (found < wanted).then_some((center, found, wanted))
    })?;
    let copies = if found == 1 { "copy" } else { "copies" };
    Some(format!(
        "keyspace {keyspace} has {found} {copies} in {center}, and needs {wanted}: ALTER KEYSPACE {keyspace} WITH replication \
         = {{'class': 'NetworkTopologyStrategy', '{center}': {wanted}}} and then a full repair, or set `cql.replication` to \
         `{{{center}: {found}}}`"
    ))
}

async fn lay_keyspace(session: &Session, settings: &Settings, name: &str) -> anyhow::Result<Vec<String>> {
    wait_for_centers(session).await?;
    let wanted = wanted_replication(session, settings);
    if let Some(found) = read_replication(session, name).await? {
        if let Some(says) = describe_lack(name, &found, &wanted) {
            return Err(store::StoreError::Refused(says).into());
        }
        let said = |copies: &BTreeMap<String, String>| {
            copies.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
        };
        let found: BTreeMap<_, _> = found.into_iter().filter(|(name, _)| name != "class").collect();
        if !settings.replication.is_empty() && found != wanted {
            return Ok(vec![format!(
                "keyspace {name} is replicated {}, not {} as configured; it was left as it is",
                said(&found),
                said(&wanted)
            )]);
        }
        return Ok(Vec::new());
    }
    let copies: String =
        wanted.iter().map(|(name, copies)| format!(", '{}': {copies}", name.replace('\'', "''"))).collect();
    // Where tables are split into tablets, lightweight transactions are not to be had everywhere.
    let tablets = match is_scylla(session) && name == settings.journal_keyspace() {
        true => " AND tablets = {'enabled': false}",
        false => "",
    };
    let cql = format!(
        "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = {{'class': 'NetworkTopologyStrategy'{copies}}}{tablets}"
    );
    session.query_unpaged(cql, ()).await.with_context(|| format!("create keyspace {name}"))?;
    Ok(vec![format!("keyspace {name} was created")])
}

/// Waits until each node says in which data centre it is: one that has just come up answers before it knows.
async fn wait_for_centers(session: &Session) -> anyhow::Result<()> {
    for _ in 0..CENTER_LOOKS {
        let centers = datacenters(session);
        if !centers.is_empty() && centers.iter().all(|(name, _)| !name.is_empty()) {
            return Ok(());
        }
        retry::wait_real_time(CENTER_PAUSE).await;
        session.refresh_metadata().await.context("look at the nodes once more")?;
    }
    bail!("a node does not say in which data centre it is: begin again when all nodes are up")
}

/// Copies by data centre.
fn wanted_replication(session: &Session, settings: &Settings) -> BTreeMap<String, String> {
    if settings.replication.is_empty() {
        let copies = |nodes: usize| if nodes == 1 { "1" } else { "3" };
        return datacenters(session)
            .into_iter()
            .map(|(name, nodes)| (name, copies(nodes).to_owned()))
            .collect();
    }
    settings.replication.iter().map(|(name, copies)| (name.clone(), copies.to_string())).collect()
}

/// The tables that come before every lock. Their ids are names by themselves, so two who create them at
/// once create the same.
async fn lay_books(session: &Session, settings: &Settings) -> anyhow::Result<()> {
    for (keyspace, table, columns) in [
        (settings.keyspace.clone(), "schema_versions", "version int PRIMARY KEY"),
        (settings.keyspace.clone(), SETUP, "name text PRIMARY KEY, value text"),
        (settings.journal_keyspace(), "schema_lock", "name text PRIMARY KEY, holder text"),
    ] {
        let id = format!("{:032x}", xxh3_128(format!("{keyspace}.{table}").as_bytes()));
        let id = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]].join("-");
        let cql = format!("CREATE TABLE IF NOT EXISTS {keyspace}.{table} ({columns}) WITH id = {id}");
        session.query_unpaged(cql, ()).await?;
    }
    Ok(())
}

async fn lay_versions(session: &Session, settings: &Settings) -> anyhow::Result<Vec<String>> {
    let mut done = Vec::new();
    let found = laid_out_version(session, settings).await?;
    note_life(session, settings, found.is_some()).await?;
    let from = found.unwrap_or(0);
    for (text, version) in VERSIONS.iter().zip(1..).skip(from) {
        for cql in version_statements(text, settings, is_scylla(session)) {
            let first = cql.lines().next().unwrap_or_default().to_owned();
            session.query_unpaged(cql, ()).await.with_context(|| format!("version {version}: {first}"))?;
        }
        let cql = format!("INSERT INTO {}.schema_versions (version) VALUES (?)", settings.keyspace);
        session.query_unpaged(cql, (version,)).await?;
        done.push(format!("keyspace {} was brought to version {version}", settings.keyspace));
    }
    Ok(done)
}

/// The statements of a version, with the names filled in.
fn version_statements(text: &str, settings: &Settings, is_scylla: bool) -> Vec<String> {
    let ring = DayRing::new(settings.day_life);
    let plain: String = text
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default().trim_end())
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    // With tombstones kept until a repair, expired rows would stay as long.
    let tombstones = if is_scylla { "\n  AND tombstone_gc = {'mode': 'timeout'}" } else { "" };
    let filled = plain
        .replace("{keyspace}", &settings.keyspace)
        .replace("{journal}", &settings.journal_keyspace())
        .replace("{tombstones}", tombstones);
    let of_each = |cql: &str| match cql.contains("{slot}") {
        true => (0..ring.tables()).map(|slot| cql.replace("{slot}", &slot_name(slot))).collect(),
        false => vec![cql.to_owned()],
    };
    filled.split(';').map(str::trim).filter(|cql| !cql.is_empty()).flat_map(of_each).collect()
}

/// The table of what was chosen as the keyspace was set up.
const SETUP: &str = "setup";
const DAY_LIFE: &str = "day_life";

/// Notes how long days live, before there are tables for them; refuses another life than the one that was chosen.
async fn note_life(session: &Session, settings: &Settings, is_laid_out: bool) -> anyhow::Result<()> {
    let found = match read_life(session, settings).await? {
        None if !is_laid_out => {
            let cql = format!("INSERT INTO {}.{SETUP} (name, value) VALUES (?, ?)", settings.keyspace);
            session.query_unpaged(cql, (DAY_LIFE, settings.day_life.to_string())).await?;
            return Ok(());
        }
        found => found,
    };
    refuse_other_life(settings, found.as_deref()).map_err(|says| store::StoreError::Refused(says).into())
}

/// How long days live, as was noted. Keyspaces that were laid out before it could be chosen have no note.
async fn read_life(session: &Session, settings: &Settings) -> Result<Option<String>, CqlError> {
    let cql = format!("SELECT value FROM {}.{SETUP} WHERE name = ?", settings.keyspace);
    let rows = session.query_unpaged(cql, (DAY_LIFE,)).await?.into_rows_result()?;
    Ok(rows.maybe_first_row::<(String,)>()?.map(|(life,)| life))
}

fn refuse_other_life(settings: &Settings, found: Option<&str>) -> Result<(), String> {
    let (unsaid, asked) = (DayLife::LEAST.to_string(), settings.day_life);
    match found.unwrap_or(&unsaid) {
        found if found == asked.to_string() => Ok(()),
        found => Err(describe_other_life(found, asked)),
    }
}

/// The newest version that is laid out.
async fn laid_out_version(session: &Session, settings: &Settings) -> Result<Option<usize>, CqlError> {
    let cql = format!("SELECT version FROM {}.schema_versions", settings.keyspace);
    let rows = session.query_unpaged(cql, ()).await?.into_rows_result()?;
    let mut newest = None;
    for row in rows.rows::<(i32,)>()? {
        newest = newest.max(usize::try_from(row?.0).ok());
    }
    Ok(newest)
}

/// Takes everything out of the tables, where there is anything: for tests and scenarios, which are alone.
pub(crate) async fn empty_tables(settings: &Settings) -> anyhow::Result<()> {
    anyhow::ensure!(settings.alone, "a keyspace in use is not emptied");
    let session = connect(settings).await?;
    let slots = (0..DayRing::new(settings.day_life).tables())
        .map(|slot| format!("{}.days_{}", settings.keyspace, slot_name(slot)));
    let others = ["days_held", "marks", "slips", "first_words"];
    let tables = slots
        .chain(others.map(|table| format!("{}.{table}", settings.keyspace)))
        .chain(["journal", "answers"].map(|table| format!("{}.{table}", settings.journal_keyspace())));
    let emptied = tables.map(async |table| {
        let first = session.query_unpaged(format!("SELECT * FROM {table} LIMIT 1"), ()).await?;
        if first.into_rows_result()?.rows_num() > 0 {
            session.query_unpaged(format!("TRUNCATE {table}"), ()).await?;
        }
        anyhow::Ok(())
    });
    futures::future::try_join_all(emptied).await?;
    // What was deleted at the time stamp of a version hides that version, also where no row is seen.
    for table in ["states", "notes", "crowds", "follows"] {
        session.query_unpaged(format!("TRUNCATE {}.{table}", settings.keyspace), ()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyspace_with_fewer_copies_than_configured_is_refused() {
        let of = |copies: &[(&str, &str)]| -> BTreeMap<String, String> {
            copies.iter().map(|(name, copies)| ((*name).to_owned(), (*copies).to_owned())).collect()
        };
        let check = |found: &[(&str, &str)], wanted: &[(&str, &str)], expected: Option<&str>| {
            let says = describe_lack("tidings", &of(found), &of(wanted));
            assert_eq!(says.is_some(), expected.is_some(), "{says:?}");
            assert!(says.unwrap_or_default().contains(expected.unwrap_or_default()), "{found:?}");
        };
        check(&[("dc1", "3")], &[("dc1", "3")], None);
        check(&[("dc1", "5"), ("dc2", "3")], &[("dc1", "3")], None);
        check(&[("class", "SimpleStrategy"), ("replication_factor", "3")], &[("dc1", "3")], None);
        check(&[("dc1", "3/1")], &[("dc1", "3")], None);
        check(&[("dc1", "1")], &[("dc1", "3")], Some("has 1 copy in dc1, and needs 3"));
        check(&[("dc1", "3")], &[("dc1", "3"), ("dc2", "3")], Some("has 0 copies in dc2"));
        check(&[("replication_factor", "1")], &[("dc1", "3")], Some("`cql.replication` to `{dc1: 1}`"));
    }
}
