//! The other side of the mail in a scenario: the outbox, which can be out of reach for a while, or take little.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use courier::{
    Courier, CourierError, HandoverGate, HandoverOutcome, Message, decorator::CourierDecorator,
    outbox::OutboxCourier,
};
use runtime::Clock;
use stage::scenario::MailServerState;

const MINUTE_MS: i64 = 60_000;

/// What is taken; outlives restarts of the house.
#[derive(Clone)]
pub(super) struct MailAcceptance {
    clock: Clock,
    state: Arc<Mutex<(MailServerState, Option<i64>)>>,
}

impl std::fmt::Debug for MailAcceptance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Post")
    }
}

impl MailAcceptance {
    pub fn new(clock: Clock) -> Self {
        Self { clock, state: Arc::default() }
    }

    pub fn set(&self, takes: MailServerState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (takes, None);
    }

    /// Whether another mail is taken now, or why not.
    fn try_take(&self) -> Result<(), &'static str> {
        let now = self.clock.now();
        let (takes, last) = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *takes {
            MailServerState::All => Ok(()),
            MailServerState::Nothing => Err("the mail server is down"),
            MailServerState::OneIn(minutes) if last.is_some_and(|last| now < last + minutes * MINUTE_MS) => {
                Err("its rate is used up")
            }
            MailServerState::OneIn(_) => {
                *last = Some(now);
                Ok(())
            }
        }
    }
}

/// An outbox that does not take everything.
#[derive(Debug)]
pub(super) struct ScriptedMailServer {
    pub outbox: Arc<OutboxCourier>,
    pub post: MailAcceptance,
}

#[async_trait]
impl CourierDecorator for ScriptedMailServer {
    fn inner(&self) -> &dyn Courier {
        &*self.outbox
    }

    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        match self.post.try_take() {
            Ok(()) => self.outbox.hand(message, gate).await,
            Err(why) => Ok(HandoverOutcome::Away(why.to_owned())),
        }
    }
}
