//! What was revoked of a person's entries: rows of their days do not say so.

use model::{DayRow, DayView, Tenant, UtcMillis, WorldSnapshot};
use room::world::{self, WorldQuery};
use store::{Store, StoreError};

/// Loads what was revoked of what these rows tell.
pub async fn load_revoked(
    store: &dyn Store,
    tenant: &Tenant,
    rows: impl Iterator<Item = &DayRow>,
) -> Result<WorldSnapshot, StoreError> {
    let mut wanted = WorldQuery::default();
    for row in rows {
        if let DayRow::Entry(entry) = row {
            wanted.entries.insert((tenant.clone(), entry.key));
            wanted.subjects.insert((tenant.clone(), entry.subject.clone()));
        }
    }
    world::load_world(store, wanted, &|_| Vec::new()).await
}

/// Days with what was revoked of them.
pub fn withdraw_revoked(view: DayView, tenant: &Tenant, world: &WorldSnapshot, now: UtcMillis) -> DayView {
    view.withdraw(|key, subject| world.is_withdrawn(tenant, subject, key), now)
}
