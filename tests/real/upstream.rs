//! An upstream team with Confluent's own Python client, which nobody here wrote, on a house with a registry: what it
//! says in our schema and in schemas of its own is told, what is due is read from outside, and what nobody can read
//! is put aside and holds nobody up.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use engines::python;
use runtime::{Clock, clock::SteadyStopwatch};
use serde_json::{Value, json};
use topic::{NewRecord, Topics as _};
use topic_kafka::{KafkaTopics, Settings};

use crate::{
    house::{pause_for, wait_until},
    outbox_mails::{OutboxMailReader, TellingCounts},
    process::RealProcess,
};

const PATIENCE: Duration = Duration::from_secs(180);
const BETWEEN: Duration = Duration::from_millis(500);
/// In a frame, with the id of a schema that no registry has given away.
const UNKNOWN: [u8; 6] = [0, 0x7f, 0xff, 0xff, 0xff, 1];

#[test]
fn what_upstream_sends_in_avro_is_told_and_what_is_due_can_be_read_from_outside() {
    let watch = SteadyStopwatch::start();
    let folder = tempfile::tempdir().unwrap();
    let team = UpstreamTeam::new(folder.path()).unwrap();
    team.check_told().with_context(|| team.house.log_tail()).unwrap();
    println!("upstream: {} s", watch.elapsed().as_secs());
}

/// Those upstream, and the house that listens to them.
struct UpstreamTeam {
    /// Another one in each run: before all topics, and the name of the keyspace.
    name: String,
    house: RealProcess,
    outbox: PathBuf,
}

impl UpstreamTeam {
    fn new(folder: &Path) -> Result<Self> {
        let name = format!("upstream_{}", std::process::id());
        let outbox = folder.join("outbox");
        let settings = [
            ("CATALOGUE", write_catalogue(folder, &name)?.display().to_string()),
            ("CQL_CONTACT_POINTS", engines::cql()?.to_owned()),
            ("CQL_KEYSPACE", name.clone()),
            ("ENGINE", "production".to_owned()),
            ("KAFKA_BROKERS", engines::kafka()?.to_owned()),
            ("KAFKA_MIN_INSYNC", "1".to_owned()),
            ("KAFKA_PREFIX", format!("{name}.")),
            ("KAFKA_REPLICATION", "1".to_owned()),
            ("LISTEN", "127.0.0.1:0".to_owned()),
            ("OUTBOX", outbox.display().to_string()),
            ("PARTITIONS", "4".to_owned()),
            ("REGISTRY_URL", engines::registry()?.to_owned()),
            ("SECRET", "5e".repeat(32)),
        ];
        let settings: Vec<(String, String)> =
            settings.into_iter().map(|(name, value)| (format!("TIDINGS_{name}"), value)).collect();
        RealProcess::new(folder.join("migration"), &["migrate"], settings.clone())?
            .run()
            .context("migrate")?;
        let rooms = ["run", "ingest", "fanout", "digest", "sender"];
        let house = RealProcess::new(folder.join("house"), &rooms, settings)?;
        house.start()?;
        Ok(Self { name, house, outbox })
    }

