//! What can be set, and where: one table, from which come the known keys, the variables of the environment, the lines of
//! `tidings config` and the page `docs/reference/configuration.md`.

use courier_net::push::{apns, fcm};

/// One thing that can be set in the file, in the environment and mostly by a flag.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// In the file; a dot goes one level down.
    pub name: &'static str,
    pub form: KeyForm,
    /// What holds without being set; `None` is nothing at all.
    pub default: Option<&'static str>,
    pub help: &'static str,
    /// The version in which it came.
    pub since: &'static str,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count,
    /// `45s`, `500ms`, `2m`.
    Duration,
    /// `256 MiB`.
    Bytes,
    /// A number above 0, so often a second.
    Rate,
    /// `0.5%`, or `off`.
    Share,
    /// An IP address and a port.
    Address,
    Url,
    /// One of these.
    Words(&'static [&'static str]),
    /// Meant from the folder of the file in which it stands.
    Path,
    /// The same, or `none`.
    PathOrNone,
    /// A list, or one text with commas; kept as that text.
    List,
    /// A map, also in the environment: `{a: 1}`; kept as lines of `a=1`.
    Map,
    /// Never shown; `<name>_file` names a file that holds it.
    Secret,
    ApiKeys,
    /// A list, also in the environment.
    AccessTokens,
    /// The same.
    PersonTokens,
}

/// The version in which most keys came.
pub const FIRST_VERSION: &str = "0.1.0";

impl ConfigKey {
    /// Whether only production engines know it.
    pub fn is_of_production(&self) -> bool {
        ["kafka.", "cql.", "registry."].iter().any(|section| self.name.starts_with(section))
    }

    /// The variable of the environment that sets it.
    pub fn variable(&self) -> String {
        match self.name {
            API_KEYS => API_KEY_VARIABLE.to_owned(),
            name => format!("TIDINGS_{}", name.to_ascii_uppercase().replace('.', "_")),
        }
    }
}

/// The table: `CONSTANT "key.in.the.file": form = default, since "0.2.0", "help";`.
macro_rules! config_keys {
    ($($constant:ident $name:literal: $form:ident $(($words:expr))? $(= $default:expr)?,
        $(since $since:literal,)? $help:literal;)*) => {
        $(pub const $constant: &str = $name;)*

        /// All keys, in the order in which they are shown.
        pub const KEYS: &[ConfigKey] = &[$(ConfigKey {
            name: $name,
            form: KeyForm::$form $(($words))?,
            default: [$(Some($default),)? None][0],
            help: $help,
            since: [$($since,)? FIRST_VERSION][0],
        }),*];
    };
}

/// The engines of one machine, or of many.
pub const EMBEDDED: &str = "embedded";
pub const PRODUCTION: &str = "production";

