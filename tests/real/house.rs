//! A house of one process or of several: started, told, asked.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use runtime::clock::Stopwatch;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::Process;

/// How long processes may take to open. Machines that build beside are slow.
const OPENING: Duration = Duration::from_secs(180);
/// How long somebody says the same again. Longer than any engine is away.
const SAYING: Duration = Duration::from_secs(240);
const BETWEEN: Duration = Duration::from_millis(100);
/// Tables are laid out for one house after the other: a cluster agrees on one change at a time.
static LAYING_OUT: Mutex<()> = Mutex::new(());
/// Of each topic that lies by person or subject.
pub const PARTITIONS: u32 = 8;

/// Engines that others run.
pub struct Engines<'a> {
    pub kafka: &'a str,
    pub cql: &'a str,
    /// Before topics and groups, and the name of the keyspace: houses on the same engines do not meet.
    pub name: &'a str,
    /// Whether every other process has a name for the brokers, under which it comes back.
    pub known: bool,
}

pub struct House {
    pub processes: Vec<Process>,
    /// Makes what a house needs in engines that others run.
    migration: Option<Process>,
    /// Those that can be told something come first.
    doors: usize,
    turn: AtomicUsize,
    outbox: PathBuf,
    /// The last to go.
    _folder: TempDir,
}

impl Engines<'_> {
    pub fn prefix(&self) -> String {
        tests::prefix(self.name)
    }
}

