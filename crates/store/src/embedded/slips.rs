//! Slips: a row for each Ready whose message left.

use async_trait::async_trait;
use fjall::Readable as _;
use model::{
    Millis, ReadyId,
    returns::{SLIP_LIFE_MS, Slip},
};

use super::{
    Embedded,
    engine::{Table, failed},
};
use crate::{
    codec,
    port::{Slips, StoreError},
};

#[async_trait]
impl Slips for Embedded {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        self.writer
            .run(1, move |stage| {
                stage.hear(slip.at);
                stage.put(Table::Slips, ready.0.to_vec(), codec::slip(&slip)?);
                Ok(())
            })
            .await
    }

    async fn slip(&self, ready: ReadyId, now: Millis) -> Result<Option<Slip>, StoreError> {
        self.look(1, move |engine| match engine.view().get(engine.table(Table::Slips), ready.0) {
            Ok(Some(value)) => {
                let slip = codec::slip_back(&value)?;
                Ok((now.since(slip.at) < SLIP_LIFE_MS).then_some(slip))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(failed("reading a slip", &error)),
        })
        .await
    }
}
