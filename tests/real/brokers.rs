//! A log that is away, restarted, slow, or breaks connections.

use std::time::Duration;

use engines::{Cluster as _, Kafka, KafkaOptions};

use crate::{
    faults::{ALONE, AWAY, Fault, broken_off, slow, try_all},
    house::Engines,
};

#[test]
fn a_log_that_is_away_or_slow_or_breaks_off_loses_nothing_and_tells_nothing_twice() {
    let _alone = ALONE.lock();
    let kafka = Kafka::start(KafkaOptions { behind_proxy: true, ..KafkaOptions::default() }).unwrap();
    let bootstrap = kafka.bootstrap();
    let name = format!("log_faults_{}", std::process::id());
    let engines = Engines { kafka: &bootstrap, cql: engines::cql().unwrap(), name: &name, known: true };
    let faults = [
        Fault {
            name: "the broker is away",
            begin: Box::new(|| kafka.pause(0)),
            lasts: AWAY,
            goes_on: false,
            end: Box::new(|| kafka.resume(0)),
        },
        Fault {
            name: "the broker is killed and started",
            begin: Box::new(|| kafka.kill(0)),
            lasts: Duration::ZERO,
            goes_on: false,
            end: Box::new(|| kafka.start_again(0)),
        },
        slow(kafka.proxies()),
        broken_off(kafka.proxies()),
    ];
    try_all(&engines, &faults).unwrap();
}
