//! A log that is away, restarted, slow, or breaks connections.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use engines::{EngineCluster as _, KafkaCluster, KafkaOptions};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    engine_faults::{ALONE, AWAY, EngineFault, reset_connections, slow_answers, try_all},
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    input,
};

/// As long as docs/operating.md tells to allow a process that is asked to stop.
const STOPPING: Duration = Duration::from_secs(30);
/// Requests of 500 changes; the log goes away when a quarter of them has been taken.
const PARTS: u64 = 120;
/// So many say them at once: with one alone the rooms come after it and rest.
const LANES: u64 = 4;
/// After so long a turn that the log does not take has failed.
const TURN: Duration = Duration::from_secs(100);
/// How often the log goes away at most, and how long rooms are at work in between.
const PAUSES: usize = 3;
const WORK: Duration = Duration::from_secs(5);

#[test]
fn a_log_that_is_away_or_slow_or_breaks_off_loses_nothing_and_tells_nothing_twice() {
    let _alone = ALONE.lock();
    let kafka = KafkaCluster::start(KafkaOptions { behind_proxy: true, ..KafkaOptions::default() }).unwrap();
    let bootstrap = kafka.bootstrap();
    let name = format!("log_faults_{}", std::process::id());
    let engines =
        EngineAddresses { kafka: &bootstrap, cql: engines::cql().unwrap(), name: &name, known: true };
    let faults = [
        EngineFault {
            name: "the broker is away",
            begin: Box::new(|| kafka.pause(0)),
            lasts: AWAY,
            goes_on: false,
            end: Box::new(|| kafka.resume(0)),
        },
        EngineFault {
            name: "the broker is killed and started",
            begin: Box::new(|| kafka.kill(0)),
            lasts: Duration::ZERO,
            goes_on: false,
            end: Box::new(|| kafka.start_again(0)),
        },
        slow_answers(kafka.proxies()),
        reset_connections(kafka.proxies()),
    ];
    try_all(&engines, &faults).unwrap();
}

#[test]
fn a_log_that_is_away_keeps_no_process_from_stopping() {
    let _alone = ALONE.lock();
    let kafka = KafkaCluster::start(KafkaOptions::default()).unwrap();
    let bootstrap = kafka.bootstrap();
    let name = format!("log_stops_{}", std::process::id());
    let engines =
        EngineAddresses { kafka: &bootstrap, cql: engines::cql().unwrap(), name: &name, known: true };
    let rooms: [&[&str]; 2] = [&["ingest", "fanout"], &["digest", "sender", "keeper"]];
    let mut house = RealHouse::prepare_on(&engines, &rooms).unwrap();
    // As long as it usually is, so that they stay members for a while.
    house.processes.iter_mut().for_each(|process| process.set("TIDINGS_KAFKA_SESSION", "45s"));
    house.start().unwrap();
    let (now, said) = (UtcMillis(Clock::real(0).now()).to_string(), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // More and more, so that all rooms are at work whenever the log goes away; what is said then is not taken.
        for lane in 0..LANES {
            let (house, now, said, is_over) = (&house, &now, &said, &is_over);
            scope.spawn(move || {
                for part in (lane..PARTS).step_by(usize::try_from(LANES).unwrap()) {
                    let note = |n: u64| input::note_event(&format!("note:{part}-{n}"), n % 20, now);
                    if house.say("/v1/changes", &(0..500).map(note).collect::<Vec<_>>()).is_ok() {
                        said.fetch_add(1, Ordering::SeqCst);
                    } else if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
        wait_until(TURN, &|| Ok(said.load(Ordering::SeqCst) >= PARTS / 4)).unwrap();
        pause_log(&kafka, &house).unwrap();
        is_over.store(true, Ordering::SeqCst);
        check_stops(&house).unwrap();
    });
}

/// The log goes away while somebody has a turn in hand: who had one goes back to what is committed, and waits for the log
/// to say what that is. Nobody can say who has one in that moment, so where nobody had it goes away once more.
fn pause_log(kafka: &KafkaCluster, house: &RealHouse) -> Result<()> {
    let failed = || Ok(house.read_logs().contains("the turn was aborted"));
    for _ in 1..PAUSES {
        kafka.pause(0)?;
        if wait_until(TURN, &failed).is_ok() {
            return Ok(());
        }
        kafka.resume(0)?;
        pause_for(WORK);
    }
    kafka.pause(0)?;
    wait_until(TURN, &failed).with_context(|| house.read_logs())
}

/// The processes of a house whose log is away end when they are asked to.
fn check_stops(house: &RealHouse) -> Result<()> {
    let asked = SteadyStopwatch::start();
    house.processes.iter().try_for_each(|process| process.signal("TERM"))?;
    let ended = || Ok(house.processes.iter().all(|process| process.exit_status().is_some()));
    wait_until(STOPPING, &ended).with_context(|| house.read_logs())?;
    println!("stopped after {} ms", asked.elapsed().as_millis());
    Ok(())
}
