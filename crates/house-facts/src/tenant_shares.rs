//! How much of a house each tenant gets, where several wait for the same: by weights, and at most so much.

use std::collections::{BTreeMap, BTreeSet};

use model::Tenant;

/// The greatest weight that a tenant may have.
pub const WEIGHT_MAX: u32 = 1_000;
/// What a turn costs a tenant of weight 1; it is a multiple of most weights.
const TURN_COST: u64 = 720_720;

/// What was set of tenants. Of one that is not named the weight is 1, and nothing else holds it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TenantShares {
    weights: BTreeMap<Tenant, u32>,
    places: BTreeMap<Tenant, usize>,
    /// The house is known to have more than one.
    has_several: bool,
}

impl TenantShares {
    /// By weights, and by how many messages of a channel and lane a tenant may have under way in one process.
    pub fn new(weights: BTreeMap<Tenant, u32>, places: BTreeMap<Tenant, usize>) -> Self {
        let named: BTreeSet<&Tenant> = weights.keys().chain(places.keys()).collect();
        let has_several = named.len() > 1;
        Self { weights, places, has_several }
    }

    /// The same for a house that has these tenants, and perhaps others.
    #[must_use]
    pub fn among(mut self, tenants: &BTreeSet<Tenant>) -> Self {
        let named = self.weights.keys().chain(self.places.keys()).chain(tenants);
        self.has_several = named.collect::<BTreeSet<_>>().len() > 1;
        self
    }

    /// Whether the house is known to have several tenants.
    pub fn has_several(&self) -> bool {
        self.has_several
    }

    pub fn weight(&self, tenant: &Tenant) -> u32 {
        self.weights.get(tenant).map_or(1, |weight| (*weight).clamp(1, WEIGHT_MAX))
    }

    /// The greatest weight that any tenant has.
    pub fn weight_max(&self) -> u32 {
        self.weights.keys().map(|tenant| self.weight(tenant)).max().unwrap_or(1).max(1)
    }

    pub fn places_max(&self, tenant: &Tenant) -> usize {
        self.places.get(tenant).map_or(usize::MAX, |most| (*most).max(1))
    }

    /// What one turn costs a tenant: whoever has paid least is next.
    pub fn turn_cost(&self, tenant: &Tenant) -> u64 {
        TURN_COST / u64::from(self.weight(tenant))
    }

    /// Puts what tenants want into the order in which they have their turns: of any stretch each has as much as its weight
    /// says, as long as it wants something, and what one of them wants stays in its order.
    pub fn order_in_turns<T>(&self, wanted: Vec<T>, tenant_of: impl Fn(&T) -> &Tenant) -> Vec<T> {
        let mut paid: BTreeMap<Tenant, u64> = BTreeMap::new();
        let turns = wanted.into_iter().map(|one| {
            let tenant = tenant_of(&one);
            let paid = paid.entry(tenant.clone()).or_default();
            *paid += self.turn_cost(tenant);
            (*paid, one)
        });
        let mut turns: Vec<(u64, T)> = turns.collect();
        turns.sort_by_key(|(paid, _)| *paid);
        turns.into_iter().map(|(_, one)| one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    #[test]
    fn tenants_have_turns_by_their_weights() {
        let check = |weights: &[(&str, u32)], wanted: &str, expected: &str| {
            let weights = weights.iter().map(|(name, weight)| (tenant(name), *weight)).collect();
            let shares = TenantShares::new(weights, BTreeMap::new());
            let wanted: Vec<(Tenant, usize)> =
                wanted.chars().enumerate().map(|(at, name)| (tenant(&name.to_string()), at)).collect();
            let ordered = shares.order_in_turns(wanted, |(tenant, _)| tenant);
            let shown: String = ordered.iter().map(|(tenant, _)| tenant.as_str()).collect();
            assert_eq!(shown, expected);
            for name in ["a", "b", "c"] {
                let mut own = ordered.iter().filter(|(of, _)| of.as_str() == name).map(|(_, at)| at);
                assert!(own.by_ref().is_sorted(), "{name} keeps its order");
            }
        };
        check(&[], "", "");
        check(&[], "aaaa", "aaaa");
        check(&[], "aaaaab", "abaaaa");
        check(&[], "aaaabbc", "abcabaa");
        check(&[("a", 2)], "aaaaaabbb", "aabaabaab");
        check(&[("b", 3)], "aaabbbbb", "bbabbbaa");
    }

    #[test]
    fn what_is_not_set_is_one_and_without_limit() {
        let shares = TenantShares::new(
            BTreeMap::from([(tenant("a"), 0), (tenant("b"), u32::MAX)]),
            BTreeMap::from([(tenant("a"), 0)]),
        );
        assert_eq!(["a", "b", "c"].map(|name| shares.weight(&tenant(name))), [1, WEIGHT_MAX, 1]);
        assert_eq!(["a", "b"].map(|name| shares.places_max(&tenant(name))), [1, usize::MAX]);
        assert!(shares.has_several() && !TenantShares::default().has_several());
        let (one, two) = (BTreeSet::from([tenant("a")]), BTreeSet::from([tenant("a"), tenant("b")]));
        assert_eq!([&one, &two].map(|of| TenantShares::default().among(of).has_several()), [false, true]);
    }
}
