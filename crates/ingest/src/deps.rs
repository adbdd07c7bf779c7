//! What the intake is given.

use std::sync::Arc;

use wire::SchemaSource;

use crate::metrics::IngestMetrics;

/// What the intake works with.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    /// What others wrote with.
    pub schemas: Arc<dyn SchemaSource>,
    pub metrics: IngestMetrics,
}
