//! The merge as a table, the refusals with the nearest name, and that no secret is ever shown.

mod access;
mod hooks;
mod key_hashes;
mod mail;
mod person_tokens;
mod push;
mod returns;
mod slips;
mod table;
mod tenants;

use std::{io, path::Path};

use secrecy::ExposeSecret as _;
use topic_kafka::settings::{SaslMechanism, StampSource};

use super::{ConfigError, EngineConfig, FlagValue, MergedConfig, listing, values};

const SECRET: &str = "correct-horse-battery";
/// What links could be signed with.
const HEX: &str = "5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2";
/// As little as production engines need.
const PRODUCTION: [(&str, &str); 3] = [
    ("TIDINGS_ENGINE", "production"),
    ("TIDINGS_KAFKA_BROKERS", "k:9092"),
    ("TIDINGS_CQL_CONTACT_POINTS", "c:9042"),
];

/// What other keys go together with.
const COMPLETE: [(&str, &str); 11] = [
    ("TIDINGS_KAFKA_TLS", "true"),
    ("TIDINGS_KAFKA_USER", "u"),
    ("TIDINGS_KAFKA_PASSWORD", "p"),
    ("TIDINGS_CQL_TLS", "true"),
    ("TIDINGS_CQL_CA", "ca.pem"),
    ("TIDINGS_CQL_USER", "u"),
    ("TIDINGS_CQL_PASSWORD", "p"),
    ("TIDINGS_REGISTRY_URL", "https://r"),
    ("TIDINGS_REGISTRY_USER", "u"),
    ("TIDINGS_REGISTRY_PASSWORD", "p"),
    ("TIDINGS_TRACES_ENDPOINT", "http://t:4318"),
];

