//! Maintenance: whether a group has members, and removing topics.

use std::{sync::Arc, time::Duration};

use rdkafka::{
    admin::AdminClient,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
    error::{KafkaError, RDKafkaErrorCode as Code},
};
use runtime::clock::SteadyStopwatch;
use topic::port::{TopicError, TopicName};

use crate::{
    client_context::KafkaClientContext,
    config::ReadIsolation,
    declare,
    errors::{code_error, error_code, kafka_error},
    kafka_state::KafkaState,
    metadata_client::{self, TopicLookup},
    names,
};

/// How long a topic may take until no broker knows it any more.
const GONE: Duration = Duration::from_secs(30);

/// What the brokers say about a group.
enum KafkaGroupLookup {
    Nobody,
    Members,
    /// It is there, but is one of those whose members this client cannot be shown.
    Hidden,
}

/// Whether a group has members, wherever they are.
pub async fn has_members(inner: &Arc<KafkaState>, group: &str) -> Result<bool, TopicError> {
    let wire = names::prefixed_name(&inner.settings, group);
    let asked = wire.clone();
    let seen = inner.run_blocking(move |inner| look_up_group(inner, &asked)).await?;
    match seen {
        KafkaGroupLookup::Nobody => Ok(false),
        KafkaGroupLookup::Members => Ok(true),
        KafkaGroupLookup::Hidden => {
            let asked = wire.clone();
            match inner.run_blocking(move |inner| commits_from_outside(inner, &asked)).await? {
                Some(accepted) => Ok(!accepted),
                None => refuses_deletion(inner, &wire).await,
            }
        }
    }
}

fn look_up_group(inner: &KafkaState, wire: &str) -> Result<KafkaGroupLookup, TopicError> {
    let groups = inner.asker.groups(wire)?;
    let found = groups.groups().iter().find(|group| group.name() == wire);
    Ok(match found {
        None => KafkaGroupLookup::Nobody,
        Some(group) if !group.members().is_empty() => KafkaGroupLookup::Members,
        Some(group) if group.state() == "Empty" => KafkaGroupLookup::Nobody,
        Some(_) => KafkaGroupLookup::Hidden,
    })
}

/// Commits again what is committed, as somebody who is no member: that is accepted if there are none.
/// Nothing if nothing is committed.
fn commits_from_outside(inner: &KafkaState, wire: &str) -> Result<Option<bool>, TopicError> {
    let topics = inner.asker.topics()?;
    let ours = |topic: &&(String, u32)| {
        topic.0.starts_with(&inner.settings.prefix) || inner.settings.foreign.contains(&topic.0)
    };
    let places =
        topics.iter().filter(ours).flat_map(|(topic, count)| (0..*count).map(move |p| (&**topic, p)));
    let places: Vec<(&str, u32)> = places.collect();
    let client = inner.groups.client(&inner.settings, &inner.voice, wire, ReadIsolation::Uncommitted)?;
    let committed = metadata_client::read_committed(&client, &places, metadata_client::PATIENCE)?;
    let found = places.iter().zip(committed).find_map(|((t, p), offset)| Some((*t, *p, offset?)));
    let Some(found) = found else { return Ok(None) };
    let list = metadata_client::position_list(&[found])
        .map_err(|error| kafka_error("asking for members", &error))?;
    try_commit(&client, &list).map(Some)
}

fn try_commit(
    client: &BaseConsumer<KafkaClientContext>,
    list: &rdkafka::TopicPartitionList,
) -> Result<bool, TopicError> {
    let Err(error) = client.commit(list, CommitMode::Sync) else { return Ok(true) };
    let refused = [
        Code::UnknownMemberId,
        Code::IllegalGeneration,
        Code::StaleMemberEpoch,
        Code::FencedMemberEpoch,
        Code::RebalanceInProgress,
    ];
    if error_code(&error).is_some_and(|code| refused.contains(&code)) {
        return Ok(false);
    }
    Err(kafka_error("asking for members", &error))
}

/// Takes away a group that has committed nothing, so that nothing is lost: that is refused if it has
/// members.
async fn refuses_deletion(inner: &KafkaState, wire: &str) -> Result<bool, TopicError> {
    let what = "asking for members";
    let admin: AdminClient<KafkaClientContext> = declare::admin_client(inner)?;
    let deleted = admin.delete_groups(&[wire], &declare::admin_options()).await;
    match deleted.map_err(|error| kafka_error(what, &error))?.first() {
        Some(Err((_, Code::NonEmptyGroup))) => Ok(true),
        None | Some(Ok(_) | Err((_, Code::GroupIdNotFound))) => Ok(false),
        Some(Err((_, code))) => Err(code_error(what, *code)),
    }
}

/// Takes topics away and waits until nobody knows them.
pub async fn remove_topics(inner: &Arc<KafkaState>, topics: &[TopicName]) -> Result<(), TopicError> {
    let wires: Vec<String> = topics.iter().map(|topic| names::wire_topic(&inner.settings, topic)).collect();
    if wires.is_empty() {
        return Ok(());
    }
    let admin = declare::admin_client(inner)?;
    let names: Vec<&str> = wires.iter().map(String::as_str).collect();
    let deleted: Result<_, KafkaError> = admin.delete_topics(&names, &declare::admin_options()).await;
    for result in deleted.map_err(|error| kafka_error("removing topics", &error))? {
        match result {
            Ok(_) | Err((_, Code::UnknownTopicOrPartition | Code::UnknownTopic)) => {}
            Err((wire, code)) => return Err(code_error(&format!("removing topic `{wire}`"), code)),
        }
    }
    let waited = SteadyStopwatch::start();
    for wire in &wires {
        let mut tries = 0;
        while declare::look_up_topic(inner, wire).await? != TopicLookup::Nothing {
            if waited.elapsed() > GONE {
                return Err(TopicError::Busy(format!("topic `{wire}` was removed, but can still be seen")));
            }
            runtime::retry::pause_before_retry(tries, 0).await;
            tries = 3.min(tries + 1);
        }
    }
    Ok(())
}
