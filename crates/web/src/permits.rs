//! How much is in hand at once, of all tenants and of each: one that floods us does not keep out the others.

use std::{collections::HashMap, sync::Arc};

use model::Tenant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many of something, of which a tenant among others has at most half.
#[derive(Debug)]
pub struct TenantPermits {
    all: Arc<Semaphore>,
    each: HashMap<Tenant, Arc<Semaphore>>,
}

/// Some of them, as long as it is held.
#[derive(Debug)]
pub struct TenantPermit {
    of_all: OwnedSemaphorePermit,
    own: Option<OwnedSemaphorePermit>,
}

impl TenantPermits {
    pub fn new(most: usize, tenants: impl IntoIterator<Item = Tenant>) -> Self {
        let mut each: HashMap<_, _> = tenants.into_iter().map(|tenant| (tenant, most)).collect();
        if each.len() > 1 {
            each.values_mut().for_each(|own| *own = most.div_ceil(2));
        }
        let each = each.into_iter().map(|(tenant, own)| (tenant, Arc::new(Semaphore::new(own)))).collect();
        Self { all: Arc::new(Semaphore::new(most)), each }
    }

    /// So many for a tenant, if there are.
    pub fn take(&self, tenant: &Tenant, count: u32) -> Option<TenantPermit> {
        let take = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_many_owned(count).ok();
        let own = match self.each.get(tenant) {
            Some(own) => Some(take(own)?),
            None => None,
        };
        Some(TenantPermit { of_all: take(&self.all)?, own })
    }
}

impl TenantPermit {
    /// Holds on to more.
    pub fn merge(&mut self, more: Self) {
        self.of_all.merge(more.of_all);
        match (&mut self.own, more.own) {
            (Some(own), Some(more)) => own.merge(more),
            (own, more) => *own = own.take().or(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    #[test]
    fn a_tenant_among_others_has_half() {
        let permits = TenantPermits::new(8, ["a", "b", "b"].map(tenant));
        let mut held = permits.take(&tenant("a"), 3).unwrap();
        assert!(permits.take(&tenant("a"), 2).is_none());
        held.merge(permits.take(&tenant("a"), 1).unwrap());
        assert!(permits.take(&tenant("a"), 1).is_none());
        let other = permits.take(&tenant("b"), 4).unwrap();
        assert!(permits.take(&tenant("nobody"), 1).is_none(), "all are taken");
        drop(held);
        assert!(permits.take(&tenant("b"), 1).is_none());
        assert!(permits.take(&tenant("a"), 4).is_some());
        drop(other);
        assert!(permits.take(&tenant("b"), 4).is_some());
    }

    #[test]
    fn a_tenant_alone_has_all() {
        let permits = TenantPermits::new(8, [tenant("a")]);
        assert!(permits.take(&tenant("a"), 8).is_some());
    }
}
