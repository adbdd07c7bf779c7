//! Stopped partitions, with the reasons. Their loops record them here, for health checks and operators.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A partition of a group that does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStandstill {
    pub group: Arc<str>,
    pub partition: u32,
    pub why: String,
    /// Trying again alone does not help, unlike with an engine that is away.
    pub for_good: bool,
}

type StandstillKey = (Arc<str>, u32);

/// All of them. Cheap to clone.
#[derive(Clone, Default)]
pub struct StandstillList(Arc<Mutex<BTreeMap<StandstillKey, PartitionStandstill>>>);

impl StandstillList {
    /// Notes that a partition stands still; says whether that is new.
    pub fn note(&self, standstill: PartitionStandstill) -> bool {
        let place = (standstill.group.clone(), standstill.partition);
        self.lock().insert(place, standstill).is_none()
    }

    /// The partition goes on, or is somebody else's; says whether it stood still.
    pub fn clear(&self, group: &Arc<str>, partition: u32) -> bool {
        self.lock().remove(&(group.clone(), partition)).is_some()
    }

    pub fn list(&self) -> Vec<PartitionStandstill> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<StandstillKey, PartitionStandstill>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
