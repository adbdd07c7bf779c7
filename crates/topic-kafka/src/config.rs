//! Settings as properties of librdkafka, for each kind of client that we use.

use std::time::Duration;

use rdkafka::{ClientConfig, config::RDKafkaLogLevel};
use secrecy::ExposeSecret as _;

use crate::{
    limits::{KEY_MOST, VALUE_MOST},
    settings::{ClusterSecurity, GroupProtocol, SaslMechanism, Settings},
};

/// What a producer holds back for a fuller batch.
const LINGER_MS: &str = "5";
/// A turn hands over all of its records at once, so waiting gains nothing.
const TURN_LINGER_MS: &str = "0.5";
/// A record that no broker took within this time was not appended.
const DELIVERY: Duration = Duration::from_secs(30);
/// How long a room may be at work before its partitions go to another; as librdkafka has it.
const SILENCE: Duration = Duration::from_secs(300);
/// What a broker holds a fetch back for when there is nothing. A partition that is assigned joins the next
/// fetch, so this is also how long it may take until its first record comes.
const FETCH_WAIT_MS: &str = "100";
/// The same for reads outside of groups, which must learn soon that there is nothing more.
const LOOK_WAIT_MS: &str = "10";
/// Above the largest record that is accepted: key, value, headers and the batch around them.
pub const MESSAGE_MOST: usize = VALUE_MOST + KEY_MOST + (512 << 10);

/// What all clients have in common.
fn base_config(settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &settings.brokers)
        .set("client.id", &settings.client)
        .set("allow.auto.create.topics", "false")
        .set("log.connection.close", "false")
        .set("socket.keepalive.enable", "true")
        .set("reconnect.backoff.max.ms", "2000")
        .set_log_level(RDKafkaLogLevel::Warning);
    set_security(&mut config, &settings.security);
    config
}

fn set_security(config: &mut ClientConfig, security: &ClusterSecurity) {
    let protocol = match (&security.tls, &security.login) {
        (None, None) => "plaintext",
        (Some(_), None) => "ssl",
        (None, Some(_)) => "sasl_plaintext",
        (Some(_), Some(_)) => "sasl_ssl",
    };
    config.set("security.protocol", protocol);
    if let Some(tls) = &security.tls {
        let files = [
            ("ssl.ca.location", &tls.ca),
            ("ssl.certificate.location", &tls.certificate),
            ("ssl.key.location", &tls.key),
        ];
        for (name, file) in files {
            if let Some(file) = file {
                config.set(name, file.to_string_lossy());
            }
        }
    }
    if let Some(login) = &security.login {
        let mechanism = match login.mechanism {
            SaslMechanism::Plain => "PLAIN",
            SaslMechanism::ScramSha256 => "SCRAM-SHA-256",
            SaslMechanism::ScramSha512 => "SCRAM-SHA-512",
        };
        config
            .set("sasl.mechanism", mechanism)
            .set("sasl.username", &login.user)
            .set("sasl.password", login.password.expose_secret());
    }
}

/// What concerns the membership of a group; clients that are not members go without.
const OF_MEMBERS: [&str; 7] = [
    "group.protocol",
    "group.remote.assignor",
    "group.instance.id",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "partition.assignment.strategy",
    "session.timeout.ms",
];

/// The operator's own properties come last.
fn apply_overrides(mut config: ClientConfig, settings: &Settings) -> ClientConfig {
    for (name, value) in settings.more.iter().filter(|(name, _)| !OF_MEMBERS.contains(&name.as_str())) {
        config.set(name, value);
    }
    config
}

/// A client that appends nothing and reads nothing: it asks and declares.
pub fn query_config(settings: &Settings, isolation: ReadIsolation) -> ClientConfig {
    let mut config = base_config(settings);
    config.set("isolation.level", isolation.name());
    apply_overrides(config, settings)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadIsolation {
    Committed,
    /// Also what belongs to a transaction that is not decided yet.
    Uncommitted,
}

impl ReadIsolation {
    fn name(self) -> &'static str {
        match self {
            Self::Committed => "read_committed",
            Self::Uncommitted => "read_uncommitted",
        }
    }
}

fn consumer_config(settings: &Settings, group: &str) -> ClientConfig {
    let mut config = base_config(settings);
    config
        .set("client.id", format!("{}-{group}", settings.client))
        .set("group.id", group)
        .set("isolation.level", ReadIsolation::Committed.name())
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error");
    config
}

