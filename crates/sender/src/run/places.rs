//! The places of deliveries: so many are under way at the same time, of each channel, so that a slow one leaves the others theirs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::Channel;
use runtime::{ShutdownSignal, clock::SteadyStopwatch, metrics::Gauges};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{batch_limit::RoundSeating, config::ROUND};

pub(crate) struct DeliveryPlaces {
    of: BTreeMap<Channel, Arc<Semaphore>>,
    seating: Mutex<RoundSeating>,
    in_flight: Gauges,
}

/// A place, until it is dropped.
pub(crate) struct DeliveryPlace {
    _permit: OwnedSemaphorePermit,
    channel: Channel,
    in_flight: Gauges,
}

impl Drop for DeliveryPlace {
    fn drop(&mut self) {
        self.in_flight.with_label_values(&[self.channel.name()]).dec();
    }
}

impl DeliveryPlaces {
    pub fn new(at_once_max: usize, in_flight: Gauges) -> Self {
        let of = |channel| (channel, Arc::new(Semaphore::new(at_once_max.max(1))));
        Self { of: Channel::ALL.into_iter().map(of).collect(), seating: Mutex::default(), in_flight }
    }

    /// A place of this channel, if one is free before the round has begun what it begins. A process that is to end begins
    /// nothing.
    pub async fn take(
        &self,
        channel: Channel,
        round: &SteadyStopwatch,
        shutdown: &ShutdownSignal,
    ) -> Option<DeliveryPlace> {
        let waits = ROUND.saturating_sub(round.elapsed());
        let free = self.of.get(&channel)?.clone().acquire_owned();
        let place = tokio::select! {
            biased;
            () = shutdown.wait() => return None,
            place = timeout(waits, free) => place.ok().and_then(Result::ok),
        };
        let mut seating = self.lock_seating();
        let seated = if place.is_some() { &mut seating.placed } else { &mut seating.turned_away };
        *seated.entry(channel).or_default() += 1;
        seating.took = seating.took.max(round.elapsed());
        let permit = place?;
        self.in_flight.with_label_values(&[channel.name()]).inc();
        Some(DeliveryPlace { _permit: permit, channel, in_flight: self.in_flight.clone() })
    }

    /// How it went since this was asked last.
    pub fn take_seating(&self) -> RoundSeating {
        std::mem::take(&mut *self.lock_seating())
    }

    /// The value is valid even after a panic: every change is a single step.
    fn lock_seating(&self) -> MutexGuard<'_, RoundSeating> {
        self.seating.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
