//! Engines whose answers are timed and whose failures are counted.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use runtime::{
    clock::SteadyStopwatch,
    metrics::{Counters, Histograms},
};
use store::{
    Store, StoreError,
    decorator::{StoreCall, StoreDecorator},
};
use topic::{TopicError, Topics, decorator::TopicsDecorator};

use crate::{HouseEngines, metrics::EngineMetrics};

impl HouseEngines {
    /// The same engines, measured.
    pub(crate) fn measured(self, metrics: &EngineMetrics) -> Self {
        let metrics = metrics.clone();
        Self {
            topics: Arc::new(MeasuredTopics { log: self.topics, metrics: metrics.clone() }),
            store: Arc::new(MeasuredStore { store: self.store, metrics }),
            ..self
        }
    }
}

struct MeasuredTopics {
    log: Arc<dyn Topics>,
    metrics: EngineMetrics,
}

struct MeasuredStore {
    store: Arc<dyn Store>,
    metrics: EngineMetrics,
}

impl fmt::Debug for MeasuredTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.fmt(f)
    }
}

impl fmt::Debug for MeasuredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

async fn measure_call<T, E>(
    operation: &str,
    (seconds, failures): (&Histograms, &Counters),
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let watch = SteadyStopwatch::start();
    let answer = call.await;
    seconds.with_label_values(&[operation]).observe(watch.elapsed().as_secs_f64());
    if answer.is_err() {
        failures.with_label_values(&[operation]).inc();
    }
    answer
}

#[async_trait]
impl TopicsDecorator for MeasuredTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.log
    }

    async fn around<T: Send>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, TopicError>> + Send,
    ) -> Result<T, TopicError> {
        let EngineMetrics { log_seconds, log_failures, .. } = &self.metrics;
        // To join may take as long as others need to let go.
        if operation == "join" {
            call.await
        } else {
            measure_call(operation, (log_seconds, log_failures), call).await
        }
    }
}

#[async_trait]
impl StoreDecorator for MeasuredStore {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<T: Send>(
        &self,
        StoreCall { operation, .. }: StoreCall,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let EngineMetrics { store_seconds, store_failures, .. } = &self.metrics;
        measure_call(operation, (store_seconds, store_failures), call).await
    }
}