fn read_fake_file(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some("secret" | "conf/secret") => Ok(format!("{SECRET}\n")),
        Some("hex") => Ok(format!("{HEX}\n")),
        Some("tokens" | "conf/tokens") => Ok("new-0123456789abcdef\n\nold-0123456789abcdef\n".to_owned()),
        Some("empty") => Ok("\n".to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn merge_values(
    file: &str,
    environment: &[(&str, &str)],
    flags: &[(&'static str, &'static str, &str)],
) -> Result<MergedConfig, ConfigError> {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let flags = flags.iter().map(|(name, flag, text)| FlagValue { name, flag, text: (*text).to_owned() });
    let file = (!file.is_empty()).then_some((Path::new("tidings.yaml"), file));
    values::merge_layers(file, environment, flags.collect(), read_fake_file)
}

fn show_value(merged: &MergedConfig, name: &str) -> String {
    let line = listing::config_lines(merged).into_iter().find(|line| line.name == name).unwrap();
    format!("{} ({})", line.value, line.source)
}

#[test]
fn the_later_source_wins() {
    let check = |file: &str,
                 environment: &[(&str, &str)],
                 flags: &[(&'static str, &'static str, &str)],
                 name: &str,
                 expected: &str| {
        assert_eq!(show_value(&merge_values(file, environment, flags).unwrap(), name), expected);
    };
    let (env, flag) = (("TIDINGS_DATA_DIR", "/e"), ("data_dir", "--data-dir", "/f"));
    check("", &[], &[], "data_dir", ".tidings (default)");
    check("data_dir: x\n", &[], &[], "data_dir", "x (tidings.yaml:1:11)");
    check("data_dir: x\n", &[env], &[], "data_dir", "/e (environment TIDINGS_DATA_DIR)");
    check("data_dir: x\n", &[env], &[flag], "data_dir", "/f (flag --data-dir)");
    check("", &[], &[], "catalogue", "- (default)");
    check("disk_reserve: 1 GiB", &[], &[], "disk_reserve", "1024 MiB (tidings.yaml:1:15)");
    check("disk_reserve: 1000", &[], &[], "disk_reserve", "1000 (tidings.yaml:1:15)");
    check("log:\n  format: json\n", &[], &[], "log.format", "json (tidings.yaml:2:11)");
    check("demo: true", &[("TIDINGS_DEMO", "false")], &[], "demo", "false (environment TIDINGS_DEMO)");
    check("# nothing\n", &[], &[], "listen", "127.0.0.1:7280 (default)");
    check("", &[], &[], "public_url", "- (default)");
    let public = "https://mail.example.org";
    let expected = "https://mail.example.org (environment TIDINGS_PUBLIC_URL)";
    check("public_url: https://x.example", &[("TIDINGS_PUBLIC_URL", public)], &[], "public_url", expected);
    check("listen: '[::1]:0'", &[], &[], "listen", "[::1]:0 (tidings.yaml:1:9)");
}

#[test]
fn every_key_of_production_is_read_and_shown() {
    let check = |name: &str, variable: &str, value: &str, expected: &str| {
        // The last one wins.
        let environment = [&PRODUCTION[..], &COMPLETE[..], &[(variable, value)]].concat();
        let merged =
            merge_values("", &environment, &[]).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        assert_eq!(show_value(&merged, name), format!("{expected} (environment {variable})"));
    };
    check("engine", "TIDINGS_ENGINE", "production", "production");
    check("partitions", "TIDINGS_PARTITIONS", "8", "8");
    check("day_life", "TIDINGS_DAY_LIFE", "400", "400");
    check("outbox", "TIDINGS_OUTBOX", "/o", "/o");
    check("kafka.brokers", "TIDINGS_KAFKA_BROKERS", "a:1,b:2", "a:1,b:2");
    check("kafka.prefix", "TIDINGS_KAFKA_PREFIX", "t.", "t.");
    check("kafka.protocol", "TIDINGS_KAFKA_PROTOCOL", "consumer", "consumer");
    check("kafka.instance", "TIDINGS_KAFKA_INSTANCE", "digest-0", "digest-0");
    check("kafka.replication", "TIDINGS_KAFKA_REPLICATION", "5", "5");
    check("kafka.min_insync", "TIDINGS_KAFKA_MIN_INSYNC", "3", "3");
    check("kafka.session", "TIDINGS_KAFKA_SESSION", "10s", "10s");
    check("kafka.transaction", "TIDINGS_KAFKA_TRANSACTION", "2m", "2m");
    check("kafka.user", "TIDINGS_KAFKA_USER", "ann", "ann");
    check("kafka.mechanism", "TIDINGS_KAFKA_MECHANISM", "plain", "plain");
    check("kafka.tls", "TIDINGS_KAFKA_TLS", "true", "true");
    check("kafka.ca", "TIDINGS_KAFKA_CA", "/ca.pem", "/ca.pem");
    check(
        "kafka.properties",
        "TIDINGS_KAFKA_PROPERTIES",
        "{client.id: x, debug: 'a,b'}",
        "client.id=x, debug=a,b",
    );
    check("cql.contact_points", "TIDINGS_CQL_CONTACT_POINTS", "a:1, b:2", "a:1, b:2");
    check("cql.keyspace", "TIDINGS_CQL_KEYSPACE", "k1", "k1");
    check("cql.datacenter", "TIDINGS_CQL_DATACENTER", "dc1", "dc1");
    check("cql.replication", "TIDINGS_CQL_REPLICATION", "{dc1: 3, dc2: 2}", "dc1=3, dc2=2");
    check("cql.user", "TIDINGS_CQL_USER", "ann", "ann");
    check("cql.tls", "TIDINGS_CQL_TLS", "true", "true");
    check("cql.ca", "TIDINGS_CQL_CA", "/ca.pem", "/ca.pem");
    check("cql.in_flight", "TIDINGS_CQL_IN_FLIGHT", "64", "64");
    check("cql.timeout", "TIDINGS_CQL_TIMEOUT", "750ms", "750ms");
    check("registry.url", "TIDINGS_REGISTRY_URL", "http://r:8081/", "http://r:8081/");
    check("registry.user", "TIDINGS_REGISTRY_USER", "ann", "ann");
    check("registry.ca", "TIDINGS_REGISTRY_CA", "/ca.pem", "/ca.pem");
}

#[test]
fn what_is_known_of_production_engines_is_what_was_said() {
    let file = "engine: production\n\
        secret_file: hex\n\
        kafka:\n  brokers: [a:1, b:2]\n  user: ann\n  password_file: secret\n  mechanism: SCRAM-SHA-256\n  \
        tls: true\n  certificate: c.pem\n  key: k.pem\n  replication: 1\n  min_insync: 1\n  properties:\n    client.id: x\n\
        cql:\n  contact_points: [c:9042]\n  replication: {dc1: 3}\n  user: bob\n  password: \"0123\"\n\
        registry:\n  url: https://r/\n";
    let merged = merge_values(file, &[], &[]).unwrap();
    assert!(merged.config.secret.is_some());
    let EngineConfig::Production(engines) = &merged.config.engine else {
        panic!("{:?}", merged.config.engine)
    };
    let (kafka, cql) = (&engines.kafka, &engines.cql);
    assert_eq!((kafka.brokers.as_str(), kafka.stamps), ("a:1,b:2", StampSource::Broker));
    let login = kafka.security.login.as_ref().unwrap();
    assert_eq!(
        (login.user.as_str(), login.password.expose_secret(), login.mechanism),
        ("ann", SECRET, SaslMechanism::ScramSha256)
    );
    let tls = kafka.security.tls.as_ref().unwrap();
    assert_eq!((tls.ca.as_deref(), tls.certificate.as_deref()), (None, Some(Path::new("c.pem"))));
    assert_eq!(kafka.more["client.id"], "x");
    assert_eq!((cql.contact_points.len(), cql.replication["dc1"]), (1, 3));
    assert_eq!(cql.login.as_ref().unwrap().password.expose_secret(), "0123");
    assert_eq!(engines.registry.as_ref().unwrap().urls, ["https://r"]);
    // Only a clock that can be moved says itself when something was.
    let demo = values::merge_layers(
        Some((Path::new("f"), &format!("demo: true\n{file}"))),
        [],
        vec![],
        read_fake_file,
    )
    .unwrap();
    let EngineConfig::Production(engines) = &demo.config.engine else { panic!("no engines") };
    assert_eq!(engines.kafka.stamps, StampSource::Clock);
}

#[test]
fn what_is_wrong_with_production_is_refused_with_its_place() {
    let check = |file: &str, expected: &str| {
        let refused = merge_values(file, &PRODUCTION, &[]).err().map(|refused| refused.to_string());
        assert_eq!(refused.as_deref(), Some(expected), "{file}");
    };
    check(
        "kafka: {replicaton: 3}",
        "tidings.yaml:1:9: unknown key `kafka.replicaton`; did you mean `kafka.replication`?",
    );
    check("kafka: {replication: 0}", "tidings.yaml:1:22: kafka.replication: `0` is not a positive integer");
    check(
        "kafka: {min_insync: 4}",
        "tidings.yaml:1:21: kafka.min_insync: 4 is more than `kafka.replication`, which is 3",
    );
    check(
        "kafka: {protocol: new}",
        "tidings.yaml:1:19: kafka.protocol: `new` is not one of `classic`, `consumer`",
    );
    check(
        "kafka: {session: 45}",
        "tidings.yaml:1:18: kafka.session: `45` is not a duration, such as 45s, 500ms or 2m",
    );
    check("kafka: {user: ann}", "tidings.yaml:1:15: kafka.user: user and password must both be set");
    check("kafka: {password: 123}", "tidings.yaml:1:19: `kafka.password` must be a text: quote it");
    check(
        "kafka: {user: ann, password: x, password_file: secret}",
        "tidings.yaml:1:48: set `kafka.password` or `kafka.password_file`, not both",
    );
    check(
        "kafka: {user: ann, password_file: none}",
        "tidings.yaml:1:35: none: entity not found\ntidings.yaml:1:15: kafka.user: user and password must \
        both be set",
    );
    check("kafka: {ca: x}", "tidings.yaml:1:13: kafka.ca: has no effect without `kafka.tls: true`");
    check("kafka: {tls: true, key: x}", "tidings.yaml:1:25: kafka.key: certificate and key must both be set");
    check(
        "kafka: {properties: {sasl.password: x}}",
        "tidings.yaml:1:21: kafka.properties: has `sasl.password`, a secret, but properties are shown; use \
        `kafka.password` or `kafka.key`",
    );
    check(
        "kafka: {properties: x}",
        "tidings.yaml:1:21: `kafka.properties` must be a map of names and values",
    );
    check(
        "cql: {keyspace: A-b}",
        "tidings.yaml:1:17: cql.keyspace: `A-b` is not a keyspace: a lower-case letter, then lower-case \
        letters, digits and `_`, 40 at most",
    );
    check("cql: {tls: true}", "tidings.yaml:1:12: cql.tls: needs `cql.ca`");
    check(
        "cql: {replication: {dc1: many}}",
        "tidings.yaml:1:20: cql.replication: has `dc1: many`, which is not a positive integer",
    );
    check(
        "registry: {user: ann}",
        "tidings.yaml:1:18: registry.user: has no effect without `registry.url`\ntidings.yaml:1:18: \
        registry.user: user and password must both be set",
    );
    check(
        "registry: {url: 'https://ann:x@r'}",
        "tidings.yaml:1:17: registry.url: `https://ann:x@r` is not an address, such as \
        https://registry.example.org",
    );
    check("partitions: 2000", "tidings.yaml:1:13: partitions: `2000` is not a number from 1 to 1024");
    check(
        "secret: abc",
        "tidings.yaml:1:9: `secret` must be 64 hexadecimal digits (`openssl rand -hex 32`); older secrets \
        go below it, one a line, 4 at most",
    );
}

#[test]
fn an_engine_has_the_keys_that_it_needs_and_no_others() {
    let only = |environment: &[(&str, &str)], expected: &str| {
        assert_eq!(merge_values("", environment, &[]).unwrap_err().to_string(), expected);
    };
    only(
        &[("TIDINGS_ENGINE", "kafka")],
        "environment TIDINGS_ENGINE: engine: `kafka` is not one of `embedded`, `production`",
    );
    only(
        &PRODUCTION[..2],
        "environment TIDINGS_ENGINE: `engine: production` needs `cql.contact_points` (TIDINGS_CQL_CONTACT_POINTS)",
    );
    only(
        &PRODUCTION[1..2],
        "environment TIDINGS_KAFKA_BROKERS: `kafka.brokers` is for `engine: production`; the engine is \
        `embedded`, which does not use it",
    );
    only(
        &[("TIDINGS_KAFKA_BROKER", "x")],
        "environment: unknown variable TIDINGS_KAFKA_BROKER; did you mean TIDINGS_KAFKA_BROKERS?",
    );
    only(
        &[("TIDINGS_KAFKA_PASSWORD_FIL", "x")],
        "environment: unknown variable TIDINGS_KAFKA_PASSWORD_FIL; did you mean TIDINGS_KAFKA_PASSWORD_FILE?",
    );
}

#[test]
fn properties_that_are_ours_are_refused() {
    let check = |name: &str, says: &str| {
        let file = format!("kafka: {{properties: {{client.id: a, {name}: x}}}}");
        let refused = merge_values(&file, &PRODUCTION, &[]).unwrap_err().to_string();
        assert_eq!(refused, format!("tidings.yaml:1:21: kafka.properties: has `{name}`, {says}"));
    };
    check("group.id", "which is set by `kafka.prefix`");
    check("bootstrap.servers", "which is set by `kafka.brokers`");
    check("session.timeout.ms", "which is set by `kafka.session`");
    for name in ["isolation.level", "enable.idempotence", "acks", "enable.auto.commit", "max.in.flight"] {
        check(name, "which cannot be set: delivery guarantees depend on it");
    }
}

#[test]
fn a_refused_map_says_nothing_of_its_values() {
    let check = |map: &str| {
        for (file, environment) in [
            (format!("kafka: {{properties: {map}}}"), vec![]),
            (String::new(), vec![("TIDINGS_KAFKA_PROPERTIES", map)]),
        ] {
            let environment: Vec<_> = PRODUCTION.into_iter().chain(environment).collect();
            let refused = merge_values(&file, &environment, &[]).unwrap_err();
            let said = format!("{refused} {refused:?}");
            assert!(!said.contains(SECRET), "{said}");
        }
    };
    check(&format!("{{sasl.password: {SECRET}}}"));
    check(&format!("{{SASL.Password: {SECRET}}}"));
    check(&format!("{{client.id: {SECRET}, acks: all}}"));
    check(&format!("{{sasl.password: [{SECRET}]}}"));
    check(&format!("{{sasl.password: {SECRET}"));
    check(SECRET);
}

#[test]
fn paths_of_the_file_are_meant_from_its_folder() {
    let file =
        Some((Path::new("conf/tidings.yaml"), "data_dir: d\napi_keys: [{tenant: t, key_file: secret}]\n"));
    let merged = values::merge_layers(file, [], vec![], read_fake_file).unwrap();
    assert_eq!(merged.config.data_dir, Path::new("conf/d"));
    assert_eq!(merged.config.api_keys.len(), 1);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let check = |file: &str, environment: &[(&str, &str)], expected: &str| {
        let refused = merge_values(file, environment, &[]).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{file}");
    };
    check("tennant: x", &[], "tidings.yaml:1:1: unknown key `tennant`; did you mean `tenant`?");
    check("log:\n  fliter: x", &[], "tidings.yaml:2:3: unknown key `log.fliter`; did you mean `log.filter`?");
    check("colour: x", &[], "tidings.yaml:1:1: unknown key `colour`; `tidings config` lists the known ones");
    check(
        "listen: here",
        &[],
        "tidings.yaml:1:9: listen: `here` is not an address and port, such as 127.0.0.1:7280",
    );
    check("log: {format: xml}", &[], "tidings.yaml:1:15: log.format: `xml` is neither `text` nor `json`");
    check("tenant: a\ntenant: b", &[], "tidings.yaml:2:1: this key is given twice: tenant");
    check("- a", &[], "tidings.yaml:1:1: a configuration must be a map of keys");
    check(
        "public_url: http://mail.example.org",
        &[],
        "tidings.yaml:1:13: public_url: `http://mail.example.org` is not encrypted: use https, except for \
        this machine",
    );
    check("tenant: [a]", &[], "tidings.yaml:1:9: `tenant` must be one value");
    check(
        "disk_reserve: 1 MB",
        &[],
        "tidings.yaml:1:15: disk_reserve: `1 MB` is not a size, such as 256 MiB",
    );
    check("", &[("TIDINGS_DEMO", "yes")], "environment TIDINGS_DEMO: demo: `yes` is neither true nor false");
    check(
        "",
        &[("TIDINGS_TENNANT", "x")],
        "environment: unknown variable TIDINGS_TENNANT; did you mean TIDINGS_TENANT?",
    );
    check(
        "listen: x\ndemo: maybe\n",
        &[],
        "tidings.yaml:1:9: listen: `x` is not an address and port, such as 127.0.0.1:7280\n\
         tidings.yaml:2:7: demo: `maybe` is neither true nor false",
    );
}

#[test]
fn variables_that_an_orchestrator_sets_are_left_alone() {
    let set =
        ["PORT", "PORT_7280_TCP", "PORT_7280_TCP_ADDR", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP"];
    for name in set.map(|name| format!("TIDINGS_{name}")) {
        merge_values("", &[(&name, "tcp://10.0.0.1:7280")], &[]).unwrap();
    }
    merge_values("", &[("TIDINGS_STOP_AT", "x:1"), ("TIDINGS_KILLS", "5")], &[]).unwrap();
}

#[test]
fn beyond_this_machine_there_are_keys() {
    let refused = merge_values("listen: 0.0.0.0:80", &[], &[]).unwrap_err().to_string();
    assert!(refused.contains("0.0.0.0:80 can be reached from other machines"), "{refused}");
    merge_values("listen: 0.0.0.0:80", &[("TIDINGS_API_KEY", SECRET)], &[]).unwrap();
    let short = merge_values("", &[("TIDINGS_API_KEY", "short")], &[]).unwrap_err().to_string();
    assert_eq!(short, "environment TIDINGS_API_KEY: an API key must have at least 16 characters");
}

#[test]
fn keys_have_one_source_and_are_texts() {
    let check = |keys: &str, expected: &str| {
        let refused = merge_values(&format!("api_keys: {keys}"), &[], &[]).unwrap_err().to_string();
        assert!(refused.contains(expected), "{keys}: {refused}");
    };
    check("[{tenant: t, key: a, key_file: b}]", "not both");
    check("[{tenant: t}]", "needs `key`, `key_file` or `hash`");
    check("[{tenant: t, key: 00012345678901234}]", "`key` must be a text: quote it");
    check("[{tenant: t, kee: a}]", "did you mean `key`?");
    check("[{tenant: t, key_file: nowhere}]", "nowhere: ");
    check("key", "must be a list of");
    check(
        &format!("[{{tenant: a, key: {SECRET}}}, {{tenant: b, key_file: secret}}]"),
        "two tenants have this API key: each needs its own",
    );
    merge_values(
        &format!("api_keys: [{{tenant: a, key: {SECRET}}}, {{tenant: a, key_file: secret}}]"),
        &[],
        &[],
    )
    .unwrap();
}

#[test]
fn no_secret_is_ever_shown() {
    let file = format!("api_keys: [{{tenant: t, key: {SECRET}}}]");
    for (file, environment) in [
        (file.as_str(), vec![]),
        ("", vec![("TIDINGS_API_KEY", SECRET)]),
        ("", vec![("TIDINGS_API_KEY_FILE", "secret")]),
        ("api_keys: [{tenant: t, key_file: secret}]", vec![]),
    ] {
        let merged = merge_values(file, &environment, &[]).unwrap();
        assert_eq!(merged.config.api_keys.len(), 1);
        for text in [
            format!("{merged:?}"),
            format!("{:?}", listing::config_lines(&merged)),
            listing::config_as_json(&merged).to_string(),
            show_value(&merged, "api_keys"),
        ] {
            assert!(!text.contains(SECRET), "{text}");
        }
        assert!(show_value(&merged, "api_keys").contains("***"));
    }
    for (name, variable, value) in [
        ("secret", "TIDINGS_SECRET", HEX),
        ("secret", "TIDINGS_SECRET_FILE", "hex"),
        ("kafka.password", "TIDINGS_KAFKA_PASSWORD", SECRET),
        ("kafka.password", "TIDINGS_KAFKA_PASSWORD_FILE", "secret"),
        ("cql.password", "TIDINGS_CQL_PASSWORD", SECRET),
        ("registry.password", "TIDINGS_REGISTRY_PASSWORD", SECRET),
        ("traces.headers", "TIDINGS_TRACES_HEADERS", "x-key: correct-horse-battery"),
    ] {
        let others = COMPLETE.into_iter().filter(|(other, _)| !variable.starts_with(other));
        let environment: Vec<_> = PRODUCTION.into_iter().chain(others).chain([(variable, value)]).collect();
        let merged = merge_values("", &environment, &[]).unwrap();
        assert_eq!(show_value(&merged, name), format!("*** (environment {variable})"));
        let lines = format!("{:?}", listing::config_lines(&merged));
        for text in [format!("{merged:?}"), lines, listing::config_as_json(&merged).to_string()] {
            assert!(!text.contains(SECRET) && !text.contains(HEX), "{text}");
        }
    }
}

/// The host's name, and what becomes of it: who comes back under a name is waited for.
#[test]
fn a_pod_of_a_stateful_set_has_a_name_of_its_own() {
    let check = |host: &[(&str, &str)], instance: &str, session: &str| {
        let environment = [&PRODUCTION[..], &COMPLETE[..], host].concat();
        let merged = merge_values("", &environment, &[]).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(show_value(&merged, "kafka.instance"), instance, "{host:?}");
        assert_eq!(show_value(&merged, "kafka.session"), session, "{host:?}");
    };
    let pod = |host: &'static str| [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("HOSTNAME", host)];
    let (none, short) = ("- (default)", "10s (default)");
    check(&[], none, short);
    check(&[("HOSTNAME", "digest-0")], none, short);
    check(&pod("digest-0"), "digest-0 (environment HOSTNAME)", "45s (default)");
    check(&pod("tidings-fanout-12"), "tidings-fanout-12 (environment HOSTNAME)", "45s (default)");
    check(&pod("digest-7d9f8b6c5-x2x4z"), none, short);
    check(&pod("digest-7d9f8b6c5-24589"), none, short);
    check(&pod("-0"), none, short);
    let named = [&pod("digest-7d9f8b6c5-x2x4z")[..], &[("TIDINGS_KAFKA_INSTANCE", "d0")]].concat();
    check(&named, "d0 (environment TIDINGS_KAFKA_INSTANCE)", "45s (default)");
}

#[test]
fn what_a_reload_leaves_as_it_was_is_named() {
    let check = |before: &str, after: &str, expected: &[&str]| {
        let config = |file: &str| merge_values(file, &[], &[]).unwrap().config;
        assert_eq!(config(before).find_restart_keys(&config(after)), expected, "{before} {after}");
    };
    let token = |token: &str| format!("access_tokens: [{{role: read, token: {token}}}]");
    check("", "", &[]);
    // These are taken up.
    check("", "catalogue: shop\nlog: {filter: debug}\ngeoip: {database: cities.mmdb}", &[]);
    check("", "listen: 127.0.0.1:1\ntenant: shop", &["listen", "tenant"]);
    check("", "catalogue_watch: true", &["catalogue_watch"]);
    check("", "limits: {lag: 7}", &["limits or tenants"]);
    // A secret shows itself nowhere, and counts all the same.
    check(&token("first-token-of-all"), &token("first-token-of-all"), &[]);
    check(&token("first-token-of-all"), &token("other-token-of-all"), &["access_tokens"]);
    // Keys come and go; but who began with the page open does not lock it.
    let key = |key: &str| format!("api_keys: [{{tenant: t, key: {key}}}]");
    check(&key("0123456789abcdef0"), &key("0123456789abcdef1"), &[]);
    let locks = ["the first or the last of `api_keys` and `access_tokens`"];
    check("", &key("0123456789abcdef0"), &locks);
    check(&key("0123456789abcdef0"), "", &locks);
    check("", "person_tokens: [{issuer: i, keys_file: keys.json}]", &[]);
}
