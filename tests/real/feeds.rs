//! Two processes of the room `feed`, killed and started while people mark what they have: a mark that was answered is never
//! lost, and the two never disagree for longer than is said.
//!
//! The oracle is outside: what was answered, entry by entry. A mark without an answer is made again, as a client does.
//! `TIDINGS_SEED` repeats who is killed and what is marked.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};
use serde_json::{Value, json};

use crate::{
    RealLuck, env_number,
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    input::{note_event, person_name, profile_fact},
    process::RealProcess,
};

const ROOMS: [&[&str]; 4] = [&["ingest"], &["fanout"], &["feed"], &["feed"]];
const FEEDS: [usize; 2] = [2, 3];
const PERSONS: u64 = 16;
const NOTES: u64 = 20;
/// People who mark at once, each some of the persons.
const HANDS: u64 = 4;
/// Marks of each, and after every so many of them the other process is asked.
const MARKS: u64 = 60;
const ASKED: u64 = 4;
const KILLS: u64 = 6;
const BETWEEN_KILLS: Duration = Duration::from_millis(2_500);
/// As docs/feed.md says it, and what one answer may take on a busy machine.
const DISAGREE_MAX: Duration = Duration::from_secs(60 + 15);
/// How long anything may take to come about.
const PATIENCE: Duration = Duration::from_secs(180);

/// Whether an entry is read, by its subject.
type ReadNotes = BTreeMap<String, bool>;

