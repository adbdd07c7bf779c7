//! What happens to engines, and what must become of a house meanwhile: somebody goes on writing notes, and each of
//! them is told once.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use engines::ToxicProxy;
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    input,
    outbox_mails::{OutboxMailReader, TellingCounts, find_excess, find_missing},
};

/// Who wants an engine of their own waits for the others who do: a machine has room for so many only.
pub static ALONE: Mutex<()> = Mutex::new(());

/// How long an engine is away.
pub const AWAY: Duration = Duration::from_secs(30);
/// How long everything that was said before may take to be told. While all answers of the log are late a release
/// takes half a minute, since it reads one partition after the other, and what is just not meant by it any more waits
/// for the next.
const TELLING: Duration = Duration::from_secs(180);
const BETWEEN_NOTES: Duration = Duration::from_millis(200);
const BETWEEN_RELEASES: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(500);
/// So many notes more are taken and told while a fault lasts, where that goes on.
const MEANWHILE: usize = 3;
/// More than this no process needs for so little, in MiB: what a fault kept back has a bound.
const MEMORY_MAX: u64 = 400;
/// Who reads the notes.
const READERS: u64 = 20;

pub type FaultAction<'a> = Box<dyn Fn() -> Result<()> + 'a>;

/// Something that happens to an engine.
pub struct EngineFault<'a> {
    pub name: &'static str,
    pub begin: FaultAction<'a>,
    pub lasts: Duration,
    /// Whether notes are told while it lasts.
    pub goes_on: bool,
    pub end: FaultAction<'a>,
}

pub fn slow_answers(proxies: &[ToxicProxy]) -> EngineFault<'_> {
    EngineFault {
        name: "all answers are half a second late",
        begin: Box::new(|| proxies.iter().try_for_each(|proxy| proxy.latency(500))),
        lasts: Duration::from_secs(15),
        goes_on: true,
        end: Box::new(|| proxies.iter().try_for_each(ToxicProxy::heal)),
    }
}

pub fn reset_connections(proxies: &[ToxicProxy]) -> EngineFault<'_> {
    EngineFault {
        name: "all connections are reset",
        begin: Box::new(|| proxies.iter().try_for_each(ToxicProxy::reset)),
        lasts: Duration::from_secs(5),
        goes_on: false,
        end: Box::new(|| proxies.iter().try_for_each(ToxicProxy::heal)),
    }
}

/// One fault after the other, on one house.
pub fn try_all(engines: &EngineAddresses<'_>, faults: &[EngineFault<'_>]) -> Result<()> {
    let house = RealHouse::start_on(engines, &[&["ingest", "fanout"], &["digest", "sender", "keeper"]])?;
    for fault in faults {
        NoteTrickle::default()
            .run_during(&house, fault)
            .with_context(|| format!("{}: {}", fault.name, house.read_logs()))?;
    }
    let (memory, lag) = (house.memory(), house.lag()?);
    println!("{}: at most {memory} MiB in a process, lag {lag}", engines.name);
    ensure!(memory < MEMORY_MAX, "{memory} MiB in a process");
    let quarantine = house.quarantine()?;
    ensure!(quarantine.as_array().is_some_and(Vec::is_empty), "put aside: {quarantine}");
    Ok(())
}

/// Notes, one after the other.
#[derive(Default)]
struct NoteTrickle {
    owed: Mutex<TellingCounts>,
    /// No more is written.
    written: AtomicBool,
    /// No more is to be told.
    told: AtomicBool,
}

impl NoteTrickle {
    /// Notes are written before, during and after a fault; each is told once.
    fn run_during(&self, house: &RealHouse, fault: &EngineFault<'_>) -> Result<()> {
        thread::scope(|scope| {
            let writes = scope.spawn(|| self.write(house, fault.name));
            scope.spawn(|| self.release(house));
            let went = self.watch(house, fault);
            self.written.store(true, Ordering::SeqCst);
            let wrote = writes.join().unwrap_or_else(|_| Err(anyhow!("who writes panicked")));
            let told = went.and(wrote).and_then(|()| self.await_told(house, "all of it"));
            self.told.store(true, Ordering::SeqCst);
            told
        })?;
        wait_until(TELLING, &|| Ok(house.lag().is_ok_and(|lag| lag == 0)))
            .context("something lags for ever")?;
        // Whatever was under way twice has come by now.
        self.await_told(house, "still")
    }

    fn watch(&self, house: &RealHouse, fault: &EngineFault<'_>) -> Result<()> {
        self.await_told(house, "before")?;
        println!("{}", fault.name);
        (fault.begin)()?;
        let began = SteadyStopwatch::start();
        if fault.goes_on {
            let more = self.owed_counts().len() + MEANWHILE;
            wait_until(TELLING, &|| Ok(self.owed_counts().len() >= more))
                .context("nothing is taken meanwhile")?;
            self.await_told(house, "meanwhile")?;
        }
        while began.elapsed() < fault.lasts {
            house.check_alive()?;
            pause_for(LOOK);
        }
        (fault.end)()?;
        println!("  it lasted {} s", began.elapsed().as_secs());
        self.await_told(house, "after")
    }

    /// Waits until everything was told that was taken up to now.
    fn await_told(&self, house: &RealHouse, when: &str) -> Result<()> {
        let watch = SteadyStopwatch::start();
        let mut mails = OutboxMailReader::default();
        wait_until(TELLING, &|| Ok(!self.owed_counts().is_empty()))?;
        let owed = self.owed_counts();
        loop {
            house.check_alive()?;
            mails.read_new(house.outbox())?;
            let mut counts = mails.counts();
            counts.retain(|(_, note), _| owed.keys().any(|(_, other)| other == note));
            if let Some(wrong) = find_excess(&counts, &owed) {
                return Err(anyhow!(wrong));
            }
            if counts == owed {
                println!(
                    "  {when}: {} notes, the last told after {} ms",
                    owed.len(),
                    watch.elapsed().as_millis()
                );
                return Ok(());
            }
            let lost = find_missing(&counts, &owed);
            ensure!(watch.elapsed() < TELLING, "{when}: not told: {lost:?}");
            pause_for(LOOK);
        }
    }

    fn write(&self, house: &RealHouse, name: &str) -> Result<()> {
        let source = name.replace(' ', "-");
        let profiles: Vec<String> = (0..READERS).map(|reader| input::profile_fact(reader, None)).collect();
        house.say("/v1/facts", &profiles)?;
        for number in 0.. {
            if self.written.load(Ordering::SeqCst) {
                break;
            }
            let (reader, now) = (number % READERS, UtcMillis(Clock::real(0).now()).to_string());
            let title = format!("note:{source}-{number}");
            house.say("/v1/changes", &[input::note_event(&title, reader, &now)])?;
            self.owed.lock().unwrap().insert((input::person_name(reader), title), 1);
            pause_for(BETWEEN_NOTES);
        }
        Ok(())
    }

    fn release(&self, house: &RealHouse) {
        while !self.told.load(Ordering::SeqCst) {
            // Who is asked may have no engine to ask.
            drop(house.release("notes"));
            pause_for(BETWEEN_RELEASES);
        }
    }

    fn owed_counts(&self) -> TellingCounts {
        self.owed.lock().unwrap().clone()
    }
}
