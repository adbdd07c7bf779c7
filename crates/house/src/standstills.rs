//! The stopped partitions of this process, for monitoring: a gauge by group, and reasons.

use std::collections::{BTreeMap, BTreeSet};

use runtime::{WorkTracker, metrics::Gauges, standstill::PartitionStandstill};

use crate::metrics::{ClusterNames, PresenceMetrics};

/// Partitions of this process's rooms that cannot go on.
pub struct StandstillGauges {
    quiet: WorkTracker,
    groups: BTreeSet<String>,
    names: ClusterNames,
    partitions: Gauges,
}

impl StandstillGauges {
    pub fn new(
        metrics: &PresenceMetrics,
        names: ClusterNames,
        groups: BTreeSet<String>,
        quiet: WorkTracker,
    ) -> Self {
        let still = Self { quiet, groups, names, partitions: metrics.standing_still.clone() };
        still.refresh();
        still
    }

    /// The gauge as of now.
    pub fn refresh(&self) {
        let mut counts: BTreeMap<&str, i64> = self.groups.iter().map(|group| (group.as_str(), 0)).collect();
        let list = self.list();
        for standstill in &list {
            *counts.entry(&standstill.group).or_default() += 1;
        }
        for (group, count) in counts {
            self.partitions.with_label_values(&[self.names.group(group)]).set(count);
        }
    }

    pub fn list(&self) -> Vec<PartitionStandstill> {
        self.quiet.standstills().list()
    }
}
