//! The quota of connections: a total, and a maximum for each address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::file_limit::cap_by_files;

/// Connections of a listener for HTTP.
const CONNECTIONS_MAX: usize = 1_000;
/// The same where most of them wait for news, and do nothing meanwhile.
const WAITING_MAX: usize = 14_000;

/// How many may be connected at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListenerLimits {
    pub connections: usize,
    /// Of one address of a client, so that nobody fills the port alone.
    pub per_address: usize,
}

impl ListenerLimits {
    /// For HTTP. A proxy in front is one address, so that one may have most.
    pub fn for_http() -> Self {
        Self::for_proxies(CONNECTIONS_MAX)
    }

    /// For HTTP with connections that are open for long, such as those of bells.
    pub fn for_streams() -> Self {
        Self::for_proxies(WAITING_MAX)
    }

    fn for_proxies(connections: usize) -> Self {
        let connections = cap_by_files(connections);
        Self { connections, per_address: (connections - connections / 4).max(1) }
    }

    /// The same, but no more than a process with few files can have beside HTTP.
    pub fn capped_by_files(self) -> Self {
        let connections = self.connections.min((cap_by_files(CONNECTIONS_MAX) / 4).max(1));
        Self { connections, per_address: self.per_address.min(connections) }
    }
}

/// The places of a listener.
#[derive(Debug)]
pub struct ConnectionQuota {
    limits: ListenerLimits,
    taken: Mutex<ConnectionCounts>,
}

#[derive(Debug, Default)]
struct ConnectionCounts {
    all: usize,
    /// No more entries than there are places.
    by_address: HashMap<IpAddr, usize>,
}

/// A place, as long as it is held.
#[derive(Debug)]
pub struct ConnectionPermit {
    places: Arc<ConnectionQuota>,
    address: IpAddr,
}

impl ConnectionQuota {
    pub fn new(limits: ListenerLimits) -> Arc<Self> {
        Arc::new(Self { limits, taken: Mutex::default() })
    }

    /// A place for a client; `None` if all are taken, or all that its address may have.
    pub fn take(self: &Arc<Self>, client: SocketAddr) -> Option<ConnectionPermit> {
        let address = client_network(client.ip());
        let mut taken = self.lock_counts();
        let own = taken.by_address.get(&address).copied().unwrap_or_default();
        if taken.all >= self.limits.connections || own >= self.limits.per_address {
            return None;
        }
        taken.all += 1;
        taken.by_address.insert(address, own + 1);
        Some(ConnectionPermit { places: Arc::clone(self), address })
    }

    fn lock_counts(&self) -> MutexGuard<'_, ConnectionCounts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut taken = self.places.lock_counts();
        taken.all -= 1;
        let own = taken.by_address.remove(&self.address).unwrap_or_default();
        if own > 1 {
            taken.by_address.insert(self.address, own - 1);
        }
    }
}

/// What one client has: of IPv6 a whole network of 64 bits.
fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_at(text: &str) -> SocketAddr {
        SocketAddr::new(text.parse().unwrap(), 1)
    }

    #[test]
    fn an_address_has_some_of_the_places() {
        let places = ConnectionQuota::new(ListenerLimits { connections: 3, per_address: 2 });
        let take = |text: &str| places.take(client_at(text));
        let first = take("192.0.2.1").unwrap();
        let _second = take("::ffff:192.0.2.1").unwrap();
        assert!(take("192.0.2.1").is_none());
        let _third = take("2001:db8::1").unwrap();
        assert!(take("192.0.2.2").is_none(), "all are taken");
        drop(first);
        let fourth = take("2001:db8::2:1").unwrap();
        assert!(take("2001:db8::3").is_none());
        drop(fourth);
        assert!(take("2001:db8:0:1::3").is_some());
        assert_eq!(places.lock_counts().by_address.len(), 2, "who is gone is forgotten");
    }
}