#[test]
fn killed_feeds_lose_no_mark_and_agree_again() {
    let seed = env_number("TIDINGS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("TIDINGS_SEED={seed}");
    let watch = SteadyStopwatch::start();
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    let name = format!("feeds_{}", std::process::id());
    let house =
        RealHouse::start_on(&EngineAddresses { kafka, cql, name: &name, known: true }, &ROOMS).unwrap();
    println!("four processes after {} s", watch.elapsed().as_secs());
    let longest = run_marks(&house, seed).with_context(|| house.read_logs()).unwrap();
    println!("they disagreed for {} ms at most; {} s", longest.as_millis(), watch.elapsed().as_secs());
    assert!(longest <= DISAGREE_MAX, "TIDINGS_SEED={seed}: they disagreed for {longest:?}");
}

/// Tells everybody their notes, marks them while processes are killed, and compares; for how long two disagreed at most.
fn run_marks(house: &RealHouse, seed: u64) -> Result<Duration> {
    let persons: Vec<String> = (0..PERSONS).map(|p| profile_fact(p, None)).collect();
    house.say("/v1/facts", &persons)?;
    let now = UtcMillis(Clock::real(0).now());
    for person in 0..PERSONS {
        let time = |n: u64| now.plus(-1_000 * i64::try_from(n).unwrap_or_default()).to_string();
        let notes = (0..NOTES).map(|n| note_event(&format!("note:{person}_{n}"), person, &time(n)));
        house.say("/v1/changes", &notes.collect::<Vec<_>>())?;
    }
    for (person, feed) in (0..PERSONS).flat_map(|person| FEEDS.map(|feed| (person, feed))) {
        let has_all =
            || Ok(read_notes(&house.processes[feed], person).is_ok_and(|of| of.len() as u64 == NOTES));
        wait_until(PATIENCE, &has_all).with_context(|| format!("the notes of {person} at {feed}"))?;
    }
    let (longest, is_over) = (Mutex::new(Duration::ZERO), AtomicBool::new(false));
    let marked = thread::scope(|scope| {
        let hands: Vec<_> = (0..HANDS)
            .map(|hand| {
                let longest = &longest;
                scope.spawn(move || mark_notes(house, hand, seed, longest))
            })
            .collect();
        let kills = scope.spawn(|| kill_feeds(house, seed, &is_over));
        let marked: Result<Vec<_>> = hands.into_iter().map(|hand| hand.join().unwrap()).collect();
        is_over.store(true, Ordering::SeqCst);
        println!("{} kills", kills.join().unwrap()?);
        marked
    });
    house.wait_ready()?;
    for (person, expected) in marked?.into_iter().flatten() {
        for feed in FEEDS {
            let process = &house.processes[feed];
            wait_until(
                DISAGREE_MAX,
                &|| Ok(read_notes(process, person).is_ok_and(|found| found == expected)),
            )
            .with_context(|| {
                format!("{person} at {feed}: {expected:?}, not {:?}", read_notes(process, person))
            })?;
            let unread = expected.values().filter(|is_read| !**is_read).count();
            let counts = get_json(process, &format!("/v1/people/{}/counts", person_name(person)))?;
            ensure!(counts["unread"]["number"] == unread, "{person} at {feed}: {counts}, not {unread}");
        }
    }
    Ok(longest.into_inner().unwrap())
}

/// Marks notes of some persons as read and unread again, at either process; what holds of each note in the end.
fn mark_notes(
    house: &RealHouse,
    hand: u64,
    seed: u64,
    longest: &Mutex<Duration>,
) -> Result<BTreeMap<u64, ReadNotes>> {
    let mut luck = RealLuck(seed ^ (hand << 32));
    let mut keys = BTreeMap::new();
    let mut known = BTreeMap::<u64, ReadNotes>::new();
    for person in (hand..PERSONS).step_by(usize::try_from(HANDS)?) {
        let listed = ask_until(house, FEEDS[0], &|process| list_entries(process, person))?;
        known.insert(person, listed.iter().map(|(note, _)| (note.clone(), false)).collect());
        keys.insert(person, listed);
    }
    for number in 0..MARKS {
        let person = hand + HANDS * luck.below(PERSONS / HANDS);
        let (note, entry) = &keys[&person][usize::try_from(luck.below(NOTES))?];
        let is_read = luck.below(3) > 0;
        let feed = usize::try_from(luck.below(2))?;
        let order = json!({"mark": if is_read { "read" } else { "unread" }, "entries": [entry]});
        let path = format!("/v1/people/{}/marks", person_name(person));
        ask_until(house, FEEDS[feed], &|process| {
            let (status, said) = process.post_open(&path, &order)?;
            ensure!(status == 200, "{status}: {said}");
            Ok(())
        })?;
        known.get_mut(&person).context("somebody else's")?.insert(note.clone(), is_read);
        if number % ASKED == 0 {
            let (asked, other) = (SteadyStopwatch::start(), &house.processes[FEEDS[1 - feed]]);
            let mut since = SteadyStopwatch::start();
            loop {
                match read_notes(other, person) {
                    Ok(found) if found == known[&person] => break,
                    Ok(_) => {}
                    // Who is dead disagrees with nobody.
                    Err(_) => since = SteadyStopwatch::start(),
                }
                ensure!(asked.elapsed() < PATIENCE, "the other does not hear that {note} is {is_read}");
                pause_for(Duration::from_millis(20));
            }
            let mut longest = longest.lock().unwrap();
            *longest = longest.max(since.elapsed());
        }
    }
    Ok(known)
}

/// Asks one process, or the other one where it is away, until there is an answer.
fn ask_until<T>(house: &RealHouse, first: usize, ask: &dyn Fn(&RealProcess) -> Result<T>) -> Result<T> {
    let since = SteadyStopwatch::start();
    for feed in std::iter::once(first).chain(FEEDS.into_iter().filter(|feed| *feed != first)).cycle() {
        match ask(&house.processes[feed]) {
            Ok(answer) => return Ok(answer),
            Err(error) if since.elapsed() > PATIENCE => return Err(error),
            Err(_) => pause_for(Duration::from_millis(50)),
        }
    }
    unreachable!("it goes round")
}

/// Kills one and then the other, again and again, and starts each at once.
fn kill_feeds(house: &RealHouse, seed: u64, is_over: &AtomicBool) -> Result<u64> {
    let mut luck = RealLuck(seed);
    let mut kills = 0;
    while kills < KILLS || !is_over.load(Ordering::SeqCst) {
        pause_for(BETWEEN_KILLS + Duration::from_millis(luck.below(1_500)));
        let process = &house.processes[FEEDS[usize::try_from(kills % 2)?]];
        ensure!(process.exit_status().is_none(), "it ended by itself: {}", process.log_tail());
        process.kill();
        process.start()?;
        wait_until(PATIENCE, &|| Ok(process.is_ready()))?;
        kills += 1;
    }
    Ok(kills)
}

fn get_json(process: &RealProcess, path: &str) -> Result<Value> {
    let (status, said) = process.get_text(path, None)?;
    ensure!(status == 200, "{path}: {status}: {said}");
    Ok(serde_json::from_str(&said)?)
}

/// The person's notes with their keys, the newest first.
fn list_entries(process: &RealProcess, person: u64) -> Result<Vec<(String, String)>> {
    let page = read_page(process, person)?;
    let entry = |one: &Value| {
        let (note, entry) = (one["subject"].as_str()?, one["entries"][0].as_str()?);
        Some((note.to_owned(), entry.to_owned()))
    };
    let listed: Option<Vec<_>> =
        page["bundles"].as_array().context("no bundles")?.iter().map(entry).collect();
    let listed = listed.with_context(|| format!("not a page: {page}"))?;
    ensure!(listed.len() as u64 == NOTES, "only {} notes", listed.len());
    Ok(listed)
}

fn read_notes(process: &RealProcess, person: u64) -> Result<ReadNotes> {
    let page = read_page(process, person)?;
    let note = |one: &Value| Some((one["subject"].as_str()?.to_owned(), !one["unread"].as_bool()?));
    let notes: Option<ReadNotes> =
        page["bundles"].as_array().context("no bundles")?.iter().map(note).collect();
    notes.with_context(|| format!("not a page: {page}"))
}

fn read_page(process: &RealProcess, person: u64) -> Result<Value> {
    get_json(process, &format!("/v1/people/{}/feed?limit=100&bundle_by=none", person_name(person)))
}
