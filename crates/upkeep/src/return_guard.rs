//! A plan whose mails come back too often is paused by itself: a server that counts complaints and dead addresses holds
//! them against all other mail of the sender.
//!
//! What was sent and what came back in the last hour is read from the log, so it is the same after a restart. What was
//! before the end of a pause does not count: who ended it has looked.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use house::{
    book::HouseBook,
    house_watch::WatchDeps,
    pauses::{self, KnownScopes, PauseError, PauseOrder},
};
use house_facts::pause::PauseScope;
use model::{Channel, PlanName, UtcMillis, delivery::DeliveryOutcome, returns::ReturnSort};
use runtime::{Clock, periodic::PeriodicTimer};
use share_ratio::ShareRatio;
use topic::Topics;
use wire::{InboxItem, topics};

use crate::metrics::ReturnMetrics;

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(10);
/// Records read at once.
const PAGE: usize = 1_000;
/// What counts: the last hour, in parts of a minute.
const PART_MS: i64 = 60_000;
const WINDOW_MS: i64 = 60 * PART_MS;
/// Fewer mails than this say nothing, and neither do fewer that came back.
const SENT_MIN: u64 = 100;
const BOUNCES_MIN: u64 = 10;
const COMPLAINTS_MIN: u64 = 3;
/// Who pauses, as it is noted.
const BY: &str = "tidings";

/// Shares of the mails of a plan; `None` is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReturnLimits {
    pub bounces: Option<ShareRatio>,
    pub complaints: Option<ShareRatio>,
}

/// Mails of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReturnCounts {
    pub sent: u64,
    pub bounces: u64,
    pub complaints: u64,
}

impl ReturnCounts {
    /// Why the plan must pause, if it must.
    pub fn find_excess(self, limits: ReturnLimits) -> Option<String> {
        let Self { sent, bounces, complaints } = self;
        if sent < SENT_MIN {
            return None;
        }
        let judge = |back: u64, least: u64, limit: Option<ShareRatio>, did: &str| {
            let limit = limit?;
            let is_excess = back >= least && limit.is_exceeded(back, sent);
            is_excess.then(|| {
                format!(
                    "{back} of {sent} mails of the last hour {did} ({}; the limit is {limit})",
                    ShareRatio::from_counts(back, sent)
                )
            })
        };
        judge(complaints, COMPLAINTS_MIN, limits.complaints, "were reported as spam")
            .or_else(|| judge(bounces, BOUNCES_MIN, limits.bounces, "came back for good"))
    }
}

/// The mails of the last hour, and where the log was read to.
pub struct ReturnGuard {
    limits: ReturnLimits,
    metrics: ReturnMetrics,
    clock: Clock,
    read: BTreeMap<(&'static str, u32), u64>,
    parts: BTreeMap<PlanName, BTreeMap<i64, ReturnCounts>>,
    book: HouseBook,
}

impl ReturnGuard {
    pub fn new(limits: ReturnLimits, metrics: ReturnMetrics, clock: Clock) -> Self {
        let (read, parts, book) = Default::default();
        Self { limits, metrics, clock, read, parts, book }
    }

    /// Looks until the shutdown. A log that does not answer is asked again.
    pub async fn watch(mut self, deps: WatchDeps) -> anyhow::Result<()> {
        let WatchDeps { topics: log, shutdown } = deps;
        let mut timer = PeriodicTimer::new(EVERY, shutdown);
        while timer.wait().await {
            if let Some(Err(error)) = timer.run(self.refresh(&*log)).await {
                tracing::debug!(error = format!("{error:#}"), "returned mails cannot be counted now");
            }
        }
        Ok(())
    }

    /// Looks once, and pauses what must pause.
    pub async fn refresh(&mut self, log: &dyn Topics) -> anyhow::Result<()> {
        let now = UtcMillis(self.clock.now());
        self.read_topic(log, topics::INBOX, now).await?;
        self.read_topic(log, topics::RETURNS, now).await?;
        self.book.update(log).await?;
        let oldest = now.0 - WINDOW_MS;
        for parts in self.parts.values_mut() {
            parts.retain(|part, _| *part * PART_MS >= oldest);
        }
        self.parts.retain(|_, parts| !parts.is_empty());
        self.metrics.clear();
        for (plan, counts) in self.sum_counts() {
            let back = [("hard", counts.bounces), ("complaint", counts.complaints)];
            self.metrics.note(&plan, counts.sent, back);
            if let Some(why) = counts.find_excess(self.limits) {
                self.pause_plan(log, &plan, why, now).await?;
            }
        }
        Ok(())
    }

