//! Two processes of each room, killed and started in the middle of events: nothing is lost, nothing is told
//! twice, and everybody is told what a single process tells them.
//!
//! `TIDINGS_EVENTS` says how many events (`make soak` says 200,000), `TIDINGS_SEED` repeats who is killed.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    RealLuck, env_number,
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    input::HouseInput,
    outbox_mails::{self, CanonicalTelling, OutboxMailReader, find_excess, find_missing},
};

/// Events of a usual run.
const EVENTS: u64 = 3_000;
/// Events of one request.
const AT_ONCE: usize = 50;
/// Who is killed is chosen anew so often, and a little later.
const BETWEEN_KILLS: Duration = Duration::from_millis(2_000);
const PLANS: [&str; 3] = ["soon", "slow", "notes"];
/// How long nothing may be told before it counts as lost: claims of the killed run out, sessions too, and
/// machines are slow.
const PATIENCE: Duration = Duration::from_secs(180);
const ROOMS: [&[&str]; 8] = [
    &["ingest"],
    &["ingest"],
    &["fanout"],
    &["fanout"],
    &["digest"],
    &["digest"],
    &["sender", "keeper"],
    &["sender"],
];

#[test]
fn soak_two_of_each_room_killed_and_started_tell_what_one_process_tells() {
    let events = env_number("TIDINGS_EVENTS").unwrap_or(EVENTS);
    let seed = env_number("TIDINGS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let watch = SteadyStopwatch::start();
    println!("{events} events, TIDINGS_SEED={seed}");
    let input = HouseInput::new(events, UtcMillis(Clock::real(0).now()));
    let (expected, found) = thread::scope(|scope| {
        let expected = scope.spawn(|| run_single(&input));
        let found = run_several(&input, seed);
        (expected.join().unwrap(), found)
    });
    let (expected, found) = (expected.unwrap(), found.unwrap());
    for (of, lines) in &expected {
        assert_eq!(found.get(of), Some(lines), "{of:?}, TIDINGS_SEED={seed}");
    }
    assert_eq!(found.len(), expected.len());
    println!("{} series of entries are the same, {} s", found.len(), watch.elapsed().as_secs());
}

/// One process on engines of its own.
fn run_single(input: &HouseInput) -> Result<CanonicalTelling> {
    let watch = SteadyStopwatch::start();
    let house = RealHouse::embedded()?;
    tell_facts(&house, input)?;
    send_events(&house, input, Duration::ZERO)?;
    let told = tell_all(&house, input)?;
    println!("one process: told after {} s", watch.elapsed().as_secs());
    told
}

/// Many, of which one is killed now and again.
fn run_several(input: &HouseInput, seed: u64) -> Result<CanonicalTelling> {
    let watch = SteadyStopwatch::start();
    let (kafka, cql) = (engines::kafka()?, engines::cql()?);
    println!("engines after {} s", watch.elapsed().as_secs());
    let name = format!("several_{}", std::process::id());
    // Half of them come back under their names, and the others as somebody new.
    let house = RealHouse::start_on(&EngineAddresses { kafka, cql, name: &name, known: true }, &ROOMS)?;
    println!("eight processes after {} s", watch.elapsed().as_secs());
    tell_facts(&house, input)?;
    let batches = u32::try_from(input.events.len().div_ceil(AT_ONCE))?;
    // A small run takes as long as everybody needs to be killed once.
    let rounds = u32::try_from(ROOMS.len())?;
    let pace =
        if input.events.len() < 20_000 { BETWEEN_KILLS * rounds * 3 / 2 / batches } else { Duration::ZERO };
    let poured = AtomicBool::new(false);
    let (pouring, kills) = thread::scope(|scope| {
        let kills = scope.spawn(|| kill_processes(&house, seed, &poured));
        let releases = scope.spawn(|| {
            while !poured.load(Ordering::SeqCst) {
                pause_for(BETWEEN_KILLS * 2);
                // Who is asked may be dead.
                drop(PLANS.map(|plan| house.release(plan)));
            }
        });
        let pouring = send_events(&house, input, pace);
        poured.store(true, Ordering::SeqCst);
        releases.join().unwrap();
        (pouring, kills.join().unwrap())
    });
    pouring.with_context(|| house.read_logs())?;
    println!("poured after {} s, {} kills", watch.elapsed().as_secs(), kills?);
    house.wait_ready()?;
    let told = tell_all(&house, input).with_context(|| house.read_logs())?;
    println!(
        "several processes: told after {} s, at most {} MiB each",
        watch.elapsed().as_secs(),
        house.memory()
    );
    told.with_context(|| house.read_logs())
}

fn tell_facts(house: &RealHouse, input: &HouseInput) -> Result<()> {
    input.facts.chunks(AT_ONCE).try_for_each(|facts| house.say("/v1/facts", facts))
}

/// Says all events; every tenth request is said twice.
fn send_events(house: &RealHouse, input: &HouseInput, pace: Duration) -> Result<()> {
    for (n, events) in input.events.chunks(AT_ONCE).enumerate() {
        house.say("/v1/changes", events)?;
        if n % 10 == 0 {
            house.say("/v1/changes", events)?;
        }
        pause_for(pace);
    }
    Ok(())
}

/// Kills and starts one after the other until all is said: first each of them once, then whom luck hits.
fn kill_processes(house: &RealHouse, seed: u64, poured: &AtomicBool) -> Result<usize> {
    let mut luck = RealLuck(seed);
    let mut waiting: Vec<usize> = (0..house.processes.len()).collect();
    let mut kills = 0;
    while !waiting.is_empty() || !poured.load(Ordering::SeqCst) {
        pause_for(BETWEEN_KILLS + Duration::from_millis(luck.below(1_000)));
        let victim = match waiting.len() {
            0 => usize::try_from(luck.below(house.processes.len() as u64))?,
            open => waiting.swap_remove(usize::try_from(luck.below(open as u64))?),
        };
        let process = &house.processes[victim];
        ensure!(
            process.exit_status().is_none(),
            "{:?} ended by itself: {}",
            ROOMS[victim],
            process.log_tail()
        );
        process.kill();
        process.start()?;
        kills += 1;
    }
    Ok(kills)
}

/// Closes windows until everything that is owed was told, and nothing is under way any more.
fn tell_all(house: &RealHouse, input: &HouseInput) -> Result<Result<CanonicalTelling>> {
    let (mut mails, mut progress) = (OutboxMailReader::default(), SteadyStopwatch::start());
    let mut before = 0;
    loop {
        drop(PLANS.map(|plan| house.release(plan)));
        mails.read_new(house.outbox())?;
        let counts = mails.counts();
        if let Some(wrong) = find_excess(&counts, &input.owed) {
            return Ok(Err(anyhow::anyhow!(wrong)));
        }
        if counts == input.owed {
            break;
        }
        if mails.len() > before {
            (before, progress) = (mails.len(), SteadyStopwatch::start());
        }
        let lost = find_missing(&counts, &input.owed);
        ensure!(progress.elapsed() < PATIENCE, "{} mails, and not told: {lost:?}", mails.len());
        pause_for(Duration::from_secs(1));
    }
    // Marks may still be owed to the days, and something told already may be on its way again.
    wait_until(PATIENCE, &|| Ok(house.lag().is_ok_and(|lag| lag == 0)))?;
    wait_until(PATIENCE, &|| Ok(find_waiting(house, input)?.is_none()))?;
    mails.read_new(house.outbox())?;
    Ok(outbox_mails::read_canonical(house, &mails, &input.persons))
}

/// Somebody of whose entries one waits still, or is not known as sent.
fn find_waiting(house: &RealHouse, input: &HouseInput) -> Result<Option<String>> {
    for person in &input.persons {
        let days = house.days(person)?.to_string();
        let waits = ["\"waiting\"", "\"being sent\"", "\"not sent yet\"", "carried over"];
        if waits.iter().any(|word| days.contains(word)) {
            return Ok(Some(person.clone()));
        }
    }
    Ok(None)
}
