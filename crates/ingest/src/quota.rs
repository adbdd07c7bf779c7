//! Quota: how many rows the lists of one tenant may come to. A minute's worth may come at once. When it is used up,
//! requests are refused until some is left; then one more is accepted, however large.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use model::{Tenant, UtcMillis};

const MINUTE_MS: i64 = 60_000;

pub(crate) struct ListedRowQuota {
    rows_a_minute: i64,
    /// The remaining quota of each tenant, negative after a large request, and its time.
    left: Mutex<HashMap<Tenant, (i64, UtcMillis)>>,
}

impl ListedRowQuota {
    pub fn new(rows_a_minute: u64) -> Self {
        let rows_a_minute = i64::try_from(rows_a_minute).unwrap_or(i64::MAX).max(1);
        Self { rows_a_minute, left: Mutex::default() }
    }

    /// Takes these rows from what the tenant has left; fails with the seconds after which there is some.
    pub fn spend(&self, tenant: &Tenant, rows: u64, now: UtcMillis) -> Result<(), u32> {
        if rows == 0 {
            return Ok(());
        }
        let mut of_all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = of_all.get(tenant).copied().unwrap_or((self.rows_a_minute, now));
        let waited = now.since(since).clamp(0, MINUTE_MS * MINUTE_MS);
        let come = i128::from(self.rows_a_minute) * i128::from(waited) / i128::from(MINUTE_MS);
        let left = i64::try_from(i128::from(left) + come).unwrap_or(i64::MAX).min(self.rows_a_minute);
        if left <= 0 {
            let missing = i128::from(1 - left) * i128::from(MINUTE_MS) / i128::from(self.rows_a_minute);
            return Err(u32::try_from(missing / 1_000 + 1).unwrap_or(u32::MAX));
        }
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        of_all.insert(tenant.clone(), (left.saturating_sub(rows), now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_its_own_minute() {
        let quota = ListedRowQuota::new(600);
        let (ann, bob) = (Tenant::new("ann").unwrap(), Tenant::new("bob").unwrap());
        let at = |secs: i64| UtcMillis(1_000_000 + secs * 1_000);
        let check = |tenant: &Tenant, rows: u64, secs: i64, expected: Result<(), u32>| {
            assert_eq!(quota.spend(tenant, rows, at(secs)), expected, "{tenant} {rows} at {secs}");
        };
        check(&ann, 500, 0, Ok(()));
        // More than is left: taken once, and then there is a while to wait.
        check(&ann, 700, 0, Ok(()));
        check(&ann, 1, 0, Err(61));
        check(&ann, 0, 0, Ok(()));
        check(&bob, 600, 0, Ok(()));
        check(&ann, 1, 59, Err(2));
        check(&ann, 1, 61, Ok(()));
        // Never more than a minute's worth is saved.
        check(&ann, 600, 10_000, Ok(()));
        check(&ann, 1, 10_000, Err(1));
        // A clock that goes back gives nothing.
        check(&ann, 1, 0, Err(1));
    }
}
