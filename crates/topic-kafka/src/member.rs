//! A member of a group: what is its own, what it is told next, and what it commits.
//!
//! [`group_context`] is told by the group what is ours, [`thread`] reads it, and [`member_state`] is where both meet the
//! member. [`partition_life`] decides who has a partition, [`partition_slot`] is one in hand. [`clients`] does what
//! blocks, [`transaction`] writes turns, [`owner_watch`] finds partitions that nobody has. A partition goes through the member's hands like this:
//!
//! 1. The group says it is ours. The member shuts out its predecessor and looks up where to go on, and only
//!    then says `Assigned`; reading begins.
//! 2. The group says it is to go elsewhere. The member says `Revoked`; when it is asked for the next
//!    happening the turn in flight has ended, and only then does the group learn that it was let go of.
//! 3. A commit says that it is lost. It is let go of; if the group still says it is ours after it had the
//!    time to say otherwise, it is taken over anew.

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::join_all;
use rdkafka::{
    config::FromClientConfigAndContext as _,
    consumer::{BaseConsumer, Consumer as _},
};
use tokio::task::JoinHandle;
use topic::port::{
    CommitError, GroupMembership, Member, MemberEvent, RecordBatch, TopicError, TopicName, TopicOffsets,
    TopicRecord, Turn,
};

mod clients;
mod group_context;
pub(crate) mod member_state;
mod owner_watch;
mod partition_life;
mod partition_slot;
mod thread;
mod transaction;

#[cfg(test)]
mod tests;

use clients::MemberClients;
use group_context::KafkaGroupContext;
use member_state::KafkaMemberShared;
use owner_watch::OwnerWatch;
use partition_slot::{PartitionSlot, retire_slots};
use thread::PollThread;

use crate::{
    config,
    errors::kafka_error,
    kafka_state::KafkaState,
    names::{self, WireTopic},
    settings::GroupProtocol,
};

/// A hand-over that went wrong is tried again after so long; longer than a heartbeat takes.
const AGAIN: Duration = Duration::from_millis(500);

type TakeoverTask = JoinHandle<Result<Vec<(u32, PartitionSlot)>, TopicError>>;

pub(crate) struct KafkaMember {
    crew: Arc<MemberClients>,
    names: Vec<TopicName>,
    taking: Option<TakeoverTask>,
    /// How long a partition that was lost is left alone.
    again: Duration,
}

impl KafkaMember {
    /// Joins a group. Blocks.
    pub fn join(inner: Arc<KafkaState>, membership: &GroupMembership) -> Result<Self, TopicError> {
        let settings = &inner.settings;
        let named = |name: &TopicName| WireTopic::new(settings, name);
        let topics: Arc<[WireTopic]> =
            std::iter::once(&membership.lead).chain(&membership.companions).map(named).collect();
        let state = membership.state.as_ref().map(named);
        check_topics(&inner, &topics, state.as_ref())?;
        let shared = Arc::new(KafkaMemberShared::new(membership.group.clone()));
        let wire = names::prefixed_name(settings, &membership.group);
        let silence = config::silence_limit(settings);
        let context = KafkaGroupContext::new(shared.clone(), inner.voice.clone(), silence);
        let open = |error: &_| kafka_error("opening a consumer", error);
        let group =
            BaseConsumer::from_config_and_context(&config::group_member_config(settings, &wire), context)
                .map_err(|error| open(&error))?;
        let reader = BaseConsumer::from_config_and_context(
            &config::reader_config(settings, &wire),
            inner.voice.clone(),
        )
        .map_err(|error| open(&error))?;
        let lead = topics.first().map(|lead| lead.wire.clone()).unwrap_or_default();
        group.subscribe(&[&lead]).map_err(|error| kafka_error("joining", &error))?;
        let (group, reader) = (Arc::new(group), Arc::new(reader));
        inner.voice.clients.add(&group);
        inner.voice.clients.add(&reader);
        let thread = PollThread {
            shared: shared.clone(),
            group: group.clone(),
            reader: reader.clone(),
            topics: topics.clone(),
            asker: inner.asker.clone(),
            name: membership.group.clone(),
            silence,
        };
        let thread = std::thread::Builder::new()
            .name(format!("kafka {}", membership.group))
            .spawn(move || thread.run())
            .map_err(|error| TopicError::Broken(format!("starting the thread of a member: {error}")))?;
        if settings.protocol == GroupProtocol::Classic
            && let Some(lead) = topics.first()
        {
            let (shared, group, asker) = (shared.clone(), Arc::downgrade(&group), inner.asker.clone());
            let watch = OwnerWatch { shared, group, asker, lead: lead.clone(), wire };
            std::thread::Builder::new()
                .name(format!("owners {}", membership.group))
                .spawn(move || watch.run())
                .map_err(|error| TopicError::Broken(format!("starting the watch of a group: {error}")))?;
        }
        let mut members = inner.lock_members();
        members.retain(|(_, thread)| !thread.is_finished());
        members.push((Arc::downgrade(&shared), thread));
        drop(members);
        let again = config::heartbeat_interval(settings) * 2 + AGAIN;
        let names = topics.iter().map(|topic| topic.name.clone()).collect();
        let (name, mode) = (membership.group.clone(), membership.mode);
        let crew = Arc::new(MemberClients { group, reader, shared, name, topics, state, mode, inner });
        Ok(Self { crew, names, taking: None, again })
    }

