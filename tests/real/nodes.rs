//! A store of which one node is killed, and one that is away as a whole, slow, or breaks connections.

use std::time::Duration;

use anyhow::Result;
use engines::{CassandraCluster, CassandraOptions, EngineCluster as _};

use crate::{
    engine_faults::{ALONE, AWAY, EngineFault, reset_connections, slow_answers, try_all},
    house::EngineAddresses,
};

#[test]
fn a_store_that_is_away_or_slow_or_breaks_off_loses_nothing_and_tells_nothing_twice() {
    let _alone = ALONE.lock();
    let options = CassandraOptions { nodes: 3, behind_proxy: true, ..CassandraOptions::default() };
    let cassandra = CassandraCluster::start(options).unwrap();
    let points = cassandra.contact_points().join(",");
    let name = format!("store_faults_{}", std::process::id());
    let engines =
        EngineAddresses { kafka: engines::kafka().unwrap(), cql: &points, name: &name, known: true };
    let all =
        |act: fn(&CassandraCluster, usize) -> Result<()>| (0..3).try_for_each(|node| act(&cassandra, node));
    let faults = [
        EngineFault {
            name: "one node of three is killed",
            begin: Box::new(|| cassandra.kill(1)),
            lasts: Duration::from_secs(5),
            goes_on: true,
            end: Box::new(|| cassandra.start_again(1)),
        },
        EngineFault {
            name: "all three nodes are away",
            begin: Box::new(|| all(CassandraCluster::pause)),
            lasts: AWAY,
            goes_on: false,
            end: Box::new(|| all(CassandraCluster::resume)),
        },
        slow_answers(cassandra.proxies()),
        reset_connections(cassandra.proxies()),
    ];
    try_all(&engines, &faults).unwrap();
}
