//! Slips: a row for each Ready whose message left, which goes by itself.

use async_trait::async_trait;
use model::{
    ReadyId, UtcMillis,
    returns::{SLIP_LIFE_MS, Slip},
};
use store::{SlipStore, StoreError, codec};

use crate::{CqlStore, errors::CqlError};

/// In seconds; the rest is for clocks that differ.
const TTL: i32 = (SLIP_LIFE_MS / 1_000) as i32 + 3_600;

#[async_trait]
impl SlipStore for CqlStore {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        let body = codec::encode_slip(&slip)?;
        let attempt = || async {
            let values = (&ready.0[..], &body[..], TTL);
            self.engine.session.execute_unpaged(&self.engine.statements.keep, values).await?;
            Ok::<_, CqlError>(())
        };
        self.engine.run_with_retries("keeping a slip", attempt).await
    }

    async fn slip(&self, ready: ReadyId, now: UtcMillis) -> Result<Option<Slip>, StoreError> {
        let attempt = || async {
            for page in self.engine.read_pages(&self.engine.statements.slip, &(&ready.0[..],)).await? {
                if let Some((body,)) = page.maybe_first_row::<(&[u8],)>()? {
                    let slip = codec::decode_slip(body)?;
                    return Ok((now.since(slip.at) < SLIP_LIFE_MS).then_some(slip));
                }
            }
            Ok::<_, CqlError>(None)
        };
        self.engine.run_with_retries("reading a slip", attempt).await
    }
}
