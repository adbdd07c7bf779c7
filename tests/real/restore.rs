//! A house on Kafka and Cassandra is backed up and restored by the very commands of the page about it. It is stopped in the
//! middle of a round of mails, goes on after the backup, and loses both engines. The restored house tells nothing again
//! that was told before the backup, and tells everything that was accepted before it.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use engines::{CassandraCluster, CassandraOptions, EngineCluster as _, KafkaCluster, KafkaOptions};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::markdown::{BlockUse, parse_blocks};

use crate::{
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    input::{follow_fact, note_event, person_name, profile_fact},
    outbox_mails::{OutboxMailReader, TellingCounts, read_canonical},
};

const ROOMS: [&[&str]; 1] = [&["ingest", "fanout", "digest", "sender", "keeper"]];
const NAME: &str = "restored";
const PAGE: &str = "docs/how-to/backup-and-restore.md";
/// What the page says of a block that is run here.
const RUN_HERE: &str = "tests/real/restore.rs runs it on engines of its own";
/// Everything that a node of Cassandra keeps.
const NODE_FOLDERS: [&str; 5] = ["data", "commitlog", "saved_caches", "hints", "cdc_raw"];
const PATIENCE: Duration = Duration::from_secs(180);
const BETWEEN: Duration = Duration::from_millis(300);
const PERSONS: u64 = 12;
/// Every third has the plan that closes after half a day.
const PLANS: [&str; 3] = ["soon", "slow", "notes"];

/// Both engines of a house, and the machine from which an operator copies them.
struct RestoreDrill {
    kafka: KafkaCluster,
    cassandra: CassandraCluster,
    house: RealHouse,
    persons: Vec<String>,
    folder: TempDir,
    /// The page's commands, in its order.
    steps: Vec<String>,
}

#[test]
fn a_restored_house_tells_nothing_again_and_forgets_nothing_from_before_the_backup() {
    let watch = SteadyStopwatch::start();
    let drill = RestoreDrill::start().unwrap();
    let seconds = |what: &str| println!("{what} after {} s", watch.elapsed().as_secs());
    let outcome = drill.rehearse(&seconds).with_context(|| drill.house.read_logs());
    outcome.unwrap();
}

