//! What the group's consumer speaks through: it passes on what the group says is ours.

use std::{sync::Arc, time::Duration};

use rdkafka::{
    ClientContext, Offset, TopicPartitionList,
    config::RDKafkaLogLevel,
    consumer::{BaseConsumer, Consumer as _, ConsumerContext},
    error::KafkaError,
    types::RDKafkaRespErr,
};
use topic::port::TopicError;

use super::{member_state::KafkaMemberShared, partition_slot::retire_slots};
use crate::{client_context::KafkaClientContext, kafka_numbers::partition_of};

/// How long the member may take to end its turn when a partition is to go elsewhere.
const DRAIN: Duration = Duration::from_secs(60);

/// What the group's consumer speaks through: it passes on who has what.
pub struct KafkaGroupContext {
    pub shared: Arc<KafkaMemberShared>,
    pub voice: KafkaClientContext,
    pub drain: Duration,
}

impl KafkaGroupContext {
    /// `silence` is how long the member may be at work before the group gives up on it.
    pub fn new(shared: Arc<KafkaMemberShared>, voice: KafkaClientContext, silence: Duration) -> Self {
        Self { shared, voice, drain: DRAIN.min(silence / 2) }
    }
}

impl ClientContext for KafkaGroupContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.voice.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.voice.error(error, reason);
    }
}

impl ConsumerContext for KafkaGroupContext {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, what: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let partitions: Vec<u32> = list.elements().iter().map(partition_of).collect();
        let done = if what == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            self.on_assigned(consumer, list, &partitions)
        } else {
            self.on_revoked(consumer, &partitions);
            consumer.incremental_unassign(list)
        };
        if let Err(error) = done {
            tracing::warn!(%error, ?partitions, "a rebalance failed");
            // librdkafka waits until this has worked, and nobody does it again. Whoever joins anew has a share.
            self.shared.update_for_member(|state| {
                if !state.closing {
                    state.broken.get_or_insert(TopicError::Busy(format!("a rebalance failed: {error}")));
                }
            });
        }
    }
}

impl KafkaGroupContext {
    fn on_assigned(
        &self,
        consumer: &BaseConsumer<Self>,
        list: &TopicPartitionList,
        partitions: &[u32],
    ) -> Result<(), KafkaError> {
        // It must have them for the group's protocol to go on. It reads none of them.
        let mut ends = TopicPartitionList::new();
        for elem in list.elements() {
            ends.add_partition_offset(elem.topic(), elem.partition(), Offset::End)?;
        }
        consumer.incremental_assign(&ends)?;
        retire_slots(self.shared.update_for_member(|state| state.give(partitions)));
        if let Err(error) = consumer.pause(&ends) {
            // What is read all the same, nobody takes.
            tracing::debug!(%error, "pausing what a group has");
        }
        Ok(())
    }

    /// Returns when the turn in flight has ended, so that its outcome is known before another member
    /// begins; or at once where another one already may have.
    fn on_revoked(&self, consumer: &BaseConsumer<Self>, partitions: &[u32]) {
        let lost = consumer.assignment_lost();
        let dropped = self.shared.update_for_member(|state| state.take_back(partitions, lost));
        retire_slots(dropped);
        if !lost {
            self.shared.wait_until(self.drain, |state| !state.holds_any(partitions));
            // Out of time, or out of all: what it does from here on is refused.
            retire_slots(self.shared.update_for_member(|state| state.take_back(partitions, true)));
        }
    }
}
