//! Slips: a row for each Ready whose message left.

use async_trait::async_trait;
use fjall::Readable as _;
use model::{
    ReadyId, UtcMillis,
    returns::{SLIP_LIFE_MS, Slip},
};
use store::{SlipStore, StoreError, codec};

use super::{
    EmbeddedStore,
    engine::{StoreTable, map_database_error},
};

#[async_trait]
impl SlipStore for EmbeddedStore {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        self.writer
            .run(1, move |stage| {
                stage.note_time(slip.at);
                stage.put(StoreTable::Slips, ready.0.to_vec(), codec::encode_slip(&slip)?);
                Ok(())
            })
            .await
    }

    async fn slip(&self, ready: ReadyId, now: UtcMillis) -> Result<Option<Slip>, StoreError> {
        self.read_engine(1, move |engine| {
            match engine.snapshot().get(engine.table(StoreTable::Slips), ready.0) {
                Ok(Some(value)) => {
                    let slip = codec::decode_slip(&value)?;
                    Ok((now.since(slip.at) < SLIP_LIFE_MS).then_some(slip))
                }
                Ok(None) => Ok(None),
                Err(error) => Err(map_database_error("reading a slip", &error)),
            }
        })
        .await
    }
}
