//! How much is in hand at once, of all tenants and of each: one that floods us does not keep out the others.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use model::Tenant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Says whether there can be requests now for others than a tenant: keys come and go.
pub type OtherTenantCheck = Box<dyn Fn(&Tenant) -> bool + Send + Sync>;

/// So many of something, of which a tenant among others has at most half.
pub struct TenantPermits {
    most: usize,
    all: Arc<Semaphore>,
    has_others: OtherTenantCheck,
    /// Of whom something was in hand, each with all there is: how much of it is theirs is seen when they want it.
    each: Mutex<HashMap<Tenant, Arc<Semaphore>>>,
}

/// Some of them, as long as it is held.
#[derive(Debug)]
pub struct TenantPermit {
    of_all: OwnedSemaphorePermit,
    own: OwnedSemaphorePermit,
}

impl TenantPermits {
    pub fn new(most: usize, has_others: OtherTenantCheck) -> Self {
        Self { most, all: Arc::new(Semaphore::new(most)), has_others, each: Mutex::default() }
    }

    /// So many for a tenant, if there are.
    pub fn take(&self, tenant: &Tenant, count: u32) -> Option<TenantPermit> {
        let take = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_many_owned(count).ok();
        let semaphore = self.find_semaphore(tenant);
        let own = take(&semaphore)?;
        let share = if (self.has_others)(tenant) { self.most.div_ceil(2) } else { self.most };
        // Taken before it is counted: of two at once none can have overlooked the other.
        if self.most - semaphore.available_permits() > share {
            return None;
        }
        Some(TenantPermit { of_all: take(&self.all)?, own })
    }

    fn find_semaphore(&self, tenant: &Tenant) -> Arc<Semaphore> {
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        let all = || Arc::new(Semaphore::new(self.most));
        each.entry(tenant.clone()).or_insert_with(all).clone()
    }
}

impl TenantPermit {
    /// Holds on to more.
    pub fn merge(&mut self, more: Self) {
        self.of_all.merge(more.of_all);
        self.own.merge(more.own);
    }
}

impl fmt::Debug for TenantPermits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantPermits").field("all", &self.all).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn others(names: &'static [&str]) -> OtherTenantCheck {
        Box::new(move |tenant| names.iter().any(|name| *name != tenant.as_str()))
    }

    #[test]
    fn a_tenant_among_others_has_half() {
        let permits = TenantPermits::new(8, others(&["a", "b"]));
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
        let permits = TenantPermits::new(8, others(&["a"]));
        assert!(permits.take(&tenant("a"), 8).is_some());
    }

    #[test]
    fn a_tenant_that_comes_later_is_one_among_others() {
        let come = Arc::new(Mutex::new(vec![tenant("a")]));
        let known = come.clone();
        let has_others = move |one: &Tenant| known.lock().unwrap().iter().any(|other| other != one);
        let permits = TenantPermits::new(8, Box::new(has_others));
        let held = permits.take(&tenant("a"), 6).unwrap();
        come.lock().unwrap().push(tenant("b"));
        assert!(permits.take(&tenant("a"), 1).is_none(), "it has more than its half already");
        assert!(permits.take(&tenant("b"), 2).is_some());
        drop(held);
        assert!(permits.take(&tenant("b"), 5).is_none());
        assert!(permits.take(&tenant("b"), 4).is_some());
    }
}
