//! Slips: a row for each Ready whose message left, which goes by itself.

use async_trait::async_trait;
use model::{
    Millis, ReadyId,
    returns::{SLIP_LIFE_MS, Slip},
};
use store::{Slips, StoreError, codec};

use crate::{Cql, errors::Trouble};

/// In seconds; the rest is for clocks that differ.
const TTL: i32 = (SLIP_LIFE_MS / 1_000) as i32 + 3_600;

#[async_trait]
impl Slips for Cql {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        let body = codec::slip(&slip)?;
        let attempt = || async {
            let values = (&ready.0[..], &body[..], TTL);
            self.engine.session.execute_unpaged(&self.engine.statements.keep, values).await?;
            Ok::<_, Trouble>(())
        };
        self.engine.tried("keeping a slip", attempt).await
    }

    async fn slip(&self, ready: ReadyId, now: Millis) -> Result<Option<Slip>, StoreError> {
        let attempt = || async {
            for page in self.engine.pages(&self.engine.statements.slip, &(&ready.0[..],)).await? {
                if let Some((body,)) = page.maybe_first_row::<(&[u8],)>()? {
                    let slip = codec::slip_back(body)?;
                    return Ok((now.since(slip.at) < SLIP_LIFE_MS).then_some(slip));
                }
            }
            Ok::<_, Trouble>(None)
        };
        self.engine.tried("reading a slip", attempt).await
    }
}