impl RestoreDrill {
    fn start() -> Result<Self> {
        let managed = CassandraOptions { managed: true, ..CassandraOptions::default() };
        let (kafka, cassandra) = thread::scope(|scope| {
            let kafka = scope.spawn(|| KafkaCluster::start(KafkaOptions::default()));
            let cassandra = CassandraCluster::start(managed);
            (kafka.join().map_err(|_| anyhow!("starting Kafka broke")), cassandra)
        });
        let (kafka, cassandra) = (kafka??, cassandra?);
        let (brokers, nodes) = (kafka.bootstrap(), cassandra.contact_points().join(","));
        let addresses = EngineAddresses { kafka: &brokers, cql: &nodes, name: NAME, known: false };
        let house = RealHouse::prepare_on(&addresses, &ROOMS)?;
        let page = fs::read_to_string(tests::scenarios::root().join(PAGE))?;
        let steps = parse_blocks(&page)?
            .into_iter()
            .filter(|block| block.r#use == BlockUse::Elsewhere(RUN_HERE.to_owned()))
            .map(|block| block.text);
        let persons = (0..PERSONS).map(person_name).collect();
        let (steps, folder) = (steps.collect(), tempfile::tempdir()?);
        Ok(Self { kafka, cassandra, house, persons, folder, steps })
    }

    fn rehearse(&self, seconds: &dyn Fn(&str)) -> Result<()> {
        let [mark, snapshot, copy_log, put_log_back, import, check] = &self.steps[..] else {
            return Err(anyhow!("{PAGE} has other steps: {:?}", self.steps));
        };
        self.make_operator()?;
        let house = &self.house;
        house.start()?;
        seconds("ready");
        let before = self.live_before_backup()?;
        seconds("stopped");
        self.run_step(mark)?;
        self.run_step(snapshot)?;
        self.kafka.node(0)?.end()?;
        self.run_step(copy_log)?;
        self.kafka.start_again(0)?;
        seconds("backed up");

        house.start()?;
        let forgotten = self.live_after_backup(&before.mails)?;
        house.processes[0].kill();
        fs::remove_dir_all(house.outbox())?;
        seconds("went on");
        self.lose_tables()?;
        self.run_step(import)?;
        // The topics are not restored yet: whoever starts now would have rows that are older than they are.
        let refused = self.try_step(check)?;
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        ensure!(refused.status.code() == Some(3) && why.contains("the topics went on after"), "{why}");
        self.kafka.kill(0)?;
        self.run_step(put_log_back)?;
        self.kafka.start_again(0)?;
        let checked = self.run_step(check)?;
        ensure!(checked.contains("neither went on") && checked.contains("nothing to do"), "{checked}");
        seconds("restored");

        house.start()?;
        self.check_restored(&before, &forgotten)?;
        seconds("all told");
        Ok(())
    }

    /// Everybody was told of one post; a second and a note wait in open windows; a third is accepted at the last moment.
    /// Notes are being sent when the house is asked to stop.
    fn live_before_backup(&self) -> Result<LifeBefore> {
        let house = &self.house;
        let profile = |n: u64| profile_fact(n, Some(if n.is_multiple_of(3) { "slow" } else { "soon" }));
        let facts: Vec<String> = (0..PERSONS).flat_map(|n| [profile(n), follow_fact(n, 1)]).collect();
        house.say("/v1/facts", &facts)?;
        house.say("/v1/changes", &[post_event("one")])?;
        let mut owed = owed_to_all(&self.persons, &["post:one"]);
        await_mails(house, &PLANS, &owed)?;

        let mut waiting = vec![post_event("two")];
        waiting.extend((0..PERSONS).map(|n| note_event(&format!("note:{n}"), n, &now_text())));
        house.say("/v1/changes", &waiting)?;
        wait_until(PATIENCE, &|| {
            let open = self.persons.iter().map(|person| Ok(house.windows(person)?.len() == 2));
            Ok(open.collect::<Result<Vec<bool>>>()?.iter().all(|all| *all))
        })
        .context("not all windows are open")?;
        let windows = self.slow_windows()?;
        let days = self.entries_of_all()?;
        house.say("/v1/changes", &[post_event("three")])?;
        drop(house.release("notes"));
        house.processes[0].stop()?;
        owed.extend(owed_to_all(&self.persons, &["post:two", "post:three"]));
        owed.extend((0..PERSONS).map(|n| ((person_name(n), format!("note:{n}")), 1)));
        Ok(LifeBefore { mails: self.read_mails()?, windows, days, owed })
    }

    /// Whatever waited is told, and one post more. Nobody will know.
    fn live_after_backup(&self, before: &OutboxMailReader) -> Result<TellingCounts> {
        self.house.say("/v1/changes", &[post_event("four")])?;
        let all = owed_to_all(&self.persons, &["post:one", "post:two", "post:three", "post:four"]);
        let notes = (0..PERSONS).map(|n| ((person_name(n), format!("note:{n}")), 1));
        await_mails(&self.house, &PLANS, &all.into_iter().chain(notes).collect())?;
        let mut since = self.read_mails()?;
        since.by_ready.retain(|ready, _| !before.by_ready.contains_key(ready));
        Ok(since.counts())
    }

    fn lose_tables(&self) -> Result<()> {
        let node = self.cassandra.node(0)?;
        node.kill()?;
        let folders = NODE_FOLDERS.map(|name| node.folder().join(name));
        folders.iter().filter(|folder| folder.exists()).try_for_each(fs::remove_dir_all)?;
        self.cassandra.start_again(0)
    }

    fn check_restored(&self, before: &LifeBefore, forgotten: &TellingCounts) -> Result<()> {
        let house = &self.house;
        let LifeBefore { mails, windows, days, owed } = before;
        ensure!(self.slow_windows()? == *windows, "windows are due at other times: {windows:?}");
        let missing: Vec<_> = days.difference(&self.entries_of_all()?).cloned().collect();
        ensure!(missing.is_empty(), "entries are missing: {missing:?}");
        let told_before = mails.counts();
        let mut left = owed.clone();
        left.retain(|of, _| !told_before.contains_key(of));
        await_mails(house, &PLANS, &left)?;
        // What nobody knows to have been told is told again, and nothing else is.
        let mut lost = forgotten.clone();
        lost.retain(|(_, item), _| item == "post:four");
        let mut again = forgotten.clone();
        again.retain(|of, _| !lost.contains_key(of));
        ensure!(lost.len() == self.persons.len() && again == left, "{forgotten:?}, and told again {left:?}");
        // What was accepted after the backup is unknown, and is taken when it is said again.
        house.say("/v1/changes", &[post_event("four")])?;
        left.extend(lost);
        await_mails(house, &PLANS, &left)?;
        wait_until(PATIENCE, &|| Ok(house.lag().is_ok_and(|lag| lag == 0)))?;
        let since = self.read_mails()?;
        ensure!(since.counts() == left, "told {:?} of {left:?}", since.counts());
        let mut all = OutboxMailReader::default();
        for (ready, mail) in since.by_ready.iter().chain(&mails.by_ready) {
            let is_new = all.by_ready.insert(ready.clone(), mail.clone()).is_none();
            ensure!(is_new, "{ready} was told before the backup and after it");
        }
        // Days, journal and mails say the same of each entry.
        read_canonical(house, &all, &self.persons).map(drop)
    }

    /// When and why the windows close that stay open all the while.
    fn slow_windows(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for person in self.persons.iter().step_by(3) {
            let open = self.house.windows(person)?.into_iter().filter(|window| window["plan"] == "slow");
            all.extend(open.map(|window| json!([person, window["due"], window["opened"]])));
        }
        ensure!(!all.is_empty(), "nobody has a window that stays open");
        Ok(all)
    }

    fn entries_of_all(&self) -> Result<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        for person in &self.persons {
            for entry in crate::outbox_mails::entries_of(&self.house.days(person)?) {
                all.insert(format!("{person} {} {} {}", entry["entry"], entry["subject"], entry["reasons"]));
            }
        }
        Ok(all)
    }

