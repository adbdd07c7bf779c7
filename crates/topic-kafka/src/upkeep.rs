//! For whoever keeps house: whether a group has members, and taking topics away.

use std::{sync::Arc, time::Duration};

use rdkafka::{
    admin::AdminClient,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
    error::{KafkaError, RDKafkaErrorCode as Code},
};
use runtime::clock::Stopwatch;
use topic::port::{TopicError, TopicName};

use crate::{
    Inner,
    ask::{self, Found},
    config::Isolation,
    declare,
    errors::{code, coded, failed},
    names,
    voice::Voice,
};

/// How long a topic may take until no broker knows it any more.
const GONE: Duration = Duration::from_secs(30);

/// What the brokers say about a group.
enum Seen {
    Nobody,
    Members,
    /// It is there, but is one of those whose members this client cannot be shown.
    Hidden,
}

/// Whether a group has members, wherever they are.
pub async fn has_members(inner: &Arc<Inner>, group: &str) -> Result<bool, TopicError> {
    let wire = names::prefixed(&inner.settings, group);
    let asked = wire.clone();
    let seen = inner.blocking(move |inner| see(inner, &asked)).await?;
    match seen {
        Seen::Nobody => Ok(false),
        Seen::Members => Ok(true),
        Seen::Hidden => {
            let asked = wire.clone();
            match inner.blocking(move |inner| commits_from_outside(inner, &asked)).await? {
                Some(accepted) => Ok(!accepted),
                None => is_kept(inner, &wire).await,
            }
        }
    }
}

fn see(inner: &Inner, wire: &str) -> Result<Seen, TopicError> {
    let groups = inner.asker.groups(wire)?;
    let found = groups.groups().iter().find(|group| group.name() == wire);
    Ok(match found {
        None => Seen::Nobody,
        Some(group) if !group.members().is_empty() => Seen::Members,
        Some(group) if group.state() == "Empty" => Seen::Nobody,
        Some(_) => Seen::Hidden,
    })
}

/// Commits again what is committed, as somebody who is no member: that is accepted if there are none.
/// Nothing if nothing is committed.
fn commits_from_outside(inner: &Inner, wire: &str) -> Result<Option<bool>, TopicError> {
    let topics = inner.asker.topics()?;
    let ours = |topic: &&(String, u32)| {
        topic.0.starts_with(&inner.settings.prefix) || inner.settings.foreign.contains(&topic.0)
    };
    let places =
        topics.iter().filter(ours).flat_map(|(topic, count)| (0..*count).map(move |p| (&**topic, p)));
    let places: Vec<(&str, u32)> = places.collect();
    let client = inner.groups.client(&inner.settings, &inner.voice, wire, Isolation::Uncommitted)?;
    let committed = ask::committed(&client, &places, ask::PATIENCE)?;
    let found = places.iter().zip(committed).find_map(|((t, p), offset)| Some((*t, *p, offset?)));
    let Some(found) = found else { return Ok(None) };
    let list = ask::list(&[found]).map_err(|error| failed("asking for members", &error))?;
    commit(&client, &list).map(Some)
}

fn commit(client: &BaseConsumer<Voice>, list: &rdkafka::TopicPartitionList) -> Result<bool, TopicError> {
    let Err(error) = client.commit(list, CommitMode::Sync) else { return Ok(true) };
    let refused = [
        Code::UnknownMemberId,
        Code::IllegalGeneration,
        Code::StaleMemberEpoch,
        Code::FencedMemberEpoch,
        Code::RebalanceInProgress,
    ];
    if code(&error).is_some_and(|code| refused.contains(&code)) {
        return Ok(false);
    }
    Err(failed("asking for members", &error))
}

/// Takes away a group that has committed nothing, so that nothing is lost: that is refused if it has
/// members.
async fn is_kept(inner: &Inner, wire: &str) -> Result<bool, TopicError> {
    let what = "asking for members";
    let admin: AdminClient<Voice> = declare::admin(inner)?;
    let deleted = admin.delete_groups(&[wire], &declare::options()).await;
    match deleted.map_err(|error| failed(what, &error))?.first() {
        Some(Err((_, Code::NonEmptyGroup))) => Ok(true),
        None | Some(Ok(_) | Err((_, Code::GroupIdNotFound))) => Ok(false),
        Some(Err((_, code))) => Err(coded(what, *code)),
    }
}

/// Takes topics away and waits until nobody knows them.
pub async fn remove(inner: &Arc<Inner>, topics: &[TopicName]) -> Result<(), TopicError> {
    let wires: Vec<String> = topics.iter().map(|topic| names::topic(&inner.settings, topic)).collect();
    if wires.is_empty() {
        return Ok(());
    }
    let admin = declare::admin(inner)?;
    let names: Vec<&str> = wires.iter().map(String::as_str).collect();
    let deleted: Result<_, KafkaError> = admin.delete_topics(&names, &declare::options()).await;
    for result in deleted.map_err(|error| failed("removing topics", &error))? {
        match result {
            Ok(_) | Err((_, Code::UnknownTopicOrPartition | Code::UnknownTopic)) => {}
            Err((wire, code)) => return Err(coded(&format!("removing topic `{wire}`"), code)),
        }
    }
    let waited = Stopwatch::start();
    for wire in &wires {
        let mut tries = 0;
        while declare::look_up(inner, wire).await? != Found::Nothing {
            if waited.elapsed() > GONE {
                return Err(TopicError::Busy(format!("topic `{wire}` was removed and is still there")));
            }
            runtime::retry::pause(tries, 0).await;
            tries = 3.min(tries + 1);
        }
    }
    Ok(())
}
