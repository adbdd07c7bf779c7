//! Finds partitions that a classic group has forgotten, and has them given out.
//!
//! When a partition changes hands, its old owner lets go of it and then joins again, which starts the rebalance that
//! gives it to the new one. An owner with an instance name that dies in between is replaced by its successor without a
//! rebalance. The successor has nothing to let go of, so nobody starts the second one, and the partition stays without
//! an owner. A member that sees this leaves and joins again: that is a rebalance.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use rdkafka::{
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
    groups::GroupInfo,
};
use runtime::clock::SteadyStopwatch;
use topic::port::TopicError;

use super::{group_context::KafkaGroupContext, member_state::KafkaMemberShared};
use crate::{kafka_numbers::partition_of, metadata_client::MetadataClient, names::WireTopic};

/// Between two looks at the group.
const LOOK: Duration = Duration::from_secs(5);
/// For how long the same partition is without an owner before the group is taken to have forgotten it. A turn that
/// ends before a partition is handed over takes less.
const FORGOTTEN: Duration = Duration::from_secs(12);
/// The state of a group in which nobody joins or waits for its assignment.
const STABLE: &str = "Stable";

/// Watches the group of one member on a thread of its own.
pub struct OwnerWatch {
    pub shared: Arc<KafkaMemberShared>,
    /// Ends with the member: a consumer is closed by the last who holds it.
    pub group: Weak<BaseConsumer<KafkaGroupContext>>,
    pub asker: Arc<MetadataClient>,
    pub lead: WireTopic,
    /// The group's name on the brokers.
    pub wire: String,
}

impl OwnerWatch {
    /// Runs until the member is dropped.
    pub fn run(self) {
        let (mut unowned, clock) = (UnownedPartitions::default(), SteadyStopwatch::start());
        loop {
            self.shared.wait_until(LOOK, |_| false);
            if self.shared.lock_state().closing {
                return;
            }
            let view = match self.look() {
                Ok(view) => view,
                Err(error) => {
                    tracing::debug!(group = self.wire, %error, "looking at the group");
                    continue;
                }
            };
            let Some(group) = self.group.upgrade() else { return };
            let ours = group.assignment().unwrap_or_default();
            let ours = ours.elements().iter().map(partition_of).collect();
            if let Some(partitions) = unowned.find_forgotten(&view, &ours, clock.elapsed()) {
                tracing::warn!(group = self.wire, ?partitions, "partitions without an owner; joining again");
                if let Err(error) = self.join_again(&group) {
                    tracing::warn!(group = self.wire, %error, "joining again failed");
                }
            }
        }
    }

    fn look(&self) -> Result<GroupView, TopicError> {
        let partitions = self.asker.count_partitions(&self.lead.name, &self.lead.wire)?;
        let groups = self.asker.groups(&self.wire)?;
        let stable =
            groups.groups().iter().find(|group| group.name() == self.wire && group.state() == STABLE);
        Ok(GroupView { partitions, owned: stable.map(|group| read_owned(group, &self.lead.wire)) })
    }

    /// Leaves and joins, both of which are rebalances. What is in hand is let go of in good order.
    fn join_again(&self, group: &BaseConsumer<KafkaGroupContext>) -> Result<(), KafkaError> {
        group.unsubscribe();
        group.subscribe(&[&self.lead.wire])
    }
}

/// What a look at the group shows.
struct GroupView {
    partitions: u32,
    /// What its members have together; nothing while it is in a rebalance.
    owned: Option<BTreeSet<u32>>,
}

/// Since when the same partitions have had no owner.
#[derive(Default)]
struct UnownedPartitions {
    partitions: BTreeSet<u32>,
    since: Duration,
}

impl UnownedPartitions {
    /// The partitions that the group has forgotten, if this member is the one to say so: the owner of the lowest partition
    /// that has an owner, or anyone if none has.
    fn find_forgotten(
        &mut self,
        view: &GroupView,
        ours: &BTreeSet<u32>,
        now: Duration,
    ) -> Option<BTreeSet<u32>> {
        let Some(owned) = &view.owned else {
            *self = Self::default();
            return None;
        };
        let unowned: BTreeSet<u32> =
            (0..view.partitions).filter(|partition| !owned.contains(partition)).collect();
        let remaining: BTreeSet<u32> = self.partitions.intersection(&unowned).copied().collect();
        if remaining.is_empty() {
            *self = Self { partitions: unowned, since: now };
            return None;
        }
        self.partitions.clone_from(&remaining);
        let is_ours_to_say = owned.first().is_none_or(|lowest| ours.contains(lowest));
        if !is_ours_to_say || now.saturating_sub(self.since) < FORGOTTEN {
            return None;
        }
        // The next rebalance has as long again.
        self.since = now;
        Some(remaining)
    }
}