impl House {
    /// The whole house in one process, on engines of its own.
    pub fn embedded() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (environment, outbox) = usual(folder.path());
        let process = Process::new(folder.path().join("0"), &["up", "--engine", "embedded"], environment)?;
        let turn = AtomicUsize::new(0);
        let house =
            Self { processes: vec![process], migration: None, doors: 1, turn, outbox, _folder: folder };
        house.start()?;
        Ok(house)
    }

    /// A process for each list of rooms; those with ingest come first.
    pub fn on(engines: &Engines<'_>, rooms: &[&[&str]]) -> Result<Self> {
        let house = Self::closed(engines, rooms)?;
        house.start()?;
        Ok(house)
    }

    /// The same, migrated and not started.
    pub fn closed(engines: &Engines<'_>, rooms: &[&[&str]]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (mut usual, outbox) = usual(folder.path());
        usual.extend(tests::production(engines.kafka, engines.cql, engines.name));
        let migration = Process::new(folder.path().join("migration"), &["migrate"], usual.clone())?;
        migrate(&migration)?;
        let process = |(number, rooms): (usize, &&[&str])| {
            let mut environment = usual.clone();
            if engines.known && number % 2 == 0 {
                environment.push(("TIDINGS_KAFKA_INSTANCE".to_owned(), format!("{}-{number}", engines.name)));
            }
            let arguments: Vec<&str> = [&["run"], *rooms].concat();
            Process::new(folder.path().join(number.to_string()), &arguments, environment)
        };
        let processes: Vec<Process> = rooms.iter().enumerate().map(process).collect::<Result<_>>()?;
        let doors = rooms.iter().filter(|rooms| rooms.contains(&"ingest")).count();
        let (turn, migration) = (AtomicUsize::new(0), Some(migration));
        Ok(Self { processes, migration, doors, turn, outbox, _folder: folder })
    }

    /// Makes what is missing in the engines.
    pub fn migrate(&self) -> Result<()> {
        self.migration.as_ref().map_or(Ok(()), migrate)
    }

    /// Starts all processes and waits until they are ready.
    pub fn start(&self) -> Result<()> {
        self.processes.iter().try_for_each(Process::start)?;
        self.ready()
    }

    /// Waits until all processes that run are ready.
    pub fn ready(&self) -> Result<()> {
        for process in self.processes.iter().filter(|process| process.runs()) {
            until(OPENING, &|| Ok(process.ended().is_some() || process.is_ready()))
                .with_context(|| process.said())?;
        }
        self.alive()
    }

    /// Whether no process ended by itself.
    pub fn alive(&self) -> Result<()> {
        for process in &self.processes {
            if let Some(status) = process.ended() {
                bail!("a process ended, {status}: {}", process.said());
            }
        }
        Ok(())
    }

    /// Says lines at one door after the other, until all of them are taken.
    pub fn say(&self, path: &str, lines: &[String]) -> Result<()> {
        let body = lines.join("\n");
        let waited = Stopwatch::start();
        loop {
            self.alive()?;
            match self.door().posted(path, &body) {
                Ok((202, answer)) => {
                    let answer: Value = serde_json::from_str(&answer)?;
                    ensure!(answer["accepted"] == lines.len(), "not all were taken: {answer}");
                    return Ok(());
                }
                Ok((status @ (400 | 401 | 404 | 413 | 415), text)) => bail!("{status}: {text}"),
                other if waited.elapsed() > SAYING => bail!("not taken: {other:?}"),
                _ => pause(BETWEEN),
            }
        }
    }

    /// Closes the windows of a plan that are open now, or fails where somebody is away.
    pub fn release(&self, plan: &str) -> Result<()> {
        let door = self.door();
        let mut asked = json!({ "plan": plan });
        loop {
            let part = door.ordered("/admin/release", &asked)?;
            if part["next"].is_null() {
                return Ok(());
            }
            asked["from"] = part["next"].clone();
            asked["at"] = part["at"].clone();
        }
    }

    /// Closes the window of one person; says whether there is one.
    pub fn release_one(&self, plan: &str, person: &str, at: i64) -> Result<bool> {
        let asked = json!({ "plan": plan, "person": person, "at": at });
        let answer = self.door().ordered("/admin/release", &asked)?;
        Ok(answer["released"] == 1)
    }

    /// What a person has open, as the command line sees it.
    pub fn windows(&self, person: &str) -> Result<Vec<Value>> {
        let mut found = self.door().asked(&format!("/admin/windows?person={person}"))?;
        Ok(found["windows"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// A person's days, as the command line sees them.
    pub fn days(&self, person: &str) -> Result<Value> {
        self.patiently(&format!("/admin/days?person={person}"))
    }

    /// What lies in quarantine.
    pub fn quarantine(&self) -> Result<Value> {
        self.patiently("/admin/quarantine")
    }

    /// How far each stage is.
    pub fn stages(&self) -> Result<Value> {
        self.door().asked("/admin/stages")
    }

    /// Records that are not read yet, over all stages.
    pub fn lag(&self) -> Result<u64> {
        tests::lag(&self.stages()?).context("no lag")
    }

    pub fn outbox(&self) -> &Path {
        &self.outbox
    }

    /// The most memory that a process of these has now had, in MiB.
    pub fn memory(&self) -> u64 {
        self.processes.iter().filter_map(Process::memory).max().unwrap_or_default()
    }

    /// What all of them said last.
    pub fn said(&self) -> String {
        self.processes.iter().map(Process::said).collect::<Vec<_>>().join("\n\n")
    }

    /// Asks at one door after the other until one answers: on a busy machine one may be too late.
    fn patiently(&self, path: &str) -> Result<Value> {
        let waited = Stopwatch::start();
        loop {
            self.alive()?;
            match self.door().asked(path) {
                Err(_) if waited.elapsed() < SAYING => pause(BETWEEN),
                answer => return answer,
            }
        }
    }

    fn door(&self) -> &Process {
        &self.processes[self.turn.fetch_add(1, Ordering::Relaxed) % self.doors]
    }
}

fn migrate(migration: &Process) -> Result<()> {
    let _alone = LAYING_OUT.lock();
    migration.run().map(drop).context("migrate")
}

/// What holds on all engines, and where the mails are.
fn usual(folder: &Path) -> (Vec<(String, String)>, PathBuf) {
    let outbox = folder.join("outbox");
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("real/catalogue");
    let (outbox_, partitions) = (outbox.display().to_string(), PARTITIONS.to_string());
    let usual = [
        ("CATALOGUE", catalogue.display().to_string()),
        ("LISTEN", "127.0.0.1:0".to_owned()),
        ("OUTBOX", outbox_),
        // What a killed sender had in hand is not waited for long.
        ("LIMITS_HAND_OVER", "10s".to_owned()),
        ("PARTITIONS", partitions),
        ("SECRET", "5e".repeat(32)),
    ];
    (tests::named(usual), outbox)
}

/// Waits until this is so.
pub fn until(patience: Duration, holds: &dyn Fn() -> Result<bool>) -> Result<()> {
    let waited = Stopwatch::start();
    while !holds()? {
        ensure!(waited.elapsed() < patience, "not within {} s", patience.as_secs());
        pause(BETWEEN);
    }
    Ok(())
}

pub fn pause(time: Duration) {
    let slept = Stopwatch::start();
    while let Some(left) = time.checked_sub(slept.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
