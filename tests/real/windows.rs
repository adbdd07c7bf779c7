//! Windows of every type, open while digests and senders are killed and partitions change hands: everything is told
//! once or has its end, and plans keep to what they say.
//!
//! Real time runs, so what stands in which message is luck. Therefore nothing is compared with another house: what was
//! told is looked at by `checks`, each a law that holds whoever was killed. `TIDINGS_SEED` repeats who is.

mod cast;
mod checks;
mod plan_checks;
mod plot;
mod script;
mod story;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    RealLuck, env_number,
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    outbox_mails::{self, OutboxMailReader},
    process::RealProcess,
};
use cast::{NineTimes, StoryCast};
use plot::StoryPlot;
use story::WindowStory;

const ROOMS: [&[&str]; 9] = [
    &["ingest"],
    &["ingest"],
    &["fanout"],
    &["fanout"],
    &["digest"],
    &["digest"],
    &["sender", "keeper"],
    &["sender"],
    &["digest"],
];
/// Those that are killed, and the one that joins later.
const DIGESTS: [usize; 2] = [4, 5];
const SENDERS: [usize; 2] = [6, 7];
const FANOUTS: [usize; 2] = [2, 3];
const THIRD: usize = 8;

/// Plans whose windows are open for long enough to be seen; `now_ms` closes as it opens.
const WAITING: [&str; 12] = [
    "dated", "sliding", "ahead", "absent", "first", "both", "lately", "rests", "rooms", "counted", "calm",
    "capped",
];
const FOLLOWING: &str = "nudge";
/// All plans by their names.
const PLANS: [&str; 16] = [
    "dated_1", "dated_2", "dated_3", "sliding", "ahead", "absent", "first", "both", "lately", "rests",
    "rooms", "counted", "calm", "capped", "now", FOLLOWING,
];

/// How long houses take to open, usually; and how long windows gather before it is nine.
const OPENING: i64 = 35_000;
const GATHERING: i64 = 25_000;
/// Where a machine was so busy that a round did not try everything, there is another one, which has more time to open.
const ROUNDS: u64 = 3;
const BETWEEN_KILLS: Duration = Duration::from_millis(1_500);
/// Windows of every type are open again soon after a kill.
const OPEN: Duration = Duration::from_secs(60);
/// How long nothing may be told before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(180);

