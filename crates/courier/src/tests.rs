//! The outbox against the suite, the suite against the liars, and mails against hostile text.

mod mail_returns;
mod mime;
mod outbox;
mod parse;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;

use crate::{
    conformance::{BrokenCourierPromise, CourierHarness, all_promises, run_promises},
    lying_courier::{CourierLie, LyingCourierHarness},
    outbox::OutboxCourier,
    port::Courier,
};

/// An outbox in a folder of its own.
struct OutboxHarness {
    folder: Mutex<TempDir>,
}

impl OutboxHarness {
    fn new() -> Self {
        Self { folder: Mutex::new(TempDir::new().unwrap()) }
    }
}

#[async_trait]
impl CourierHarness for OutboxHarness {
    async fn open(&self) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        let mut folder = self.folder.lock().unwrap();
        *folder = TempDir::new().unwrap();
        Ok(Arc::new(OutboxCourier::open(folder.path())?))
    }

    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        drop(courier);
        Ok(Arc::new(OutboxCourier::open(self.folder.lock().unwrap().path())?))
    }

    /// Looks at the files and not at what the outbox says of them.
    async fn arrived_mails(&self) -> Result<Vec<Vec<u8>>, BrokenCourierPromise> {
        let mut mails = Vec::new();
        for folder in std::fs::read_dir(self.folder.lock().unwrap().path().join("mail")).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                mails.push(std::fs::read(file.unwrap().path()).unwrap());
            }
        }
        Ok(mails)
    }

    fn knows_sent(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn the_outbox_keeps_every_promise() {
    assert_eq!(format!("{:?}", run_promises(&OutboxHarness::new()).await), "[]");
}

#[tokio::test]
async fn who_does_not_lie_keeps_every_promise() {
    assert_eq!(format!("{:?}", run_promises(&LyingCourierHarness::new(None)).await), "[]");
}

#[tokio::test]
async fn every_lie_is_caught() {
    for lie in CourierLie::ALL {
        let broken: Vec<&str> =
            run_promises(&LyingCourierHarness::new(Some(*lie))).await.iter().map(|(p, _)| p.name).collect();
        for promise in lie.breaks() {
            assert!(broken.contains(promise), "{lie:?} should break `{promise}`, and broke {broken:?}");
        }
    }
}

#[test]
fn every_promise_is_broken_by_a_lie() {
    for promise in all_promises() {
        let lies = CourierLie::ALL.iter().filter(|lie| lie.breaks().contains(&promise.name)).count();
        assert!(lies > 0, "nobody breaks {promise:?}");
    }
    for lie in CourierLie::ALL {
        for name in lie.breaks() {
            assert!(
                crate::conformance::find_promise(name).is_some(),
                "{lie:?} breaks `{name}`, which is no promise"
            );
        }
    }
}
