//! What can be set, and where.

use courier_net::push::{apns, fcm};

/// One thing that can be set in the file, in the environment and mostly by a flag.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// In the file; a dot goes one level down.
    pub name: &'static str,
    pub environment: &'static str,
    /// What holds without being set; `None` is nothing at all.
    pub default: Option<&'static str>,
    pub help: &'static str,
    pub form: KeyForm,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
    One,
    /// Meant from the folder of the file in which it stands.
    Path,
    /// A list, or one text with commas; kept as that text.
    List,
    /// A map, also in the environment: `{a: 1}`; kept as lines of `a=1`.
    Map,
    /// Never shown; `<name>_file` names a file that holds it.
    Secret,
    ApiKeys,
}

impl ConfigKey {
    /// Whether only production engines know it.
    pub fn is_of_production(&self) -> bool {
        ["kafka.", "cql.", "registry."].iter().any(|section| self.name.starts_with(section))
    }
}

const fn key(
    name: &'static str,
    environment: &'static str,
    default: Option<&'static str>,
    help: &'static str,
) -> ConfigKey {
    ConfigKey { name, environment, default, help, form: KeyForm::One }
}

const fn key_of_form(
    form: KeyForm,
    name: &'static str,
    environment: &'static str,
    help: &'static str,
) -> ConfigKey {
    ConfigKey { name, environment, default: None, help, form }
}

pub const DATA_DIR: &str = "data_dir";
pub const ENGINE: &str = "engine";
pub const LISTEN: &str = "listen";
pub const PUBLIC_URL: &str = "public_url";
pub const TENANT: &str = "tenant";
pub const CATALOGUE: &str = "catalogue";
pub const API_KEYS: &str = "api_keys";
pub const SECRET: &str = "secret";
pub const OUTBOX: &str = "outbox";
pub const MAIL_WAYS: &str = "mail.ways";
pub const MAIL_CA: &str = "mail.ca";
pub const MAIL_NAME: &str = "mail.name";
pub const MAIL_DKIM: &str = "mail.dkim";
pub const MAIL_RETURNS: &str = "mail.returns";
pub const MAIL_PROVIDER: &str = "mail.provider";
pub const MAIL_INTAKE: &str = "mail.intake";
pub const PUSH_CA: &str = "push.ca";
pub const APNS_KEY: &str = "apns.key";
pub const APNS_KEY_ID: &str = "apns.key_id";
pub const APNS_TEAM_ID: &str = "apns.team_id";
pub const APNS_TOPIC: &str = "apns.topic";
pub const APNS_URL: &str = "apns.url";
pub const APNS_PER_SECOND: &str = "apns.per_second";
pub const FCM_ACCOUNT: &str = "fcm.account";
pub const FCM_URL: &str = "fcm.url";
pub const FCM_PER_SECOND: &str = "fcm.per_second";
pub const WEBPUSH_KEY: &str = "webpush.key";
pub const WEBPUSH_SUBJECT: &str = "webpush.subject";
pub const WEBPUSH_HOSTS: &str = "webpush.hosts";
pub const WEBPUSH_PER_SECOND: &str = "webpush.per_second";
pub const HOOKS_CHANNELS: &str = "hooks.channels";
pub const HOOKS_SECRET: &str = "hooks.secret";
pub const HOOKS_CA: &str = "hooks.ca";
pub const HOOKS_HOSTS: &str = "hooks.hosts";
pub const HOOKS_PER_SECOND: &str = "hooks.per_second";
pub const PARTITIONS: &str = "partitions";
pub const DISK_RESERVE: &str = "disk_reserve";
pub const PRESENCE_URL: &str = "presence.url";
pub const DEMO: &str = "demo";
pub const LOG_FILTER: &str = "log.filter";
pub const LOG_FORMAT: &str = "log.format";
pub const LIMITS_LAG: &str = "limits.lag";
pub const LIMITS_CATALOGUE: &str = "limits.catalogue";
pub const LIMITS_HAND_OVER: &str = "limits.hand_over";

/// The engines of one machine, or of many.
pub const EMBEDDED: &str = "embedded";
pub const PRODUCTION: &str = "production";

