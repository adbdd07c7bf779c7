//! The clients that are open, each of which can be asked whether it knows a broker.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use rdkafka::{
    consumer::{BaseConsumer, Consumer as _, ConsumerContext},
    error::KafkaError,
    producer::{Producer as _, ProducerContext, ThreadedProducer},
};

/// How long a client may look for a broker: longer than it pauses between tries to connect.
const PATIENCE: Duration = Duration::from_secs(5);

/// A client that can be asked what it knows of a topic.
pub trait BrokerProbe: Send + Sync {
    /// How many brokers it hears of.
    fn brokers(&self, topic: &str) -> Result<usize, KafkaError>;
}

impl<C: ConsumerContext> BrokerProbe for BaseConsumer<C> {
    fn brokers(&self, topic: &str) -> Result<usize, KafkaError> {
        Ok(self.fetch_metadata(Some(topic), PATIENCE)?.brokers().len())
    }
}

impl<C: ProducerContext> BrokerProbe for ThreadedProducer<C> {
    fn brokers(&self, topic: &str) -> Result<usize, KafkaError> {
        Ok(self.client().fetch_metadata(Some(topic), PATIENCE)?.brokers().len())
    }
}

/// The clients there are, each with a number.
#[derive(Clone, Default)]
pub struct ClientRegistry(Arc<Mutex<NumberedClients>>);

#[derive(Default)]
struct NumberedClients {
    last: u64,
    clients: BTreeMap<u64, Weak<dyn BrokerProbe>>,
}

impl std::fmt::Debug for ClientRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientRegistry").finish_non_exhaustive()
    }
}

impl ClientRegistry {
    /// From here on it is asked with the others, for as long as somebody has it.
    pub fn add<T: BrokerProbe + 'static>(&self, client: &Arc<T>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.last += 1;
        let (number, client): (u64, Weak<dyn BrokerProbe>) = (all.last, Arc::<T>::downgrade(client));
        all.clients.insert(number, client);
    }

    /// Those that somebody still has.
    pub fn living_clients(&self) -> Vec<(u64, Weak<dyn BrokerProbe>)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clients.retain(|_, client| client.strong_count() > 0);
        all.clients.iter().map(|(number, client)| (*number, client.clone())).collect()
    }
}