/// What the members of a group have of a topic, by the assignments that their leader gave them.
fn read_owned(group: &GroupInfo, topic: &str) -> BTreeSet<u32> {
    let assignments = group.members().iter().filter_map(|member| member.assignment());
    assignments.flat_map(|bytes| read_assignment(bytes, topic).unwrap_or_default()).collect()
}

/// The partitions of a topic in an assignment of Kafka's consumer protocol: a version, then each topic with its
/// partitions. Nothing if it is cut short or not one.
fn read_assignment(bytes: &[u8], topic: &str) -> Option<Vec<u32>> {
    let mut rest = bytes;
    let mut take = |length: usize| {
        let (taken, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(taken)
    };
    let _version = take(2)?;
    let mut found = Vec::new();
    for _ in 0..u32::from_be_bytes(take(4)?.try_into().ok()?) {
        let length = u16::from_be_bytes(take(2)?.try_into().ok()?);
        let is_ours = take(usize::from(length))? == topic.as_bytes();
        for _ in 0..u32::from_be_bytes(take(4)?.try_into().ok()?) {
            let partition = u32::from_be_bytes(take(4)?.try_into().ok()?);
            found.extend(is_ours.then_some(partition));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_without_an_owner_is_forgotten() {
        // Each look five seconds after the one before: what the group owns (nothing: it is in a rebalance), and what is found.
        let check = |ours: &[u32], looks: &[(Option<&[u32]>, &[u32])]| {
            let mut unowned = UnownedPartitions::default();
            let ours = ours.iter().copied().collect();
            for (at, (owned, expect)) in looks.iter().enumerate() {
                let now = LOOK * u32::try_from(at).unwrap();
                let owned = owned.map(|owned| owned.iter().copied().collect());
                let view = GroupView { partitions: 4, owned };
                let found = unowned.find_forgotten(&view, &ours, now).unwrap_or_default();
                assert_eq!(found, expect.iter().copied().collect(), "look {at}, ours {ours:?}");
            }
        };
        let (all, some): (Option<&[u32]>, Option<&[u32]>) = (Some(&[0, 1, 2, 3]), Some(&[1, 2]));
        check(&[1], &[(all, &[]), (all, &[]), (all, &[]), (all, &[]), (all, &[])]);
        check(&[1], &[(some, &[]), (some, &[]), (some, &[]), (some, &[0, 3]), (some, &[]), (some, &[])]);
        // Another member is the one to say so.
        check(&[2], &[(some, &[]), (some, &[]), (some, &[]), (some, &[]), (some, &[])]);
        // Nobody has anything, so anyone says so.
        check(&[], &[(Some(&[]), &[]), (Some(&[]), &[]), (Some(&[]), &[]), (Some(&[]), &[0, 1, 2, 3])]);
        // A rebalance begins the wait anew, and so do other partitions.
        check(&[1], &[(some, &[]), (some, &[]), (None, &[]), (some, &[]), (some, &[]), (some, &[])]);
        let other: Option<&[u32]> = Some(&[0, 1, 3]);
        check(&[0, 1], &[(some, &[]), (some, &[]), (other, &[]), (other, &[]), (other, &[])]);
        // One of two has an owner now; the other has waited all along.
        let one: Option<&[u32]> = Some(&[0, 1, 2]);
        check(&[0, 1], &[(some, &[]), (some, &[]), (one, &[]), (one, &[3])]);
    }

    #[test]
    fn an_assignment_is_read_to_its_end_or_not_at_all() {
        let mut bytes = vec![0, 1, 0, 0, 0, 2];
        for (topic, partitions) in [("other", &[7_u32][..]), ("lead", &[0, 258])] {
            bytes.extend(u16::try_from(topic.len()).unwrap().to_be_bytes());
            bytes.extend(topic.as_bytes());
            bytes.extend(u32::try_from(partitions.len()).unwrap().to_be_bytes());
            partitions.iter().for_each(|partition| bytes.extend(partition.to_be_bytes()));
        }
        let whole = bytes.len();
        // Data of the leader's own may follow.
        bytes.extend([0, 0, 0, 0]);
        assert_eq!(read_assignment(&bytes, "lead"), Some(vec![0, 258]));
        assert_eq!(read_assignment(&bytes, "none"), Some(vec![]));
        for cut in 0..whole {
            assert_eq!(read_assignment(&bytes[..cut], "lead"), None, "{cut}");
        }
        assert_eq!(read_assignment(&[0, 1, 255, 255, 255, 255], "lead"), None);
    }
}
