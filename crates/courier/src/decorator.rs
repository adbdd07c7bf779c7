//! A courier around another: a decorator overrides what it does otherwise, and hands on the rest. A type that implements
//! [`CourierDecorator`] is a [`Courier`] thereby.

use std::fmt;

use async_trait::async_trait;
use house_facts::erasure::EraseMode;
use model::Channel;

use crate::port::{Courier, CourierEraseRequest, CourierError, HandoverGate, HandoverOutcome, Message};

/// A courier around another; each method hands on unless it is overridden.
#[async_trait]
pub trait CourierDecorator: Send + Sync + fmt::Debug {
    /// The courier within.
    fn inner(&self) -> &dyn Courier;

    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        self.inner().hand(message, gate).await
    }

    async fn was_sent(&self, channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError> {
        self.inner().was_sent(channel, message_id).await
    }

    async fn erase(&self, whose: &CourierEraseRequest, how: EraseMode) -> Result<Option<u64>, CourierError> {
        self.inner().erase(whose, how).await
    }
}

#[async_trait]
impl<D: CourierDecorator> Courier for D {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        CourierDecorator::hand(self, message, gate).await
    }

    async fn was_sent(&self, channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError> {
        CourierDecorator::was_sent(self, channel, message_id).await
    }

    async fn erase(&self, whose: &CourierEraseRequest, how: EraseMode) -> Result<Option<u64>, CourierError> {
        CourierDecorator::erase(self, whose, how).await
    }
}
