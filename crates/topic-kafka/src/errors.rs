//! What a failure of the cluster asks for.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use topic::port::TopicError;

/// An operation's failure as the port knows it.
pub fn kafka_error(what: &str, error: &KafkaError) -> TopicError {
    if let KafkaError::ClientConfig(_, _, name, _) = error {
        // Neither its value nor librdkafka's words about it, which may hold a password.
        return TopicError::Refused(format!("{what}: the property `{name}` is not accepted"));
    }
    if let KafkaError::ClientCreation(why) = error {
        return TopicError::Refused(format!("{what}: {why}"));
    }
    let Some(code) = error_code(error) else {
        return TopicError::Broken(format!("{what}: {error}"));
    };
    code_error(what, code)
}

/// The same of a bare code.
pub fn code_error(what: &str, code: Code) -> TopicError {
    let why = format!("{what}: {code}");
    if is_refusal(code) {
        TopicError::Refused(why)
    } else if code == Code::Fatal {
        TopicError::Broken(why)
    } else {
        // Whatever a cluster says while brokers come and go, it says something else later.
        TopicError::Busy(why)
    }
}

/// What stays as it is until a person changes something.
fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownTopic
            | Code::UnknownPartition
            | Code::UnknownTopicOrPartition
            | Code::InvalidTopic
            | Code::InvalidPartitions
            | Code::InvalidReplicationFactor
            | Code::InvalidConfig
            | Code::PolicyViolation
            | Code::InvalidArgument
            | Code::MessageSizeTooLarge
            | Code::InvalidTimestamp
            | Code::InvalidRecord
            | Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed
            | Code::Authentication
            | Code::SaslAuthenticationFailed
            | Code::UnsupportedSASLMechanism
            | Code::UnsupportedFeature
            | Code::UnsupportedVersion
    )
}

/// The code of a failure, if it has one.
pub fn error_code(error: &KafkaError) -> Option<Code> {
    match error {
        KafkaError::AdminOp(code) => Some(*code),
        other => other.rdkafka_error_code(),
    }
}

/// A position outside of its partition. Somebody has to decide what is lost; jumping would hide it.
pub fn outside_error(
    group: &str,
    (wire, partition): (&str, u32),
    at: u64,
    (first, end): (u64, u64),
) -> TopicError {
    TopicError::Refused(format!(
        "group `{group}` stands at offset {at} of {wire}/{partition}, which holds {first} to {end}; reset the group's offsets by hand, or replay"
    ))
}
