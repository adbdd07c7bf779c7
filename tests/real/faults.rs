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
use engines::Proxy;
use model::Millis;
use runtime::{Clock, clock::Stopwatch};

use crate::{
    house::{Engines, House, pause, until},
    input,
    told::{Counts, Mails, missing, too_often},
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

pub type Act<'a> = Box<dyn Fn() -> Result<()> + 'a>;

/// Something that happens to an engine.
pub struct Fault<'a> {
    pub name: &'static str,
    pub begin: Act<'a>,
    pub lasts: Duration,
    /// Whether notes are told while it lasts.
    pub goes_on: bool,
    pub end: Act<'a>,
}

pub fn slow(proxies: &[Proxy]) -> Fault<'_> {
    Fault {
        name: "all answers are half a second late",
        begin: Box::new(|| proxies.iter().try_for_each(|proxy| proxy.latency(500))),
        lasts: Duration::from_secs(15),
        goes_on: true,
        end: Box::new(|| proxies.iter().try_for_each(Proxy::heal)),
    }
}

pub fn broken_off(proxies: &[Proxy]) -> Fault<'_> {
    Fault {
        name: "all connections are reset",
        begin: Box::new(|| proxies.iter().try_for_each(Proxy::reset)),
        lasts: Duration::from_secs(5),
        goes_on: false,
        end: Box::new(|| proxies.iter().try_for_each(Proxy::heal)),
    }
}

/// One fault after the other, on one house.
pub fn try_all(engines: &Engines<'_>, faults: &[Fault<'_>]) -> Result<()> {
    let house = House::on(engines, &[&["ingest", "fanout"], &["digest", "sender", "keeper"]])?;
    for fault in faults {
        Trickle::default()
            .during(&house, fault)
            .with_context(|| format!("{}: {}", fault.name, house.said()))?;
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
struct Trickle {
    owed: Mutex<Counts>,
    /// No more is written.
    written: AtomicBool,
    /// No more is to be told.
    told: AtomicBool,
}

impl Trickle {
    /// Notes are written before, during and after a fault; each is told once.
    fn during(&self, house: &House, fault: &Fault<'_>) -> Result<()> {
        thread::scope(|scope| {
            let writes = scope.spawn(|| self.write(house, fault.name));
            scope.spawn(|| self.release(house));
            let went = self.watch(house, fault);
            self.written.store(true, Ordering::SeqCst);
            let wrote = writes.join().unwrap_or_else(|_| Err(anyhow!("who writes panicked")));
            let told = went.and(wrote).and_then(|()| self.told(house, "all of it"));
            self.told.store(true, Ordering::SeqCst);
            told
        })?;
        until(TELLING, &|| Ok(house.lag().is_ok_and(|lag| lag == 0))).context("something lags for ever")?;
        // Whatever was under way twice has come by now.
        self.told(house, "still")
    }

    fn watch(&self, house: &House, fault: &Fault<'_>) -> Result<()> {
        self.told(house, "before")?;
        println!("{}", fault.name);
        (fault.begin)()?;
        let began = Stopwatch::start();
        if fault.goes_on {
            let more = self.owed().len() + MEANWHILE;
            until(TELLING, &|| Ok(self.owed().len() >= more)).context("nothing is taken meanwhile")?;
            self.told(house, "meanwhile")?;
        }
        while began.elapsed() < fault.lasts {
            house.alive()?;
            pause(LOOK);
        }
        (fault.end)()?;
        println!("  it lasted {} s", began.elapsed().as_secs());
        self.told(house, "after")
    }

    /// Waits until everything was told that was taken up to now.
    fn told(&self, house: &House, when: &str) -> Result<()> {
        let watch = Stopwatch::start();
        let mut mails = Mails::default();
        until(TELLING, &|| Ok(!self.owed().is_empty()))?;
        let owed = self.owed();
        loop {
            house.alive()?;
            mails.look(house.outbox())?;
            let mut counts = mails.counts();
            counts.retain(|(_, note), _| owed.keys().any(|(_, other)| other == note));
            if let Some(wrong) = too_often(&counts, &owed) {
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
            let lost = missing(&counts, &owed);
            ensure!(watch.elapsed() < TELLING, "{when}: not told: {lost:?}");
            pause(LOOK);
        }
    }

    fn write(&self, house: &House, name: &str) -> Result<()> {
        let source = name.replace(' ', "-");
        let profiles: Vec<String> = (0..READERS).map(|reader| input::profile(reader, None)).collect();
        house.say("/v1/facts", &profiles)?;
        for number in 0.. {
            if self.written.load(Ordering::SeqCst) {
                break;
            }
            let (reader, now) = (number % READERS, Millis(Clock::real(0).now()).to_string());
            let title = format!("note:{source}-{number}");
            house.say("/v1/changes", &[input::note(&title, reader, &now)])?;
            self.owed.lock().unwrap().insert((input::person(reader), title), 1);
            pause(BETWEEN_NOTES);
        }
        Ok(())
    }

    fn release(&self, house: &House) {
        while !self.told.load(Ordering::SeqCst) {
            // Who is asked may have no engine to ask.
            drop(house.release("notes"));
            pause(BETWEEN_RELEASES);
        }
    }

    fn owed(&self) -> Counts {
        self.owed.lock().unwrap().clone()
    }
}
