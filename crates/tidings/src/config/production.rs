//! The keys of Kafka, CQL and the registry.

use std::{collections::BTreeMap, path::PathBuf};

use secrecy::SecretString;
use topic_kafka::settings::{Login, Mechanism, Protocol, Replication, Security, Stamps, Tls};

use super::{
    keys::{
        CQL_CA, CQL_CERTIFICATE, CQL_CONTACT_POINTS, CQL_DATACENTER, CQL_IN_FLIGHT, CQL_KEY, CQL_KEYSPACE,
        CQL_PASSWORD, CQL_REPLICATION, CQL_TIMEOUT, CQL_TLS, CQL_USER, KAFKA_BROKERS, KAFKA_CA,
        KAFKA_CERTIFICATE, KAFKA_INSTANCE, KAFKA_KEY, KAFKA_MECHANISM, KAFKA_MIN_INSYNC, KAFKA_PASSWORD,
        KAFKA_PREFIX, KAFKA_PROPERTIES, KAFKA_PROTOCOL, KAFKA_REPLICATION, KAFKA_SESSION, KAFKA_TLS,
        KAFKA_TRANSACTION, KAFKA_USER, REGISTRY_CA, REGISTRY_PASSWORD, REGISTRY_URL, REGISTRY_USER,
    },
    merge::{Merge, Setting, Source},
    parse::{addresses, duration, parsed, word},
    settle::path,
};

/// What is known of the engines that others run.
#[derive(Clone, Debug)]
pub struct Production {
    pub kafka: topic_kafka::Settings,
    pub cql: store_cql::Settings,
    pub registry: Option<Registry>,
}

/// A schema registry.
#[derive(Clone, Debug)]
pub struct Registry {
    pub urls: Vec<String>,
    pub user: Option<String>,
    pub password: Option<SecretString>,
    pub ca: Option<PathBuf>,
}

const PROTOCOLS: &[(&str, Protocol)] = &[("classic", Protocol::Classic), ("consumer", Protocol::Consumer)];
const MECHANISMS: &[(&str, Mechanism)] = &[
    ("plain", Mechanism::Plain),
    ("scram-sha-256", Mechanism::ScramSha256),
    ("scram-sha-512", Mechanism::ScramSha512),
];
/// A process with a name of its own comes back and keeps its partitions, so others wait for it; one without never does.
const SESSION_OF_NAMED: &str = "45s";
const SESSION_OF_NAMELESS: &str = "10s";
const SWITCH: &str = "is neither true nor false";
/// What a property that must not be shown has in its name.
const SECRETS: [&str; 5] = ["password", "passphrase", "secret", ".pem", "token"];
/// Properties that are not the operator's, and the key that says it instead. Where there is none our promises
/// rest on it: with another value records would be lost, read twice, or read before they are decided.
const OURS: &[(&str, Option<&str>)] = &[
    ("acks", None),
    ("auto.commit.enable", None),
    ("auto.offset.reset", None),
    ("bootstrap.servers", Some(KAFKA_BROKERS)),
    ("enable.auto.commit", None),
    ("enable.auto.offset.store", None),
    ("enable.idempotence", None),
    ("enable.partition.eof", None),
    ("group.id", Some(KAFKA_PREFIX)),
    ("group.instance.id", Some(KAFKA_INSTANCE)),
    ("group.protocol", Some(KAFKA_PROTOCOL)),
    ("isolation.level", None),
    ("max.in.flight", None),
    ("max.in.flight.requests.per.connection", None),
    ("metadata.broker.list", Some(KAFKA_BROKERS)),
    ("partition.assignment.strategy", Some(KAFKA_PROTOCOL)),
    ("request.required.acks", None),
    ("sasl.mechanism", Some(KAFKA_MECHANISM)),
    ("sasl.mechanisms", Some(KAFKA_MECHANISM)),
    ("sasl.username", Some(KAFKA_USER)),
    ("security.protocol", Some(KAFKA_TLS)),
    ("session.timeout.ms", Some(KAFKA_SESSION)),
    ("ssl.ca.location", Some(KAFKA_CA)),
    ("ssl.certificate.location", Some(KAFKA_CERTIFICATE)),
    ("ssl.key.location", Some(KAFKA_KEY)),
    ("transaction.timeout.ms", Some(KAFKA_TRANSACTION)),
    ("transactional.id", Some(KAFKA_PREFIX)),
];

/// All of it, or `None` with the reasons noted.
pub fn settle(merge: &mut Merge<'_>, demo: bool) -> Option<Production> {
    let kafka = kafka(merge, demo);
    let cql = cql(merge);
    let registry = registry(merge);
    Some(Production { kafka: kafka?, cql: cql?, registry })
}

