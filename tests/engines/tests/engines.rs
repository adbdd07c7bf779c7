//! The engines are the real ones, end with whoever started them, and what is done to them happens.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use engines::{
    CassandraCluster, CassandraOptions, EngineCluster, KafkaCluster, KafkaClusterLogin, KafkaOptions,
    ToxicProxy,
};

/// The oldest request there is; every broker answers it, also before a login.
const API_VERSIONS: &[u8] = &[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0, 0];
/// Version 4 of CQL's protocol: what do you support?
const CQL_OPTIONS: &[u8] = &[4, 0, 0, 0, 5, 0, 0, 0, 0];
const CQL_SUPPORTED: u8 = 6;

/// Version 4 of CQL's protocol: let me in, `CQL_VERSION` is 3.0.0.
const CQL_STARTUP: &[u8] = b"\x04\0\0\0\x01\0\0\0\x16\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
const CQL_AUTHENTICATE: u8 = 3;
const CQL_AUTH_SUCCESS: u8 = 16;

/// Sends bytes and reads the first ones of the answer.
fn ask_bytes(address: &str, question: &[u8], patience: Duration) -> std::io::Result<[u8; 8]> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(question)?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

const PATIENCE: Duration = Duration::from_secs(120);
const MOMENT: Duration = Duration::from_millis(500);

/// One cluster at a time: two that start at once on two cores take longer than one after the other.
static CLUSTER: Mutex<()> = Mutex::new(());

fn await_turn() -> MutexGuard<'static, ()> {
    CLUSTER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kafka_answers(address: &str, patience: Duration) -> bool {
    ask_bytes(address, API_VERSIONS, patience).is_ok_and(|answer| answer[4..] == [0, 0, 0, 7])
}

#[allow(clippy::disallowed_methods, reason = "what is waited for happens in other processes")]
fn wait_until(happened: impl Fn() -> bool) {
    let happens = std::iter::repeat_with(|| thread::sleep(MOMENT)).take(240).any(|()| happened());
    assert!(happens, "it did not happen");
}

fn engines_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engines"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn one_of_each_answers_and_ends_with_the_process_that_is_killed() {
    let _turn = await_turn();
    let folders = tempfile::tempdir().unwrap();
    let errors = folders.path().join("errors");
    let mut up = engines_command(&["up"]);
    up.env("TMPDIR", folders.path()).stderr(fs::File::create(&errors).unwrap());
    let mut up = up.spawn().unwrap();
    let said = BufReader::new(up.stdout.take().unwrap()).lines().take(3);
    let said: Vec<String> = said.map(Result::unwrap).collect();
    let errors_text = fs::read_to_string(&errors).unwrap();
    fs::remove_file(&errors).unwrap();
    let [kafka, cql, registry] = ["KAFKA", "CQL", "REGISTRY"].map(|name| {
        let export = format!("export TIDINGS_{name}=");
        said.iter()
            .find_map(|line| line.strip_prefix(&export))
            .unwrap_or_else(|| panic!("no {export}: {said:?}\n{errors_text}"))
    });
    assert!(kafka_answers(kafka, PATIENCE), "{kafka}");
    assert_eq!(ask_bytes(cql, CQL_OPTIONS, PATIENCE).unwrap()[4], CQL_SUPPORTED, "{cql}");
    let subjects = ureq::get(format!("{registry}/subjects")).call().unwrap().into_body().read_to_string();
    assert_eq!(subjects.unwrap(), "[]");

    up.kill().unwrap();
    up.wait().unwrap();
    wait_until(|| TcpStream::connect(kafka).is_err() && TcpStream::connect(cql).is_err());
    wait_until(|| fs::read_dir(&folders).unwrap().next().is_none());
}

