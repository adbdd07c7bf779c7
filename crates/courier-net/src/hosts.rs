//! Destinations that others name: each has a pace of its own, since what one says about itself holds for no other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    http::Times,
    lane::{Lane, Width},
};

/// How much of them is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// So many are known at the same time; anybody can make up new ones.
    pub most: usize,
    /// Requests to one at the same time.
    pub at_once: usize,
    /// And a second.
    pub per_second: Option<f64>,
    pub times: Times,
}

#[derive(Debug)]
pub(crate) struct Hosts<T> {
    reach: Reach,
    known: Mutex<HashMap<String, Arc<Host<T>>>>,
}

/// One of them, as far as it matters to us, with what is remembered beside its pace.
#[derive(Debug)]
pub(crate) struct Host<T> {
    pub lane: Arc<Lane>,
    pub own: T,
}

impl<T: Default> Hosts<T> {
    pub fn new(reach: Reach) -> Self {
        Self { reach, known: Mutex::default() }
    }

    /// What is remembered of one, by its name. None if there are too many.
    pub fn get(&self, name: &str) -> Option<Arc<Host<T>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = known.get(name) {
            return Some(host.clone());
        }
        let Reach { most, at_once, per_second, times } = self.reach;
        if known.len() >= most {
            known.retain(|_, host| Arc::strong_count(host) > 1 || host.lane.is_resting());
        }
        if known.len() >= most {
            return None;
        }
        let host = Arc::new(Host { lane: lane(per_second, at_once, times), own: T::default() });
        known.insert(name.to_owned(), host.clone());
        Some(host)
    }
}

/// As much of a service as this is used; ten times as many may wait for their turn.
pub(crate) fn lane(per_second: Option<f64>, at_once: usize, times: Times) -> Arc<Lane> {
    Lane::new(Width { at_once, waiting: at_once * 10, wait: times.wait, per_second, ramp: None })
}