fn kafka(merge: &mut Merge<'_>, demo: bool) -> Option<topic_kafka::Settings> {
    let brokers = required(merge, KAFKA_BROKERS, addresses);
    let prefix = merge.take(KAFKA_PREFIX, topic_name);
    let protocol = merge.take(KAFKA_PROTOCOL, word(PROTOCOLS));
    if merge.source(KAFKA_INSTANCE).is_none()
        && let Some(host) = merge.host.clone()
    {
        let source = Source::Environment("HOSTNAME".to_owned());
        merge.settings.insert(KAFKA_INSTANCE, Setting { text: host, source });
    }
    let instance = merge.take(KAFKA_INSTANCE, topic_name).filter(|name| !name.is_empty());
    let factor = merge.take(KAFKA_REPLICATION, from_one);
    let min_insync = merge.take(KAFKA_MIN_INSYNC, from_one);
    if merge.source(KAFKA_SESSION).is_none() {
        let text = if instance.is_some() { SESSION_OF_NAMED } else { SESSION_OF_NAMELESS }.to_owned();
        merge.settings.insert(KAFKA_SESSION, Setting { text, source: Source::Default });
    }
    let session = merge.take(KAFKA_SESSION, duration);
    let transaction = merge.take(KAFKA_TRANSACTION, duration);
    let mechanism = merge.take(KAFKA_MECHANISM, word(MECHANISMS));
    let login = login(merge, KAFKA_USER, KAFKA_PASSWORD);
    let tls = tls(merge, KAFKA_TLS, [KAFKA_CA, KAFKA_CERTIFICATE, KAFKA_KEY]);
    let more = merge.take(KAFKA_PROPERTIES, properties);
    if let (Some(factor), Some(min_insync)) = (factor, min_insync)
        && min_insync > factor
    {
        let why = format!("of {factor} brokers that keep a record {min_insync} cannot have it");
        refuse(merge, KAFKA_MIN_INSYNC, &why);
    }
    let login = match login {
        Some((user, password)) => Some(Login { mechanism: mechanism?, user, password }),
        None => None,
    };
    let tls = tls.map(|[ca, certificate, key]| Tls { ca, certificate, key });
    Some(topic_kafka::Settings {
        prefix: prefix?,
        security: Security { tls, login },
        protocol: protocol?,
        instance,
        replication: Replication { factor: factor?, min_insync: min_insync? },
        // A clock that can be moved is the only one that may say when something was.
        stamps: if demo { Stamps::Clock } else { Stamps::Broker },
        session: session?,
        transaction: transaction?,
        more: more.unwrap_or_default(),
        ..topic_kafka::Settings::at(&brokers?.join(","))
    })
}

fn cql(merge: &mut Merge<'_>) -> Option<store_cql::Settings> {
    let contact_points = required(merge, CQL_CONTACT_POINTS, addresses);
    let keyspace = merge.take(CQL_KEYSPACE, keyspace);
    let datacenter = merge.take(CQL_DATACENTER, |text| Ok(text.to_owned())).filter(|name| !name.is_empty());
    let replication = merge.take(CQL_REPLICATION, copies);
    let in_flight = merge.take(CQL_IN_FLIGHT, from_one);
    let timeout = merge.take(CQL_TIMEOUT, duration);
    let login = login(merge, CQL_USER, CQL_PASSWORD);
    let tls = match tls(merge, CQL_TLS, [CQL_CA, CQL_CERTIFICATE, CQL_KEY]) {
        Some([Some(ca), certificate, key]) => Some(store_cql::Tls { ca, certificate, key }),
        Some([None, ..]) => {
            refuse(merge, CQL_TLS, &format!("needs `{CQL_CA}`"));
            None
        }
        None => None,
    };
    let contact_points = contact_points?;
    Some(store_cql::Settings {
        datacenter,
        replication: replication.unwrap_or_default(),
        login: login.map(|(user, password)| store_cql::Login { user, password }),
        tls,
        in_flight_max: in_flight?,
        timeout: timeout?,
        ..store_cql::Settings::at(contact_points.first()?, &keyspace?)
    })
    .map(|settings| store_cql::Settings { contact_points, ..settings })
}

fn registry(merge: &mut Merge<'_>) -> Option<Registry> {
    let urls = merge.take(REGISTRY_URL, urls);
    let user = merge.take(REGISTRY_USER, |text| Ok(text.to_owned()));
    let password = merge.secrets.get(REGISTRY_PASSWORD).map(|(password, _)| password.clone());
    let ca = merge.take(REGISTRY_CA, path);
    if merge.source(REGISTRY_URL).is_none() {
        for name in [REGISTRY_USER, REGISTRY_PASSWORD, REGISTRY_CA] {
            if merge.source(name).is_some() {
                refuse(merge, name, &format!("is of no use without `{REGISTRY_URL}`"));
            }
        }
    }
    if user.is_some() != password.is_some() {
        let name = if user.is_some() { REGISTRY_USER } else { REGISTRY_PASSWORD };
        refuse(merge, name, "user and password go together");
    }
    Some(Registry { urls: urls?, user, password, ca })
}

