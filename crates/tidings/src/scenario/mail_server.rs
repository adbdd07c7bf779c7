//! The other side of the mail in a scenario: the outbox, which can be out of reach for a while.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, outbox::Outbox};
use model::Channel;

/// Whether mail is taken; outlives restarts of the house.
#[derive(Clone, Debug, Default)]
pub(super) struct Down(Arc<AtomicBool>);

impl Down {
    pub fn set(&self, down: bool) {
        self.0.store(down, Ordering::SeqCst);
    }
}

/// An outbox that is not always there.
#[derive(Debug)]
pub(super) struct MailServer {
    pub outbox: Arc<Outbox>,
    pub down: Down,
}

#[async_trait]
impl Courier for MailServer {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        if self.down.0.load(Ordering::SeqCst) {
            return Ok(Handed::NotNow("the mail server is down".to_owned()));
        }
        self.outbox.hand(message, gate).await
    }

    async fn outcome(&self, channel: Channel, message_id: &str) -> Result<Outcome, CourierError> {
        self.outbox.outcome(channel, message_id).await
    }
}