    fn shared(&self) -> &KafkaMemberShared {
        &self.crew.shared
    }

    /// Does what blocks where it may.
    async fn run_blocking<T: Send + 'static, E: From<TopicError> + Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&MemberClients) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let call = self.shared().lock_state().begin_call(what);
        let crew = self.crew.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&crew);
            crew.shared.lock_state().end_call(call);
            done
        });
        done.await.map_err(|error| TopicError::Broken(format!("a call to kafka ended early: {error}")))?
    }

    /// What there is to tell right now, if anything; else when to look again without being woken.
    fn next_at_hand(&mut self, most: usize) -> Result<Result<MemberEvent, Option<Duration>>, TopicError> {
        let crew = self.crew.clone();
        let mut state = crew.shared.lock_state();
        if let Some(why) = &state.broken {
            return Err(why.clone());
        }
        if let Some(revoked) = state.take_revoked() {
            let held: Vec<_> = revoked.iter().filter_map(|p| Some((*p, state.generation(*p)?))).collect();
            drop(state);
            // They are still ours for the turn in flight, under whatever count the group has reached.
            held.into_iter().for_each(|(partition, generation)| self.note_metadata(partition, generation));
            return Ok(Ok(MemberEvent::Revoked(revoked)));
        }
        let again = state.end_waits(self.again);
        let claims = if self.taking.is_none() { state.begin_takeover() } else { BTreeMap::new() };
        if !claims.is_empty() {
            let crew = self.crew.clone();
            self.taking = Some(tokio::task::spawn_blocking(move || {
                let taken = crew.retry_until_done(|| crew.take_over(&claims));
                crew.shared.update_for_thread(|state| state.end_takeover(taken.is_ok()));
                taken
            }));
        }
        if let Some(batch) = state.batch(&[], most.max(1)) {
            drop(state);
            self.after_handing_out(&batch);
            return Ok(Ok(MemberEvent::Records(batch)));
        }
        if state.is_given_nothing() {
            return Ok(Ok(MemberEvent::Assigned(Vec::new())));
        }
        if state.has_moved() {
            // Nothing to hand out, but whoever waits for a position to be reached looks at it again.
            return Ok(Ok(MemberEvent::Revoked(Vec::new())));
        }
        Ok(Err(again))
    }

    /// There is room for others now, and whoever commits this names what the group knows us as.
    fn after_handing_out(&self, batch: &RecordBatch) {
        self.note_metadata(batch.partition, batch.generation);
        self.shared().update_for_thread(|_| ());
    }

    /// Remembers as what the group knows us now, for the commit of what is handed out: never what it knows
    /// us as when the turn ends.
    fn note_metadata(&self, partition: u32, generation: u64) {
        if self.crew.mode == topic::port::TurnGuarantee::Atomic {
            let metadata = self.crew.group.group_metadata().map(Arc::new);
            self.shared().lock_state().set_metadata(partition, generation, metadata);
        }
    }

    /// Takes into hand what has been taken over.
    fn install_slots(&self, taken: Vec<(u32, PartitionSlot)>) -> Vec<(u32, u64)> {
        let mut assigned = Vec::new();
        let mut refused = Vec::new();
        self.shared().update_for_thread(|state| {
            for (partition, slot) in taken {
                let generation = slot.generation;
                match state.install(partition, slot) {
                    Ok(()) => assigned.push((partition, generation)),
                    Err(slot) => refused.push(slot),
                }
            }
        });
        retire_slots(refused);
        assigned
    }

    /// The offsets of a turn by topic; it must name all of them.
    fn turn_offsets(&self, turn: &Turn) -> Result<Vec<(usize, u64)>, TopicError> {
        let named = |name: &TopicName| turn.offsets.iter().find(|(topic, _)| topic == name);
        let offsets: Option<Vec<_>> =
            self.names.iter().enumerate().map(|(at, name)| named(name).map(|(_, o)| (at, *o))).collect();
        offsets.filter(|offsets| offsets.len() == turn.offsets.len()).ok_or_else(|| {
            let (group, names) = (&self.crew.name, &self.names);
            TopicError::Refused(format!("a turn of `{group}` must have the offsets of exactly {names:?}"))
        })
    }

    async fn write_turn(&self, turn: Turn) -> Result<(), CommitError> {
        self.crew.inner.check()?;
        if self.shared().lock_state().slot(turn.partition, turn.generation).is_none() {
            return Err(CommitError::Lost(self.crew.not_ours_reason(turn.partition)));
        }
        let offsets = self.turn_offsets(&turn)?;
        let Turn { partition, generation, records, .. } = turn;
        let commit = move |crew: &MemberClients| crew.commit(partition, generation, &offsets, &records);
        let outcome = self.run_blocking("it commits", commit).await;
        if let Err(CommitError::Lost(_)) = &outcome {
            self.lose(partition, generation);
        }
        outcome
    }

    fn lose(&self, partition: u32, generation: u64) {
        let slot = self.shared().update_for_thread(|state| state.lose(partition, generation));
        retire_slots(slot.into_iter().collect());
    }
}