#[test]
fn kills_leave_windows_of_every_type_told_once() {
    let seed = env_number("TIDINGS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("TIDINGS_SEED={seed}");
    let watch = SteadyStopwatch::start();
    let mut untried = Vec::new();
    for round in 1..=ROUNDS {
        let Some((story, are_all_open)) = play_round(seed, round, &watch).unwrap() else {
            untried = vec!["a house that opened before its dates".to_owned()];
            continue;
        };
        let wrong = checks::find_wrong(&story);
        assert!(wrong.is_empty(), "TIDINGS_SEED={seed}: {wrong:#?}");
        println!(
            "{} notes, {} messages, {} s",
            story.said.len(),
            story.mails.len(),
            watch.elapsed().as_secs()
        );
        untried = checks::find_untried(&story);
        untried.extend((!are_all_open).then(|| "kills while windows of every type are open".to_owned()));
        if untried.is_empty() {
            return;
        }
        println!("not tried in round {round}: {untried:?}; dates: {:?}", checks::describe_dates(&story));
    }
    panic!("TIDINGS_SEED={seed}, and no round tried all; the last one not: {untried:?}");
}

fn now_ms() -> i64 {
    Clock::real(0).now()
}

/// Opens the house, tells it all and kills meanwhile; what became of it, and whether each kill met windows of every type.
/// Nothing if it opened too late for its dates.
fn play_round(seed: u64, round: u64, watch: &SteadyStopwatch) -> Result<Option<(WindowStory, bool)>> {
    let (kafka, cql) = (engines::kafka()?, engines::cql()?);
    println!("engines after {} s", watch.elapsed().as_secs());
    let name = format!("windows_{}_{round}", std::process::id());
    // Half of them come back under their names, and the others as somebody new.
    let mut house = RealHouse::prepare_on(&EngineAddresses { kafka, cql, name: &name, known: true }, &ROOMS)?;
    let nines = NineTimes::new(now_ms() + OPENING * i64::try_from(round)?);
    let catalogue = tempfile::tempdir()?;
    write_catalogue(catalogue.path(), &nines)?;
    let path = catalogue.path().display().to_string();
    house.processes.iter_mut().for_each(|process| process.set("TIDINGS_CATALOGUE", &path));
    house.processes[..THIRD].iter().try_for_each(RealProcess::start)?;
    house.wait_ready()?;
    println!("eight processes after {} s", watch.elapsed().as_secs());
    let begun = now_ms();
    let Some(cast) = StoryCast::new(&nines, begun, begun + GATHERING) else { return Ok(None) };
    house.say("/v1/facts", &cast.facts())?;
    let mut plot = StoryPlot::new(&house, cast);
    let killed = AtomicBool::new(false);
    let (told, kills) = thread::scope(|scope| {
        let people: Vec<String> = plot.story.people.keys().cloned().collect();
        let (house, killed) = (&house, &killed);
        let kills = scope.spawn(move || {
            let kills = kill_rooms(house, &people, seed);
            killed.store(true, Ordering::SeqCst);
            kills
        });
        (plot.play(killed), kills.join().unwrap())
    });
    let are_all_open = told.and(kills).with_context(|| house.read_logs())?;
    println!("all is said after {} s", watch.elapsed().as_secs());
    let mut story = plot.story;
    settle_story(&house, &mut story).with_context(|| house.read_logs())?;
    println!("what is due is told after {} s", watch.elapsed().as_secs());
    tell_rest(&house, &mut story).with_context(|| house.read_logs())?;
    Ok(Some((story, are_all_open)))
}

/// The catalogue with its dates, beside the templates of the other one.
fn write_catalogue(folder: &Path, nines: &NineTimes) -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("real");
    fs::create_dir(folder.join("mail"))?;
    for name in ["mail/mail.mjml", "mail/mail.txt"] {
        fs::copy(here.join("catalogue").join(name), folder.join(name))?;
    }
    let catalogue = fs::read_to_string(here.join("windows/catalogue.yaml"))?;
    Ok(fs::write(folder.join("catalogue.yaml"), nines.set(&catalogue))?)
}

/// Kills each digest while windows of every type are open, and each sender; then one digest leaves, a third one
/// comes, and the one that left comes back. Gives whether windows of every type were open each time.
fn kill_rooms(house: &RealHouse, people: &[String], seed: u64) -> Result<bool> {
    let mut are_all_open = true;
    let mut luck = RealLuck(seed);
    let mut order = [DIGESTS, SENDERS, FANOUTS];
    order.iter_mut().filter(|_| luck.below(2) == 1).for_each(|two| two.reverse());
    let [digests, senders, fanouts] = order;
    for (digest, (sender, fanout)) in digests.into_iter().zip(senders.into_iter().zip(fanouts)) {
        for victim in [digest, sender, fanout] {
            pause_for(BETWEEN_KILLS + Duration::from_millis(luck.below(1_000)));
            if victim == digest {
                are_all_open &= is_every_type_open(house, people)?;
            }
            house.check_alive()?;
            house.processes[victim].kill();
            house.processes[victim].start()?;
            println!("killed {:?} {victim}", ROOMS[victim]);
        }
    }
    are_all_open &= is_every_type_open(house, people)?;
    let (leaves, comes) = (&house.processes[digests[0]], &house.processes[THIRD]);
    leaves.stop()?;
    comes.start()?;
    wait_until(OPEN, &|| Ok(comes.is_ready()))?;
    println!("a digest left and a third one came");
    are_all_open &= is_every_type_open(house, people)?;
    leaves.start()?;
    comes.kill();
    comes.start()?;
    println!("it came back, and the third one was killed");
    pause_for(BETWEEN_KILLS);
    Ok(are_all_open)
}

