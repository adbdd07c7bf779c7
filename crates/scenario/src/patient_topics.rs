//! A log of real engines as a story asks it: on a machine that has much else to do a topic has no leader for a while, an
//! epoch is behind, a broker does not answer. A story waits for all of that; it fails by what was told, not by when.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use runtime::{clock::SteadyStopwatch, retry};
use topic::{
    GroupMembership, Member, NewRecord, TopicError, TopicRecord, TopicSpec, Topics,
    port::{GroupStanding, TopicName},
};

/// How long a cluster is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);
/// Pauses between tries grow no more after so many.
pub(super) const PAUSES_MAX: u32 = 5;

/// A log that is asked again while it is busy.
pub(super) struct PatientTopics(pub Arc<dyn Topics>);

impl fmt::Debug for PatientTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Asks until the answer is another than that it is busy.
pub(super) async fn retry_while_busy<T, F>(ask: impl Fn() -> F) -> Result<T, TopicError>
where
    F: Future<Output = Result<T, TopicError>>,
{
    let waited = SteadyStopwatch::start();
    let mut tries = 0;
    loop {
        match ask().await {
            Err(TopicError::Busy(why)) if waited.elapsed() < PATIENCE => {
                tracing::debug!(why, "a story waits for the log");
                retry::pause_before_retry(tries, 0).await;
                tries = (tries + 1).min(PAUSES_MAX);
            }
            answer => return answer,
        }
    }
}

#[async_trait]
impl Topics for PatientTopics {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        retry_while_busy(|| self.0.declare(specs)).await
    }
    /// What was appended although nobody answered is there twice: stories say it under one id.
    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        retry_while_busy(|| self.0.append(records.clone())).await
    }
    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        retry_while_busy(|| self.0.read(topic, partition, from, most)).await
    }
    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        retry_while_busy(|| self.0.bounds(topic)).await
    }
    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        retry_while_busy(|| self.0.since(topic, at)).await
    }
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
        retry_while_busy(|| self.0.standing(group, topic)).await
    }
    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        retry_while_busy(|| self.0.has_members(group)).await
    }
    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        retry_while_busy(|| self.0.remove(topics)).await
    }
    async fn blank(&self, records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        retry_while_busy(|| self.0.blank(records)).await
    }
    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        retry_while_busy(|| self.0.life(topic)).await
    }
    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        self.0.join(membership).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn only_what_is_busy_is_asked_again() {
        let check = async |answers: &[Result<u32, TopicError>], expected: Result<u32, &str>| {
            let asked = AtomicU32::default();
            let answer = retry_while_busy(|| {
                let at = asked.fetch_add(1, Ordering::Relaxed) as usize;
                std::future::ready(answers[at].clone())
            });
            let answer = answer.await.map_err(|error| error.to_string());
            assert_eq!(answer, expected.map_err(str::to_owned));
            assert_eq!(asked.load(Ordering::Relaxed) as usize, answers.len());
        };
        let busy = || Err(TopicError::Busy("no leader yet".to_owned()));
        check(&[Ok(7)], Ok(7)).await;
        check(&[busy(), busy(), Ok(7)], Ok(7)).await;
        check(&[busy(), Err(TopicError::Refused("no such topic".to_owned()))], Err("no such topic")).await;
    }
}
