//! `migrate` and `run` as an operator meets them: the real program on real engines, its exit codes and its words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex,
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use tempfile::TempDir;
use topic::{NewRecord, TopicRetention, TopicSpec, Topics as _};
use wire::topics;

const SECRET: &str = "5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2";
/// How long a process may take to be ready, or to do what it was told of.
const PATIENCE: Duration = Duration::from_secs(180);

fn catalogue() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kill/catalogue").display().to_string()
}

/// An installation: a part of the clusters, and a folder for each process.
struct ClusterSite {
    dir: TempDir,
    word: String,
}

impl ClusterSite {
    fn new(word: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Unlike that of any other run on the same clusters.
        let word = format!("{word}{}", dir.path().file_name().unwrap().to_string_lossy().replace('.', ""));
        Self { dir, word: word.to_lowercase() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program, with its own folder and nothing of our environment.
    fn command(&self, line: &str, more: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).env_clear();
        command.envs([
            ("TIDINGS_ENGINE", "production"),
            ("TIDINGS_KAFKA_BROKERS", engines::kafka().unwrap()),
            ("TIDINGS_KAFKA_REPLICATION", "1"),
            ("TIDINGS_KAFKA_MIN_INSYNC", "1"),
            ("TIDINGS_KAFKA_SESSION", "6s"),
            ("TIDINGS_CQL_CONTACT_POINTS", engines::cql().unwrap()),
            ("TIDINGS_CQL_KEYSPACE", self.word.as_str()),
            ("TIDINGS_KAFKA_PREFIX", &format!("{}-", self.word)),
            ("TIDINGS_PARTITIONS", "4"),
            ("TIDINGS_SECRET", SECRET),
            ("TIDINGS_LISTEN", "127.0.0.1:0"),
        ]);
        command.envs(more.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, line: &str, more: &[(&str, &str)]) -> (i32, String, String) {
        read_output(self.command(line, more).output().unwrap())
    }
}

fn read_output(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn embedded_engines_need_neither() {
    let dir = tempfile::tempdir().unwrap();
    for (line, says) in [
        ("run ingest", "`engine: production`"),
        ("migrate", "there is nothing to migrate"),
        ("migrate --check", "there is nothing to migrate"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(line.split_whitespace()).current_dir(dir.path()).env_clear();
        let (code, _, why) = read_output(command.output().unwrap());
        assert_eq!(code, 3, "{line}: {why}");
        assert!(why.contains(says), "{line}: {why}");
    }
}

#[test]
fn migrate_makes_what_is_missing_once() {
    let site = ClusterSite::new("m");
    let (code, to_do, why) = site.run("migrate --check", &[]);
    assert_eq!(code, 3, "{to_do}{why}");
    let events = format!("topic `{}-events` does not exist", site.word);
    assert!(to_do.contains(&events) && to_do.contains("does not exist: run"), "{to_do}{why}");
    let catalogue = catalogue();
    let (code, _, why) = site.run(&format!("run fanout --catalogue {catalogue}"), &[]);
    assert_eq!(code, 3, "{why}");
    assert!(why.contains("`tidings migrate`"), "{why}");

    // Two at once, and then one more.
    let both = [site.command("migrate", &[]).spawn().unwrap(), site.command("migrate", &[]).spawn().unwrap()];
    for one in both {
        let (code, done, why) = read_output(one.wait_with_output().unwrap());
        assert_eq!(code, 0, "{done}{why}");
    }
    assert_eq!(site.run("migrate", &[]).1, "nothing to do\n");
    let (code, to_do, why) = site.run("migrate --check", &[]);
    assert_eq!((code, to_do.as_str()), (0, "nothing to do\n"), "{why}");

    // A count is for life.
    for line in ["migrate", &format!("run fanout --catalogue {catalogue}")] {
        let (code, said, why) = site.run(line, &[("TIDINGS_PARTITIONS", "8")]);
        assert_eq!(code, 3, "{line}: {said}{why}");
        let names = ["events", "slices", "inbox", "pending", "windows", "ready-urgent", "ready"];
        let names = names.map(|name| format!("`{}-{name}`", site.word)).join(", ");
        let says = format!(
            "`partitions` is 8, and these topics have 4: {names}; set it to 4, or change the topics with \
            `tidings repartition --to 8`\n"
        );
        assert!(why.ends_with(&says) && !why.contains("migrate"), "{line}: {said}{why}");
    }
    // A slip in the settings is said to be one.
    let line = format!("run fanout --catalogue {catalogue}");
    for (variable, value, says) in [
        (
            "TIDINGS_CQL_KEYSPACE",
            "nothing_here",
            "the keyspace nothing_here does not exist: run `tidings migrate`",
        ),
        ("TIDINGS_CQL_DATACENTER", "nowhere", "the cluster has no data centre `nowhere`"),
    ] {
        let (code, _, why) = site.run(&line, &[(variable, value)]);
        assert_eq!(code, 3, "{variable}: {why}");
        assert!(why.contains(says) && !why.contains("broken"), "{variable}: {why}");
    }
    for (variable, says) in [
        ("TIDINGS_KAFKA_BROKERS", "Kafka, `kafka.brokers` at 127.0.0.1:1: "),
        ("TIDINGS_CQL_CONTACT_POINTS", "the store, `cql.contact_points` at 127.0.0.1:1: "),
    ] {
        let (code, _, why) = site.run("days ann", &[(variable, "127.0.0.1:1")]);
        assert_eq!(code, 1, "{variable}: {why}");
        assert!(why.contains(says) && !why.contains("busy"), "{variable}: {why}");
    }
    let settings = [
        ("TIDINGS_KAFKA_USER", "ann"),
        ("TIDINGS_KAFKA_PASSWORD", "wrong"),
        ("TIDINGS_KAFKA_MECHANISM", "plain"),
    ];
    for line in ["migrate", "migrate --check", &line] {
        let (code, _, why) = site.run(line, &settings);
        assert_eq!(code, 3, "{line}: {why}");
        assert!(
            why.contains("`kafka.brokers`") && why.contains("Kafka rejected the credentials"),
            "{line}: {why}"
        );
    }
    // Nobody signs with a secret of its own.
    let (code, _, why) = read_output(
        site.command(&format!("run sender --catalogue {catalogue}"), &[])
            .env_remove("TIDINGS_SECRET")
            .output()
            .unwrap(),
    );
    assert_eq!(code, 3, "{why}");
    assert!(why.contains("same `secret`"), "{why}");
}

#[test]
fn rooms_in_processes_are_a_house() {
    let site = ClusterSite::new("r");
    let (code, _, why) = site.run("migrate", &[]);
    assert_eq!(code, 0, "{why}");
    let catalogue = catalogue();
    let start = |rooms: &str, dir: &str| {
        let outbox = site.path("outbox").display().to_string();
        let line = format!("run {rooms} --catalogue {catalogue} --data-dir {dir}");
        ClusterProcess::start(site.command(&line, &[("TIDINGS_OUTBOX", &outbox)]))
    };
    let ingest = start("ingest", "i");
    let others = [start("fanout digest", "o"), start("sender keeper", "o"), start("sender", "s")];
    for process in others.iter().chain([&ingest]) {
        process.wait_until("/health/ready", |status, text| status == 200 && text == "ready\n");
        assert_eq!(process.get("/health/live").0, 200);
        process.wait_until("/metrics", |status, text| {
            status == 200 && text.contains("tidings_consumergroup_lag{")
        });
    }
    // Each tells of its own rooms, a keeper of all, and only the way in lets anything in.
    let tells_fanout = |process: &ClusterProcess| {
        let (_, text) = process.get("/metrics");
        let of_lag = text.lines().filter(|line| line.starts_with("tidings_consumergroup_lag_seconds{"));
        of_lag.into_iter().any(|line| line.contains("fanout\","))
    };
    assert_eq!(others.each_ref().map(tells_fanout), [true, true, false]);
    assert_eq!(others[0].get("/").0, 404);
    assert_eq!(ingest.get("/").0, 200);

    for line in [
        "person ann name=Ann zone=UTC email=ann@example.org --data-dir i",
        "follow ann author:7 --data-dir i",
        "publish post.published post:1 author=author:7 title=Moon public=true --data-dir i",
    ] {
        let (code, said, why) = site.run(line, &[]);
        assert_eq!(code, 0, "{line}: {said}{why}");
    }
    ingest.wait_until("/", |_, text| text.contains("/person?id=ann"));
    let (code, said, why) = site.run("release --plan morning --person ann --data-dir i", &[]);
    assert_eq!(code, 0, "{said}{why}");
    ingest.wait_until("/outbox", |_, text| text.contains("1 news"));
    let (code, days, why) = site.run("days ann --data-dir i", &[]);
    assert_eq!(code, 0, "{why}");
    assert!(days.contains("post:1"), "{days}");

    // Where nothing runs on this directory, the house may run elsewhere.
    let replay = "replay events --last 1h --execute --data-dir elsewhere";
    let (code, _, why) = site.run(replay, &[]);
    assert_eq!(code, 3, "{why}");
    assert!(why.contains("a house runs on these engines") && why.contains("TIDINGS_CATALOGUE"), "{why}");
    let knows = [("TIDINGS_CATALOGUE", catalogue.as_str())];
    let (code, _, why) = site.run(replay, &knows);
    assert_eq!(code, 0, "{why}");
    assert!(why.contains("done: 1 record appended\n"), "{why}");

    for process in others {
        process.stop();
    }
    ingest.stop();
    // Of all records of the topic one is a copy, which is not replayed.
    let (code, _, why) = site.run(replay, &[]);
    assert_eq!(code, 0, "{why}");
    assert!(why.contains("done: 1 record appended; they are read when the house runs"), "{why}");
    // With nobody there the engines are asked.
    let (code, again, why) = site.run("days ann --data-dir i", &[]);
    assert_eq!(code, 0, "{why}");
    assert!(again.contains("post:1"), "{again}");
    let accepted = fs::read_to_string(site.path("outbox/accepted.log")).unwrap();
    assert_eq!(accepted.lines().filter(|line| line.ends_with("first")).count(), 1, "{accepted}");
}

#[test]
fn what_others_sent_is_put_back_where_they_sent_it() {
    let site = ClusterSite::new("q");
    let (code, _, why) = site.run("migrate", &[]);
    assert_eq!(code, 0, "{why}");
    let theirs = format!("{}.theirs", site.word);
    let settings = topic_kafka::Settings {
        prefix: format!("{}-", site.word),
        foreign: [theirs.clone()].into(),
        replication: topic_kafka::settings::ReplicationSettings { factor: 1, min_insync: 1 },
        ..topic_kafka::Settings::for_brokers(engines::kafka().unwrap())
    };
    let tokio = tokio::runtime::Runtime::new().unwrap();
    let log = topic_kafka::KafkaTopics::open(settings, runtime::Clock::real(0)).unwrap();
    let record = |topic: &str, value: Vec<u8>| NewRecord {
        topic: topic.into(),
        partition: 0,
        key: vec![],
        value: Some(value),
        headers: vec![],
    };
    let item = |offset: u64| {
        let at = model::UtcMillis(0);
        let item = wire::QuarantinedRecord {
            topic: theirs.clone(),
            partition: 0,
            offset,
            appended: at,
            key: vec![],
            value: Some(b"x".to_vec()),
            headers: vec![],
            cut: true,
            reason: "no title".to_owned(),
            cause: wire::QuarantineCause::Refused,
            at,
            room: "ingest".to_owned(),
        };
        record(topics::QUARANTINE, wire::quarantine::encode(&item).unwrap())
    };
    tokio.block_on(async {
        let retention = TopicRetention::Milliseconds(1 << 40);
        log.declare(&[TopicSpec { name: theirs.as_str().into(), partitions: 1, retention }]).await.unwrap();
        log.append(vec![record(&theirs, b"whole".to_vec())]).await.unwrap();
        log.append(vec![item(0)]).await.unwrap();
    });

    let (code, _, why) = site.run("quarantine retry --all", &[]);
    assert_eq!(code, 3, "{why}");
    assert!(why.contains(&theirs) && why.contains("TIDINGS_CATALOGUE"), "{why}");
    let folder = site.path("catalogue");
    let copied = Command::new("cp").args(["-r", &catalogue(), &folder.display().to_string()]).status();
    assert!(copied.unwrap().success());
    let source = format!(
        "\nsources:\n  theirs: {{topic: {theirs}, format: json, tells: post.published, subject: '\"post:\" ~ row.id'}}\n"
    );
    let mut file = fs::OpenOptions::new().append(true).open(folder.join("catalogue.yaml")).unwrap();
    file.write_all(source.as_bytes()).unwrap();
    let (code, _, why) =
        site.run("quarantine retry --all", &[("TIDINGS_CATALOGUE", &folder.display().to_string())]);
    assert_eq!(code, 0, "{why}");
    assert_eq!(why, "1 put back\n");
    let found = tokio.block_on(log.read(&theirs, 0, 0, 10)).unwrap();
    let values: Vec<_> = found.into_iter().map(|record| record.value.unwrap()).collect();
    assert_eq!(values, [b"whole", b"whole"]);
}

/// A process that runs, and where it listens.
struct ClusterProcess {
    child: Child,
    address: String,
    lines: Mutex<Receiver<String>>,
}

impl ClusterProcess {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (sender, lines) = mpsc::sync_channel(10_000);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                drop(sender.try_send(line));
            }
        });
        let mut address = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut address).unwrap();
        let process = Self {
            child,
            address: address.trim().trim_end_matches('/').to_owned(),
            lines: Mutex::new(lines),
        };
        assert!(process.address.starts_with("http"), "{}", process.log_lines());
        std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
        process
    }

    fn get(&self, path: &str) -> (u16, String) {
        let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
        let agent: ureq::Agent = config.build().into();
        let mut answer = agent.get(format!("{}{path}", self.address)).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }

    fn wait_until(&self, path: &str, is_so: impl Fn(u16, &str) -> bool) {
        let pause = Duration::from_millis(100);
        let (_held, never) = mpsc::sync_channel::<()>(1);
        let mut last = (0, String::new());
        for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
            last = self.get(path);
            if is_so(last.0, &last.1) {
                return;
            }
            let _over = never.recv_timeout(pause);
        }
        panic!("{path}: {} {}\n{}", last.0, last.1, self.log_lines());
    }

    fn log_lines(&self) -> String {
        self.lines.lock().unwrap().try_iter().collect::<Vec<_>>().join("\n")
    }

    /// SIGTERM; it ends well.
    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        assert_eq!(code, Some(0), "{}", self.log_lines());
    }
}

impl Drop for ClusterProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