/// Waits until somebody has an open window of each plan. On a machine that is too busy those of a date may have closed.
fn is_every_type_open(house: &RealHouse, people: &[String]) -> Result<bool> {
    let waited = SteadyStopwatch::start();
    loop {
        let mut missing = BTreeSet::from(WAITING);
        missing.insert(FOLLOWING);
        for person in people {
            // Who is asked may be busy.
            for window in house.windows(person).unwrap_or_default() {
                let due = window["due"].as_str().and_then(UtcMillis::parse).context("it is never due")?;
                if due.0 <= now_ms() {
                    continue;
                }
                let plan = window["plan"].as_str().unwrap_or_default().split('_').next().unwrap_or_default();
                missing.remove(plan);
            }
            if missing.is_empty() {
                println!("windows of every type are open, after {} s", waited.elapsed().as_secs());
                return Ok(true);
            }
        }
        if waited.elapsed() > OPEN {
            println!("no windows of {missing:?} are open");
            return Ok(false);
        }
        pause_for(Duration::from_millis(200));
    }
}

/// Waits until all that was due by itself is told, and something that follows too; only then it is clear what was
/// released.
fn settle_story(house: &RealHouse, story: &mut WindowStory) -> Result<()> {
    house.wait_ready()?;
    let mut mails = OutboxMailReader::default();
    let is_followed = |mails: &OutboxMailReader| mails.by_ready.values().any(|mail| mail.plan == FOLLOWING);
    let waited = SteadyStopwatch::start();
    while !is_followed(&mails) {
        ensure!(waited.elapsed() < PATIENCE, "nothing followed");
        pause_for(Duration::from_millis(500));
        mails.read_new(house.outbox())?;
    }
    wait_all_read(house)?;
    let waited = SteadyStopwatch::start();
    loop {
        story.by_hand = now_ms();
        let late = match find_overdue(house, story) {
            Ok(None) => return Ok(()),
            Ok(Some(late)) => late,
            // Who is asked may be busy.
            Err(error) => format!("{error:#}"),
        };
        ensure!(waited.elapsed() < PATIENCE, "it is {} and this does not close: {late}", UtcMillis(now_ms()));
        pause_for(Duration::from_millis(200));
    }
}

/// Waits until every room has read all there is.
fn wait_all_read(house: &RealHouse) -> Result<()> {
    wait_until(PATIENCE, &|| Ok(house.lag().is_ok_and(|lag| lag == 0)))
        .with_context(|| format!("it reads no further: {:?}", house.stages()))
}

/// A window that was due before anything is released.
fn find_overdue(house: &RealHouse, story: &WindowStory) -> Result<Option<String>> {
    for person in story.people.keys() {
        for window in house.windows(person)? {
            let due = window["due"].as_str().and_then(UtcMillis::parse).context("it is never due")?;
            if due.0 < story.by_hand {
                return Ok(Some(format!("{person}: {window}")));
            }
        }
    }
    Ok(None)
}

/// Releases everything until nothing waits, and reads what became of it.
fn tell_rest(house: &RealHouse, story: &mut WindowStory) -> Result<()> {
    let (mut mails, mut progress, mut before) = (OutboxMailReader::default(), SteadyStopwatch::start(), 0);
    loop {
        drop(PLANS.map(|plan| house.release(plan)));
        mails.read_new(house.outbox())?;
        story.read_mails(&mails);
        let (owed, told) = (story.owed_ranges(), story.told_counts());
        let open = owed.iter().find(|(of, (least, _))| told.get(*of).copied().unwrap_or_default() < *least);
        let Some((open, _)) = open else { break };
        if mails.len() > before {
            (before, progress) = (mails.len(), SteadyStopwatch::start());
        }
        if progress.elapsed() > PATIENCE {
            bail!("{} messages, and not told: {open:?}", mails.len());
        }
        pause_for(Duration::from_secs(1));
    }
    let waited = SteadyStopwatch::start();
    loop {
        drop(house.release(FOLLOWING));
        wait_all_read(house)?;
        story.read_days(house)?;
        let waits = story.entries.iter().find(|entry| entry.waits());
        let Some(waits) = waits else { break };
        ensure!(waited.elapsed() < PATIENCE, "it waits still: {waits:?}");
        pause_for(Duration::from_secs(1));
    }
    mails.read_new(house.outbox())?;
    story.read_mails(&mails);
    outbox_mails::check_once(house.outbox())
}
