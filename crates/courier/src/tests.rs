//! The outbox against the suite, the suite against the liars, and mails against hostile text.

mod apart;
mod back;
mod mime;
mod outbox;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;

use crate::{
    conformance::{Broken, Harness, promises, run},
    lying::{Lie, LyingHarness},
    outbox::Outbox,
    port::Courier,
};

/// An outbox in a folder of its own.
struct Folder {
    folder: Mutex<TempDir>,
}

impl Folder {
    fn new() -> Self {
        Self { folder: Mutex::new(TempDir::new().unwrap()) }
    }
}

#[async_trait]
impl Harness for Folder {
    async fn open(&self) -> Result<Arc<dyn Courier>, Broken> {
        let mut folder = self.folder.lock().unwrap();
        *folder = TempDir::new().unwrap();
        Ok(Arc::new(Outbox::open(folder.path())?))
    }

    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, Broken> {
        drop(courier);
        Ok(Arc::new(Outbox::open(self.folder.lock().unwrap().path())?))
    }

    /// Looks at the files and not at what the outbox says of them.
    async fn arrived(&self) -> Result<Vec<Vec<u8>>, Broken> {
        let mut mails = Vec::new();
        for folder in std::fs::read_dir(self.folder.lock().unwrap().path().join("mail")).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                mails.push(std::fs::read(file.unwrap().path()).unwrap());
            }
        }
        Ok(mails)
    }

    fn knows(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn the_outbox_keeps_every_promise() {
    assert_eq!(format!("{:?}", run(&Folder::new()).await), "[]");
}

#[tokio::test]
async fn who_does_not_lie_keeps_every_promise() {
    assert_eq!(format!("{:?}", run(&LyingHarness::new(None)).await), "[]");
}

#[tokio::test]
async fn every_lie_is_caught() {
    for lie in Lie::ALL {
        let broken: Vec<&str> =
            run(&LyingHarness::new(Some(*lie))).await.iter().map(|(p, _)| p.name).collect();
        for promise in lie.breaks() {
            assert!(broken.contains(promise), "{lie:?} should break `{promise}`, and broke {broken:?}");
        }
    }
}

#[test]
fn every_promise_is_broken_by_a_lie() {
    for promise in promises() {
        let lies = Lie::ALL.iter().filter(|lie| lie.breaks().contains(&promise.name)).count();
        assert!(lies > 0, "nobody breaks {promise:?}");
    }
    for lie in Lie::ALL {
        for name in lie.breaks() {
            assert!(
                crate::conformance::promise(name).is_some(),
                "{lie:?} breaks `{name}`, which is no promise"
            );
        }
    }
}