    fn check_told(&self) -> Result<()> {
        self.wait_holds(&|| Ok(self.house.is_ready())).context("it is not ready")?;
        self.send_follows()?;
        // One under each version of their schema, one under ours, and nonsense in between.
        let first = self.send_work("work.avsc", &json!({"id": 7, "title": "Ebb", "artist_id": 1}))?;
        self.append_unknown()?;
        let flow = json!({"id": 8, "title": "Flow", "artist_id": 1, "medium": "oil"});
        let second = self.send_work("work-2.avsc", &flow)?;
        ensure!(first["schema"] != second["schema"], "one schema for both: {first} {second}");
        let slack = json!({"title": "Slack", "medium": "ink", "artist": "artist:1"});
        self.send_change("work.published", &["--id", "slack", "--subject", "work:9"], &slack)?;
        let told = self.await_mails(&[r#""Ebb""#, r#""Flow", oil"#, r#""Slack", ink"#])?;
        self.check_readys(told, &["work:7", "work:8", "work:9"])?;
        self.check_quarantine()
    }

    /// Ann has a profile and follows somebody, and the house knows it.
    fn send_follows(&self) -> Result<()> {
        let profile = json!({"person": "ann", "email": "ann@example.org"});
        self.send_change("tidings.profile", &["--id", "ann"], &profile)?;
        self.send_row("follows", "follow.avsc", &json!({"user_id": "ann", "artist_id": 1}))?;
        let has_read = |stages: &Value, name: &str| {
            let mut stages = stages.as_array().into_iter().flatten();
            stages.any(|stage| stage["name"] == name && stage["committed"].as_u64() > Some(0))
        };
        // Who is busy answers the next time.
        let known = || {
            let has_both = |stages| has_read(&stages, "ingest") && has_read(&stages, "ingest-follows");
            Ok(self.house.get_json("/admin/stages").is_ok_and(has_both))
        };
        self.wait_holds(&known).context("ann and whom she follows were not read")
    }

    /// Closes windows until ann was told all of this once; how many mails it took.
    fn await_mails(&self, says: &[&str]) -> Result<usize> {
        let owed: TellingCounts =
            says.iter().map(|says| (("ann".to_owned(), (*says).to_owned()), 1)).collect();
        let (waited, mut mails) = (SteadyStopwatch::start(), OutboxMailReader::default());
        while mails.counts() != owed {
            ensure!(waited.elapsed() < PATIENCE, "told {:?}, owed {owed:?}", mails.counts());
            let released = self.house.post_json("/admin/release", &json!({"plan": "works"}));
            released.map_or_else(|error| println!("not now: {error:#}"), drop);
            pause_for(BETWEEN);
            if self.outbox.join("mail").exists() {
                mails.read_new(&self.outbox)?;
            }
        }
        Ok(mails.len())
    }

    /// What is due lies on `ready`, under a schema that the registry knows.
    fn check_readys(&self, count: usize, subjects: &[&str]) -> Result<()> {
        let read = self.python("read-ready", &["--count", &count.to_string()])?;
        let mut found = BTreeSet::new();
        for ready in read.iter().map(|line| &line["value"]) {
            ensure!(ready["person"] == "ann" && ready["plan"] == "works", "{ready}");
            for entry in ready["entries"].as_array().into_iter().flatten() {
                let reason = json!({"kind": "work_published", "because": "follows", "target": "artist:1",
                    "person": null, "score": null});
                ensure!(entry["reasons"] == json!([reason]), "{entry}");
                found.extend(entry["subject"].as_str().map(str::to_owned));
            }
        }
        ensure!(found.iter().map(String::as_str).eq(subjects.iter().copied()), "{read:?}");
        Ok(())
    }

    fn check_quarantine(&self) -> Result<()> {
        self.wait_holds(&|| Ok(self.house.get_json("/admin/quarantine").is_ok()))
            .context("what was put aside")?;
        let items = self.house.get_json("/admin/quarantine")?;
        let topic = self.topic("works");
        let [item] = items.as_array().map_or(&[][..], Vec::as_slice) else { anyhow::bail!("{items}") };
        let place = (&item["topic"], &item["partition"], &item["offset"]);
        ensure!(place == (&json!(topic), &json!(0), &json!(1)), "{item}");
        let reason = item["reason"].as_str().unwrap_or_default();
        ensure!(reason.contains("the registry has no schema 2147483647"), "{item}");
        Ok(())
    }

    fn append_unknown(&self) -> Result<()> {
        let topic = self.topic("works").into();
        let value = Some(UNKNOWN.to_vec());
        let record = NewRecord { topic, partition: 0, key: b"8".to_vec(), value, headers: Vec::new() };
        let log = KafkaTopics::open(Settings::for_brokers(engines::kafka()?), Clock::real(0))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(log.append(vec![record]))?)
    }

    fn send_change(&self, what: &str, more: &[&str], data: &Value) -> Result<()> {
        let data = data.to_string();
        let arguments = [&["--source", "shop", "--type", what, "--data", &data], more].concat();
        self.python("send-change", &arguments).map(drop)
    }

    fn send_work(&self, schema: &str, row: &Value) -> Result<Value> {
        self.send_row("works", schema, row)
    }

    /// Where it lies, and under which schema.
    fn send_row(&self, topic: &str, schema: &str, row: &Value) -> Result<Value> {
        let (topic, schema) = (self.topic(topic), upstream_folder().join(schema).display().to_string());
        let arguments =
            ["--topic", &topic, "--schema", &schema, "--value", &row.to_string(), "--partitions", "1"];
        self.python("send-row", &arguments)?.pop().context("it does not say where it lies")
    }

    fn topic(&self, name: &str) -> String {
        format!("{}.{name}", self.name)
    }

    /// Has their program do something; what it printed.
    fn python(&self, command: &str, arguments: &[&str]) -> Result<Vec<Value>> {
        let mut team = Command::new(python()?);
        team.arg(project_root().join("tests/python/upstream.py"));
        team.args(["--kafka", engines::kafka()?, "--registry", engines::registry()?]);
        team.args(["--prefix", &format!("{}.", self.name), command]).args(arguments);
        let output = team.output().context("their program cannot be run")?;
        let (said, complaint) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{command} {arguments:?}: {}: {said}{complaint}", output.status);
        Ok(said.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    /// Waits until this is so, and no longer than the house lives.
    fn wait_holds(&self, what: &dyn Fn() -> Result<bool>) -> Result<()> {
        wait_until(PATIENCE, &|| {
            ensure!(self.house.exit_status().is_none(), "the house ended");
            what()
        })
    }
}

/// The catalogue of this run, whose topics are its own.
fn write_catalogue(folder: &Path, name: &str) -> Result<PathBuf> {
    let folder = folder.join("catalogue");
    fs::create_dir(&folder)?;
    for file in ["catalogue.yaml", "mail.mjml", "mail.txt"] {
        let text = fs::read_to_string(upstream_folder().join(file)).context(file)?;
        fs::write(folder.join(file), text.replace("UPSTREAM", name))?;
    }
    Ok(folder)
}

fn upstream_folder() -> PathBuf {
    project_root().join("tests/real/upstream")
}

fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
