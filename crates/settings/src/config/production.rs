//! The keys of Kafka, CQL and the registry.

use std::{collections::BTreeMap, path::PathBuf};

use model::DayLife;
use secrecy::SecretString;
use topic_kafka::settings::{
    ClusterSecurity, GroupProtocol, KafkaLogin, KafkaTls, ReplicationSettings, SaslMechanism, StampSource,
};

use super::{
    keys::{
        CQL_CA, CQL_CERTIFICATE, CQL_CONTACT_POINTS, CQL_DATACENTER, CQL_IN_FLIGHT, CQL_KEY, CQL_KEYSPACE,
        CQL_PASSWORD, CQL_REPLICATION, CQL_TIMEOUT, CQL_TLS, CQL_USER, ConfigKey, KAFKA_BROKERS, KAFKA_CA,
        KAFKA_CERTIFICATE, KAFKA_INSTANCE, KAFKA_KEY, KAFKA_MECHANISM, KAFKA_MIN_INSYNC, KAFKA_PASSWORD,
        KAFKA_PREFIX, KAFKA_PROPERTIES, KAFKA_PROTOCOL, KAFKA_REPLICATION, KAFKA_SESSION, KAFKA_TLS,
        KAFKA_TRANSACTION, KAFKA_USER, REGISTRY_CA, REGISTRY_PASSWORD, REGISTRY_URL, REGISTRY_USER,
    },
    merge::{ConfigMerge, ConfigSource, RawSetting},
    parse::{parse_addresses, parse_as, parse_duration, parse_path, parse_word},
};

/// What is known of the engines that others run.
#[derive(Clone, Debug)]
pub struct ProductionConfig {
    pub kafka: topic_kafka::Settings,
    pub cql: store_cql::Settings,
    pub registry: Option<RegistryConfig>,
}

/// A schema registry.
#[derive(Clone, Debug)]
pub struct RegistryConfig {
    pub urls: Vec<String>,
    pub user: Option<String>,
    pub password: Option<SecretString>,
    pub ca: Option<PathBuf>,
}

const PROTOCOLS: &[(&str, GroupProtocol)] =
    &[("classic", GroupProtocol::Classic), ("consumer", GroupProtocol::Consumer)];
const MECHANISMS: &[(&str, SaslMechanism)] = &[
    ("plain", SaslMechanism::Plain),
    ("scram-sha-256", SaslMechanism::ScramSha256),
    ("scram-sha-512", SaslMechanism::ScramSha512),
];
/// A process with a name of its own comes back and keeps its partitions, so others wait for it; one without never does.
const SESSION_OF_NAMED: &str = "45s";
const SESSION_OF_NAMELESS: &str = "10s";
const SWITCH: &str = "is neither true nor false";
/// What a property that must not be shown has in its name.
const SECRETS: [&str; 5] = ["password", "passphrase", "secret", ".pem", "token"];
/// Properties that cannot be set directly, with the key that sets them instead. Those without a key must keep their
/// value: with another one records would be lost, read twice, or read before they are committed.
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
pub fn resolve_production(
    merge: &mut ConfigMerge<'_>,
    demo: bool,
    day_life: DayLife,
) -> Option<ProductionConfig> {
    let kafka = resolve_kafka(merge, demo);
    let cql = resolve_cql(merge).map(|cql| store_cql::Settings { day_life, ..cql });
    let registry = resolve_registry(merge);
    Some(ProductionConfig { kafka: kafka?, cql: cql?, registry })
}

