//! The rooms of the house, each made from the same furniture.

use std::{
    pin::{Pin, pin},
    sync::Arc,
};

use catalogue::Catalogue;
use futures::future::BoxFuture;
use model::civil::Zones;
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics, quiet::Worker};

use super::{Engines, keeper};

/// What may be set about a house; the same for `up`, tests and scenarios unless they say otherwise.
#[derive(Clone, Debug)]
pub struct Config {
}

/// What all rooms are made from.
pub struct Furniture {
    pub engines: Engines,
    pub catalogue: Arc<Catalogue>,
    pub clock: Clock,
    pub zones: Zones,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: Metrics,
}

/// A room that has not been opened yet.
pub struct Room {
    pub name: &'static str,
    pub run: BoxFuture<'static, anyhow::Result<()>>,
}

/// Runs a room. `opening` says that somebody is at work until the room itself can: until it waits for
/// something for the first time.
pub async fn open(run: BoxFuture<'static, anyhow::Result<()>>, opening: Worker) -> anyhow::Result<()> {
    let mut run = pin!(run);
    let opened = async move {
        drop(opening);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        ended = &mut run => ended,
        // Polled last: by now the room has got as far as it could by itself.
        () = opened => Ok(()),
    }
}