/// All keys, in the order in which they are shown.
pub const KEYS: [ConfigKey; 76] = [
    ConfigKey {
        form: KeyForm::Path,
        ..key(DATA_DIR, "TIDINGS_DATA_DIR", Some(".tidings"), "where everything is kept")
    },
    key(
        ENGINE,
        "TIDINGS_ENGINE",
        Some(EMBEDDED),
        "`embedded`: everything in the data directory; `production`: Kafka and ScyllaDB or Cassandra",
    ),
    key(
        LISTEN,
        "TIDINGS_LISTEN",
        Some("127.0.0.1:7280"),
        "address of page and HTTP; port 0 takes a free one",
    ),
    key(
        PUBLIC_URL,
        "TIDINGS_PUBLIC_URL",
        None,
        "the address by which readers of mails reach it, for the links in them; the one it listens on unless set",
    ),
    key(TENANT, "TIDINGS_TENANT", Some("main"), "whose events and persons these are, where nobody says"),
    key_of_form(KeyForm::Path, CATALOGUE, "TIDINGS_CATALOGUE", "folder of the catalogue"),
    key_of_form(
        KeyForm::ApiKeys,
        API_KEYS,
        "TIDINGS_API_KEY",
        "who may speak for which tenant; needed beyond this machine",
    ),
    key_of_form(
        KeyForm::Secret,
        SECRET,
        "TIDINGS_SECRET",
        "what the links of mails are signed with, 64 hexadecimal digits, and below it a line for each of before; the one in the data directory unless set",
    ),
    key_of_form(
        KeyForm::Path,
        OUTBOX,
        "TIDINGS_OUTBOX",
        "folder of the mails, the same for all processes that send; in the data directory unless set",
    ),
    key_of_form(
        KeyForm::Secret,
        MAIL_WAYS,
        "TIDINGS_MAIL_WAYS",
        "mail servers, a list of addresses or one a line: `smtp://user:password@mail.example.com:587`; mails go to the outbox unless set",
    ),
    key_of_form(
        KeyForm::Path,
        MAIL_CA,
        "TIDINGS_MAIL_CA",
        "who vouches for the mail servers, a PEM file; whom browsers trust unless set",
    ),
    key(
        MAIL_NAME,
        "TIDINGS_MAIL_NAME",
        None,
        "what this house calls itself before mail servers; the host of `public_url` unless set",
    ),
    key_of_form(
        KeyForm::Path,
        MAIL_DKIM,
        "TIDINGS_MAIL_DKIM",
        "folder of the keys that mails are signed with, as `tidings dkim` makes them; unsigned unless set",
    ),
    key(
        MAIL_RETURNS,
        "TIDINGS_MAIL_RETURNS",
        None,
        "the domain to which mails come back, such as returns.example.com; to their senders unless set, and then nobody hears of it",
    ),
    key(
        MAIL_PROVIDER,
        "TIDINGS_MAIL_PROVIDER",
        None,
        "`ses`, `postmark` or `sendgrid`, where one takes mails further: it is told what to say of each",
    ),
    key(
        MAIL_INTAKE,
        "TIDINGS_MAIL_INTAKE",
        None,
        "address at which mails to that domain are taken, such as 0.0.0.0:25; none are unless set",
    ),
    key_of_form(
        KeyForm::Path,
        PUSH_CA,
        "TIDINGS_PUSH_CA",
        "who vouches for the services of pushes, a PEM file; whom browsers trust unless set",
    ),
    key_of_form(
        KeyForm::Secret,
        APNS_KEY,
        "TIDINGS_APNS_KEY",
        "the key for Apple's devices, in PEM as Apple gives it out; they are not reached unless set, and without any service pushes go to the outbox",
    ),
    key(APNS_KEY_ID, "TIDINGS_APNS_KEY_ID", None, "by which id Apple knows the key"),
    key(APNS_TEAM_ID, "TIDINGS_APNS_TEAM_ID", None, "whose key it is"),
    key(APNS_TOPIC, "TIDINGS_APNS_TOPIC", None, "the app's bundle id"),
    key(
        APNS_URL,
        "TIDINGS_APNS_URL",
        Some(apns::ROOT),
        "Apple's service; https://api.sandbox.push.apple.com for apps that are being made",
    ),
    key(APNS_PER_SECOND, "TIDINGS_APNS_PER_SECOND", None, "pushes a second to Apple at most, of one process"),
    key_of_form(
        KeyForm::Secret,
        FCM_ACCOUNT,
        "TIDINGS_FCM_ACCOUNT",
        "the service account for Android's devices, JSON as Google gives it out; they are not reached unless set",
    ),
    key(FCM_URL, "TIDINGS_FCM_URL", Some(fcm::ROOT), "Google's service"),
    key(FCM_PER_SECOND, "TIDINGS_FCM_PER_SECOND", None, "pushes a second to Google at most, of one process"),
    key_of_form(
        KeyForm::Secret,
        WEBPUSH_KEY,
        "TIDINGS_WEBPUSH_KEY",
        "the key for browsers (VAPID), in PEM or as 32 bytes in base64; they are not reached unless set",
    ),
    key(
        WEBPUSH_SUBJECT,
        "TIDINGS_WEBPUSH_SUBJECT",
        None,
        "where a browser's service finds somebody to talk to: `mailto:` or `https:`",
    ),
    key_of_form(
        KeyForm::List,
        WEBPUSH_HOSTS,
        "TIDINGS_WEBPUSH_HOSTS",
        "hosts of push services of one's own, which may be on a network of one's own",
    ),
    key(
        WEBPUSH_PER_SECOND,
        "TIDINGS_WEBPUSH_PER_SECOND",
        None,
        "pushes a second to each service of browsers at most, of one process",
    ),
    key_of_form(
        KeyForm::List,
        HOOKS_CHANNELS,
        "TIDINGS_HOOKS_CHANNELS",
        "the hooks that are called, such as `webhook`; messages of the others go to the outbox",
    ),
    key_of_form(
        KeyForm::Secret,
        HOOKS_SECRET,
        "TIDINGS_HOOKS_SECRET",
        "what the keys of webhooks are made of, at least 32 characters; with another line calls are signed by both",
    ),
    key_of_form(
        KeyForm::Path,
        HOOKS_CA,
        "TIDINGS_HOOKS_CA",
        "who vouches for those who are called, a PEM file; whom browsers trust unless set",
    ),
    key_of_form(
        KeyForm::List,
        HOOKS_HOSTS,
        "TIDINGS_HOOKS_HOSTS",
        "hosts that may be called on a network of one's own; otherwise only what all the world can reach",
    ),
    key(
        HOOKS_PER_SECOND,
        "TIDINGS_HOOKS_PER_SECOND",
        None,
        "calls a second to each host at most, of one process",
    ),
    key(
        PARTITIONS,
        "TIDINGS_PARTITIONS",
        Some("64"),
        "into how many parts persons and subjects are divided; for life",
    ),
    key(
        DISK_RESERVE,
        "TIDINGS_DISK_RESERVE",
        Some("256 MiB"),
        "disk that is never used: intake stops before",
    ),
    key(
        PRESENCE_URL,
        "TIDINGS_PRESENCE_URL",
        None,
        "the product's service that knows whose app is connected, for surfaces that say `ask: live`; nobody is asked unless set",
    ),
    key(
        DEMO,
        "TIDINGS_DEMO",
        Some("false"),
        "a clock that can be moved forward, and a little world to begin with",
    ),
    key(
        LOG_FILTER,
        "TIDINGS_LOG_FILTER",
        Some("info,scylla=off"),
        "what is logged, such as `info,digest=debug`",
    ),
    key(LOG_FORMAT, "TIDINGS_LOG_FORMAT", Some("text"), "`text` or `json`"),
    key(
        LIMITS_LAG,
        "TIDINGS_LIMITS_LAG",
        Some("100000"),
        "records a stage may be behind before intake answers 429",
    ),
    key(
        LIMITS_CATALOGUE,
        "TIDINGS_LIMITS_CATALOGUE",
        Some("10m"),
        "how long what a newer catalogue wrote waits for a process that has it, before one with an older goes on",
    ),
    key(
        LIMITS_HAND_OVER,
        "TIDINGS_LIMITS_HAND_OVER",
        Some("2m"),
        "how long handing over one message may take; a killed sender's message waits as long",
    ),
    key_of_form(KeyForm::List, KAFKA_BROKERS, "TIDINGS_KAFKA_BROKERS", "some brokers, as host:port"),
    key(KAFKA_PREFIX, "TIDINGS_KAFKA_PREFIX", Some(""), "before the names of topics and groups"),
    key(
        KAFKA_PROTOCOL,
        "TIDINGS_KAFKA_PROTOCOL",
        Some("classic"),
        "how groups share partitions: `classic`, or `consumer` (KIP-848, Kafka 4.0 and newer)",
    ),
    key(
        KAFKA_INSTANCE,
        "TIDINGS_KAFKA_INSTANCE",
        None,
        "this process's own name, under which a restart within the session keeps its partitions; the host's in a StatefulSet",
    ),
    key(KAFKA_REPLICATION, "TIDINGS_KAFKA_REPLICATION", Some("3"), "brokers that keep each record"),
    key(
        KAFKA_MIN_INSYNC,
        "TIDINGS_KAFKA_MIN_INSYNC",
        Some("2"),
        "brokers that must have a record before it counts",
    ),
    key(
        KAFKA_SESSION,
        "TIDINGS_KAFKA_SESSION",
        None,
        "after how much silence a process counts as gone (protocol classic); 45s with `kafka.instance`, else 10s",
    ),
    key(
        KAFKA_TRANSACTION,
        "TIDINGS_KAFKA_TRANSACTION",
        Some("60s"),
        "how long a transaction may take before the brokers end it",
    ),
    key(KAFKA_USER, "TIDINGS_KAFKA_USER", None, "who we are to the brokers"),
    key_of_form(KeyForm::Secret, KAFKA_PASSWORD, "TIDINGS_KAFKA_PASSWORD", "and the password"),
    key(
        KAFKA_MECHANISM,
        "TIDINGS_KAFKA_MECHANISM",
        Some("scram-sha-512"),
        "how the password is proved: `plain`, `scram-sha-256` or `scram-sha-512`",
    ),
    key(KAFKA_TLS, "TIDINGS_KAFKA_TLS", Some("false"), "whether connections are encrypted"),
    key_of_form(
        KeyForm::Path,
        KAFKA_CA,
        "TIDINGS_KAFKA_CA",
        "who vouches for the brokers, a PEM file; whom the machine trusts unless set",
    ),
    key_of_form(
        KeyForm::Path,
        KAFKA_CERTIFICATE,
        "TIDINGS_KAFKA_CERTIFICATE",
        "our certificate, a PEM file, where brokers ask for one",
    ),
    key_of_form(KeyForm::Path, KAFKA_KEY, "TIDINGS_KAFKA_KEY", "the key of our certificate, a PEM file"),
    key_of_form(
        KeyForm::Map,
        KAFKA_PROPERTIES,
        "TIDINGS_KAFKA_PROPERTIES",
        "properties of librdkafka that have no key here: `{socket.keepalive.enable: true}`",
    ),
    key_of_form(KeyForm::List, CQL_CONTACT_POINTS, "TIDINGS_CQL_CONTACT_POINTS", "some nodes, as host:port"),
    key(CQL_KEYSPACE, "TIDINGS_CQL_KEYSPACE", Some("tidings"), "the keyspace; its journal has one beside it"),
    key(CQL_DATACENTER, "TIDINGS_CQL_DATACENTER", None, "our data centre, where the cluster has several"),
    key_of_form(
        KeyForm::Map,
        CQL_REPLICATION,
        "TIDINGS_CQL_REPLICATION",
        "copies in each data centre, `{dc1: 3}`; unless set 3, or 1 where there is one node",
    ),
    key(CQL_USER, "TIDINGS_CQL_USER", None, "who we are to the nodes"),
    key_of_form(KeyForm::Secret, CQL_PASSWORD, "TIDINGS_CQL_PASSWORD", "and the password"),
    key(CQL_TLS, "TIDINGS_CQL_TLS", Some("false"), "whether connections are encrypted"),
    key_of_form(
        KeyForm::Path,
        CQL_CA,
        "TIDINGS_CQL_CA",
        "who vouches for the nodes, a PEM file; their certificates must name their IP addresses",
    ),
    key_of_form(
        KeyForm::Path,
        CQL_CERTIFICATE,
        "TIDINGS_CQL_CERTIFICATE",
        "our certificate, a PEM file, where nodes ask for one",
    ),
    key_of_form(KeyForm::Path, CQL_KEY, "TIDINGS_CQL_KEY", "the key of our certificate, a PEM file"),
    key(CQL_IN_FLIGHT, "TIDINGS_CQL_IN_FLIGHT", Some("256"), "requests that are under way at once, at most"),
    key(CQL_TIMEOUT, "TIDINGS_CQL_TIMEOUT", Some("5s"), "how long one request may take"),
    key_of_form(
        KeyForm::List,
        REGISTRY_URL,
        "TIDINGS_REGISTRY_URL",
        "the schema registry, by the root of its Confluent API; none unless set",
    ),
    key(REGISTRY_USER, "TIDINGS_REGISTRY_USER", None, "who we are to the registry"),
    key_of_form(KeyForm::Secret, REGISTRY_PASSWORD, "TIDINGS_REGISTRY_PASSWORD", "and the password"),
    key_of_form(
        KeyForm::Path,
        REGISTRY_CA,
        "TIDINGS_REGISTRY_CA",
        "who vouches for the registry, a PEM file; whom the machine trusts unless set",
    ),
];

