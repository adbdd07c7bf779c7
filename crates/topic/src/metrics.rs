//! What the loop of a room counts and measures.

use std::{sync::Arc, time::Duration};

use runtime::metrics::{Counters, Histograms, Metrics, begin_counters};

/// What became of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnOutcome {
    Committed,
    /// It wrote nothing, and is committed with a later one.
    Silent,
    /// It could not be decided.
    Failed,
    /// It waits, although nothing is wrong.
    Deferred,
    /// Its commit did not happen.
    Aborted,
    /// The partition is another owner's.
    Lost,
}

impl TurnOutcome {
    const ALL: [Self; 6] =
        [Self::Committed, Self::Silent, Self::Failed, Self::Deferred, Self::Aborted, Self::Lost];

    fn name(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Silent => "silent",
            Self::Failed => "failed",
            Self::Deferred => "deferred",
            Self::Aborted => "aborted",
            Self::Lost => "lost",
        }
    }
}

/// A part of a round of turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundPart {
    /// What is needed is read, decided, and applied where that may be repeated.
    Decide,
    Commit,
    /// The room believes what was committed, and does what it owes others.
    Confirm,
}

impl RoundPart {
    fn name(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Commit => "commit",
            Self::Confirm => "confirm",
        }
    }
}

/// The metrics of all loops of a process. Cheap to clone.
#[derive(Clone)]
pub struct TurnMetrics {
    seconds: Histograms,
    turns: Counters,
    records: Counters,
    /// What stands before the names of groups on the cluster.
    prefix: Arc<str>,
}

impl TurnMetrics {
    pub fn declare(metrics: &Metrics, prefix: &str) -> anyhow::Result<Self> {
        Ok(Self {
            seconds: metrics.seconds_histogram(
                "tidings_turn_seconds",
                "Time of a round of turns, by part: to decide (what is needed is read, decided and applied), to commit, \
                 and to confirm what was committed. A round has the turns of up to 16 partitions.",
                &["consumergroup", "part"],
            )?,
            turns: metrics.counter(
                "tidings_turns_total",
                "Turns of partitions, by outcome: committed, silent (nothing to write), failed or aborted (tried again), \
                 deferred (it waits for a newer catalogue), or lost (another process has the partition).",
                &["consumergroup", "outcome"],
            )?,
            records: metrics.counter(
                "tidings_turn_records_total",
                "Records read in turns; those that are read again count again.",
                &["consumergroup"],
            )?,
            prefix: prefix.into(),
        })
    }

    /// Those of one loop.
    pub fn of_group(&self, group: &str) -> GroupTurnMetrics {
        let metrics = GroupTurnMetrics { all: Some(self.clone()), group: format!("{}{group}", self.prefix) };
        for outcome in TurnOutcome::ALL {
            begin_counters(&self.turns, &[&[&metrics.group, outcome.name()]]);
        }
        begin_counters(&self.records, &[&[&metrics.group]]);
        metrics
    }
}

/// The metrics of one loop; of none, where nobody counts.
#[derive(Clone, Default)]
pub struct GroupTurnMetrics {
    all: Option<TurnMetrics>,
    group: String,
}

impl GroupTurnMetrics {
    pub(crate) fn note_part(&self, part: RoundPart, took: Duration) {
        if let Some(all) = &self.all {
            all.seconds.with_label_values(&[&*self.group, part.name()]).observe(took.as_secs_f64());
        }
    }

    pub(crate) fn count_turn(&self, outcome: TurnOutcome) {
        if let Some(all) = &self.all {
            all.turns.with_label_values(&[&*self.group, outcome.name()]).inc();
        }
    }

    pub(crate) fn count_records(&self, records: usize) {
        if let Some(all) = &self.all {
            all.records.with_label_values(&[&self.group]).inc_by(records as u64);
        }
    }
}
