//! Two migrations at once, on engines on which nothing of the house is yet.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::{
    house::{EngineAddresses, PARTITIONS, lay_out_alone},
    process::RealProcess,
};

#[test]
fn two_migrations_at_once_do_everything_once() {
    let name = format!("twice_{}", std::process::id());
    let engines = EngineAddresses {
        kafka: engines::kafka().unwrap(),
        cql: engines::cql().unwrap(),
        name: &name,
        known: false,
    };
    let folder = tempfile::tempdir().unwrap();
    let migration = |number: &str| new_migration(&engines, &folder.path().join(number)).unwrap();
    let (one, other, later) = (migration("one"), migration("other"), migration("later"));
    let done = lay_out_alone(|| {
        let beside = std::thread::scope(|scope| {
            let both = [&one, &other].map(|migration| scope.spawn(|| read_done(migration)));
            both.map(|migration| migration.join().unwrap().unwrap())
        });
        [beside.concat(), read_done(&later).unwrap()]
    });
    let [beside, later] = done;
    assert_eq!(later, [""; 0], "nothing is left to do");
    // Keyspaces come before the lease: it is a row in one of them.
    let (created, alone): (Vec<&String>, Vec<&String>) =
        beside.iter().partition(|line| line.ends_with("was created"));
    assert!(created.len() >= 2, "{beside:?}");
    let count = |what: &str| alone.iter().filter(|line| line.contains(what)).count();
    for what in ["topics were made", "to version 1", "the house is named", "is in use now"] {
        assert_eq!(count(what), 1, "{what}: {beside:?}");
    }
}

fn new_migration(engines: &EngineAddresses<'_>, folder: &Path) -> Result<RealProcess> {
    let mut settings = tests::production_settings(engines.kafka, engines.cql, engines.name);
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("real/catalogue").display().to_string();
    settings.extend(tests::env_settings([("CATALOGUE", catalogue), ("PARTITIONS", PARTITIONS.to_string())]));
    RealProcess::new(folder.to_owned(), &["migrate"], settings)
}

fn read_done(migration: &RealProcess) -> Result<Vec<String>> {
    let said: Value = serde_json::from_str(&migration.run()?)?;
    Ok(serde_json::from_value(said["done"].clone())?)
}
