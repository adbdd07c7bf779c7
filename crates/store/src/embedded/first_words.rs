//! First words: a row for each event, decided by the writer, so that the first of concurrent writes stands.

use async_trait::async_trait;
use model::{EventKey, UtcMillis, event::FirstWord};

use super::{EmbeddedStore, engine::StoreTable};
use crate::{
    codec,
    port::{FirstWordStore, StoreError},
};

#[async_trait]
impl FirstWordStore for EmbeddedStore {
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: UtcMillis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        let said = said.to_vec();
        self.writer
            .run(said.len(), move |stage| {
                stage.note_time(now);
                let mut standing = Vec::with_capacity(said.len());
                for (event, word) in said {
                    let stands = |bytes: &[u8]| codec::decode_standing_word(bytes, now);
                    let first = stage.with_value(StoreTable::Words, &event.0, stands)?.flatten();
                    if first.is_none() {
                        stage.put(StoreTable::Words, event.0.to_vec(), codec::encode_word(now, word)?);
                    }
                    standing.push(first.unwrap_or(word));
                }
                Ok(standing)
            })
            .await
    }
}
