//! What the fan-out is given.

use crate::metrics::FanoutMetrics;

/// What the fan-out works with.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    pub metrics: FanoutMetrics,
}