    fn read_mails(&self) -> Result<OutboxMailReader> {
        let mut mails = OutboxMailReader::default();
        mails.read_new(self.house.outbox())?;
        Ok(mails)
    }

    /// The programs that the page's commands call.
    fn make_operator(&self) -> Result<()> {
        let programs = self.folder.path().join("bin");
        fs::create_dir_all(&programs)?;
        symlink(tests::binary()?, programs.join("tidings"))?;
        let nodetool = programs.join("nodetool");
        let words =
            self.cassandra.nodetool_command()?.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>();
        fs::write(&nodetool, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")))?;
        Ok(fs::set_permissions(&nodetool, fs::Permissions::from_mode(0o755))?)
    }

    fn run_step(&self, step: &str) -> Result<String> {
        let Output { status, stdout, stderr } = self.try_step(step)?;
        let (said, why) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        ensure!(status.success(), "{step}\n{status}: {said}{why}");
        Ok(said.into_owned())
    }

    /// Runs commands of the page with the folders and the keyspace of this house.
    fn try_step(&self, step: &str) -> Result<Output> {
        let (folder, backups) = (self.folder.path(), self.folder.path().join("backups"));
        let data = |node: &Path| node.join("data").display().to_string();
        let swaps = [
            ("/var/lib/cassandra/data", data(self.cassandra.node(0)?.folder())),
            ("/var/lib/kafka/data", data(self.kafka.node(0)?.folder())),
            ("/var/backups", backups.display().to_string()),
            ("tidings tidings_journal", format!("{NAME} {NAME}_journal")),
            ("tidings*/", format!("{NAME}*/")),
        ];
        let script = swaps.iter().fold(step.to_owned(), |text, (page, ours)| text.replace(page, ours));
        let path: PathBuf = folder.join("bin");
        let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-e", "-c", &script]).current_dir(folder).env("PATH", path);
        shell.envs(self.house.settings()?.iter().cloned()).env("TIDINGS_DATA_DIR", folder.join("data"));
        shell.output().context("cannot run /bin/sh")
    }
}

/// What is known of the house when it is stopped.
struct LifeBefore {
    mails: OutboxMailReader,
    windows: Vec<Value>,
    days: BTreeSet<String>,
    owed: TellingCounts,
}

fn post_event(title: &str) -> String {
    json!({"id": title, "source": "real", "type": "post.published", "subject": format!("post:{title}"),
        "data": {"title": format!("post:{title}"), "author": "author:1", "public": true}})
    .to_string()
}

fn now_text() -> String {
    UtcMillis(Clock::real(0).now()).to_string()
}

fn owed_to_all(persons: &[String], items: &[&str]) -> TellingCounts {
    let each =
        persons.iter().flat_map(|person| items.iter().map(|item| (person.clone(), (*item).to_owned())));
    each.map(|of| (of, 1)).collect()
}

/// Closes windows until all of this was told.
fn await_mails(house: &RealHouse, plans: &[&str], owed: &TellingCounts) -> Result<()> {
    let (waited, mut mails) = (SteadyStopwatch::start(), OutboxMailReader::default());
    loop {
        for plan in plans {
            drop(house.release(plan));
        }
        if house.outbox().join("mail").exists() {
            mails.read_new(house.outbox())?;
        }
        let counts = mails.counts();
        if owed.keys().all(|of| counts.contains_key(of)) {
            return Ok(());
        }
        let missing: Vec<_> = owed.keys().filter(|of| !counts.contains_key(*of)).collect();
        ensure!(waited.elapsed() < PATIENCE, "not told: {missing:?}");
        pause_for(BETWEEN);
    }
}
