//! The thread of a member. It asks the group what is ours, and reads that.
//!
//! Two consumers: one belongs to the group, is told what is ours and reads nothing; the other reads what
//! the member has in hand, the lead and its companions alike, from the offsets that it is given, and
//! belongs to nobody. So being told and reading do not disturb each other: a member that falls behind just
//! does not read on, and what is lost or rewound is read anew without a word to the group.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
    error::{KafkaError, RDKafkaErrorCode as Code},
};
use runtime::clock::SteadyStopwatch;
use topic::port::{TopicError, TopicRecord};

use super::{
    group_context::KafkaGroupContext, member_state::KafkaMemberShared, partition_slot::retire_slots,
};
use crate::{
    client_context::KafkaClientContext,
    errors::{error_code, outside_error},
    kafka_numbers::{partition_of, to_i32, to_i64, to_u32, to_u64},
    metadata_client::MetadataClient,
    names::WireTopic,
    scan,
};

/// How long reading waits for a record, which is how late a change of hands may be noticed.
const POLL: Duration = Duration::from_millis(20);
/// Records that are taken from librdkafka before anything else is looked at.
const CHUNK: usize = 500;
/// How often it is asked whether the marks of transactions were passed, while there are records.
const MARKS: Duration = Duration::from_millis(100);
/// How long a reading may take to begin; it is not waited for any longer than that.
const BEGIN: Duration = Duration::from_secs(10);
/// How long the calls that are under way may take to end before the group is left.
const LEAVE: Duration = Duration::from_secs(5);

/// What the thread works with.
pub struct PollThread {
    pub shared: Arc<KafkaMemberShared>,
    pub group: Arc<BaseConsumer<KafkaGroupContext>>,
    pub reader: Arc<BaseConsumer<KafkaClientContext>>,
    /// The lead, then its companions.
    pub topics: Arc<[WireTopic]>,
    pub asker: Arc<MetadataClient>,
    /// The group's name here.
    pub name: Arc<str>,
    /// How long the member may be at work before it counts as hanging.
    pub silence: Duration,
}

/// What is being read: partition, and the number of the reading.
#[derive(Default)]
struct PollReadings {
    seen: u64,
    open: BTreeMap<u32, u64>,
}

impl PollThread {
    /// Runs until the member is dropped, then leaves the group.
    pub fn run(self) {
        let mut reading = PollReadings::default();
        let mut marks = SteadyStopwatch::start();
        while self.shared.lock_state().begin_round() {
            self.follow_slots(&mut reading);
            if !self.shared.lock_state().is_silent(self.silence) {
                self.poll_group();
            }
            let idle = if self.shared.lock_state().has_room() && !reading.open.is_empty() {
                self.read_fetched(&mut reading)
            } else {
                self.shared.wait(POLL);
                false
            };
            if idle || marks.elapsed() > MARKS {
                self.pass_marks(&reading);
                marks = SteadyStopwatch::start();
            }
        }
        self.leave();
    }

    /// Hears what the group has to say.
    fn poll_group(&self) {
        // It reads nothing; should there be a record all the same, the reader has it too.
        let Some(Err(error)) = self.group.poll(Duration::ZERO) else { return };
        let broken = match (error_code(&error), &error) {
            (
                Some(
                    code @ (Code::GroupAuthorizationFailed
                    | Code::TopicAuthorizationFailed
                    | Code::GroupMaxSizeReached),
                ),
                _,
            ) => TopicError::Refused(format!("the group does not accept this member: {code}")),
            // After the broker stood still, two of our own requests to join may have waited there, and the later
            // fenced the earlier. Or the process before this one was killed, and the brokers still count on it until
            // its session ends. Whoever joins anew is let in.
            (_, KafkaError::MessageConsumptionFatal(Code::FencedInstanceId | Code::UnreleasedInstanceId)) => {
                TopicError::Busy("another client has this instance name; joining again".to_owned())
            }
            (Some(Code::UnsupportedVersion | Code::UnsupportedFeature | Code::UnsupportedAssignor), _)
            | (_, KafkaError::MessageConsumptionFatal(_)) => {
                TopicError::Broken(format!("the group cannot go on: {error}"))
            }
            _ => {
                tracing::debug!(%error, "the group");
                return;
            }
        };
        self.shared.update_for_member(|state| state.broken.get_or_insert(broken).clone());
    }

    /// Reads what is in hand now and stops reading what is not any more.
    fn follow_slots(&self, reading: &mut PollReadings) {
        let (seen, wanted) = {
            let state = self.shared.lock_state();
            if state.reads == reading.seen {
                return;
            }
            (state.reads, state.readings())
        };
        let over: Vec<u32> = reading
            .open
            .iter()
            .filter(|(partition, number)| wanted.get(partition).is_none_or(|(wanted, _)| wanted != *number))
            .map(|(partition, _)| *partition)
            .collect();
        for partition in &over {
            reading.open.remove(partition);
        }
        let fresh: Vec<_> =
            wanted.iter().filter(|(partition, _)| !reading.open.contains_key(partition)).collect();
        let begun = self.stop(&over).and_then(|()| self.begin_reading(&fresh));
        match begun {
            Ok(()) => {
                reading.open.extend(fresh.iter().map(|(partition, (number, _))| (**partition, *number)));
                reading.seen = seen;
                self.shared.lock_state().followed = seen;
            }
            Err(error) => {
                tracing::warn!(group = %self.name, %error, "reading could not start");
                self.begin_anew(reading);
            }
        }
    }

