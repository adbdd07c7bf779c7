//! First words: a row for each event, decided by the writer, so that the first stands whoever speaks at once.

use async_trait::async_trait;
use model::{EventKey, Millis, event::FirstWord};

use super::{Embedded, engine::Table};
use crate::{
    codec,
    port::{FirstWords, StoreError},
};

#[async_trait]
impl FirstWords for Embedded {
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: Millis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        let said = said.to_vec();
        self.writer
            .run(said.len(), move |stage| {
                stage.hear(now);
                let mut standing = Vec::with_capacity(said.len());
                for (event, word) in said {
                    let stands = |bytes: &[u8]| codec::standing_word(bytes, now);
                    let first = stage.with(Table::Words, &event.0, stands)?.flatten();
                    if first.is_none() {
                        stage.put(Table::Words, event.0.to_vec(), codec::word(now, word)?);
                    }
                    standing.push(first.unwrap_or(word));
                }
                Ok(standing)
            })
            .await
    }
}