#[test]
fn a_kafka_that_was_killed_starts_again_with_its_data() {
    let _turn = await_turn();
    let kafka = KafkaCluster::start(KafkaOptions::default()).unwrap();
    let bootstrap = kafka.bootstrap();
    kafka.run_tool("TopicCommand", &["--create", "--topic", "t", "--partitions", "2"]).unwrap();
    let group = ["--group", "g", "--topic", "t:1", "--reset-offsets", "--to-latest", "--execute"];
    kafka.group_command(&group).unwrap();

    kafka.kill(0).unwrap();
    assert!(TcpStream::connect(&bootstrap).is_err());
    assert!(kafka.pause(0).is_err(), "what does not run cannot be paused");
    kafka.start_again(0).unwrap();
    assert_eq!(kafka.bootstrap(), bootstrap);
    let groups = kafka.group_command(&["--describe", "--offsets", "--group", "g"]).unwrap();
    assert!(groups.lines().any(|line| line.split_whitespace().take(4).eq(["g", "t", "1", "0"])), "{groups}");

    kafka.pause(0).unwrap();
    assert!(!kafka_answers(&bootstrap, MOMENT));
    kafka.resume(0).unwrap();
    assert!(kafka_answers(&bootstrap, PATIENCE));
}

#[test]
fn three_secured_nodes_behind_proxies_let_in_whom_they_know_and_outlive_one() {
    let _turn = await_turn();
    let options = KafkaOptions { nodes: 3, secured: true, behind_proxy: true };
    let kafka = KafkaCluster::start(options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let KafkaClusterLogin { certificates, user, password, by_certificate } = kafka.security().unwrap();
    let ca = format!("ssl.truststore.type=PEM\nssl.truststore.location={}\n", certificates.ca_pem.display());
    let login = |mechanism: &str, module: &str, password: &str| {
        let module = format!("org.apache.kafka.common.security.{module} required");
        let login = format!("sasl.jaas.config={module} username=\"{user}\" password=\"{password}\";\n");
        format!("{ca}security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n{login}")
    };
    let key = fs::read_to_string(&certificates.client_key).unwrap()
        + &fs::read_to_string(&certificates.client_pem).unwrap();
    let pair = folder.path().join("pair.pem");
    fs::write(&pair, key).unwrap();
    let certificate = format!("ssl.keystore.type=PEM\nssl.keystore.location={}\n", pair.display());
    let (scram, plain) = ("scram.ScramLoginModule", "plain.PlainLoginModule");
    let doors: &[(&str, String, bool)] = &[
        (&kafka.bootstrap(), login("SCRAM-SHA-256", scram, password), true),
        (&kafka.bootstrap(), login("SCRAM-SHA-256", scram, "guessed"), false),
        (&kafka.bootstrap(), login("PLAIN", plain, password), true),
        (by_certificate, format!("{ca}{certificate}security.protocol=SSL\n"), true),
        (by_certificate, format!("{ca}security.protocol=SSL\n"), false),
    ];
    kafka.run_tool("TopicCommand", &["--create", "--topic", "t", "--replication-factor", "3"]).unwrap();
    kafka.kill(0).unwrap();
    let config = folder.path().join("client.properties");
    for (bootstrap, properties, expect) in doors {
        // Who is let in may take its time; who is not finds that out soon, or is cut short.
        let (all, one) = if *expect { (90_000, 20_000) } else { (9_000, 3_000) };
        let times = format!("default.api.timeout.ms={all}\nrequest.timeout.ms={one}\n");
        fs::write(&config, format!("{properties}{times}")).unwrap();
        let arguments = ["--list", "--command-config", config.to_str().unwrap()];
        let topics = engines::run_kafka_tool(bootstrap, "TopicCommand", &arguments);
        assert_eq!(
            topics.as_deref().is_ok_and(|topics| topics.trim() == "t"),
            *expect,
            "{properties}{topics:?}"
        );
    }
    kafka.start_again(0).unwrap();
}

#[test]
fn three_nodes_of_cassandra_behind_proxies_ask_for_tls_and_a_login_and_outlive_one() {
    let _turn = await_turn();
    let options = CassandraOptions {
        nodes: 3,
        login: true,
        tls: true,
        behind_proxy: true,
        ..CassandraOptions::default()
    };
    let cassandra = CassandraCluster::start(options).unwrap();
    let ca = &cassandra.certificates().unwrap().ca_pem;
    let addresses = cassandra.contact_points();
    let lets_in = |address: &str, password: &str| {
        assert!(ask_bytes(address, CQL_STARTUP, PATIENCE).is_err(), "{address} answers without TLS");
        let (host, _) = address.split_once(':').unwrap();
        let mut client = Command::new("openssl");
        client.args(["s_client", "-quiet", "-verify_return_error", "-verify_ip", host, "-connect", address]);
        client.arg("-CAfile").arg(ca).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = client.spawn().unwrap();
        let (mut words, mut answers) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
        words.write_all(CQL_STARTUP).unwrap();
        let asked = cql_answer(&mut answers).unwrap();
        let login = format!("\0{}\0{password}", CassandraCluster::USER);
        let length = u8::try_from(login.len()).unwrap();
        words.write_all(&[4, 0, 0, 1, 15, 0, 0, 0, length + 4, 0, 0, 0, length]).unwrap();
        words.write_all(login.as_bytes()).unwrap();
        let came_in = cql_answer(&mut answers).unwrap();
        client.kill().unwrap();
        client.wait().unwrap();
        assert_eq!(asked.0, CQL_AUTHENTICATE, "{address}");
        // What is printed is shown if the test fails.
        println!("{address}: {}", String::from_utf8_lossy(&came_in.1));
        came_in.0 == CQL_AUTH_SUCCESS
    };
    assert!(addresses.iter().all(|address| lets_in(address, CassandraCluster::PASSWORD)));
    assert!(!lets_in(&addresses[0], "guessed"));
    cassandra.kill(1).unwrap();
    assert!(lets_in(&addresses[2], CassandraCluster::PASSWORD));
    cassandra.start_again(1).unwrap();
    assert!(lets_in(&addresses[1], CassandraCluster::PASSWORD));
}

/// Reads a frame: which answer it is, and what it says.
fn cql_answer(stream: &mut impl Read) -> std::io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let mut body = vec![0; usize::from(head[7]) * 256 + usize::from(head[8])];
    stream.read_exact(&mut body)?;
    Ok((head[4], body))
}

