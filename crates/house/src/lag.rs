//! The lag of rooms, for monitoring: in records, and as the age of the oldest unread record. It is read from the log
//! for all partitions of a group, whichever process has them, so it covers rooms whose processes are all dead and
//! records that cannot be read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use futures::{StreamExt as _, future::join_all, stream};
use model::UtcMillis;
use runtime::{Clock, ShutdownSignal, periodic::PeriodicTimer};
use tokio::time::timeout;
use topic::{Topics, port::GroupStanding};

use crate::{
    metrics::{ClusterNames, LagMetrics},
    stages::StageReading,
};

/// How long the log may take for one answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
/// Oldest records that are looked up at once.
const LOOKS: usize = 8;

/// The gauges, and what they are asked of.
pub struct LagGauges {
    readings: Vec<StageReading>,
    log: Arc<dyn Topics>,
    clock: Clock,
    metrics: LagMetrics,
    names: ClusterNames,
    /// The partitions that are shown, by group and topic as the cluster calls them.
    shown: Mutex<BTreeMap<(String, String), BTreeSet<u32>>>,
}

impl LagGauges {
    pub fn new(
        (metrics, names): (LagMetrics, ClusterNames),
        readings: Vec<StageReading>,
        log: Arc<dyn Topics>,
        clock: Clock,
    ) -> Self {
        for reading in &readings {
            metrics.unknown.with_label_values(&[names.group(&reading.group), names.topic(reading)]).set(0);
        }
        Self { readings, log, clock, metrics, names, shown: Mutex::default() }
    }

    /// Runs until the shutdown.
    pub async fn run(self, every: Duration, shutdown: ShutdownSignal) -> anyhow::Result<()> {
        let (mut timer, mut knows) = (PeriodicTimer::new(every, shutdown), true);
        while timer.wait().await {
            let Some(asked) = timer.run(self.refresh()).await else { break };
            if let Err(error) = &asked
                && knows
            {
                tracing::warn!(error = format!("{error:#}"), "the lag of some rooms is unknown");
            }
            knows = asked.is_ok();
        }
        Ok(())
    }

    /// Asks once, for each topic by itself: one that nobody can speak for hides no other. The error is the first.
    pub async fn refresh(&self) -> anyhow::Result<()> {
        let asked = join_all(self.readings.iter().map(|reading| self.measure_reading(reading))).await;
        asked.into_iter().find(Result::is_err).unwrap_or(Ok(()))
    }

    async fn measure_reading(&self, reading: &StageReading) -> anyhow::Result<()> {
        let (group, topic) = (&self.names.group(&reading.group), &self.names.topic(reading));
        let asked = timeout(ANSWER_TIME_MAX, reading.standing(&*self.log)).await;
        let asked = asked.map_err(anyhow::Error::from).and_then(|asked| Ok(asked?));
        self.metrics.unknown.with_label_values(&[group, topic]).set(i64::from(asked.is_err()));
        let standings = asked.inspect_err(|_| self.remove_gauges(group, topic));
        let standings = standings.with_context(|| format!("`{}` in `{}`", reading.group, reading.topic))?;
        let age = async |standing: GroupStanding| {
            let age = timeout(ANSWER_TIME_MAX, self.oldest_age(&standing)).await;
            (age.map_err(anyhow::Error::from).flatten(), standing)
        };
        let mut aged = stream::iter(standings).map(age).buffer_unordered(LOOKS);
        let mut first = Ok(());
        while let Some((seconds, standing)) = aged.next().await {
            let labels = [group, topic, &standing.partition.to_string()];
            let of_topic = (group.clone(), topic.clone());
            self.shown_partitions().entry(of_topic).or_default().insert(standing.partition);
            let lag = i64::try_from(standing.lag()).unwrap_or(i64::MAX);
            self.metrics.records.with_label_values(&labels).set(lag);
            match seconds {
                Ok(seconds) => self.metrics.seconds.with_label_values(&labels).set(seconds),
                Err(error) => {
                    // How many there are is known, and how old they are is not.
                    drop(self.metrics.seconds.remove_label_values(&labels));
                    first = first.and(Err(error));
                }
            }
        }
        first
    }

    /// An unknown lag is not shown: a stale figure would look valid.
    fn remove_gauges(&self, group: &str, topic: &str) {
        let shown = self.shown_partitions().remove(&(group.to_owned(), topic.to_owned())).unwrap_or_default();
        for partition in shown {
            let labels = [group, topic, &partition.to_string()];
            drop(self.metrics.records.remove_label_values(&labels));
            drop(self.metrics.seconds.remove_label_values(&labels));
        }
    }

