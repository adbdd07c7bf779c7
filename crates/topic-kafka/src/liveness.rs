//! Whether clients still know a broker.
//!
//! A broker that is just back may say for a moment that its cluster has no brokers. librdkafka believes it, lets go of
//! all it knew and never looks for another (its issue 5301; 2.10 to 2.13 at least): such a client reads nothing,
//! appends nothing, and says nothing of it. So all of ours are asked now and then. If one knows no broker while a new
//! one finds some, the log is given up as one that is away; whoever runs a house opens it anew, on new clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use rdkafka::error::RDKafkaErrorCode as Code;

use crate::{
    client_registry::BrokerProbe, config::ReadIsolation, errors::error_code, kafka_state::KafkaState,
    metadata_client::MetadataClient,
};

/// Between two rounds.
const PERIOD: Duration = Duration::from_secs(10);
/// A client that knew none in so many rounds, while a new one did, never will.
const ROUNDS: u32 = 2;

/// In how many rounds a client knew no broker, by its number.
#[derive(Default)]
struct DeafRounds(BTreeMap<u64, u32>);

impl DeafRounds {
    /// Whether some client will never know one again.
    fn count_round(&mut self, deaf: &BTreeSet<u64>) -> bool {
        self.0.retain(|number, _| deaf.contains(number));
        deaf.iter().for_each(|number| *self.0.entry(*number).or_default() += 1);
        self.0.values().any(|rounds| *rounds >= ROUNDS)
    }
}

/// Asks round after round until the log is given up or closed.
pub fn start(inner: &Arc<KafkaState>) -> std::io::Result<()> {
    let inner = Arc::downgrade(inner);
    let rounds = move || {
        let mut deaf = DeafRounds::default();
        loop {
            std::thread::park_timeout(PERIOD);
            let Some(now) = inner.upgrade() else { return };
            if now.severed.load(Ordering::Acquire) {
                return;
            }
            let Some(topic) = now.asker.any_topic() else { continue };
            let (clients, settings, voice) =
                (now.voice.clients.living_clients(), now.settings.clone(), now.voice.clone());
            drop(now);
            // Opened when it is needed; it is not one of those that are asked.
            let knows = |topic: &str| {
                let anew = MetadataClient::open_unwatched(&settings, ReadIsolation::Committed, &voice);
                anew.is_ok_and(|asker| asker.brokers(topic).is_ok_and(|brokers| brokers > 0))
            };
            let Some(round) = find_deaf(&topic, &clients, knows) else { continue };
            if deaf.count_round(&round) {
                if let Some(inner) = inner.upgrade() {
                    inner.give_up();
                }
                return;
            }
        }
    };
    std::thread::Builder::new().name("kafka pulse".to_owned()).spawn(rounds).map(drop)
}

/// The clients that know no broker; nothing if a new one does not know any either, for then the cluster is away.
fn find_deaf(
    topic: &str,
    clients: &[(u64, Weak<dyn BrokerProbe>)],
    knows: impl Fn(&str) -> bool,
) -> Option<BTreeSet<u64>> {
    let (mut deaf, mut is_there) = (BTreeSet::new(), false);
    for (number, client) in clients {
        // Held while it is asked and no longer: whoever lets go of it waits until it is closed.
        let Some(said) = client.upgrade().map(|client| client.brokers(topic)) else { continue };
        let none = match said {
            Ok(1..) => continue,
            Ok(_) => true,
            // One that knows a broker and hears nothing from it says that it took too long.
            Err(error) => error_code(&error) == Some(Code::BrokerTransportFailure),
        };
        is_there = is_there || knows(topic);
        if !is_there {
            return None;
        }
        if none {
            deaf.insert(*number);
        }
    }
    Some(deaf)
}

#[cfg(test)]
mod tests {
    use rdkafka::error::KafkaError;

    use super::*;
    use crate::client_registry::ClientRegistry;

    struct FixedProbe(Result<usize, Code>);

    impl BrokerProbe for FixedProbe {
        fn brokers(&self, _: &str) -> Result<usize, KafkaError> {
            self.0.map_err(KafkaError::MetadataFetch)
        }
    }

    fn deaf_clients(say: &[Result<usize, Code>], known: bool) -> Option<BTreeSet<u64>> {
        let client = |says: &Result<usize, Code>| -> Arc<dyn BrokerProbe> { Arc::new(FixedProbe(*says)) };
        let clients: Vec<_> = say.iter().map(client).collect();
        let numbered: Vec<_> = (0..).zip(clients.iter().map(Arc::downgrade)).collect();
        find_deaf("topic", &numbered, |_| known)
    }

    #[test]
    fn only_one_that_knows_none_while_others_could_is_deaf() {
        let (none, late) = (Err(Code::BrokerTransportFailure), Err(Code::OperationTimedOut));
        for (say, known, wanted) in [
            (vec![Ok(3), late, Ok(3)], true, Some(vec![])),
            (vec![Ok(3), none, Ok(0)], true, Some(vec![1, 2])),
            (vec![none, none], false, None),
            (vec![Ok(3), late], false, None),
        ] {
            assert_eq!(deaf_clients(&say, known), wanted.map(BTreeSet::from_iter), "{say:?}");
        }
    }

    #[test]
    fn one_is_given_up_only_after_rounds_in_a_row() {
        let mut deaf = DeafRounds::default();
        let rounds: [&[u64]; 5] = [&[1], &[2], &[1], &[1, 2], &[]];
        let heard = rounds.map(|round| deaf.count_round(&round.iter().copied().collect()));
        assert_eq!(heard, [false, false, false, true, false]);
    }

    #[test]
    fn whom_nobody_has_is_not_asked() {
        let clients = ClientRegistry::default();
        let (kept, gone) = (Arc::new(FixedProbe(Ok(1))), Arc::new(FixedProbe(Ok(1))));
        clients.add(&kept);
        clients.add(&gone);
        drop(gone);
        assert_eq!(clients.living_clients().len(), 1);
    }
}