/// Who only asks where a group stands; it never joins it.
pub fn group_query_config(settings: &Settings, group: &str, isolation: ReadIsolation) -> ClientConfig {
    let mut config = consumer_config(settings, group);
    config.set("isolation.level", isolation.name());
    apply_overrides(config, settings)
}

/// Who looks at a stretch of a partition, outside any group.
pub fn scan_config(settings: &Settings, group: &str) -> ClientConfig {
    let mut config = consumer_config(settings, group);
    config
        .set("enable.partition.eof", "true")
        .set("fetch.wait.max.ms", LOOK_WAIT_MS)
        .set("queued.max.messages.kbytes", "8192");
    apply_overrides(config, settings)
}

/// Who reads what a member owns. What it fetches ahead of us is bounded, since a house has several.
pub fn reader_config(settings: &Settings, group: &str) -> ClientConfig {
    let mut config = consumer_config(settings, group);
    config
        .set("fetch.wait.max.ms", FETCH_WAIT_MS)
        .set("queued.min.messages", "20000")
        .set("queued.max.messages.kbytes", "16384")
        .set("fetch.queue.backoff.ms", "20");
    apply_overrides(config, settings)
}

/// Who belongs to the group. It is told what is ours and reads nothing.
///
/// Cooperative, since a partition that stays must not be restored anew because another one moved; and the
/// newer protocol knows no other way, so there is one way of being told.
pub fn group_member_config(settings: &Settings, group: &str) -> ClientConfig {
    let mut config = consumer_config(settings, group);
    match settings.protocol {
        GroupProtocol::Classic => {
            config
                .set("partition.assignment.strategy", "cooperative-sticky")
                .set("session.timeout.ms", format_millis(settings.session))
                .set("heartbeat.interval.ms", format_millis(heartbeat_interval(settings)))
                .set("max.poll.interval.ms", format_millis(SILENCE.max(settings.session)));
        }
        // It refuses the classic protocol's properties: the brokers say how long a session is.
        GroupProtocol::Consumer => {
            config.set("group.protocol", "consumer").set("max.poll.interval.ms", format_millis(SILENCE));
        }
    }
    if let Some(instance) = &settings.instance {
        config.set("group.instance.id", format!("{instance}-{group}"));
    }
    for (name, value) in &settings.more {
        config.set(name, value);
    }
    config
}

/// How long a member may be at work, or hang, before it counts as gone.
pub fn silence_limit(settings: &Settings) -> Duration {
    let given = settings.more.get("max.poll.interval.ms").and_then(|ms| ms.parse().ok());
    given.map_or(SILENCE.max(settings.session), Duration::from_millis)
}

/// How often a member hears from its group.
pub fn heartbeat_interval(settings: &Settings) -> Duration {
    match settings.protocol {
        GroupProtocol::Classic => {
            (settings.session / 10).clamp(Duration::from_millis(100), Duration::from_secs(3))
        }
        // The brokers say; this is what they say unless told otherwise.
        GroupProtocol::Consumer => Duration::from_secs(5),
    }
}

fn producer_config(settings: &Settings) -> ClientConfig {
    let mut config = base_config(settings);
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("compression.type", "zstd")
        .set("message.max.bytes", MESSAGE_MOST.to_string());
    config
}

/// The producer of plain appends.
pub fn appender_config(settings: &Settings) -> ClientConfig {
    let mut config = producer_config(settings);
    config
        .set("linger.ms", LINGER_MS)
        .set("batch.size", "262144")
        .set("message.timeout.ms", format_millis(DELIVERY))
        .set("queue.buffering.max.kbytes", "65536");
    apply_overrides(config, settings)
}

/// Who writes the turns of one partition. There is one for each, so it is kept small.
pub fn transaction_config(settings: &Settings, id: &str) -> ClientConfig {
    let mut config = producer_config(settings);
    config
        .set("transactional.id", id)
        .set("transaction.timeout.ms", format_millis(settings.transaction))
        .set("message.timeout.ms", format_millis(settings.transaction.min(DELIVERY)))
        .set("linger.ms", TURN_LINGER_MS)
        .set("queue.buffering.max.messages", "20000")
        .set("queue.buffering.max.kbytes", "16384");
    apply_overrides(config, settings)
}

fn format_millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}
