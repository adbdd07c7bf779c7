//! Promises about first words.

use std::sync::Arc;

use futures::future::try_join_all;
use model::{EventKey, UtcMillis, event::FirstWord};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_same,
    samples::{NOW, tenant},
};
use crate::port::Store;

promises! {
    check_first_word keeps "the first word stands":
        "later statements about an event get the first one back, also after a crash and within one call";
    check_words_apart keeps "first words are apart":
        "each event has a first word of its own, in the order asked for, whatever its id has in common with another's";
    check_one_word keeps "first words come to stand":
        "of many words at once one comes to stand, and it is one that was said";
    check_heard_at keeps "when an event was heard is known":
        "as long as a first word stands it is known when it was said, also after a crash, and not when others were";
    check_word_expires keeps "a first word is gone when it has had its time":
        "a first word stands until it is as old as they live; then the next one is the first";
}

fn event_key(id: &str) -> Result<EventKey, BrokenStorePromise> {
    Ok(EventKey::from_source_id(&tenant("main")?, "source", id))
}

/// The later in the day, the earlier the version: neither decides.
fn word_of_hour(hour: i64) -> FirstWord {
    FirstWord { occurred: NOW.plus(hour * 3_600_000), version: -hour }
}

async fn say_word(
    store: &Arc<dyn Store>,
    of: EventKey,
    hour: i64,
    now: UtcMillis,
) -> Result<FirstWord, BrokenStorePromise> {
    let stands = store.first_words(&[(of, word_of_hour(hour))], now).await?;
    stands.first().copied().ok_or_else(|| BrokenStorePromise("no word came back".into()))
}

async fn check_first_word(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let one = event_key("one")?;
    expect_same("the first", &say_word(&store, one, 5, NOW).await?, &word_of_hour(5))?;
    store = harness.crash(store).await?;
    for (hour, now) in [(7, NOW.plus(1)), (3, NOW.plus(2)), (4, NOW.plus(-1))] {
        expect_same(hour, &say_word(&store, one, hour, now).await?, &word_of_hour(5))?;
    }
    let two = event_key("two")?;
    let both = store
        .first_words(&[(two, word_of_hour(6)), (one, word_of_hour(6)), (two, word_of_hour(2))], NOW)
        .await?;
    expect_same("in one call", &both, &vec![word_of_hour(6), word_of_hour(5), word_of_hour(6)])?;
    expect_same("after it", &say_word(&store, two, 1, NOW).await?, &word_of_hour(6))?;
    expect_same("of nothing", &store.first_words(&[], NOW).await?, &Vec::new())
}

async fn check_heard_at(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let (one, other) = (event_key("one")?, event_key("other")?);
    say_word(&store, one, 5, NOW).await?;
    say_word(&store, one, 6, NOW.plus(9)).await?;
    store = harness.crash(store).await?;
    expect_same("once heard", &store.heard_at(one, NOW.plus(9)).await?, &Some(NOW))?;
    expect_same("never heard", &store.heard_at(other, NOW.plus(9)).await?, &None)?;
    let end = NOW.plus(store.day_life().first_word_ms());
    expect_same("forgotten", &store.heard_at(one, end).await?, &None)
}

async fn check_words_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let mut keys = vec![event_key("one")?, event_key("two")?];
    let mut near = keys[0];
    near.0[15] ^= 1;
    keys.push(near);
    let all: Vec<_> = keys.iter().copied().zip((1..).map(word_of_hour)).collect();
    let words: Vec<_> = all.iter().map(|(_, word)| *word).collect();
    expect_same("said", &store.first_words(&all, NOW).await?, &words)?;
    let again: Vec<_> = keys.into_iter().rev().map(|key| (key, word_of_hour(9))).collect();
    let reversed: Vec<_> = words.into_iter().rev().collect();
    expect_same("again", &store.first_words(&again, NOW).await?, &reversed)
}

async fn check_one_word(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let one = event_key("one")?;
    try_join_all((0..50).map(|hour| say_word(&store, one, hour, NOW.plus(hour)))).await?;
    let stands = say_word(&store, one, 99, NOW.plus(60)).await?;
    expect_same("one of them", &(0..50).any(|hour| word_of_hour(hour) == stands), &true)?;
    expect_same("later", &say_word(&store, one, 98, NOW.plus(61)).await?, &stands)
}

async fn check_word_expires(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let one = event_key("one")?;
    expect_same("the first", &say_word(&store, one, 1, NOW).await?, &word_of_hour(1))?;
    let last = NOW.plus(store.day_life().first_word_ms() - 1);
    expect_same("a millisecond before", &say_word(&store, one, 2, last).await?, &word_of_hour(1))?;
    expect_same("at its end", &say_word(&store, one, 3, last.plus(1)).await?, &word_of_hour(3))?;
    expect_same("that one", &say_word(&store, one, 4, last.plus(2)).await?, &word_of_hour(3))
}
