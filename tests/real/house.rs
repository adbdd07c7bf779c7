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
use runtime::clock::SteadyStopwatch;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::RealProcess;

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
pub struct EngineAddresses<'a> {
    pub kafka: &'a str,
    pub cql: &'a str,
    /// Before topics and groups, and the name of the keyspace: houses on the same engines do not meet.
    pub name: &'a str,
    /// Whether every other process has a name for the brokers, under which it comes back.
    pub known: bool,
}

pub struct RealHouse {
    pub processes: Vec<RealProcess>,
    /// Makes what a house needs in engines that others run.
    migration: Option<RealProcess>,
    /// Those that can be told something come first.
    doors: usize,
    turn: AtomicUsize,
    outbox: PathBuf,
    /// The last to go.
    _folder: TempDir,
}

impl EngineAddresses<'_> {
    pub fn prefix(&self) -> String {
        tests::prefix(self.name)
    }
}

impl RealHouse {
    /// The whole house in one process, on engines of its own.
    pub fn embedded() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (environment, outbox) = usual_settings(folder.path());
        let process =
            RealProcess::new(folder.path().join("0"), &["up", "--engine", "embedded"], environment)?;
        let turn = AtomicUsize::new(0);
        let house =
            Self { processes: vec![process], migration: None, doors: 1, turn, outbox, _folder: folder };
        house.start()?;
        Ok(house)
    }

    /// A process for each list of rooms; those with ingest come first.
    pub fn start_on(engines: &EngineAddresses<'_>, rooms: &[&[&str]]) -> Result<Self> {
        let house = Self::prepare_on(engines, rooms)?;
        house.start()?;
        Ok(house)
    }

    /// The same, migrated and not started.
    pub fn prepare_on(engines: &EngineAddresses<'_>, rooms: &[&[&str]]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (mut usual, outbox) = usual_settings(folder.path());
        usual.extend(tests::production_settings(engines.kafka, engines.cql, engines.name));
        let migration = RealProcess::new(folder.path().join("migration"), &["migrate"], usual.clone())?;
        run_migration(&migration)?;
        let process = |(number, rooms): (usize, &&[&str])| {
            let mut environment = usual.clone();
            if engines.known && number % 2 == 0 {
                environment.push(("TIDINGS_KAFKA_INSTANCE".to_owned(), format!("{}-{number}", engines.name)));
            }
            let arguments: Vec<&str> = [&["run"], *rooms].concat();
            RealProcess::new(folder.path().join(number.to_string()), &arguments, environment)
        };
        let processes: Vec<RealProcess> = rooms.iter().enumerate().map(process).collect::<Result<_>>()?;
        let doors = rooms.iter().filter(|rooms| rooms.contains(&"ingest")).count();
        let (turn, migration) = (AtomicUsize::new(0), Some(migration));
        Ok(Self { processes, migration, doors, turn, outbox, _folder: folder })
    }

    /// Makes what is missing in the engines.
    pub fn migrate(&self) -> Result<()> {
        self.migration.as_ref().map_or(Ok(()), run_migration)
    }

    /// Starts all processes and waits until they are ready.
    pub fn start(&self) -> Result<()> {
        self.processes.iter().try_for_each(RealProcess::start)?;
        self.wait_ready()
    }

    /// Waits until all processes that run are ready.
    pub fn wait_ready(&self) -> Result<()> {
        for process in self.processes.iter().filter(|process| process.is_running()) {
            wait_until(OPENING, &|| Ok(process.exit_status().is_some() || process.is_ready()))
                .with_context(|| process.log_tail())?;
        }
        self.check_alive()
    }

    /// Whether no process ended by itself.
    pub fn check_alive(&self) -> Result<()> {
        for process in &self.processes {
            if let Some(status) = process.exit_status() {
                bail!("a process ended, {status}: {}", process.log_tail());
            }
        }
        Ok(())
    }

    /// Says lines at one door after the other, until all of them are taken.
    pub fn say(&self, path: &str, lines: &[String]) -> Result<()> {
        let body = lines.join("\n");
        let waited = SteadyStopwatch::start();
        loop {
            self.check_alive()?;
            match self.door().post_lines(path, &body) {
                Ok((202, answer)) => {
                    let answer: Value = serde_json::from_str(&answer)?;
                    ensure!(answer["accepted"] == lines.len(), "not all were taken: {answer}");
                    return Ok(());
                }
                Ok((status @ (400 | 401 | 404 | 413 | 415), text)) => bail!("{status}: {text}"),
                other if waited.elapsed() > SAYING => bail!("not taken: {other:?}"),
                _ => pause_for(BETWEEN),
            }
        }
    }

    /// Closes the windows of a plan that are open now, or fails where somebody is away.
    pub fn release(&self, plan: &str) -> Result<()> {
        let door = self.door();
        let mut asked = json!({ "plan": plan });
        loop {
            let part = door.post_json("/admin/release", &asked)?;
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
        let answer = self.door().post_json("/admin/release", &asked)?;
        Ok(answer["released"] == 1)
    }

    /// What a person has open, as the command line sees it.
    pub fn windows(&self, person: &str) -> Result<Vec<Value>> {
        let mut found = self.get_patiently(&format!("/admin/windows?person={person}"))?;
        Ok(found["windows"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// A person's days, as the command line sees them.
    pub fn days(&self, person: &str) -> Result<Value> {
        self.get_patiently(&format!("/admin/days?person={person}"))
    }

    /// What lies in quarantine.
    pub fn quarantine(&self) -> Result<Value> {
        self.get_patiently("/admin/quarantine")
    }

    /// How far each stage is.
    pub fn stages(&self) -> Result<Value> {
        self.door().get_json("/admin/stages")
    }

    /// Records that are not read yet, over all stages.
    pub fn lag(&self) -> Result<u64> {
        tests::lag(&self.stages()?).context("no lag")
    }

    /// What a command line of this house finds in its environment.
    pub fn settings(&self) -> Result<&[(String, String)]> {
        self.migration.as_ref().map(RealProcess::environment).context("the house has engines of its own")
    }

    pub fn outbox(&self) -> &Path {
        &self.outbox
    }

    /// The most memory that a process of these has now had, in MiB.
    pub fn memory(&self) -> u64 {
        self.processes.iter().filter_map(RealProcess::memory).max().unwrap_or_default()
    }

    /// What all of them said last.
    pub fn read_logs(&self) -> String {
        self.processes.iter().map(RealProcess::log_tail).collect::<Vec<_>>().join("\n\n")
    }

    /// Asks at one door after the other until one answers: on a busy machine one may be too late.
    fn get_patiently(&self, path: &str) -> Result<Value> {
        let waited = SteadyStopwatch::start();
        loop {
            self.check_alive()?;
            match self.door().get_json(path) {
                Err(_) if waited.elapsed() < SAYING => pause_for(BETWEEN),
                answer => return answer,
            }
        }
    }

    fn door(&self) -> &RealProcess {
        &self.processes[self.turn.fetch_add(1, Ordering::Relaxed) % self.doors]
    }
}

fn run_migration(migration: &RealProcess) -> Result<()> {
    lay_out_alone(|| migration.run()).map(drop).context("migrate")
}

/// Does this while no other house's tables are laid out.
pub fn lay_out_alone<T>(work: impl FnOnce() -> T) -> T {
    let _alone = LAYING_OUT.lock();
    work()
}

/// What holds on all engines, and where the mails are.
fn usual_settings(folder: &Path) -> (Vec<(String, String)>, PathBuf) {
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
    (tests::env_settings(usual), outbox)
}

/// Waits until this is so.
pub fn wait_until(patience: Duration, holds: &dyn Fn() -> Result<bool>) -> Result<()> {
    let waited = SteadyStopwatch::start();
    while !holds()? {
        ensure!(waited.elapsed() < patience, "not within {} s", patience.as_secs());
        pause_for(BETWEEN);
    }
    Ok(())
}

pub fn pause_for(time: Duration) {
    let slept = SteadyStopwatch::start();
    while let Some(left) = time.checked_sub(slept.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