#[test]
fn a_proxy_delays_resets_cuts_and_heals() {
    let echo = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = ToxicProxy::start_before(&echo.local_addr().unwrap().to_string()).unwrap();
    thread::spawn(move || {
        for mut stream in echo.incoming().map_while(Result::ok) {
            let mut bytes = [0; 8];
            while stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&bytes)).is_ok() {}
        }
    });
    let echoes = |patience| ask_bytes(proxy.address(), b"12345678", patience).is_ok();
    assert!(echoes(PATIENCE));
    proxy.latency(20_000).unwrap();
    assert!(!echoes(MOMENT));
    proxy.heal().unwrap();
    proxy.latency(2_000).unwrap();
    assert!(echoes(PATIENCE));
    proxy.heal().unwrap();
    proxy.reset().unwrap();
    assert!(!echoes(PATIENCE));
    proxy.heal().unwrap();
    proxy.cut().unwrap();
    assert!(TcpStream::connect(proxy.address()).is_err());
    proxy.heal().unwrap();
    assert!(echoes(PATIENCE));
}

#[test]
fn what_is_missing_is_said_and_nothing_left_behind() {
    let folders = tempfile::tempdir().unwrap();
    let mut up = engines_command(&["up"]);
    let said = up.env("PATH", "").env_remove("JAVA_HOME").env("TMPDIR", folders.path()).output().unwrap();
    assert!(!said.status.success());
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(fs::read_dir(&folders).unwrap().next().is_none(), "something was left behind");
    assert!(said.contains("java is missing: apt-get install openjdk-17-jdk-headless maven golang"), "{said}");
}
