//! Who has places of a channel, and who waits for one. Tenants that wait have their turns by weight. While there are others a
//! tenant takes only so many places that some are left for whoever comes: one whose server is slow keeps nobody out.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use house_facts::tenant_shares::TenantShares;
use model::Tenant;

/// A tenant of weight 1 holds at most so many times the places that stay free: three quarters of all where it is the only one
/// that sends.
const SHARE_OF_FREE: usize = 3;

/// The places of one channel.
#[derive(Debug)]
pub(crate) struct PlaceTable<W> {
    most: usize,
    shares: Arc<TenantShares>,
    /// Those who hold a place or wait for one.
    tenants: BTreeMap<Tenant, TenantPlaces<W>>,
    held: usize,
    /// What whoever had the last turn had paid before it: who comes new begins here.
    paid: u64,
    /// Whom it has seen first, and whether there are others: those that it has seen since, and those that the house knows of.
    first: Option<Tenant>,
    has_others: bool,
}

#[derive(Debug)]
struct TenantPlaces<W> {
    held: usize,
    waiting: VecDeque<W>,
    paid: u64,
}

impl<W> PlaceTable<W> {
    pub fn new(most: usize, shares: Arc<TenantShares>) -> Self {
        let (tenants, held, paid, first) = (BTreeMap::new(), 0, 0, None);
        let has_others = shares.has_several();
        Self { most: most.max(1), shares, tenants, held, paid, first, has_others }
    }

    /// Somebody waits for a place.
    pub fn add_waiting(&mut self, tenant: &Tenant, waiter: W) {
        match &self.first {
            None => self.first = Some(tenant.clone()),
            Some(first) => self.has_others |= first != tenant,
        }
        let begun = self.paid;
        let new = || TenantPlaces { held: 0, waiting: VecDeque::new(), paid: begun };
        let own = self.tenants.entry(tenant.clone()).or_insert_with(new);
        if own.waiting.is_empty() {
            // Nobody saves up turns while they want none.
            own.paid = own.paid.max(begun);
        }
        own.waiting.push_back(waiter);
    }

    /// Gives the next free place to whose turn it is, if anybody may have it. Whoever does not wait any more is passed over.
    pub fn grant_next(&mut self, still_waits: impl Fn(&W) -> bool) -> Option<(Tenant, W)> {
        for own in self.tenants.values_mut() {
            while own.waiting.front().is_some_and(|waiter| !still_waits(waiter)) {
                own.waiting.pop_front();
            }
        }
        self.tenants.retain(|_, own| own.held > 0 || !own.waiting.is_empty());
        let waiting = self.tenants.iter().filter(|(_, own)| !own.waiting.is_empty());
        let free = waiting.filter(|(tenant, own)| self.may_take(tenant, own.held));
        let next = free.min_by_key(|(_, own)| own.paid).map(|(tenant, _)| tenant.clone())?;
        let own = self.tenants.get_mut(&next)?;
        let waiter = own.waiting.pop_front()?;
        self.paid = own.paid;
        own.paid += self.shares.turn_cost(&next);
        own.held += 1;
        self.held += 1;
        Some((next, waiter))
    }

    /// A place is free again.
    pub fn give_back(&mut self, tenant: &Tenant) {
        if let Some(own) = self.tenants.get_mut(tenant) {
            own.held = own.held.saturating_sub(1);
            self.held = self.held.saturating_sub(1);
        }
    }

    /// Whether places are free that this tenant may not have: it waits for its own.
    pub fn waits_for_own(&self, tenant: &Tenant) -> bool {
        let held = self.tenants.get(tenant).map_or(0, |own| own.held);
        self.held < self.most && !self.may_take(tenant, held)
    }