/// User and password, which go together.
fn login(
    merge: &mut Merge<'_>,
    user: &'static str,
    password: &'static str,
) -> Option<(String, SecretString)> {
    let name = merge.take(user, |text| Ok(text.to_owned()));
    let secret = merge.secrets.get(password).map(|(secret, _)| secret.clone());
    match (name, secret) {
        (Some(name), Some(secret)) => Some((name, secret)),
        (None, None) => None,
        (name, _) => {
            refuse(merge, if name.is_some() { user } else { password }, "user and password go together");
            None
        }
    }
}

/// The three files of an encrypted connection; refused where it is not encrypted.
fn tls(merge: &mut Merge<'_>, on: &'static str, files: [&'static str; 3]) -> Option<[Option<PathBuf>; 3]> {
    let is_on = merge.take(on, parsed::<bool>(SWITCH)).unwrap_or(true);
    let paths = files.map(|name| merge.take(name, path));
    if !is_on {
        for name in files.into_iter().filter(|name| merge.source(name).is_some()).collect::<Vec<_>>() {
            refuse(merge, name, &format!("is of no use without `{on}: true`"));
        }
        return None;
    }
    if let [_, certificate, key] = &paths
        && certificate.is_some() != key.is_some()
    {
        refuse(
            merge,
            if certificate.is_some() { files[1] } else { files[2] },
            "a certificate and its key go together",
        );
    }
    Some(paths)
}

fn required<T>(
    merge: &mut Merge<'_>,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    if merge.source(name).is_none() {
        let variable = super::keys::get(name).map_or("", |key| key.environment);
        let source = merge.source(super::keys::ENGINE).cloned().unwrap_or(Source::Default);
        merge.refuse(&source, format!("`engine: production` needs `{name}` ({variable})"));
    }
    merge.take(name, parse)
}

fn refuse(merge: &mut Merge<'_>, name: &'static str, why: &str) {
    let source = merge.source(name).cloned().unwrap_or(Source::Default);
    merge.refuse(&source, format!("{name}: {why}"));
}

/// What Kafka takes for a part of a name.
fn topic_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.len() <= 100 && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("has other characters than letters, digits, `.`, `_` and `-`, or more than 100".to_owned())
}

fn keyspace(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    // The journal's adds its own word, and 48 is the end.
    if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.len() <= 40 && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("is no keyspace: a small letter, then small letters, digits and `_`, 40 at most".to_owned())
}

fn from_one<T: std::str::FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number: Option<T> = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "is no whole number from 1 on".to_owned())
}

fn pairs(lines: &str) -> impl Iterator<Item = (&str, &str)> {
    lines.lines().filter_map(|line| line.split_once('='))
}

fn copies(lines: &str) -> Result<BTreeMap<String, u16>, String> {
    let one = |(name, copies): (&str, &str)| {
        let number = from_one(copies).map_err(|why| format!("has `{name}: {copies}`, which {why}"))?;
        Ok((name.to_owned(), number))
    };
    pairs(lines).map(one).collect()
}

/// What is wrong with one of them is said without its value: it may be a secret.
fn properties(lines: &str) -> Result<BTreeMap<String, String>, String> {
    let one = |(name, value): (&str, &str)| {
        let word = name.trim().to_ascii_lowercase();
        if SECRETS.iter().any(|secret| word.contains(secret)) {
            return Err(format!(
                "has `{name}`, a secret, and properties are shown; `{KAFKA_PASSWORD}` and `{KAFKA_KEY}` are not"
            ));
        }
        match OURS.iter().find(|(ours, _)| *ours == word) {
            Some((_, Some(key))) => Err(format!("has `{name}`, which is said by `{key}`")),
            Some((_, None)) => Err(format!("has `{name}`, on which promises of ours rest; it cannot be set")),
            None => Ok((name.to_owned(), value.to_owned())),
        }
    };
    pairs(lines).map(one).collect()
}

fn urls(text: &str) -> Result<Vec<String>, String> {
    let one = |url: &str| {
        // Name and password have keys of their own, and this is shown.
        let fits = catalogue::is_web_url(url) && !url.contains('@');
        if fits { Ok(url.trim_end_matches('/').to_owned()) } else { Err(()) }
    };
    let all: Result<Vec<String>, ()> = text.split(',').map(|url| one(url.trim())).collect();
    all.map_err(|()| "is no address such as https://registry.example.org".to_owned())
}
