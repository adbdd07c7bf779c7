//! Audits the settings of topics that others created or changed. A value that is larger than needed is fine; a smaller
//! one loses records, or the state of persons.

use std::{collections::BTreeMap, sync::Arc};

use rdkafka::admin::ResourceSpecifier;
use topic::port::{TopicError, TopicRetention, TopicSpec};

use crate::{declare, kafka_state::KafkaState, names, settings::Settings};

/// Looks at the topics that are there; a line for each thing that is not as it must be.
pub async fn audit_topics(inner: &Arc<KafkaState>, specs: &[TopicSpec]) -> Result<Vec<String>, TopicError> {
    let own = specs.iter().filter(|spec| !inner.settings.foreign.contains(&*spec.name));
    let wires = own.map(|spec| (spec, names::wire_topic(&inner.settings, &spec.name)));
    let asked = wires.map(|(spec, wire)| (spec.clone(), wire)).collect::<Vec<_>>();
    let places: Vec<String> = asked.iter().map(|(_, wire)| wire.clone()).collect();
    let kept = move |inner: &KafkaState| places.iter().map(|wire| inner.asker.replicas(wire)).collect();
    let kept: Vec<Option<usize>> = inner.run_blocking(kept).await?;
    let there: Vec<_> = asked.iter().zip(kept).filter_map(|(asked, kept)| Some((asked, kept?))).collect();
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let which: Vec<_> = there.iter().map(|((_, wire), _)| ResourceSpecifier::Topic(wire)).collect();
    let told = declare::admin_client(inner)?.describe_configs(&which, &declare::admin_options()).await;
    let mut told = match told {
        Ok(told) => told.into_iter(),
        Err(error) => {
            // Who may not look at topics may still work with them.
            tracing::warn!(%error, "the settings of the topics cannot be read, and are not checked");
            Vec::new().into_iter()
        }
    };
    let mut lines = Vec::new();
    for ((spec, wire), kept) in there {
        let found = match told.next() {
            Some(Ok(found)) => {
                found.entries.into_iter().filter_map(|one| Some((one.name, one.value?))).collect()
            }
            Some(Err(error)) => {
                tracing::warn!(topic = wire, %error, "the settings of a topic cannot be read");
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        };
        lines.extend(judge_topic(&inner.settings, (spec, wire), &found, kept));
    }
    Ok(lines)
}

/// Brokers look every five minutes for segments that have had their time, and remove them a minute later, unless they
/// are told otherwise.
const LOOKS_MS: i64 = 3_600_000;

/// How old a record may become: the last one of its segment has to be as old as the topic keeps any.
pub async fn record_life(inner: &Arc<KafkaState>, topic: &str) -> Result<Option<i64>, TopicError> {
    let wire = names::wire_topic(&inner.settings, topic);
    let which = ResourceSpecifier::Topic(&wire);
    match declare::admin_client(inner)?.describe_configs([&which], &declare::admin_options()).await {
        Ok(told) => {
            let entries = told.into_iter().flatten().flat_map(|found| found.entries);
            Ok(life_from_config(&entries.filter_map(|one| Some((one.name, one.value?))).collect()))
        }
        Err(error) => {
            tracing::warn!(topic = wire, %error, "the topic's settings cannot be read; its retention is unknown");
            Ok(None)
        }
    }
}

fn life_from_config(found: &BTreeMap<String, String>) -> Option<i64> {
    let deletes = found.get("cleanup.policy")?.contains("delete");
    let number = |name: &str| found.get(name)?.parse::<i64>().ok().filter(|ms| *ms >= 0);
    let (kept, segment) = (number("retention.ms")?, number("segment.ms")?);
    deletes.then(|| kept.saturating_add(segment).saturating_add(LOOKS_MS))
}

/// What a topic lacks.
fn judge_topic(
    settings: &Settings,
    (spec, wire): (&TopicSpec, &str),
    found: &BTreeMap<String, String>,
    kept: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let factor = usize::try_from(settings.replication.factor).unwrap_or(1);
    if kept < factor {
        lines.push(format!(
            "topic `{wire}` has {kept} of the {factor} replicas that `kafka.replication` asks for: add \
            replicas with kafka-reassign-partitions.sh, or set `kafka.replication` to {kept}"
        ));
    }
    let mut needed = declare::topic_properties(settings, spec);
    if let TopicRetention::Milliseconds(_) = spec.retention {
        // A bound by size takes records before their time.
        needed.push(("retention.bytes", "-1".to_owned()));
    }
    for (name, needed) in needed {
        let Some(value) = found.get(name) else { continue };
        let Some(else_) = describe_lack(name, value, &needed) else { continue };
        lines.push(format!(
            "topic `{wire}` has {name}={value} and needs {needed}, or {else_}: kafka-configs.sh --alter --entity-type topics \
             --entity-name {wire} --add-config {name}={needed}"
        ));
    }
    lines
}

/// What comes of a property that is not as it must be.
fn describe_lack(name: &str, value: &str, needed: &str) -> Option<&'static str> {
    let number = |text: &str| text.parse::<i64>().ok();
    let is_less = || number(value).zip(number(needed)).is_some_and(|(value, needed)| value < needed);
    match name {
        "cleanup.policy" => (value != needed).then_some(match needed {
            "compact" => "the state of people is deleted with age, although it is needed",
            _ => "only the latest record of each key stays",
        }),
        "retention.ms" => {
            (value != "-1" && is_less()).then_some("records are deleted too early, even unread ones")
        }
        "retention.bytes" => number(value)
            .is_some_and(|bytes| bytes >= 0)
            .then_some("records are deleted too early, even unread ones"),
        "min.insync.replicas" => is_less().then_some("acknowledged records are lost with one broker"),
        "max.message.bytes" => is_less().then_some("records of an allowed size are refused"),
        "message.timestamp.type" => (value != needed).then_some(match needed {
            "CreateTime" => "records have the time of the brokers, and not that of the demo's clock",
            _ => "the time of a record is set by its writer",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ReplicationSettings;

    const DAY: &str = "86400000";

    /// A topic as it would be made, with one thing changed: what is said of it.
    #[test]
    fn a_topic_that_keeps_less_than_is_promised_is_unfit() {
        let settings = Settings {
            prefix: "srd.".to_owned(),
            replication: ReplicationSettings { factor: 3, min_insync: 2 },
            ..Settings::for_brokers("x:1")
        };
        let check = |retention: TopicRetention, changed: &[(&str, &str)], kept: usize, expected: &str| {
            let spec = TopicSpec { name: "t".into(), partitions: 1, retention };
            let made = declare::topic_properties(&settings, &spec);
            let mut found: BTreeMap<String, String> =
                made.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            for (name, value) in changed {
                found.insert((*name).to_owned(), (*value).to_owned());
            }
            let lines = judge_topic(&settings, (&spec, "srd.t"), &found, kept).join("\n");
            assert_eq!(lines.is_empty(), expected.is_empty(), "{changed:?}: {lines}");
            assert!(lines.contains(expected), "{changed:?}: {lines}");
        };
        let kept = TopicRetention::Milliseconds(86_400_000);
        for retention in [TopicRetention::Compacted, kept] {
            check(retention, &[], 3, "");
            check(retention, &[], 5, "");
            check(retention, &[], 1, "has 1 of the 3 replicas");
            check(retention, &[("min.insync.replicas", "1")], 3, "min.insync.replicas=1 and needs 2");
            check(retention, &[("min.insync.replicas", "3")], 3, "");
            check(retention, &[("max.message.bytes", "1048588")], 3, "max.message.bytes=1048588");
            check(retention, &[("max.message.bytes", "9999999")], 3, "");
            check(retention, &[("message.timestamp.type", "CreateTime")], 3, "needs LogAppendTime");
        }
        check(
            TopicRetention::Compacted,
            &[("cleanup.policy", "delete")],
            3,
            "cleanup.policy=delete and needs compact",
        );
        check(TopicRetention::Compacted, &[("cleanup.policy", "compact,delete")], 3, "needs compact");
        check(TopicRetention::Compacted, &[("retention.ms", "3600000")], 3, "");
        check(kept, &[("cleanup.policy", "compact,delete")], 3, "needs delete");
        check(kept, &[("retention.ms", "3600000")], 3, "retention.ms=3600000 and needs 86400000");
        check(kept, &[("retention.ms", "-1")], 3, "");
        check(kept, &[("retention.ms", DAY), ("retention.bytes", "-1")], 3, "");
        check(kept, &[("retention.bytes", "1000")], 3, "retention.bytes=1000 and needs -1");
    }

    #[test]
    fn a_record_lives_until_the_last_of_its_segment_has_had_its_time() {
        let check = |found: &[(&str, &str)], expected: Option<i64>| {
            let found = found.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(life_from_config(&found), expected, "{found:?}");
        };
        let deletes = ("cleanup.policy", "delete");
        check(&[deletes, ("retention.ms", "1000"), ("segment.ms", "20")], Some(LOOKS_MS + 1_020));
        check(&[deletes, ("retention.ms", "-1"), ("segment.ms", "20")], None);
        check(&[("cleanup.policy", "compact"), ("retention.ms", "1000"), ("segment.ms", "20")], None);
        check(
            &[("cleanup.policy", "compact,delete"), ("retention.ms", "5"), ("segment.ms", "1")],
            Some(LOOKS_MS + 6),
        );
        check(&[], None);
    }

    #[test]
    fn what_nobody_may_see_is_not_held_against_a_topic() {
        let spec = TopicSpec { name: "t".into(), partitions: 1, retention: TopicRetention::Compacted };
        let settings = Settings::for_brokers("x:1");
        assert_eq!(judge_topic(&settings, (&spec, "t"), &BTreeMap::new(), 3), Vec::<String>::new());
    }
}