    fn may_take(&self, tenant: &Tenant, held: usize) -> bool {
        let free = self.most.saturating_sub(self.held);
        if free == 0 || held >= self.shares.places_max(tenant) {
            return false;
        }
        let weight = self.shares.weight(tenant) as usize;
        !self.has_others || held == 0 || held < (free - 1).saturating_mul(SHARE_OF_FREE * weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    /// Weights and places of one tenant at most, so that nobody knows of others.
    fn table(most: usize, weights: &[(&str, u32)], places: &[(&str, usize)]) -> PlaceTable<usize> {
        let weights = weights.iter().map(|(name, weight)| (tenant(name), *weight)).collect();
        let places = places.iter().map(|(name, most)| (tenant(name), *most)).collect();
        PlaceTable::new(most, Arc::new(TenantShares::new(weights, places)))
    }

    /// Each letter waits once; returns who has been given a place.
    fn seat(table: &mut PlaceTable<usize>, wanted: &str) -> String {
        for (at, name) in wanted.chars().enumerate() {
            table.add_waiting(&tenant(&name.to_string()), at);
        }
        let granted = std::iter::from_fn(|| table.grant_next(|_| true));
        granted.map(|(tenant, _)| tenant.as_str().to_owned()).collect()
    }

    fn give_back(table: &mut PlaceTable<usize>, names: &str) {
        names.chars().for_each(|name| table.give_back(&tenant(&name.to_string())));
    }

    #[test]
    fn who_is_alone_has_all_places() {
        let mut table = table(4, &[], &[]);
        assert_eq!(seat(&mut table, "aaaaaa"), "aaaa");
        give_back(&mut table, "aa");
        assert_eq!(seat(&mut table, ""), "aa");
    }

    #[test]
    fn who_holds_all_it_may_leaves_places_to_others() {
        let mut slow = table(128, &[], &[]);
        assert_eq!(seat(&mut slow, "b"), "b");
        give_back(&mut slow, "b");
        assert_eq!(seat(&mut slow, &"a".repeat(300)).len(), 96);
        assert!(slow.waits_for_own(&tenant("a")) && !slow.waits_for_own(&tenant("b")));
        assert_eq!(seat(&mut slow, &"b".repeat(300)).len(), 24, "there are places for more tenants");
        assert_eq!(seat(&mut slow, "ccc").len(), 3);
        // With weights one may hold more, and another none the less has a place.
        let mut heavy = table(128, &[("a", 10)], &[]);
        seat(&mut heavy, "b");
        give_back(&mut heavy, "b");
        assert_eq!(seat(&mut heavy, &"a".repeat(300)).len(), 123);
        assert_eq!(seat(&mut heavy, "b"), "b");
    }

    #[test]
    fn a_limit_holds_always() {
        let mut table = table(8, &[], &[("a", 2)]);
        assert_eq!(seat(&mut table, "aaaa"), "aa");
        assert_eq!(seat(&mut table, "bb"), "bb");
        give_back(&mut table, "a");
        assert_eq!(seat(&mut table, ""), "a");
    }

    #[test]
    fn whoever_waits_has_turns_by_weight_and_saves_none_up() {
        let mut table = table(4, &[("b", 2)], &[]);
        seat(&mut table, "c");
        assert_eq!(seat(&mut table, "aaaaaaaabbbbbbbb"), "ab", "a place is left for another tenant");
        give_back(&mut table, "c");
        let mut seated = String::new();
        for _ in 0..9 {
            let held = |table: &PlaceTable<usize>, name: &str| {
                table.tenants.get(&tenant(name)).map_or(0, |own| own.held)
            };
            // Everybody's messages go at once, so turns alone decide.
            for name in ["a", "b"] {
                (0..held(&table, name)).for_each(|_| table.give_back(&tenant(name)));
            }
            seated.extend(table.grant_next(|_| true).map(|(tenant, _)| tenant.as_str().to_owned()));
        }
        let of_b = seated.matches('b').count();
        assert!((5..=6).contains(&of_b), "{seated}");
    }

    #[test]
    fn who_gave_up_is_passed_over() {
        let mut table = table(1, &[], &[]);
        seat(&mut table, "aaa");
        give_back(&mut table, "a");
        let (_, waiter) = table.grant_next(|waiter| *waiter != 1).unwrap();
        assert_eq!(waiter, 2);
        give_back(&mut table, "a");
        assert!(table.grant_next(|_| true).is_none());
        assert!(table.tenants.is_empty(), "nobody is remembered who wants nothing");
    }
}
