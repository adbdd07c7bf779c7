//! What can be set about the digest.

use std::sync::Arc;

use house_facts::tenant_shares::TenantShares;

/// The group under which it reads.
pub const GROUP: &str = "digest";

/// Settings of the digest.
#[derive(Clone, Debug)]
pub struct Config {
    /// Records handed to one turn at most.
    pub records_max: usize,
    /// How tenants share the turns at closing.
    pub shares: Arc<TenantShares>,
}