    fn shown_partitions(&self) -> MutexGuard<'_, BTreeMap<(String, String), BTreeSet<u32>>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds since the first record was appended that its group has not committed.
    async fn oldest_age(&self, standing: &GroupStanding) -> anyhow::Result<f64> {
        if standing.committed >= standing.end {
            return Ok(0.0);
        }
        let first = self.log.appended_at(&standing.topic, standing.partition, standing.committed).await?;
        let age = first.map_or(0, |appended| UtcMillis(self.clock.now()).since(UtcMillis(appended)));
        #[allow(clippy::cast_precision_loss, reason = "an age in milliseconds fits many times over")]
        Ok(age.max(0) as f64 / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use model::partition::PartitionCount;
    use runtime::metrics::Metrics;
    use topic::{NewRecord, TopicError, TopicRecord, decorator::TopicsDecorator, embedded::EmbeddedTopics};
    use wire::topics;

    use super::*;
    use crate::{declare_topics, stages::list_readings, testing::test_catalogue};

    fn watch_lag(metrics: &Metrics, log: Arc<dyn Topics>, clock: Clock) -> LagGauges {
        let names = ClusterNames { prefix: "a.".into() };
        LagGauges::new(
            (LagMetrics::declare(metrics).unwrap(), names),
            list_readings(&test_catalogue()),
            log,
            clock,
        )
    }

    /// Nobody can read its records, and of one group it says nothing.
    #[derive(Debug)]
    struct MuteTopics(EmbeddedTopics);

    #[async_trait]
    impl TopicsDecorator for MuteTopics {
        fn inner(&self) -> &dyn Topics {
            &self.0
        }

        async fn read(&self, _: &str, _: u32, _: u64, _: usize) -> Result<Vec<TopicRecord>, TopicError> {
            Err(TopicError::Busy("no registry answers".to_owned()))
        }

        async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
            match group {
                "digest" => Err(TopicError::Busy("no coordinator".to_owned())),
                _ => self.0.standing(group, topic).await,
            }
        }
    }

    #[tokio::test]
    async fn lag_is_told_of_what_nobody_can_read_and_what_is_unknown_is_said() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(1_000_000));
        let log = EmbeddedTopics::open(dir.path(), clock.clone()).unwrap();
        declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
        let record = |n| NewRecord {
            topic: topics::EVENTS.into(),
            partition: n,
            key: Vec::new(),
            value: Some(b"?".to_vec()),
            headers: Vec::new(),
        };
        log.append((0..4).map(record).collect()).await.unwrap();
        clock.advance(5_000);
        let metrics = Metrics::default();
        let lag = watch_lag(&metrics, Arc::new(MuteTopics(log)), clock);
        let why = format!("{:#}", lag.refresh().await.unwrap_err());
        assert!(why.contains("`digest` in `pending`"), "{why}");
        let text = metrics.render_text();
        for partition in 0..4 {
            let of = format!("{{consumergroup=\"a.fanout\",partition=\"{partition}\",topic=\"a.events\"}}");
            assert!(text.contains(&format!("tidings_consumergroup_lag{of} 1\n")), "{text}");
            assert!(text.contains(&format!("tidings_consumergroup_lag_seconds{of} 5\n")), "{text}");
        }
        assert!(
            text.contains(
                "tidings_consumergroup_lag_unknown{consumergroup=\"a.digest\",topic=\"a.pending\"} 1\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "tidings_consumergroup_lag_unknown{consumergroup=\"a.fanout\",topic=\"a.events\"} 0\n"
            ),
            "{text}"
        );
        assert!(!text.contains("tidings_consumergroup_lag{consumergroup=\"a.digest\""), "{text}");
    }

    #[tokio::test]
    async fn lag_is_told_by_partition_in_records_and_seconds() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(1_000_000));
        let log = Arc::new(EmbeddedTopics::open(dir.path(), clock.clone()).unwrap());
        declare_topics(&*log, PartitionCount::new(4).unwrap()).await.unwrap();
        let metrics = Metrics::default();
        let lag = watch_lag(&metrics, log.clone(), clock.clone());
        let append = async || {
            let record = NewRecord {
                topic: topics::EVENTS.into(),
                partition: 3,
                key: Vec::new(),
                value: Some(b"event".to_vec()),
                headers: Vec::new(),
            };
            log.append(vec![record]).await.unwrap();
        };
        let check = async |records: u64, seconds: &str| {
            lag.refresh().await.unwrap();
            let text = metrics.render_text();
            for (name, value) in [("lag", records.to_string()), ("lag_seconds", seconds.to_owned())] {
                let line = |partition: u32, value: &str| {
                    format!(
                        "tidings_consumergroup_{name}{{consumergroup=\"a.fanout\",partition=\"{partition}\",topic=\"a.events\"}} {value}\n"
                    )
                };
                assert!(text.contains(&line(3, &value)), "{value}: {text}");
                assert!(text.contains(&line(2, "0")), "{text}");
            }
        };
        check(0, "0").await;
        append().await;
        check(1, "0").await;
        clock.advance(61_500);
        append().await;
        check(2, "61.5").await;
    }
}
