//! The room at work. All that it does is asked of it; it reads no log, so any number of processes may have it.

use crate::deps::Deps;

/// Runs the room until the shutdown.
pub async fn run(deps: Deps) -> anyhow::Result<()> {
    deps.room.shutdown.wait().await;
    Ok(())
}