    /// The last hour of each plan; of one that was paused, since it went on.
    fn sum_counts(&self) -> Vec<(PlanName, ReturnCounts)> {
        let sum = |(plan, parts): (&PlanName, &BTreeMap<i64, ReturnCounts>)| {
            let note = self.book.pauses().get(&PauseScope::Plan(plan.clone()));
            let since = note.map_or(i64::MIN, |note| note.at.0);
            let mut all = ReturnCounts::default();
            for (_, counts) in parts.iter().filter(|(part, _)| **part * PART_MS >= since) {
                all.sent += counts.sent;
                all.bounces += counts.bounces;
                all.complaints += counts.complaints;
            }
            (plan.clone(), all)
        };
        self.parts.iter().map(sum).collect()
    }

    async fn pause_plan(
        &self,
        log: &dyn Topics,
        plan: &PlanName,
        why: String,
        now: UtcMillis,
    ) -> anyhow::Result<()> {
        tracing::error!(%plan, why, "a plan is paused, since its mails come back; end the pause when that is mended");
        let scope = PauseScope::Plan(plan.clone()).to_string();
        let order = PauseOrder { scope, is_paused: true, by: BY.to_owned(), why };
        match pauses::order_pause(log, KnownScopes::default(), order, now).await {
            // Somebody was quicker.
            Ok(_) | Err(PauseError::Refused(_)) => Ok(()),
            Err(PauseError::Failed(error)) => Err(error),
        }
    }

    async fn read_topic(
        &mut self,
        log: &dyn Topics,
        topic: &'static str,
        now: UtcMillis,
    ) -> anyhow::Result<()> {
        let bounds = log.bounds(topic).await.with_context(|| format!("read `{topic}`"))?;
        for (partition, (first, end)) in (0..).zip(&bounds) {
            let place = (topic, partition);
            if !self.read.contains_key(&place) {
                let since = log.since(topic, now.0 - WINDOW_MS).await?;
                for (partition, from) in (0..).zip(since) {
                    self.read.insert((topic, partition), from);
                }
            }
            let mut from = self.read.get(&place).copied().unwrap_or(*first).max(*first);
            while from < *end {
                let records = log.read(topic, partition, from, PAGE).await?;
                let Some(last) = records.last() else { break };
                from = last.offset + 1;
                self.read.insert(place, from);
                for value in records.iter().filter_map(|record| record.value.as_deref()) {
                    self.count_record(topic, value);
                }
            }
        }
        Ok(())
    }

    /// What cannot be read lies in the quarantine already.
    fn count_record(&mut self, topic: &str, value: &[u8]) {
        if topic == topics::RETURNS {
            let Ok(notice) = wire::returns::decode(value) else { return };
            let counts = self.part_of(&notice.plan, notice.at);
            match notice.what {
                ReturnSort::Hard => counts.bounces += 1,
                ReturnSort::Complaint => counts.complaints += 1,
                ReturnSort::Soft => {}
            }
        } else if let Ok(InboxItem::Delivery(delivery)) = wire::inbox::decode(value)
            && delivery.channel == Channel::Email
            && matches!(delivery.outcome, DeliveryOutcome::Sent { .. })
        {
            self.part_of(&delivery.plan, delivery.at).sent += 1;
        }
    }

    fn part_of(&mut self, plan: &PlanName, at: UtcMillis) -> &mut ReturnCounts {
        self.parts.entry(plan.clone()).or_default().entry(at.0.div_euclid(PART_MS)).or_default()
    }
}

#[cfg(test)]
mod tests {
    use house::declare_topics;
    use model::{Person, ReadyId, Tenant, delivery::Delivery, partition::PartitionCount};
    use runtime::metrics::Metrics;
    use topic::{NewRecord, embedded::EmbeddedTopics};
    use wire::ReturnNotice;

    use super::*;

    #[test]
    fn few_mails_say_nothing_and_many_that_come_back_pause() {
        let limits = ReturnLimits { bounces: "10%".parse().ok(), complaints: "0.5%".parse().ok() };
        let check =
            |sent: u64, bounces: u64, complaints: u64, limits: ReturnLimits, expected: Option<&str>| {
                let found = ReturnCounts { sent, bounces, complaints }.find_excess(limits);
                assert_eq!(found.as_deref(), expected, "{sent} {bounces} {complaints}");
            };
        check(99, 99, 99, limits, None);
        check(100, 10, 0, limits, None);
        check(
            100,
            11,
            0,
            limits,
            Some("11 of 100 mails of the last hour came back for good (11 %; the limit is 10 %)"),
        );
        check(1_000, 100, 5, limits, None);
        check(
            1_000,
            0,
            6,
            limits,
            Some("6 of 1000 mails of the last hour were reported as spam (0.6 %; the limit is 0.5 %)"),
        );
        check(100, 0, 2, limits, None);
        check(1_000, 1_000, 1_000, ReturnLimits { bounces: None, complaints: None }, None);
    }

