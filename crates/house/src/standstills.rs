//! The stopped partitions of this process, for monitoring: a gauge by group, and reasons.

use std::collections::{BTreeMap, BTreeSet};

use runtime::{
    WorkTracker,
    metrics::{Gauges, Metrics},
    standstill::PartitionStandstill,
};

/// Partitions of this process's rooms that cannot go on.
pub struct StandstillGauges {
    quiet: WorkTracker,
    groups: BTreeSet<String>,
    partitions: Gauges,
}

impl StandstillGauges {
    pub fn declare(metrics: &Metrics, groups: BTreeSet<String>, quiet: WorkTracker) -> anyhow::Result<Self> {
        let help = "Partitions that this process has and that stand still; the log says why.";
        let partitions = metrics.gauge("tidings_standstill_partitions", help, &["group"])?;
        let still = Self { quiet, groups, partitions };
        still.refresh();
        Ok(still)
    }

    /// The gauge as of now.
    pub fn refresh(&self) {
        let mut counts: BTreeMap<&str, i64> = self.groups.iter().map(|group| (group.as_str(), 0)).collect();
        let list = self.list();
        for standstill in &list {
            *counts.entry(&standstill.group).or_default() += 1;
        }
        for (group, count) in counts {
            self.partitions.with_label_values(&[group]).set(count);
        }
    }

    pub fn list(&self) -> Vec<PartitionStandstill> {
        self.quiet.standstills().list()
    }
}
