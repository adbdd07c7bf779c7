//! What the digest is given.

use std::sync::Arc;

use live::LiveConnections;

use crate::metrics::DigestMetrics;

/// What the digest works with.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    /// Who knows whether somebody is connected.
    pub live: Arc<dyn LiveConnections>,
    pub metrics: DigestMetrics,
}
