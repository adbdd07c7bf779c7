//! The places of deliveries: so many are under way at the same time, of each channel, so that a slow one leaves the others
//! theirs. Whose turn it is says [`crate::place_table`].

use std::{
    collections::BTreeMap,
    fmt,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use house_facts::tenant_shares::TenantShares;
use model::{Channel, Tenant, ready::Ready};
use runtime::{ShutdownSignal, clock::SteadyStopwatch, metrics::Gauges};
use tokio::{sync::oneshot, time::timeout};

use super::slow_deliveries::lock_mutex;
use crate::{
    batch_limit::RoundSeating,
    config::{OVER_SHARE, ROUND},
    place_table::PlaceTable,
};

pub(crate) struct DeliveryPlaces {
    of: BTreeMap<Channel, Arc<ChannelPlaces>>,
    seating: Mutex<RoundSeating>,
}

/// The places of one channel, and whoever waits for them.
struct ChannelPlaces {
    channel: Channel,
    table: Mutex<PlaceTable<oneshot::Sender<DeliveryPlace>>>,
    in_flight: Gauges,
}

/// A place, until it is dropped.
pub(crate) struct DeliveryPlace {
    of: Arc<ChannelPlaces>,
    tenant: Tenant,
}

impl fmt::Debug for DeliveryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryPlace").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Drop for DeliveryPlace {
    fn drop(&mut self) {
        self.of.in_flight.with_label_values(&[self.of.channel.name()]).dec();
        lock_mutex(&self.of.table).give_back(&self.tenant);
        self.of.grant_free();
    }
}

impl ChannelPlaces {
    /// Gives what is free to those whose turn it is. Nothing is sent under the lock: what nobody takes is free again.
    fn grant_free(self: &Arc<Self>) {
        loop {
            let next = lock_mutex(&self.table).grant_next(|waiter| !waiter.is_closed());
            let Some((tenant, waiter)) = next else { return };
            self.in_flight.with_label_values(&[self.channel.name()]).inc();
            drop(waiter.send(DeliveryPlace { of: self.clone(), tenant }));
        }
    }

    /// A place of a tenant, if it is given one within so long; sooner over if it holds all that it may, and others are free.
    async fn wait_for_place(self: &Arc<Self>, tenant: &Tenant, most: Duration) -> Option<DeliveryPlace> {
        let (waiter, place) = oneshot::channel();
        lock_mutex(&self.table).add_waiting(tenant, waiter);
        self.grant_free();
        let mut place = pin!(place);
        let first = most.min(OVER_SHARE);
        if let Ok(place) = timeout(first, place.as_mut()).await {
            return place.ok();
        }
        if lock_mutex(&self.table).waits_for_own(tenant) {
            return None;
        }
        timeout(most - first, place).await.ok().and_then(Result::ok)
    }
}

impl DeliveryPlaces {
    pub fn new(at_once_max: usize, shares: &Arc<TenantShares>, in_flight: &Gauges) -> Self {
        let of = |channel| {
            let (table, in_flight) = (PlaceTable::new(at_once_max, shares.clone()), in_flight.clone());
            (channel, Arc::new(ChannelPlaces { channel, table: Mutex::new(table), in_flight }))
        };
        Self { of: Channel::ALL.into_iter().map(of).collect(), seating: Mutex::default() }
    }

    /// A place for this Ready, if one is free before the round has begun what it begins. A process that is to end begins
    /// nothing.
    pub async fn take(
        &self,
        ready: &Ready,
        round: &SteadyStopwatch,
        shutdown: &ShutdownSignal,
    ) -> Option<DeliveryPlace> {
        let most = ROUND.saturating_sub(round.elapsed());
        let places = self.of.get(&ready.channel)?;
        let place = tokio::select! {
            biased;
            () = shutdown.wait() => return None,
            place = places.wait_for_place(&ready.tenant, most) => place,
        };
        let mut seating = lock_mutex(&self.seating);
        let seated = if place.is_some() { &mut seating.placed } else { &mut seating.turned_away };
        *seated.entry((ready.channel, ready.tenant.clone())).or_default() += 1;
        seating.took = seating.took.max(round.elapsed());
        place
    }

    /// How it went since this was asked last.
    pub fn take_seating(&self) -> RoundSeating {
        std::mem::take(&mut *lock_mutex(&self.seating))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use runtime::metrics::Metrics;

    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn open_channel(most: usize) -> Arc<ChannelPlaces> {
        let in_flight = Metrics::default().gauge("in_flight", "messages", &["channel"]).unwrap();
        let shares = Arc::new(TenantShares::new(BTreeMap::new(), BTreeMap::from([(tenant("a"), 2)])));
        let table = Mutex::new(PlaceTable::new(most, shares));
        Arc::new(ChannelPlaces { channel: Channel::Push, table, in_flight })
    }

    #[tokio::test]
    async fn a_place_that_is_given_back_goes_to_whoever_waits() {
        let places = open_channel(4);
        let (a, b) = (tenant("a"), tenant("b"));
        let (minute, blink) = (Duration::from_secs(60), Duration::from_millis(20));
        let (first, second) = (
            places.wait_for_place(&a, minute).await.unwrap(),
            places.wait_for_place(&a, minute).await.unwrap(),
        );
        assert!(places.wait_for_place(&a, blink).await.is_none(), "it holds all that it may");
        let other = places.wait_for_place(&b, Duration::ZERO).await;
        assert!(other.is_some(), "another one's place was free");
        let (third, ()) = tokio::join!(places.wait_for_place(&a, minute), async { drop(first) });
        assert!(third.is_some());
        drop((second, third, other));
        let flying = places.in_flight.with_label_values(&[Channel::Push.name()]).get();
        assert_eq!(flying, 0, "who gave up holds none");
    }
}
