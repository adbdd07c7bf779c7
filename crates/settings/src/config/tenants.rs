//! The keys of tenants: how much each gets where several wait for the same.

use std::{collections::BTreeMap, ops::RangeInclusive};

use house_facts::tenant_shares::{TenantShares, WEIGHT_MAX};
use model::Tenant;

use super::{
    keys::{TENANTS_PLACES, TENANTS_WEIGHTS},
    merge::ConfigMerge,
};

/// More places than this no process has.
const PLACES_MAX: u32 = 100_000;

/// Nobody's are other than usual unless it is said.
pub fn resolve_tenants(merge: &mut ConfigMerge<'_>) -> TenantShares {
    let weights = merge.take(TENANTS_WEIGHTS, |lines| parse_numbers(lines, 1..=WEIGHT_MAX));
    let places = merge.take(TENANTS_PLACES, |lines| parse_numbers(lines, 1..=PLACES_MAX));
    let places = places.unwrap_or_default().into_iter().map(|(tenant, most)| (tenant, most as usize));
    TenantShares::new(weights.unwrap_or_default(), places.collect())
}

/// `acme=4`, a tenant a line.
fn parse_numbers(lines: &str, allowed: RangeInclusive<u32>) -> Result<BTreeMap<Tenant, u32>, String> {
    let one = |(name, number): (&str, &str)| {
        let tenant =
            Tenant::new(name).map_err(|why| format!("has `{name}`, which is not a tenant: {why}"))?;
        let number = number.parse().ok().filter(|number| allowed.contains(number)).ok_or_else(|| {
            let (least, most) = (allowed.start(), allowed.end());
            format!("has `{name}: {number}`, which is not a whole number from {least} to {most}")
        })?;
        Ok((tenant, number))
    };
    lines.lines().filter_map(|line| line.rsplit_once('=')).map(one).collect()
}