/// All topics of a group have as many partitions, and are there.
fn check_topics(
    inner: &KafkaState,
    topics: &[WireTopic],
    state: Option<&WireTopic>,
) -> Result<(), TopicError> {
    let mut counts = Vec::new();
    for topic in topics.iter().chain(state) {
        counts.push((topic, inner.asker.count_partitions(&topic.name, &topic.wire)?));
    }
    for (at, (topic, count)) in counts.iter().enumerate() {
        let (name, before) = (&topic.name, counts.get(..at).unwrap_or_default());
        if let Some((other, wanted)) = before.iter().find(|(_, wanted)| wanted != count) {
            let other = &other.name;
            return Err(TopicError::Refused(format!(
                "`{name}` has {count} partitions and `{other}` has {wanted}, but they must have the same \
                number"
            )));
        }
        if before.iter().any(|(other, _)| other.wire == topic.wire) {
            return Err(TopicError::Refused(format!("`{name}` is given twice")));
        }
    }
    Ok(())
}

#[async_trait]
impl Member for KafkaMember {
    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        let crew = self.crew.clone();
        let _inside = crew.shared.enter();
        loop {
            let again = match self.next_at_hand(most)? {
                Ok(happening) => return Ok(happening),
                Err(again) => again,
            };
            let taking = async {
                match &mut self.taking {
                    Some(taking) => taking.await,
                    None => pending().await,
                }
            };
            let later = async {
                match again {
                    Some(wait) => runtime::retry::wait_real_time(wait).await,
                    None => pending().await,
                }
            };
            let taken = tokio::select! {
                biased;
                taken = taking => taken,
                () = crew.shared.told.notified() => continue,
                () = later => continue,
            };
            // From here on nothing waits, so nothing is lost if this is dropped.
            self.taking = None;
            let early = |error| TopicError::Broken(format!("a call to kafka ended early: {error}"));
            match taken.map_err(early).and_then(std::convert::identity) {
                Ok(taken) => {
                    let assigned = self.install_slots(taken);
                    if !assigned.is_empty() {
                        return Ok(MemberEvent::Assigned(assigned));
                    }
                }
                Err(why) => {
                    self.shared().lock_state().broken.get_or_insert(why);
                }
            }
        }
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        let batch = self.shared().lock_state().batch(but, most.max(1));
        if let Some(batch) = &batch {
            self.after_handing_out(batch);
        }
        Ok(batch)
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        let Some(state) = self.crew.state.clone() else {
            return Err(TopicError::Refused(format!("group `{}` has no state topic", self.crew.name)));
        };
        // It may have been lost a moment ago. The state is true all the same, and next that will be told.
        let restore = move |crew: &MemberClients| crew.retry_until_done(|| crew.restore(&state, partition));
        self.run_blocking("it restores", restore).await
    }

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        let ends = move |crew: &MemberClients| crew.retry_until_done(|| crew.ends(partition));
        self.run_blocking("it asks for ends", ends).await
    }

    fn positions(&self, partition: u32) -> TopicOffsets {
        self.shared().lock_state().positions(partition, &self.names)
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        self.write_turn(turn).await
    }

    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        join_all(turns.into_iter().map(|turn| self.write_turn(turn))).await
    }

    fn hold(&mut self, partition: u32) {
        self.shared().update_for_thread(|state| state.hold(partition));
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        // Where it was lost meanwhile there is nothing to go back to, and next that will be told.
        let generation = self.shared().lock_state().generation(partition);
        let Some(generation) = generation else { return Ok(()) };
        let rewind = move |crew: &MemberClients| crew.retry_until_done(|| crew.rewind(partition, generation));
        self.run_blocking("it rewinds", rewind).await
    }
}

impl Drop for KafkaMember {
    fn drop(&mut self) {
        self.shared().close();
    }
}
