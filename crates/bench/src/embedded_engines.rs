//! The engines of one machine, in a folder.

use std::{path::Path, sync::Arc};

use runtime::Clock;
use store::Store;
use store_embedded::EmbeddedStore;
use topic::{Topics, embedded::EmbeddedTopics};

/// Opens both, with nothing in them where the folder is empty.
pub fn open_embedded(dir: &Path) -> anyhow::Result<(Arc<dyn Topics>, Arc<dyn Store>)> {
    let topics = EmbeddedTopics::open(&dir.join("topics"), Clock::real(0))?;
    let store = EmbeddedStore::open(&dir.join("store"))?;
    Ok((Arc::new(topics), Arc::new(store)))
}