config_keys! {
    DATA_DIR "data_dir": Path = ".tidings", "where everything is kept";
    ENGINE "engine": Words(&[EMBEDDED, PRODUCTION]) = EMBEDDED,
        "`embedded`: everything in the data directory; `production`: Kafka and ScyllaDB or Cassandra";
    LISTEN "listen": Address = "127.0.0.1:7280", "address of page and HTTP; port 0 takes a free one";
    PUBLIC_URL "public_url": Url,
        "the address at which readers of mails reach the house, for the links in mails; the one it listens on unless set";
    TENANT "tenant": Text = "main", "the tenant of events and persons that name none";
    CATALOGUE "catalogue": Path, "folder of the catalogue";
    CATALOGUE_WATCH "catalogue_watch": Flag = "false",
        "whether a change of the catalogue's files is taken up by itself within seconds, if it passes its check; SIGHUP asks for it in any case";
    CANARY_CATALOGUE "canary.catalogue": Path,
        "folder of a second catalogue, which a share of the persons have instead; it goes with `catalogue` when that is reloaded";
    CANARY_SHARE "canary.share": Share = "5%",
        "the share of the persons who have that catalogue, always the same ones; `off` for nobody";
    API_KEYS "api_keys": ApiKeys,
        "the keys of callers, a list of `{tenant: ..., key: ...}`; `hash` holds the SHA-256 of a key in its place, `scopes` names what it is for, of `changes`, `facts`, `feedback`, `returns` and `read`, everything unless set; a file may hold several keys or hashes, a line each, and is read again when it changes; needed where other machines reach the house";
    ACCESS_TOKENS "access_tokens": AccessTokens,
        "tokens that outlast a restart, a list of `{role: ..., token: ...}`: `metrics` opens only the metrics, `read` everything for looking, `operate` everything; a file may hold several, a line each";
    PERSON_TOKENS "person_tokens": PersonTokens,
        "the logins whose tokens say who a person is, a list of `{tenant: ..., issuer: ..., keys_url: ...}`: `audience` is `tidings` unless set, `keys_url` or `keys_file` has the public keys, a JWK set, and `origins` lists the sites whose scripts may ask";
    SECRET "secret": Secret,
        "signs the links of mails: 64 hexadecimal digits, and older secrets below them, a line each; the one in the data directory unless set";
    OUTBOX "outbox": PathOrNone,
        "folder of the messages that have no other way, the same for all processes that send; `none`: there is none, and a sender does not start while a channel of the catalogue has no way; in the data directory unless set";
    MAIL_WAYS "mail.ways": Secret,
        "mail servers, a list of addresses or one a line: `smtp://user:password@mail.example.com:587`; mails go to the outbox unless set";
    MAIL_CA "mail.ca": Path, "certificate authorities of the mail servers, a PEM file; those that browsers trust unless set";
    MAIL_NAME "mail.name": Text,
        "the name of this house in its greeting of mail servers (EHLO); the host of `public_url` unless set";
    MAIL_DKIM "mail.dkim": Path,
        "folder of the keys that mails are signed with, as `tidings dkim` makes them; unsigned unless set";
    MAIL_RETURNS "mail.returns": Text,
        "the domain to which mails come back, such as returns.example.com; unless set they come back to their senders, and the house does not hear of it";
    MAIL_PROVIDER "mail.provider": Words(&["ses", "postmark", "sendgrid"]),
        "the provider that takes mails further, if one does: it is asked to report what becomes of each";
    MAIL_INTAKE "mail.intake": Address,
        "address at which mails to the domain of `mail.returns` are taken, such as 0.0.0.0:25; none are unless set";
    PUSH_CA "push.ca": Path,
        "certificate authorities of the push services, a PEM file; those that browsers trust unless set";
    APNS_KEY "apns.key": Secret,
        "the key for Apple's devices, in PEM as Apple gives it out; they are not reached unless set, and without any service pushes go to the outbox";
    APNS_KEY_ID "apns.key_id": Text, "the id by which Apple knows the key";
    APNS_TEAM_ID "apns.team_id": Text, "the id of the team to which the key belongs";
    APNS_TOPIC "apns.topic": Text, "the app's bundle id";
    APNS_URL "apns.url": Url = apns::ROOT,
        "Apple's service; https://api.sandbox.push.apple.com for apps that are being made";
    APNS_PER_SECOND "apns.per_second": Rate, "pushes a second to Apple at most, of one process";
    FCM_ACCOUNT "fcm.account": Secret,
        "the service account for Android's devices, JSON as Google gives it out; they are not reached unless set";
    FCM_URL "fcm.url": Url = fcm::ROOT, "Google's service";
    FCM_PER_SECOND "fcm.per_second": Rate, "pushes a second to Google at most, of one process";
    WEBPUSH_KEY "webpush.key": Secret,
        "the key for browsers (VAPID), in PEM or as 32 bytes in base64; they are not reached unless set";
    WEBPUSH_SUBJECT "webpush.subject": Text,
        "the contact that push services of browsers are given: a `mailto:` or `https:` address";
    WEBPUSH_HOSTS "webpush.hosts": List,
        "hosts of your own push services, which may be on your own network";
    WEBPUSH_PER_SECOND "webpush.per_second": Rate,
        "pushes a second to each service of browsers at most, of one process";
    HOOKS_CHANNELS "hooks.channels": List,
        "the hooks that are called, such as `webhook`; messages of the others go to the outbox";
    HOOKS_SECRET "hooks.secret": Secret,
        "the keys of webhooks are derived from it: at least 32 characters; with a second line calls are signed with both";
    HOOKS_CA "hooks.ca": Path,
        "certificate authorities of the addresses that are called, a PEM file; those that browsers trust unless set";
    HOOKS_HOSTS "hooks.hosts": List,
        "hosts on your own network that may be called; otherwise only public addresses are";
    HOOKS_PER_SECOND "hooks.per_second": Rate, "calls a second to each host at most, of one process";
    PARTITIONS "partitions": Count = "64", "the number of parts into which persons and subjects are divided; it stays for life";
    DAY_LIFE "day_life": Count = "90",
        "for how many days each day and its entries are kept, from 21 to 400: mails look back and `explain` finds what was told; it stays for life";
    DISK_RESERVE "disk_reserve": Bytes = "256 MiB", "disk space that is never used: intake stops before";
    PRESENCE_URL "presence.url": Url,
        "the service of your product that knows which apps are connected, for surfaces with `ask: live`; none is asked unless set";
    GEOIP_DATABASE "geoip.database": Path,
        "database of IP addresses in the format of MaxMind, of cities, such as GeoLite2-City.mmdb: profiles without a place get that of `ip_address`; its file is read again when it changes; none unless set";
    DEMO "demo": Flag = "false", "a clock that can be moved forward, and a little world to begin with";
    SERVER "server": Url,
        "the house that commands ask, such as https://news.example.org or http://tidings.news.svc; the one that runs on the data directory unless set";
    TOKEN "token": Secret, "one of the `access_tokens` of `server`, which commands show it; of a file its first line";
    CA_FILE "ca_file": Path,
        "certificate authorities of `server`, a PEM file; those that browsers trust unless set";
    LOG_FILTER "log.filter": Text = "info,scylla=off", "what is logged, such as `info,digest=debug`";
    LOG_FORMAT "log.format": Words(&["text", "json"]) = "text", "how log lines are written";
    TRACES_ENDPOINT "traces.endpoint": Url,
        "the receiver of traces (OTLP over HTTP), such as http://collector:4318; nothing is traced unless set";
    TRACES_SAMPLE "traces.sample": Share = "1%",
        "the share of events that are traced where their sender does not say; `off` for those of senders that do";
    TRACES_HEADERS "traces.headers": Secret,
        "headers for the receiver of traces, such as a key: `name: value`, a line each";
    TRACES_SERVICE "traces.service": Text = "tidings", "the name of this house in traces";
    TRACES_CA "traces.ca": Path,
        "certificate authorities of the receiver of traces, a PEM file; those that browsers trust unless set";
    LIMITS_LAG "limits.lag": Count = "100000", "records a stage may be behind before intake answers 429";
    LIMITS_CATALOGUE "limits.catalogue": Duration = "10m",
        "how long records of a newer catalogue wait for a process that has it, before one with an older catalogue goes on";
    LIMITS_BOUNCES "limits.bounces": Share = "10%",
        "the share of a plan's mails of the last hour that may come back for good, before the plan is paused; `off` for no limit";
    LIMITS_COMPLAINTS "limits.complaints": Share = "0.5%",
        "the same of mails that their readers report as spam";
    LIMITS_HAND_OVER "limits.hand_over": Duration = "2m",
        "how long handing over one message may take; a killed sender's message waits as long";
    TENANTS_WEIGHTS "tenants.weights": Map,
        "how much each tenant gets where several wait for the same, `{acme: 4}`; 1 for a tenant that is not named";
    TENANTS_PLACES "tenants.places": Map,
        "how many messages of a channel each tenant may have under way at once in one process, `{acme: 32}`, and as many urgent ones; no limit of its own for a tenant that is not named";
    KAFKA_BROKERS "kafka.brokers": List, "some brokers, as host:port";
    KAFKA_PREFIX "kafka.prefix": Text = "", "a prefix for the names of topics and groups";
    KAFKA_PROTOCOL "kafka.protocol": Words(&["classic", "consumer"]) = "classic",
        "how groups share partitions: `classic`, or `consumer` (KIP-848, Kafka 4.0 and newer)";
    KAFKA_INSTANCE "kafka.instance": Text,
        "this process's own name, under which a restart within the session keeps its partitions; the host's in a StatefulSet";
    KAFKA_REPLICATION "kafka.replication": Count = "3", "brokers that keep each record";
    KAFKA_MIN_INSYNC "kafka.min_insync": Count = "2", "brokers that must have a record before it counts";
    KAFKA_SESSION "kafka.session": Duration,
        "the silence after which a process counts as gone (protocol classic); 45s with `kafka.instance`, else 10s";
    KAFKA_TRANSACTION "kafka.transaction": Duration = "60s",
        "how long a transaction may take before the brokers end it";
    KAFKA_USER "kafka.user": Text, "the user name at the brokers";
    KAFKA_PASSWORD "kafka.password": Secret, "the password of `kafka.user`";
    KAFKA_MECHANISM "kafka.mechanism": Words(&["plain", "scram-sha-256", "scram-sha-512"]) = "scram-sha-512",
        "the SASL mechanism by which the password is proved";
    KAFKA_TLS "kafka.tls": Flag = "false", "whether connections are encrypted";
    KAFKA_CA "kafka.ca": Path, "certificate authorities of the brokers, a PEM file; those that the machine trusts unless set";
    KAFKA_CERTIFICATE "kafka.certificate": Path, "the certificate of this house, a PEM file, where brokers ask for one";
    KAFKA_KEY "kafka.key": Path, "the key of `kafka.certificate`, a PEM file";
    KAFKA_PROPERTIES "kafka.properties": Map,
        "properties of librdkafka that have no key here: `{socket.keepalive.enable: true}`";
    CQL_CONTACT_POINTS "cql.contact_points": List, "some nodes, as host:port";
    CQL_KEYSPACE "cql.keyspace": Text = "tidings", "the keyspace; its journal has one beside it";
    CQL_DATACENTER "cql.datacenter": Text, "the data centre of this house, where the cluster has several";
    CQL_REPLICATION "cql.replication": Map,
        "copies in each data centre, `{dc1: 3}`; unless set 3, or 1 where there is one node";
    CQL_USER "cql.user": Text, "the user name at the nodes";
    CQL_PASSWORD "cql.password": Secret, "the password of `cql.user`";
    CQL_TLS "cql.tls": Flag = "false", "whether connections are encrypted";
    CQL_CA "cql.ca": Path,
        "certificate authorities of the nodes, a PEM file; the certificates must name the IP addresses of the nodes";
    CQL_CERTIFICATE "cql.certificate": Path, "the certificate of this house, a PEM file, where nodes ask for one";
    CQL_KEY "cql.key": Path, "the key of `cql.certificate`, a PEM file";
    CQL_IN_FLIGHT "cql.in_flight": Count = "256", "requests that are under way at once, at most";
    CQL_TIMEOUT "cql.timeout": Duration = "5s", "how long one request may take";
    REGISTRY_URL "registry.url": List,
        "the schema registry, by the root of its Confluent API; none unless set";
    REGISTRY_USER "registry.user": Text, "the user name at the registry";
    REGISTRY_PASSWORD "registry.password": Secret, "the password of `registry.user`";
    REGISTRY_CA "registry.ca": Path,
        "certificate authorities of the registry, a PEM file; those that the machine trusts unless set";
}

/// What the name of a secret ends with where a file holds it, in the file and in the environment.
pub const FILE_SUFFIX: &str = "_file";
pub const FILE_SUFFIX_VARIABLE: &str = "_FILE";
/// The one API key that the environment may give, and the file that holds it.
pub const API_KEY_VARIABLE: &str = "TIDINGS_API_KEY";
pub const API_KEY_FILE_VARIABLE: &str = "TIDINGS_API_KEY_FILE";
/// Fewer characters than this are no key, and no token.
pub const API_KEY_CHARS_MIN: usize = 16;
pub const ACCESS_TOKEN_CHARS_MAX: usize = 512;
pub const ACCESS_TOKENS_MAX: usize = 64;
/// Logins, and sites of each.
pub const PERSON_TOKENS_MAX: usize = 256;
pub const PERSON_ORIGINS_MAX: usize = 32;
/// Whom tokens are for unless it is said.
pub const PERSON_AUDIENCE: &str = "tidings";

/// Instead of a path: there is no folder. YAML reads `off` as a flag where it is read as its older version, as Helm does.
pub const NO_FOLDER: &str = "none";
pub fn find_key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}
