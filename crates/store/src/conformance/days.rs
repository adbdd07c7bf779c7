//! Promises about days.

use model::{Millis, Row, limits::DAY_ROWS_READ_MAX};

use super::{
    Harness, Kept, Promise, held, same,
    samples::{self, NOW, day_key, entries, read, today, write},
};
use crate::port::DayRows;

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "rows are durable",
        says: "rows whose write has returned are there after a crash",
        check: |harness| Box::pin(durable(harness)),
    },
    Promise {
        name: "rows come back as written",
        says: "every sort of row is read as it was written, and nothing else is",
        check: |harness| Box::pin(as_written(harness)),
    },
    Promise {
        name: "a row is one row",
        says: "a row written again, in the same write or later, is still one row",
        check: |harness| Box::pin(one_row(harness)),
    },
    Promise {
        name: "rows appear together",
        says: "the rows that one write has for one day are seen all or not at all",
        check: |harness| Box::pin(together(harness)),
    },
    Promise {
        name: "days are apart",
        says: "days of another person or another date share no row",
        check: |harness| Box::pin(apart(harness)),
    },
    Promise {
        name: "days come in the order asked for",
        says: "a read answers for each key in order, unknown ones with nothing, repeated ones again",
        check: |harness| Box::pin(in_order(harness)),
    },
    Promise {
        name: "an expired day is empty",
        says: "a day is read until the instant at which it expires, and is empty from then on",
        check: |harness| Box::pin(expired_reads(harness)),
    },
    Promise {
        name: "an expired day takes no rows",
        says: "rows for a day that has expired are not taken, and that is no error",
        check: |harness| Box::pin(expired_writes(harness)),
    },
    Promise {
        name: "a read stops at the limit",
        says: "of a day with more rows than a read may return, exactly that many different ones are",
        check: |harness| Box::pin(limited(harness)),
    },
    Promise {
        name: "a failed read is an error",
        says: "a read that fails says so and is never an empty answer",
        check: |harness| Box::pin(failing(harness)),
    },
];

async fn durable(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = entries(0, 40, today())?;
    for half in [&rows[..20], &rows[20..]] {
        write(&*store, &key, half).await?;
        store = harness.crash(store).await?;
    }
    same("after two crashes", &read(&*store, &key).await?.len(), &rows.len())
}

async fn as_written(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = samples::every_row(today())?;
    write(&*store, &key, &rows).await?;
    same("at once", &read(&*store, &key).await?, &rows)?;
    store = harness.crash(store).await?;
    same("after a crash", &read(&*store, &key).await?, &rows)
}

async fn one_row(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = samples::every_row(today())?;
    let twice: Vec<Row> = rows.iter().chain(rows.iter().rev()).cloned().collect();
    write(&*store, &key, &twice).await?;
    same("written twice at once", &read(&*store, &key).await?, &rows)?;
    write(&*store, &key, &rows[..rows.len() / 2]).await?;
    write(&*store, &key, &rows).await?;
    same("written again later", &read(&*store, &key).await?, &rows)
}

async fn together(harness: &mut dyn Harness) -> Kept {
    const ROWS: u16 = 50;
    let store = harness.open().await?;
    let rows = entries(0, ROWS, today())?;
    for round in 0..20 {
        let key = day_key("main", &format!("p{round}"), today())?;
        let seen = async {
            loop {
                let seen = read(&*store, &key).await?.len();
                if seen == rows.len() {
                    return Ok(());
                }
                held(format!("{seen} of {ROWS} rows were seen"), seen == 0)?;
                tokio::task::yield_now().await;
            }
        };
        let (written, seen): (Kept, Kept) = futures::join!(write(&*store, &key, &rows), seen);
        written.and(seen)?;
    }
    Ok(())
}

async fn apart(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = entries(0, 5, today())?;
    write(&*store, &key, &rows).await?;
    let others = [
        day_key("main", "bob", today())?,
        day_key("main", "ann", today().plus(1))?,
        day_key("main", "ann", today().plus(-1))?,
    ];
    for other in &others {
        same(format!("in {other:?}"), &read(&*store, other).await?, &Vec::new())?;
        write(&*store, other, &rows[..1]).await?;
        same(format!("in {other:?}"), &read(&*store, other).await?, &rows[..1].to_vec())?;
    }
    same("in the first", &read(&*store, &key).await?, &rows)
}

async fn in_order(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let mut keys = Vec::new();
    let mut expected = Vec::new();
    for n in 0..40_u16 {
        // Every third is never written.
        let key = day_key("main", &format!("p{}", 97 - n), today().plus(i32::from(n % 3)))?;
        let rows = if n % 3 == 2 { Vec::new() } else { entries(n, n + 1, key.day)? };
        if !rows.is_empty() {
            write(&*store, &key, &rows).await?;
        }
        keys.push(key);
        expected.push(rows);
    }
    keys.extend_from_within(3..7);
    expected.extend_from_within(3..7);
    same("many keys", &store.read(&keys, NOW).await?, &expected)?;
    same("few keys", &store.read(&keys[..3], NOW).await?, &expected[..3].to_vec())?;
    same("no key", &store.read(&[], NOW).await?, &Vec::new())
}

async fn expired_reads(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let rows = entries(0, 3, today())?;
    write(&*store, &key, &rows).await?;
    let last = Millis(key.day.expires().0 - 1);
    let keys = [key];
    same("a millisecond before", &store.read(&keys, last).await?[0].len(), &rows.len())?;
    same("at the instant", &store.read(&keys, last.plus(1)).await?, &vec![Vec::new()])?;
    same("long after", &store.read(&keys, last.plus(1 << 40)).await?, &vec![Vec::new()])
}

async fn expired_writes(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let old = day_key("main", "ann", today().plus(-30))?;
    let young = day_key("main", "ann", today())?;
    let write = vec![
        DayRows { key: old.clone(), rows: entries(0, 3, old.day)? },
        DayRows { key: young.clone(), rows: entries(0, 3, young.day)? },
    ];
    let expiry = old.day.expires();
    store.write(write.clone(), NOW).await?;
    store.write(write[..1].to_vec(), expiry).await?;
    // Asked with a time at which the day still lived, so that only what was written counts.
    let read = store.read(&[old, young], Millis(expiry.0 - 1)).await?;
    same("rows of the expired day and of the other", &(read[0].len(), read[1].len()), &(0, 3))
}

async fn limited(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    let mut rows = entries(0, u16::try_from(DAY_ROWS_READ_MAX + 500).unwrap_or(u16::MAX), today())?;
    rows.sort();
    write(&*store, &key, &rows).await?;
    let mut found = read(&*store, &key).await?;
    found.dedup();
    same("rows read", &found.len(), &DAY_ROWS_READ_MAX)?;
    held("a row that was never written", found.iter().all(|row| rows.binary_search(row).is_ok()))
}

async fn failing(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = day_key("main", "ann", today())?;
    write(&*store, &key, &entries(0, 3, today())?).await?;
    if harness.spoil(&*store, &key).await? {
        let read = store.read(&[key], NOW).await;
        held(format!("a read that cannot work found {read:?}"), read.is_err())?;
    }
    Ok(())
}