pub const KAFKA_BROKERS: &str = "kafka.brokers";
pub const KAFKA_PREFIX: &str = "kafka.prefix";
pub const KAFKA_PROTOCOL: &str = "kafka.protocol";
pub const KAFKA_INSTANCE: &str = "kafka.instance";
pub const KAFKA_REPLICATION: &str = "kafka.replication";
pub const KAFKA_MIN_INSYNC: &str = "kafka.min_insync";
pub const KAFKA_SESSION: &str = "kafka.session";
pub const KAFKA_TRANSACTION: &str = "kafka.transaction";
pub const KAFKA_USER: &str = "kafka.user";
pub const KAFKA_PASSWORD: &str = "kafka.password";
pub const KAFKA_MECHANISM: &str = "kafka.mechanism";
pub const KAFKA_TLS: &str = "kafka.tls";
pub const KAFKA_CA: &str = "kafka.ca";
pub const KAFKA_CERTIFICATE: &str = "kafka.certificate";
pub const KAFKA_KEY: &str = "kafka.key";
pub const KAFKA_PROPERTIES: &str = "kafka.properties";
pub const CQL_CONTACT_POINTS: &str = "cql.contact_points";
pub const CQL_KEYSPACE: &str = "cql.keyspace";
pub const CQL_DATACENTER: &str = "cql.datacenter";
pub const CQL_REPLICATION: &str = "cql.replication";
pub const CQL_USER: &str = "cql.user";
pub const CQL_PASSWORD: &str = "cql.password";
pub const CQL_TLS: &str = "cql.tls";
pub const CQL_CA: &str = "cql.ca";
pub const CQL_CERTIFICATE: &str = "cql.certificate";
pub const CQL_KEY: &str = "cql.key";
pub const CQL_IN_FLIGHT: &str = "cql.in_flight";
pub const CQL_TIMEOUT: &str = "cql.timeout";
pub const REGISTRY_URL: &str = "registry.url";
pub const REGISTRY_USER: &str = "registry.user";
pub const REGISTRY_PASSWORD: &str = "registry.password";
pub const REGISTRY_CA: &str = "registry.ca";

/// What the name of a secret ends with where a file holds it, in the file and in the environment.
pub const FILE_SUFFIX: &str = "_file";
pub const FILE_SUFFIX_VARIABLE: &str = "_FILE";
/// The file that holds the one API key that the environment may give.
pub const API_KEY_FILE_VARIABLE: &str = "TIDINGS_API_KEY_FILE";
/// Fewer characters than this are no key.
pub const API_KEY_CHARS_MIN: usize = 16;

pub fn find_key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}
