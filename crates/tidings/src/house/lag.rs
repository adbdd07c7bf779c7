//! How far behind the rooms of this process are, for whoever watches: in records, and in the age of the
//! oldest record that was not read. Asked of the log now and then, for all partitions of a group, whoever
//! has them.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use model::Millis;
use runtime::{
    Clock, Shutdown,
    metrics::{Gauges, Measures, Metrics},
};
use tokio::time::{interval, timeout};
use topic::{Topics, port::Standing};

use super::stages::Reading;

/// How long the log may take for all of it.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// Oldest records that are looked up at once.
const LOOKS: usize = 8;
const LABELS: [&str; 3] = ["group", "topic", "partition"];

/// The gauges, and what they are asked of.
pub struct Lag {
    readings: Vec<Reading>,
    log: Arc<dyn Topics>,
    clock: Clock,
    records: Gauges,
    seconds: Measures,
}

impl Lag {
    pub fn declare(
        metrics: &Metrics,
        readings: Vec<Reading>,
        log: Arc<dyn Topics>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let help = "Records that a group has not committed yet.";
        let records = metrics.gauge("tidings_lag_records", help, &LABELS)?;
        let help = "Age of the oldest record that a group has not committed yet; 0 if there is none.";
        let seconds = metrics.measure("tidings_lag_seconds", help, &LABELS)?;
        Ok(Self { readings, log, clock, records, seconds })
    }

    /// Runs until the shutdown. What nobody can say is not shown: an old figure would look like a good one.
    pub async fn run(self, every: Duration, shutdown: Shutdown) -> anyhow::Result<()> {
        let mut looks = interval(every);
        let mut knows = true;
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = shutdown.wait() => return Ok(()),
            }
            let asked = tokio::select! {
                asked = timeout(ANSWER_TIME_MAX, self.refresh()) => asked.map_err(anyhow::Error::from).flatten(),
                () = shutdown.wait() => return Ok(()),
            };
            match asked {
                Ok(()) => knows = true,
                Err(error) => {
                    self.records.reset();
                    self.seconds.reset();
                    if knows {
                        tracing::warn!(error = format!("{error:#}"), "nobody can say how far the rooms are");
                    }
                    knows = false;
                }
            }
        }
    }

    pub async fn refresh(&self) -> anyhow::Result<()> {
        for reading in &self.readings {
            let standings = reading.standing(&*self.log).await?;
            let age = async |standing: Standing| anyhow::Ok((self.age(&standing).await?, standing));
            let mut aged = stream::iter(standings).map(age).buffer_unordered(LOOKS);
            while let Some((seconds, standing)) = aged.try_next().await? {
                let labels = [&reading.group, &reading.topic, &standing.partition.to_string()];
                let lag = standing.lag();
                self.records.with_label_values(&labels).set(i64::try_from(lag).unwrap_or(i64::MAX));
                self.seconds.with_label_values(&labels).set(seconds);
            }
        }
        Ok(())
    }

    /// Seconds since the first record was appended that its group has not committed.
    async fn age(&self, standing: &Standing) -> anyhow::Result<f64> {
        if standing.committed >= standing.end {
            return Ok(0.0);
        }
        let first = self.log.read(&standing.topic, standing.partition, standing.committed, 1).await?;
        let age = first.first().map_or(0, |record| Millis(self.clock.now()).since(Millis(record.appended)));
        #[allow(clippy::cast_precision_loss, reason = "an age in milliseconds fits many times over")]
        Ok(age.max(0) as f64 / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use model::partition::Partitions;
    use topic::{NewRecord, embedded::Embedded};
    use wire::topics;

    use super::*;
    use crate::{
        house::{declare, stages::readings},
        testing::catalogue,
    };

    #[tokio::test]
    async fn lag_is_told_by_partition_in_records_and_seconds() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(1_000_000));
        let log = Arc::new(Embedded::open(dir.path(), clock.clone()).unwrap());
        declare(&*log, Partitions::new(4).unwrap()).await.unwrap();
        let metrics = Metrics::default();
        let lag = Lag::declare(&metrics, readings(&catalogue()), log.clone(), clock.clone()).unwrap();
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
            let text = metrics.text();
            for (name, value) in [("records", records.to_string()), ("seconds", seconds.to_owned())] {
                let line = |partition: u32, value: &str| {
                    format!(
                        "tidings_lag_{name}{{group=\"fanout\",partition=\"{partition}\",topic=\"events\"}} {value}\n"
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