    fn new_record(topic: &str, partition: u32, value: Vec<u8>) -> NewRecord {
        let (key, headers) = (Vec::new(), Vec::new());
        NewRecord { topic: topic.into(), partition, key, value: Some(value), headers }
    }

    struct GuardBench {
        log: EmbeddedTopics,
        clock: Clock,
        guard: ReturnGuard,
        number: u8,
        _dir: tempfile::TempDir,
    }

    impl GuardBench {
        async fn open() -> Self {
            let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(10_000_000_000));
            let log = EmbeddedTopics::open(dir.path(), clock.clone()).unwrap();
            declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
            let guard = Self::new_guard(&clock);
            Self { log, clock, guard, number: 0, _dir: dir }
        }

        fn new_guard(clock: &Clock) -> ReturnGuard {
            let limits = ReturnLimits { bounces: "10%".parse().ok(), complaints: "0.5%".parse().ok() };
            let metrics = ReturnMetrics::declare(&Metrics::default()).unwrap();
            ReturnGuard::new(limits, metrics, clock.clone())
        }

        fn now(&self) -> UtcMillis {
            UtcMillis(self.clock.now())
        }

        /// So many mails went out, and so many came back as this.
        async fn send(&mut self, sent: usize, back: usize, what: ReturnSort) {
            let (partitions, mut records) = (PartitionCount::new(4).unwrap(), Vec::new());
            let (tenant, plan) = (Tenant::new("main").unwrap(), PlanName::new("daily").unwrap());
            for number in 0..sent {
                self.number = self.number.wrapping_add(1);
                let delivery = Delivery {
                    ready: ReadyId([self.number; 16]),
                    tenant: tenant.clone(),
                    person: Person::new(&format!("p{number}")).unwrap(),
                    plan: plan.clone(),
                    key: "".into(),
                    channel: Channel::Email,
                    attempt: 0,
                    at: self.now(),
                    outcome: DeliveryOutcome::Sent { left: Vec::new() },
                };
                let partition = partitions.of_person(&delivery.tenant, &delivery.person);
                let value = wire::inbox::encode(&InboxItem::Delivery(Box::new(delivery))).unwrap();
                records.push(new_record(topics::INBOX, partition, value));
            }
            for number in 0..back {
                let notice = ReturnNotice {
                    tenant: tenant.clone(),
                    person: Person::new(&format!("p{number}")).unwrap(),
                    plan: plan.clone(),
                    stream: "daily".into(),
                    channel: Channel::Email,
                    ready: ReadyId([0; 16]),
                    what,
                    code: "5.1.1".to_owned(),
                    sent: self.now(),
                    at: self.now(),
                };
                records.push(new_record(topics::RETURNS, 0, wire::returns::encode(&notice).unwrap()));
            }
            self.log.append(records).await.unwrap();
        }

        async fn check(&mut self, expected: Option<&str>) {
            self.guard.refresh(&self.log).await.unwrap();
            let paused = pauses::list_pauses(&self.log).await.unwrap();
            assert_eq!(paused.iter().map(|one| one.why.as_str()).next(), expected);
        }

        async fn end_pause(&mut self) {
            let (scope, by) = ("plan:daily".to_owned(), "ops".to_owned());
            let order = PauseOrder { scope, is_paused: false, by, why: String::new() };
            pauses::order_pause(&self.log, KnownScopes::default(), order, self.now()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_plan_whose_mails_come_back_pauses_itself_once() {
        let mut bench = GuardBench::open().await;
        bench.send(200, 10, ReturnSort::Hard).await;
        bench.check(None).await;
        bench.send(0, 11, ReturnSort::Hard).await;
        let why = "21 of 200 mails of the last hour came back for good (10.5 %; the limit is 10 %)";
        bench.check(Some(why)).await;
        // A process that starts anew finds the same in the log.
        bench.guard = GuardBench::new_guard(&bench.clock);
        bench.check(Some(why)).await;
        // Who ends the pause has looked: what was before does not count again.
        bench.clock.advance(2 * PART_MS);
        bench.end_pause().await;
        bench.check(None).await;
        bench.clock.advance(PART_MS);
        bench.send(200, 3, ReturnSort::Complaint).await;
        let why = "3 of 200 mails of the last hour were reported as spam (1.5 %; the limit is 0.5 %)";
        bench.check(Some(why)).await;
    }

    #[tokio::test]
    async fn what_is_longer_ago_than_an_hour_does_not_count() {
        let mut bench = GuardBench::open().await;
        bench.send(200, 50, ReturnSort::Hard).await;
        bench.clock.advance(WINDOW_MS + 2 * PART_MS);
        bench.send(200, 0, ReturnSort::Hard).await;
        bench.check(None).await;
        bench.send(0, 50, ReturnSort::Soft).await;
        bench.check(None).await;
    }
}