fn resolve_kafka(merge: &mut ConfigMerge<'_>, demo: bool) -> Option<topic_kafka::Settings> {
    let brokers = take_required(merge, KAFKA_BROKERS, parse_addresses);
    let prefix = merge.take(KAFKA_PREFIX, parse_topic_name);
    let protocol = merge.take(KAFKA_PROTOCOL, parse_word(PROTOCOLS));
    if merge.source(KAFKA_INSTANCE).is_none()
        && let Some(host) = merge.host.clone()
    {
        let source = ConfigSource::Environment("HOSTNAME".to_owned());
        merge.settings.insert(KAFKA_INSTANCE, RawSetting { text: host, source });
    }
    let instance = merge.take(KAFKA_INSTANCE, parse_topic_name).filter(|name| !name.is_empty());
    let factor = merge.take(KAFKA_REPLICATION, parse_from_one);
    let min_insync = merge.take(KAFKA_MIN_INSYNC, parse_from_one);
    if merge.source(KAFKA_SESSION).is_none() {
        let text = if instance.is_some() { SESSION_OF_NAMED } else { SESSION_OF_NAMELESS }.to_owned();
        merge.settings.insert(KAFKA_SESSION, RawSetting { text, source: ConfigSource::Default });
    }
    let session = merge.take(KAFKA_SESSION, parse_duration);
    let transaction = merge.take(KAFKA_TRANSACTION, parse_duration);
    let mechanism = merge.take(KAFKA_MECHANISM, parse_word(MECHANISMS));
    let login = resolve_login(merge, KAFKA_USER, KAFKA_PASSWORD);
    let tls = resolve_tls(merge, KAFKA_TLS, [KAFKA_CA, KAFKA_CERTIFICATE, KAFKA_KEY]);
    let more = merge.take(KAFKA_PROPERTIES, parse_properties);
    if let (Some(factor), Some(min_insync)) = (factor, min_insync)
        && min_insync > factor
    {
        let why = format!("{min_insync} is more than `{KAFKA_REPLICATION}`, which is {factor}");
        refuse_key(merge, KAFKA_MIN_INSYNC, &why);
    }
    let login = match login {
        Some((user, password)) => Some(KafkaLogin { mechanism: mechanism?, user, password }),
        None => None,
    };
    let tls = tls.map(|[ca, certificate, key]| KafkaTls { ca, certificate, key });
    Some(topic_kafka::Settings {
        prefix: prefix?,
        security: ClusterSecurity { tls, login },
        protocol: protocol?,
        instance,
        replication: ReplicationSettings { factor: factor?, min_insync: min_insync? },
        // A clock that can be moved is the only one that may say when something was.
        stamps: if demo { StampSource::Clock } else { StampSource::Broker },
        session: session?,
        transaction: transaction?,
        more: more.unwrap_or_default(),
        ..topic_kafka::Settings::for_brokers(&brokers?.join(","))
    })
}

fn resolve_cql(merge: &mut ConfigMerge<'_>) -> Option<store_cql::Settings> {
    let contact_points = take_required(merge, CQL_CONTACT_POINTS, parse_addresses);
    let keyspace = merge.take(CQL_KEYSPACE, parse_keyspace);
    let datacenter = merge.take(CQL_DATACENTER, |text| Ok(text.to_owned())).filter(|name| !name.is_empty());
    let replication = merge.take(CQL_REPLICATION, parse_copies);
    let in_flight = merge.take(CQL_IN_FLIGHT, parse_from_one);
    let timeout = merge.take(CQL_TIMEOUT, parse_duration);
    let login = resolve_login(merge, CQL_USER, CQL_PASSWORD);
    let tls = match resolve_tls(merge, CQL_TLS, [CQL_CA, CQL_CERTIFICATE, CQL_KEY]) {
        Some([Some(ca), certificate, key]) => Some(store_cql::CqlTls { ca, certificate, key }),
        Some([None, ..]) => {
            refuse_key(merge, CQL_TLS, &format!("needs `{CQL_CA}`"));
            None
        }
        None => None,
    };
    let contact_points = contact_points?;
    Some(store_cql::Settings {
        datacenter,
        replication: replication.unwrap_or_default(),
        login: login.map(|(user, password)| store_cql::CqlLogin { user, password }),
        tls,
        in_flight_max: in_flight?,
        timeout: timeout?,
        ..store_cql::Settings::from_contact_points(contact_points.first()?, &keyspace?)
    })
    .map(|settings| store_cql::Settings { contact_points, ..settings })
}

fn resolve_registry(merge: &mut ConfigMerge<'_>) -> Option<RegistryConfig> {
    let urls = merge.take(REGISTRY_URL, parse_urls);
    let user = merge.take(REGISTRY_USER, |text| Ok(text.to_owned()));
    let password = merge.secrets.get(REGISTRY_PASSWORD).map(|(password, _)| password.clone());
    let ca = merge.take(REGISTRY_CA, parse_path);
    if merge.source(REGISTRY_URL).is_none() {
        for name in [REGISTRY_USER, REGISTRY_PASSWORD, REGISTRY_CA] {
            if merge.source(name).is_some() {
                refuse_key(merge, name, &format!("has no effect without `{REGISTRY_URL}`"));
            }
        }
    }
    if user.is_some() != password.is_some() {
        let name = if user.is_some() { REGISTRY_USER } else { REGISTRY_PASSWORD };
        refuse_key(merge, name, "user and password must both be set");
    }
    Some(RegistryConfig { urls: urls?, user, password, ca })
}

