//! Partitioning: one function gives the partition of a person or subject on every engine, and every record states it
//! explicitly. The partitioner of a client is never used.

use std::sync::atomic::{AtomicU32, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::{
    fault::{self, PlantedFault},
    id::{Person, SubjectRef, Tenant},
    limits::PARTITIONS_MAX,
};

/// How many partitions an installation has in each topic that is keyed by person or subject: chosen once,
/// since a person who moved to another partition would lose their open windows. `tidings repartition` moves all of
/// them, with what is remembered of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionCount(u32);

impl Default for PartitionCount {
    fn default() -> Self {
        Self::USUAL
    }
}

impl PartitionCount {
    /// What an installation has unless it chose otherwise.
    pub const USUAL: Self = Self(64);

    /// So many, if that is a count that can be.
    pub fn new(count: u32) -> Option<Self> {
        (1..=PARTITIONS_MAX).contains(&count).then_some(Self(count))
    }

    /// As many as a topic was found to have.
    pub fn from_topic_count(count: usize) -> Self {
        Self(u32::try_from(count).unwrap_or(PARTITIONS_MAX).clamp(1, PARTITIONS_MAX))
    }

    pub fn count(self) -> u32 {
        self.0
    }

    /// The partition of a person in `pending`, `inbox`, `windows` and `ready`.
    pub fn of_person(self, tenant: &Tenant, person: &Person) -> u32 {
        let number = self.partition_of(tenant, person.as_str());
        if fault::is_planted(PlantedFault::AnotherOwner) {
            return (number + ASKED.fetch_add(1, Ordering::Relaxed) % 2) % self.0;
        }
        number
    }

    /// The partition of a subject in `events` and `slices`.
    pub fn of_subject(self, tenant: &Tenant, subject: &SubjectRef) -> u32 {
        self.partition_of(tenant, subject.as_str())
    }

    fn partition_of(self, tenant: &Tenant, name: &str) -> u32 {
        let mut bytes = Vec::with_capacity(tenant.as_str().len() + 1 + name.len());
        bytes.extend_from_slice(tenant.as_str().as_bytes());
        bytes.push(0); // no name holds a control character, so the two cannot run into each other
        bytes.extend_from_slice(name.as_bytes());
        u32::try_from(xxh3_64(&bytes) % u64::from(self.0)).unwrap_or(0)
    }
}

/// How often somebody asked; only for the planted fault.
static ASKED: AtomicU32 = AtomicU32::new(0);

#[cfg(test)]
mod tests {
    use super::*;

    /// These never change: a person who moved to another partition would lose their open windows.
    #[test]
    fn partitions_are_for_life() {
        let check = |tenant: &str, person: &str, partition: u32| {
            let found =
                PartitionCount::USUAL.of_person(&Tenant::new(tenant).unwrap(), &Person::new(person).unwrap());
            assert_eq!(found, partition, "{tenant}/{person}");
        };
        check("main", "ann", 28);
        check("main", "bob", 34);
        check("other", "ann", 37);
    }

    #[test]
    fn a_count_has_its_bounds() {
        for (count, possible) in [(0, false), (1, true), (64, true), (1_024, true), (1_025, false)] {
            assert_eq!(PartitionCount::new(count).map(PartitionCount::count), possible.then_some(count));
        }
    }

    #[test]
    fn partitions_are_even() {
        let tenant = Tenant::new("main").unwrap();
        let mut counts = [0_u32; 64];
        for i in 0..64_000 {
            counts[PartitionCount::USUAL.of_person(&tenant, &Person::new(&format!("p{i}")).unwrap())
                as usize] += 1;
        }
        assert!(counts.iter().all(|n| (800..1200).contains(n)), "{counts:?}");
    }
}
