//! First words: a row for each event, decided by the writer, so that the first of concurrent writes stands.

use async_trait::async_trait;
use fjall::Readable as _;
use model::{EventKey, UtcMillis, event::FirstWord};
use store::{FirstWordStore, StoreError, codec};

use super::{
    EmbeddedStore,
    engine::{StoreTable, map_database_error},
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
                let life = stage.day_life();
                let mut standing = Vec::with_capacity(said.len());
                for (event, word) in said {
                    let stands = |bytes: &[u8]| codec::decode_standing_word(bytes, now, life);
                    let first = stage.with_value(StoreTable::Words, &event.0, stands)?.flatten();
                    if first.is_none() {
                        stage.put(StoreTable::Words, event.0.to_vec(), codec::encode_word(now, word)?);
                    }
                    standing.push(first.map_or(word, |(_, first)| first));
                }
                Ok(standing)
            })
            .await
    }

    async fn heard_at(&self, event: EventKey, now: UtcMillis) -> Result<Option<UtcMillis>, StoreError> {
        self.read_engine(1, move |engine| {
            match engine.snapshot().get(engine.table(StoreTable::Words), event.0) {
                Ok(value) => {
                    let stands = value
                        .map(|value| codec::decode_standing_word(&value, now, engine.ring.life()))
                        .transpose()?;
                    Ok(stands.flatten().map(|(at, _)| at))
                }
                Err(error) => Err(map_database_error("reading a first word", &error)),
            }
        })
        .await
    }
}
