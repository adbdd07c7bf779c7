//! The other side of the mail in a scenario: the outbox, which can be out of reach for a while, or take little.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, Whose, outbox::Outbox};
use model::{Channel, erase::Erase};
use runtime::Clock;
use stage::scenario::Takes;

const MINUTE_MS: i64 = 60_000;

/// What is taken; outlives restarts of the house.
#[derive(Clone)]
pub(super) struct Post {
    clock: Clock,
    state: Arc<Mutex<(Takes, Option<i64>)>>,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Post")
    }
}

impl Post {
    pub fn new(clock: Clock) -> Self {
        Self { clock, state: Arc::default() }
    }

    pub fn set(&self, takes: Takes) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (takes, None);
    }

    /// Whether another mail is taken now, or why not.
    fn take(&self) -> Result<(), &'static str> {
        let now = self.clock.now();
        let (takes, last) = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *takes {
            Takes::All => Ok(()),
            Takes::Nothing => Err("the mail server is down"),
            Takes::OneIn(minutes) if last.is_some_and(|last| now < last + minutes * MINUTE_MS) => {
                Err("its rate is used up")
            }
            Takes::OneIn(_) => {
                *last = Some(now);
                Ok(())
            }
        }
    }
}

/// An outbox that does not take everything.
#[derive(Debug)]
pub(super) struct MailServer {
    pub outbox: Arc<Outbox>,
    pub post: Post,
}

#[async_trait]
impl Courier for MailServer {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        match self.post.take() {
            Ok(()) => self.outbox.hand(message, gate).await,
            Err(why) => Ok(Handed::Away(why.to_owned())),
        }
    }

    async fn outcome(&self, channel: Channel, message_id: &str) -> Result<Outcome, CourierError> {
        self.outbox.outcome(channel, message_id).await
    }

    async fn erase(&self, whose: &Whose, how: Erase) -> Result<Option<u64>, CourierError> {
        self.outbox.erase(whose, how).await
    }
}
