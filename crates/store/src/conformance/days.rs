//! Promises about days.

use model::{DayRow, UtcMillis, limits::DAY_ROWS_READ_MAX};

use super::{
    StoreHarness, StorePromiseResult, expect_holds, expect_same,
    samples::{self, NOW, day_key, entry_rows, read_rows, today, write_rows},
};
use crate::port::DayRows;

promises! {
    check_durable keeps "rows are durable":
        "rows whose write has returned are there after a crash";
    check_as_written keeps "rows come back as written":
        "every sort of row is read as it was written, and nothing else is";
    check_one_row keeps "a row is one row":
        "a row written again, in the same write or later, is still one row";
    check_rows_together keeps "rows appear together":
        "the rows that one write has for one day are seen all or not at all";
    check_days_apart keeps "days are apart":
        "days of another person or another date share no row";
    check_days_in_order keeps "days come in the order asked for":
        "a read answers for each key in order, unknown ones with nothing, repeated ones again";
    check_expired_reads keeps "an expired day is empty":
        "a day is read until the instant at which it expires, and is empty from then on";
    check_expired_writes keeps "an expired day takes no rows":
        "rows for a day that has expired are not taken, and that is no error";
    check_read_limit keeps "a read stops at the limit":
        "of a day with more rows than a read may return, exactly that many different ones are";
    check_failed_read keeps "a failed read is an error":
        "a read that fails says so and is never an empty answer";
}

async fn check_durable(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = entry_rows(0, 40, today())?;
    for half in [&rows[..20], &rows[20..]] {
        write_rows(&*store, &key, half).await?;
        store = harness.crash(store).await?;
    }
    expect_same("after two crashes", &read_rows(&*store, &key).await?.len(), &rows.len())
}

async fn check_as_written(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = samples::every_row(today())?;
    write_rows(&*store, &key, &rows).await?;
    expect_same("at once", &read_rows(&*store, &key).await?, &rows)?;
    store = harness.crash(store).await?;
    expect_same("after a crash", &read_rows(&*store, &key).await?, &rows)
}

async fn check_one_row(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = samples::every_row(today())?;
    let twice: Vec<DayRow> = rows.iter().chain(rows.iter().rev()).cloned().collect();
    write_rows(&*store, &key, &twice).await?;
    expect_same("written twice at once", &read_rows(&*store, &key).await?, &rows)?;
    write_rows(&*store, &key, &rows[..rows.len() / 2]).await?;
    write_rows(&*store, &key, &rows).await?;
    expect_same("written again later", &read_rows(&*store, &key).await?, &rows)
}

async fn check_rows_together(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    const ROWS: u16 = 50;
    let store = harness.open().await?;
    let rows = entry_rows(0, ROWS, today())?;
    for round in 0..20 {
        let key = day_key("main", &format!("p{round}"), today())?;
        let seen = async {
            loop {
                let seen = read_rows(&*store, &key).await?.len();
                if seen == rows.len() {
                    return Ok(());
                }
                expect_holds(format!("{seen} of {ROWS} rows were seen"), seen == 0)?;
                tokio::task::yield_now().await;
            }
        };
        let (written, seen): (StorePromiseResult, StorePromiseResult) =
            futures::join!(write_rows(&*store, &key, &rows), seen);
        written.and(seen)?;
    }
    Ok(())
}

async fn check_days_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = entry_rows(0, 5, today())?;
    write_rows(&*store, &key, &rows).await?;
    let others = [
        day_key("main", "bob", today())?,
        day_key("main", "ann", today().plus(1))?,
        day_key("main", "ann", today().plus(-1))?,
    ];
    for other in &others {
        expect_same(format!("in {other:?}"), &read_rows(&*store, other).await?, &Vec::new())?;
        write_rows(&*store, other, &rows[..1]).await?;
        expect_same(format!("in {other:?}"), &read_rows(&*store, other).await?, &rows[..1].to_vec())?;
    }
    expect_same("in the first", &read_rows(&*store, &key).await?, &rows)
}

async fn check_days_in_order(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let mut keys = Vec::new();
    let mut expected = Vec::new();
    for n in 0..40_u16 {
        // Every third is never written.
        let key = day_key("main", &format!("p{}", 97 - n), today().plus(i32::from(n % 3)))?;
        let rows = if n % 3 == 2 { Vec::new() } else { entry_rows(n, n + 1, key.day)? };
        if !rows.is_empty() {
            write_rows(&*store, &key, &rows).await?;
        }
        keys.push(key);
        expected.push(rows);
    }
    keys.extend_from_within(3..7);
    expected.extend_from_within(3..7);
    expect_same("many keys", &store.read(&keys, NOW).await?, &expected)?;
    expect_same("few keys", &store.read(&keys[..3], NOW).await?, &expected[..3].to_vec())?;
    expect_same("no key", &store.read(&[], NOW).await?, &Vec::new())
}

async fn check_expired_reads(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = entry_rows(0, 3, today())?;
    write_rows(&*store, &key, &rows).await?;
    let last = UtcMillis(store.day_life().expiry(key.day).0 - 1);
    let keys = [key];
    expect_same("a millisecond before", &store.read(&keys, last).await?[0].len(), &rows.len())?;
    expect_same("at the instant", &store.read(&keys, last.plus(1)).await?, &vec![Vec::new()])?;
    expect_same("long after", &store.read(&keys, last.plus(1 << 40)).await?, &vec![Vec::new()])
}

async fn check_expired_writes(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let life = store.day_life();
    let old = day_key("main", "ann", today().plus(-i32::from(life.days()) - 9))?;
    let young = day_key("main", "ann", today())?;
    let write = vec![
        DayRows { key: old.clone(), rows: entry_rows(0, 3, old.day)? },
        DayRows { key: young.clone(), rows: entry_rows(0, 3, young.day)? },
    ];
    let expiry = life.expiry(old.day);
    store.write(write.clone(), NOW).await?;
    store.write(write[..1].to_vec(), expiry).await?;
    // Asked with a time at which the day still lived, so that only what was written counts.
    let read = store.read(&[old, young], UtcMillis(expiry.0 - 1)).await?;
    expect_same("rows of the expired day and of the other", &(read[0].len(), read[1].len()), &(0, 3))
}

async fn check_read_limit(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let mut rows = entry_rows(0, u16::try_from(DAY_ROWS_READ_MAX + 500).unwrap_or(u16::MAX), today())?;
    rows.sort();
    write_rows(&*store, &key, &rows).await?;
    let mut found = read_rows(&*store, &key).await?;
    found.dedup();
    expect_same("rows read", &found.len(), &DAY_ROWS_READ_MAX)?;
    expect_holds("a row that was never written", found.iter().all(|row| rows.binary_search(row).is_ok()))
}

async fn check_failed_read(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    write_rows(&*store, &key, &entry_rows(0, 3, today())?).await?;
    if harness.spoil(&*store, &key).await? {
        let read = store.read(&[key], NOW).await;
        expect_holds(format!("a read that cannot work found {read:?}"), read.is_err())?;
    }
    Ok(())
}
