//! What the room is given.

use std::{fmt, sync::Arc};

use tokio::sync::Semaphore;
use wire::token::LinkSecret;

use crate::{
    config::{FINDS_MAX, ROBOT_FINDS_MAX},
    list_board::ListBoard,
    metrics::SlotMetrics,
};

/// What the room works with. Cheap to clone.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    /// With what the addresses of slots are signed.
    pub secret: LinkSecret,
    pub board: Arc<SlotBoard>,
    pub metrics: SlotMetrics,
}

/// What this process remembers of lists, and how many it looks for at once.
pub struct SlotBoard {
    pub(crate) lists: ListBoard,
    pub(crate) finds: Semaphore,
    /// The same of robots, which come in crowds when mails are sent.
    pub(crate) robot_finds: Semaphore,
}

impl Default for SlotBoard {
    fn default() -> Self {
        Self {
            lists: ListBoard::default(),
            finds: Semaphore::new(FINDS_MAX),
            robot_finds: Semaphore::new(ROBOT_FINDS_MAX),
        }
    }
}

impl fmt::Debug for SlotBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotBoard").field("finds", &self.finds.available_permits()).finish_non_exhaustive()
    }
}
