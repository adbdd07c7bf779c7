//! What the sender is given.

use std::sync::Arc;

use courier::Courier;
use render::MessageRenderer;

use crate::metrics::SenderMetrics;

/// What the sender works with.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    pub courier: Arc<dyn Courier>,
    pub renderer: Arc<MessageRenderer>,
    pub metrics: SenderMetrics,
}
