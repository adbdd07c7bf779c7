//! First words: a row for each event, which goes by itself. No transaction decides it, for that costs as much as
//! all else that is done for an event: who finds nothing writes, and asks what stands.
//!
//! The time stamp falls as time goes on, so of two who wrote at once the earlier stands, and the later is told so
//! if that write has arrived. It falls within a life of words and begins anew with the next one, so that
//! a word that has had its time gives way.

use std::collections::HashMap;

use async_trait::async_trait;
use model::{DayLife, EventKey, UtcMillis, event::FirstWord};
use store::{FirstWordStore, StoreError, StoreSetup as _, codec};

use crate::{CqlStore, errors::CqlError};

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

    async fn heard_at(&self, event: EventKey, now: UtcMillis) -> Result<Option<UtcMillis>, StoreError> {
        Ok(self.read_standing_word(event, now).await?.map(|(at, _)| at))
    }
}

impl CqlStore {
    async fn write_first_word(
        &self,
        event: EventKey,
        word: FirstWord,
        now: UtcMillis,
    ) -> Result<FirstWord, StoreError> {
        if let Some((_, first)) = self.read_standing_word(event, now).await? {
            return Ok(first);
        }
        let (body, life) = (codec::encode_word(now, word)?, self.day_life());
        let attempt = || async {
            let values = (&event.0[..], &body[..], word_stamp(now, life), word_ttl(life));
            self.engine.session.execute_unpaged(&self.engine.statements.say, values).await?;
            Ok::<_, CqlError>(())
        };
        self.engine.run_with_retries("keeping a first word", attempt).await?;
        Ok(self.read_standing_word(event, now).await?.map_or(word, |(_, first)| first))
    }

    async fn read_standing_word(
        &self,
        event: EventKey,
        now: UtcMillis,
    ) -> Result<Option<(UtcMillis, FirstWord)>, StoreError> {
        let attempt = || async {
            for page in self.engine.read_pages(&self.engine.statements.said, &(&event.0[..],)).await? {
                if let Some((body,)) = page.maybe_first_row::<(&[u8],)>()? {
                    return Ok(codec::decode_standing_word(body, now, self.day_life())?);
                }
            }
            Ok::<_, CqlError>(None)
        };
        self.engine.run_with_retries("reading a first word", attempt).await
    }
}

/// Falls within a life of words, and is higher in the next one.
fn word_stamp(now: UtcMillis, life: DayLife) -> i64 {
    let (within, whole) = (now.0.rem_euclid(life.first_word_ms()), life.first_word_ms());
    now.0 - within + (whole - 1 - within)
}

/// In seconds; an hour is for clocks that differ.
fn word_ttl(life: DayLife) -> i32 {
    i32::try_from(life.first_word_ms() / 1_000 + 3_600).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_of_two_wins_and_a_life_later_the_new_one() {
        let now = UtcMillis::parse("2026-11-21T09:00:00Z").unwrap();
        for life in [DayLife::LEAST, DayLife::default()] {
            let stamp = |later: i64| word_stamp(now.plus(later), life);
            assert!(stamp(0) > stamp(1));
            assert!(stamp(0) < stamp(life.first_word_ms()));
        }
    }
}
