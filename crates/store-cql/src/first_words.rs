//! First words: a row for each event, which goes by itself. No transaction decides it, for that costs as much as
//! all else that is done for an event: who finds nothing writes, and asks what stands.
//!
//! The time stamp falls as time goes on, so of two who wrote at once the earlier stands, and the later is told so
//! if that write has arrived. It falls within a life of words and begins anew with the next one, so that
//! a word that has had its time gives way.

use std::collections::HashMap;

use async_trait::async_trait;
use model::{EventKey, UtcMillis, event::FirstWord, limits::FIRST_WORD_LIFE_MS};
use store::{FirstWordStore, StoreError, codec};

use crate::{CqlStore, errors::CqlError};

/// In seconds; the rest is for clocks that differ.
const TTL: i32 = (FIRST_WORD_LIFE_MS / 1_000) as i32 + 3_600;

#[async_trait]
impl FirstWordStore for CqlStore {
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: UtcMillis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        // An event that is said twice in one call is asked for once.
        let mut firsts: Vec<(EventKey, FirstWord)> = Vec::with_capacity(said.len());
        let mut places = HashMap::with_capacity(said.len());
        for (event, word) in said {
            places.entry(event.0).or_insert_with(|| {
                firsts.push((*event, *word));
                firsts.len() - 1
            });
        }
        let standing = firsts.iter().map(|(event, word)| self.write_first_word(*event, *word, now));
        let standing = self.engine.run_all(standing).await?;
        Ok(said.iter().map(|(event, _)| standing[places[&event.0]]).collect())
    }
}

impl CqlStore {
    async fn write_first_word(
        &self,
        event: EventKey,
        word: FirstWord,
        now: UtcMillis,
    ) -> Result<FirstWord, StoreError> {
        if let Some(first) = self.read_standing_word(event, now).await? {
            return Ok(first);
        }
        let body = codec::encode_word(now, word)?;
        let attempt = || async {
            let values = (&event.0[..], &body[..], word_stamp(now), TTL);
            self.engine.session.execute_unpaged(&self.engine.statements.say, values).await?;
            Ok::<_, CqlError>(())
        };
        self.engine.run_with_retries("keeping a first word", attempt).await?;
        Ok(self.read_standing_word(event, now).await?.unwrap_or(word))
    }

    async fn read_standing_word(
        &self,
        event: EventKey,
        now: UtcMillis,
    ) -> Result<Option<FirstWord>, StoreError> {
        let attempt = || async {
            for page in self.engine.read_pages(&self.engine.statements.said, &(&event.0[..],)).await? {
                if let Some((body,)) = page.maybe_first_row::<(&[u8],)>()? {
                    return Ok(codec::decode_standing_word(body, now)?);
                }
            }
            Ok::<_, CqlError>(None)
        };
        self.engine.run_with_retries("reading a first word", attempt).await
    }
}

/// Falls within a life of words, and is higher in the next one.
fn word_stamp(now: UtcMillis) -> i64 {
    let within = now.0.rem_euclid(FIRST_WORD_LIFE_MS);
    now.0 - within + (FIRST_WORD_LIFE_MS - 1 - within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_of_two_wins_and_a_life_later_the_new_one() {
        let now = UtcMillis::parse("2026-11-21T09:00:00Z").unwrap();
        assert!(word_stamp(now) > word_stamp(now.plus(1)));
        assert!(word_stamp(now) < word_stamp(now.plus(FIRST_WORD_LIFE_MS)));
    }
}
