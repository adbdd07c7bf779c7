//! A log of real engines as a story asks it: on a machine that has much else to do a topic has no leader for a while, an
//! epoch is behind, a broker does not answer. A story waits for all of that; it fails by what was told, not by when.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use runtime::{clock::SteadyStopwatch, retry};
use topic::{TopicError, Topics, decorator::TopicsDecorator};

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
                tracing::debug!(why, "waiting for the log");
                retry::pause_before_retry(tries, 0).await;
                tries = (tries + 1).min(PAUSES_MAX);
            }
            answer => return answer,
        }
    }
}

#[async_trait]
impl TopicsDecorator for PatientTopics {
    /// A record that was appended although nobody answered is there twice: stories say it under one id.
    const REPEATS: bool = true;

    fn inner(&self) -> &dyn Topics {
        &*self.0
    }

    async fn repeat<T: Send, F: Future<Output = Result<T, TopicError>> + Send>(
        &self,
        ask: impl Fn() -> F + Send + Sync,
    ) -> Result<T, TopicError> {
        retry_while_busy(ask).await
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
