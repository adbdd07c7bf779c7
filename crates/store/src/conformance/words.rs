//! Promises about first words.

use std::sync::Arc;

use futures::future::try_join_all;
use model::{EventKey, Millis, event::FirstWord, limits::FIRST_WORD_LIFE_MS};

use super::{
    Broken, Harness, Kept, Promise, same,
    samples::{NOW, tenant},
};
use crate::port::Store;

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "the first word stands",
        says: "whoever speaks of an event later is told what was said first, also after a crash and within one call",
        check: |harness| Box::pin(first_stands(harness)),
    },
    Promise {
        name: "first words are apart",
        says: "each event has a first word of its own, in the order asked for, whatever its id has in common with another's",
        check: |harness| Box::pin(apart(harness)),
    },
    Promise {
        name: "first words come to stand",
        says: "of many words at once one comes to stand, and it is one that was said",
        check: |harness| Box::pin(one_stands(harness)),
    },
    Promise {
        name: "a first word is gone when it has had its time",
        says: "a first word stands until it is as old as they live; then the next one is the first",
        check: |harness| Box::pin(gone(harness)),
    },
];

fn event(id: &str) -> Result<EventKey, Broken> {
    Ok(EventKey::of(&tenant("main")?, "source", id))
}

/// The later in the day, the earlier the version: neither decides.
fn word(hour: i64) -> FirstWord {
    FirstWord { occurred: NOW.plus(hour * 3_600_000), version: -hour }
}

async fn said(store: &Arc<dyn Store>, of: EventKey, hour: i64, now: Millis) -> Result<FirstWord, Broken> {
    let stands = store.first_words(&[(of, word(hour))], now).await?;
    stands.first().copied().ok_or_else(|| Broken("no word came back".into()))
}

async fn first_stands(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let one = event("one")?;
    same("the first", &said(&store, one, 5, NOW).await?, &word(5))?;
    store = harness.crash(store).await?;
    for (hour, now) in [(7, NOW.plus(1)), (3, NOW.plus(2)), (4, NOW.plus(-1))] {
        same(hour, &said(&store, one, hour, now).await?, &word(5))?;
    }
    let two = event("two")?;
    let both = store.first_words(&[(two, word(6)), (one, word(6)), (two, word(2))], NOW).await?;
    same("in one call", &both, &vec![word(6), word(5), word(6)])?;
    same("after it", &said(&store, two, 1, NOW).await?, &word(6))?;
    same("of nothing", &store.first_words(&[], NOW).await?, &Vec::new())
}

async fn apart(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let mut keys = vec![event("one")?, event("two")?];
    let mut near = keys[0];
    near.0[15] ^= 1;
    keys.push(near);
    let all: Vec<_> = keys.iter().copied().zip((1..).map(word)).collect();
    let words: Vec<_> = all.iter().map(|(_, word)| *word).collect();
    same("said", &store.first_words(&all, NOW).await?, &words)?;
    let again: Vec<_> = keys.into_iter().rev().map(|key| (key, word(9))).collect();
    let reversed: Vec<_> = words.into_iter().rev().collect();
    same("again", &store.first_words(&again, NOW).await?, &reversed)
}

async fn one_stands(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let one = event("one")?;
    try_join_all((0..50).map(|hour| said(&store, one, hour, NOW.plus(hour)))).await?;
    let stands = said(&store, one, 99, NOW.plus(60)).await?;
    same("one of them", &(0..50).any(|hour| word(hour) == stands), &true)?;
    same("later", &said(&store, one, 98, NOW.plus(61)).await?, &stands)
}

async fn gone(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let one = event("one")?;
    same("the first", &said(&store, one, 1, NOW).await?, &word(1))?;
    let last = NOW.plus(FIRST_WORD_LIFE_MS - 1);
    same("a millisecond before", &said(&store, one, 2, last).await?, &word(1))?;
    same("at its end", &said(&store, one, 3, last.plus(1)).await?, &word(3))?;
    same("that one", &said(&store, one, 4, last.plus(2)).await?, &word(3))
}
