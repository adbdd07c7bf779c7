//! What else looks after a house as long as it runs, and belongs to a crate above it.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use runtime::ShutdownSignal;
use topic::Topics;

/// What somebody who watches is given.
pub struct WatchDeps {
    pub topics: Arc<dyn Topics>,
    pub shutdown: ShutdownSignal,
}

/// A task beside the rooms; it runs until the shutdown.
#[derive(Clone)]
pub struct HouseWatch {
    pub name: &'static str,
    run: Arc<dyn Fn(WatchDeps) -> BoxFuture<'static, anyhow::Result<()>> + Send + Sync>,
}

impl HouseWatch {
    pub fn new<F>(name: &'static str, run: impl Fn(WatchDeps) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        Self { name, run: Arc::new(move |deps| Box::pin(run(deps))) }
    }

    pub(crate) fn start(&self, deps: WatchDeps) -> BoxFuture<'static, anyhow::Result<()>> {
        (self.run)(deps)
    }
}

impl fmt::Debug for HouseWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HouseWatch").field(&self.name).finish()
    }
}
