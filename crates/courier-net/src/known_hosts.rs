//! Destinations that others name: each has a pace of its own, since what one says about itself holds for no other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    destination_limiter::{DestinationLimiter, LimiterWidth},
    http::OutboundTimeouts,
};

/// How much of them is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostLimits {
    /// So many are known at the same time; anybody can make up new ones.
    pub most: usize,
    /// Requests to one at the same time.
    pub at_once: usize,
    /// And a second.
    pub per_second: Option<f64>,
    pub times: OutboundTimeouts,
}

#[derive(Debug)]
pub(crate) struct KnownHosts<T> {
    reach: HostLimits,
    known: Mutex<HashMap<String, Arc<KnownHost<T>>>>,
}

/// One of them, as far as it matters to us, with what is remembered beside its pace.
#[derive(Debug)]
pub(crate) struct KnownHost<T> {
    pub lane: Arc<DestinationLimiter>,
    pub own: T,
}

impl<T: Default> KnownHosts<T> {
    pub fn new(reach: HostLimits) -> Self {
        Self { reach, known: Mutex::default() }
    }

    /// What is remembered of one, by its name. None if there are too many.
    pub fn get(&self, name: &str) -> Option<Arc<KnownHost<T>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = known.get(name) {
            return Some(host.clone());
        }
        let HostLimits { most, at_once, per_second, times } = self.reach;
        if known.len() >= most {
            known.retain(|_, host| Arc::strong_count(host) > 1 || host.lane.is_resting());
        }
        if known.len() >= most {
            return None;
        }
        let host = Arc::new(KnownHost { lane: host_limiter(per_second, at_once, times), own: T::default() });
        known.insert(name.to_owned(), host.clone());
        Some(host)
    }
}

/// As much of a service as this is used; ten times as many may wait for their turn.
pub(crate) fn host_limiter(
    per_second: Option<f64>,
    at_once: usize,
    times: OutboundTimeouts,
) -> Arc<DestinationLimiter> {
    DestinationLimiter::new(LimiterWidth {
        at_once,
        waiting: at_once * 10,
        wait: times.wait,
        per_second,
        ramp: None,
    })
}