/// User and password, which go together.
fn resolve_login(
    merge: &mut ConfigMerge<'_>,
    user: &'static str,
    password: &'static str,
) -> Option<(String, SecretString)> {
    let name = merge.take(user, |text| Ok(text.to_owned()));
    let secret = merge.secrets.get(password).map(|(secret, _)| secret.clone());
    match (name, secret) {
        (Some(name), Some(secret)) => Some((name, secret)),
        (None, None) => None,
        (name, _) => {
            refuse_key(
                merge,
                if name.is_some() { user } else { password },
                "user and password must both be set",
            );
            None
        }
    }
}

/// The three files of an encrypted connection; refused where it is not encrypted.
fn resolve_tls(
    merge: &mut ConfigMerge<'_>,
    on: &'static str,
    files: [&'static str; 3],
) -> Option<[Option<PathBuf>; 3]> {
    let is_on = merge.take(on, parse_as::<bool>(SWITCH)).unwrap_or(true);
    let paths = files.map(|name| merge.take(name, parse_path));
    if !is_on {
        for name in files.into_iter().filter(|name| merge.source(name).is_some()).collect::<Vec<_>>() {
            refuse_key(merge, name, &format!("has no effect without `{on}: true`"));
        }
        return None;
    }
    if let [_, certificate, key] = &paths
        && certificate.is_some() != key.is_some()
    {
        refuse_key(
            merge,
            if certificate.is_some() { files[1] } else { files[2] },
            "certificate and key must both be set",
        );
    }
    Some(paths)
}

fn take_required<T>(
    merge: &mut ConfigMerge<'_>,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    if merge.source(name).is_none() {
        let variable = super::keys::find_key(name).map(ConfigKey::variable).unwrap_or_default();
        let source = merge.source(super::keys::ENGINE).cloned().unwrap_or(ConfigSource::Default);
        merge.refuse(&source, format!("`engine: production` needs `{name}` ({variable})"));
    }
    merge.take(name, parse)
}

fn refuse_key(merge: &mut ConfigMerge<'_>, name: &'static str, why: &str) {
    let source = merge.source(name).cloned().unwrap_or(ConfigSource::Default);
    merge.refuse(&source, format!("{name}: {why}"));
}

/// What Kafka takes for a part of a name.
fn parse_topic_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.len() <= 100 && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("may have only letters, digits, `.`, `_` and `-`, 100 at most".to_owned())
}

fn parse_keyspace(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    // The journal's adds its own word, and 48 is the end.
    if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.len() <= 40 && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("is not a keyspace: a lower-case letter, then lower-case letters, digits and `_`, 40 at most"
        .to_owned())
}

fn parse_from_one<T: std::str::FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number: Option<T> = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "is not a positive integer".to_owned())
}

fn split_pairs(lines: &str) -> impl Iterator<Item = (&str, &str)> {
    lines.lines().filter_map(|line| line.split_once('='))
}

fn parse_copies(lines: &str) -> Result<BTreeMap<String, u16>, String> {
    let one = |(name, copies): (&str, &str)| {
        let number = parse_from_one(copies).map_err(|why| format!("has `{name}: {copies}`, which {why}"))?;
        Ok((name.to_owned(), number))
    };
    split_pairs(lines).map(one).collect()
}

/// A problem is reported without the value, which may be a secret.
fn parse_properties(lines: &str) -> Result<BTreeMap<String, String>, String> {
    let one = |(name, value): (&str, &str)| {
        let word = name.trim().to_ascii_lowercase();
        if SECRETS.iter().any(|secret| word.contains(secret)) {
            return Err(format!(
                "has `{name}`, a secret, but properties are shown; use `{KAFKA_PASSWORD}` or `{KAFKA_KEY}`"
            ));
        }
        match OURS.iter().find(|(ours, _)| *ours == word) {
            Some((_, Some(key))) => Err(format!("has `{name}`, which is set by `{key}`")),
            Some((_, None)) => {
                Err(format!("has `{name}`, which cannot be set: delivery guarantees depend on it"))
            }
            None => Ok((name.to_owned(), value.to_owned())),
        }
    };
    split_pairs(lines).map(one).collect()
}

fn parse_urls(text: &str) -> Result<Vec<String>, String> {
    let one = |url: &str| {
        // Name and password have keys of their own, and this is shown.
        let fits = catalogue::is_web_url(url) && !url.contains('@');
        if fits { Ok(url.trim_end_matches('/').to_owned()) } else { Err(()) }
    };
    let all: Result<Vec<String>, ()> = text.split(',').map(|url| one(url.trim())).collect();
    all.map_err(|()| "is not an address, such as https://registry.example.org".to_owned())
}