    /// Ends all reading. It begins where it was the next time around.
    fn begin_anew(&self, reading: &mut PollReadings) {
        *reading = PollReadings::default();
        self.shared.lock_state().followed = 0;
        if let Err(error) = self.reader.unassign() {
            tracing::warn!(group = %self.name, %error, "reading could not be stopped");
        }
        self.shared.wait(POLL);
    }

    fn stop(&self, partitions: &[u32]) -> Result<(), KafkaError> {
        if partitions.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            for topic in self.topics.iter() {
                list.add_partition(&topic.wire, to_i32(*partition));
            }
        }
        self.reader.incremental_unassign(&list)
    }

    fn begin_reading(&self, fresh: &[(&u32, &(u64, Vec<u64>))]) -> Result<(), KafkaError> {
        if fresh.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::new();
        for (partition, (_, starts)) in fresh {
            for (topic, start) in self.topics.iter().zip(starts) {
                list.add_partition_offset(&topic.wire, to_i32(**partition), Offset::Offset(to_i64(*start)))?;
            }
        }
        self.reader.incremental_assign(&list)?;
        // A position may still be that of an earlier reading, until that one has ended in librdkafka's own
        // threads. Nobody polls meanwhile, so none moves on: once all are unknown, they are of this reading.
        let begun = SteadyStopwatch::start();
        loop {
            let positions = self.reader.position()?;
            let old = list.elements().iter().any(|elem| {
                let found = positions.find_partition(elem.topic(), elem.partition());
                found.is_some_and(|found| matches!(found.offset(), Offset::Offset(_)))
            });
            if !old || self.shared.wait(Duration::from_millis(1)) {
                return Ok(());
            }
            if begun.elapsed() > BEGIN {
                return Err(scan::timed_out_error());
            }
        }
    }

    /// Takes what librdkafka has fetched. Whether there was nothing.
    fn read_fetched(&self, reading: &mut PollReadings) -> bool {
        let mut chunk: Vec<(u64, usize, TopicRecord)> = Vec::new();
        let mut idle = true;
        while chunk.len() < CHUNK {
            let wait = if idle { POLL } else { Duration::ZERO };
            match self.reader.poll(wait) {
                Some(Ok(message)) => {
                    idle = false;
                    let side = self.topics.iter().position(|topic| *topic.wire == *message.topic());
                    let number = reading.open.get(&to_u32(message.partition()));
                    if let (Some(side), Some(number)) = (side, number)
                        && let Some(topic) = self.topics.get(side)
                    {
                        chunk.push((*number, side, scan::read_record(&topic.name, &message)));
                    }
                }
                Some(Err(error)) => {
                    self.handle_error(reading, &error);
                    break;
                }
                None => break,
            }
        }
        if !chunk.is_empty() {
            self.reader.context().note_answer();
            self.shared.update_for_member(|state| {
                for (number, side, record) in chunk {
                    state.push(number, side, record);
                }
            });
        }
        idle
    }

    /// Reading goes wrong. Most of it mends itself; a position outside of its partition does not.
    fn handle_error(&self, reading: &mut PollReadings, error: &KafkaError) {
        let broken = match error_code(error) {
            Some(Code::AutoOffsetReset | Code::OffsetOutOfRange) => match self.find_outside() {
                Ok(Some(broken)) => broken,
                // All positions are where they should be, or nobody can tell yet.
                Ok(None) | Err(_) => return self.begin_anew(reading),
            },
            Some(code @ (Code::TopicAuthorizationFailed | Code::GroupAuthorizationFailed)) => {
                TopicError::Refused(format!("reading is not allowed: {code}"))
            }
            _ => {
                tracing::debug!(%error, "reading");
                return;
            }
        };
        self.shared.update_for_member(|state| state.broken.get_or_insert(broken).clone());
    }

    /// The position that lies outside of its partition: what had not been read there is gone.
    fn find_outside(&self) -> Result<Option<TopicError>, TopicError> {
        let readings = self.shared.lock_state().readings();
        for (partition, (_, starts)) in readings {
            let places: Vec<_> = self.topics.iter().map(|topic| (&*topic.wire, partition)).collect();
            let bounds = self.asker.bounds(&places)?;
            for ((place, at), (first, end)) in places.iter().zip(starts).zip(bounds) {
                if !(first..=end).contains(&at) {
                    return Ok(Some(outside_error(&self.name, *place, at, (first, end))));
                }
            }
        }
        Ok(None)
    }

    /// Moves positions past what nobody is handed: the marks of transactions, which take offsets too.
    fn pass_marks(&self, reading: &PollReadings) {
        if reading.open.is_empty() {
            return;
        }
        let Ok(positions) = self.reader.position() else { return };
        let mut state = self.shared.lock_state();
        let mut moved = false;
        for elem in positions.elements() {
            let Offset::Offset(offset) = elem.offset() else { continue };
            let side = self.topics.iter().position(|topic| *topic.wire == *elem.topic());
            let number = reading.open.get(&partition_of(&elem));
            if let (Some(side), Some(number)) = (side, number) {
                moved |= state.reach(partition_of(&elem), *number, side, to_u64(offset));
            }
        }
        drop(state);
        if moved {
            self.shared.told.notify_one();
        }
    }

    /// Lets the calls under way end, then leaves. The last to hold a consumer waits until it is closed.
    fn leave(self) {
        let waited = SteadyStopwatch::start();
        let held = || Arc::strong_count(&self.group) > 1 || Arc::strong_count(&self.reader) > 1;
        while held() && waited.elapsed() < LEAVE {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        retire_slots(self.shared.lock_state().drain());
        drop(self.reader);
        drop(self.group);
    }
}
