//! One life of the house that a scenario plays in.

use std::sync::Arc;

use adapters::engine_setup::OpenedEngines;
use anyhow::ensure;
use axum::Router;
use courier::outbox::OutboxCourier;
use house::RunningHouse;
use store::Store;
use topic::Topics;
use topic_kafka::KafkaTopics;

/// One life of the house.
pub(super) struct RunningScene {
    pub house: RunningHouse,
    pub intake: Router,
    /// The engines themselves, below whatever makes them rough.
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub engines: OpenedEngines,
    /// The real log, so that it can be cut off.
    pub kafka: Option<KafkaTopics>,
    pub outbox: Arc<OutboxCourier>,
}

impl RunningScene {
    /// Lets go of the directory, so that the next life can have it.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { house, intake, topics, store, engines, kafka, outbox } = self;
        drop((house, intake, topics, store, kafka, outbox));
        ensure!(!engines.is_held(), "the store of a house that is down is still in use");
        engines.close().await
    }
}
