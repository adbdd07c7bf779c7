//! Promises about the end of days: scanned, closed, dropped.

use std::{collections::BTreeMap, sync::Arc};

use model::{Day, DayRow, entry::DayKey, limits::DAY_ROWS_READ_MAX};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_holds, expect_same,
    samples::{NOW, day_key, entry_rows, every_row, hostile_names, read_rows, today, write_rows},
};
use crate::port::{DayRows, Store};

promises! {
    check_scan_covers_day keeps "a scan covers a day once":
        "part after part tells every row of a day of all tenants once, and of no other day";
    check_part_size keeps "a part of a scan has its size":
        "a part has at most as many rows as asked for, and never more than a read may return";
    check_persons_whole keeps "a scan keeps persons whole":
        "the rows of a person come in one part, unless they are more than a part may have";
    check_closed_day keeps "a closed day takes no rows":
        "days before the one given take no more rows, also after a crash, all others do, and it is never undone";
    check_closed_day_read keeps "a closed day is still read":
        "what is in a closed day can be read and scanned, also after a crash";
    check_dropped_days keeps "dropped days are gone":
        "every day before the one given goes, for good, and their number is told";
    check_other_days_stay keeps "no other day is dropped":
        "the day given and all after it stay and take rows";
    check_dropped_for_good keeps "a dropped day never comes back":
        "rows that come for a dropped day are not taken, also after a crash, and that is no error";
    check_newest_day keeps "the newest day is known":
        "the newest day with rows that was not dropped is named, also after a crash";
}

/// The rows of a scan by person, and how many parts each person was in.
type ScannedRows = BTreeMap<DayKey, (Vec<DayRow>, usize)>;

async fn scan_day(store: &Arc<dyn Store>, day: Day, most: usize) -> Result<ScannedRows, BrokenStorePromise> {
    let (mut found, mut from) = (ScannedRows::new(), None);
    for _ in 0..10_000 {
        let part = store.scan(day, from.as_deref(), most).await?;
        let rows = part.rows.iter().map(|of| of.rows.len()).sum::<usize>();
        expect_holds(format!("{rows} rows in a part of {most}"), rows <= most)?;
        for of in part.rows {
            expect_holds(format!("nothing of {:?}", of.key), !of.rows.is_empty())?;
            let (rows, parts) = found.entry(of.key).or_default();
            rows.extend(of.rows);
            *parts += 1;
        }
        match part.next {
            Some(next) => from = Some(next),
            None => return Ok(found),
        }
    }
    Err(BrokenStorePromise("the parts do not end".into()))
}

async fn check_scan_covers_day(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let (mut written, mut expected) = (Vec::new(), BTreeMap::new());
    for (n, of) in (0_u16..).zip(["a", "ab", "main"]) {
        for (m, who) in (0_u16..).zip(hostile_names()) {
            let key = day_key(of, &who, today())?;
            let rows = entry_rows(0, 1 + (n + m) % 4, key.day)?;
            written.push(DayRows { key: key.clone(), rows: rows.clone() });
            let other = DayKey { day: today().plus(1), ..key.clone() };
            written.push(DayRows { rows: entry_rows(8, 9, other.day)?, key: other });
            expected.insert(key, rows);
        }
    }
    let every = day_key("main", "zoe", today())?;
    expected.insert(every.clone(), every_row(today())?);
    written.push(DayRows { key: every, rows: every_row(today())? });
    store.write(written, NOW).await?;
    for crashes in 0..2 {
        for most in [1, 2, 3, 7, 100, usize::MAX] {
            let mut found = BTreeMap::new();
            for (key, (mut rows, _)) in scan_day(&store, today(), most).await? {
                rows.sort();
                found.insert(key, rows);
            }
            expect_same(format!("by parts of {most} after {crashes} crashes"), &found, &expected)?;
        }
        store = harness.crash(store).await?;
    }
    expect_same("a day without rows", &scan_day(&store, today().plus(5), 10).await?, &ScannedRows::new())
}

async fn check_part_size(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let rows = entry_rows(0, u16::try_from(DAY_ROWS_READ_MAX + 500).unwrap_or(u16::MAX), today())?;
    write_rows(&*store, &day_key("main", "ann", today())?, &rows).await?;
    write_rows(&*store, &day_key("main", "bob", today())?, &rows[..10]).await?;
    for (asked, most) in [(1, 1), (100, 100), (usize::MAX, DAY_ROWS_READ_MAX)] {
        let part = store.scan(today(), None, asked).await?;
        let rows = part.rows.iter().map(|of| of.rows.len()).sum::<usize>();
        expect_holds(format!("{rows} rows in a part of {asked}"), (1..=most).contains(&rows))?;
        expect_holds("a part that is not the last names no next", part.next.is_some())?;
    }
    Ok(())
}

async fn check_persons_whole(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let mut written = Vec::new();
    for n in 0..60_u16 {
        let key = day_key("main", &format!("p{n}"), today())?;
        // One has more than fit into a part.
        let rows = entry_rows(0, if n == 30 { 50 } else { 1 + n % 7 }, key.day)?;
        written.push(DayRows { key, rows });
    }
    store.write(written.clone(), NOW).await?;
    for most in [7, 8, 20] {
        let found = scan_day(&store, today(), most).await?;
        for of in &written {
            let (rows, parts) = found.get(&of.key).map_or((0, 0), |(rows, parts)| (rows.len(), *parts));
            expect_same(format!("rows of {:?}", of.key), &rows, &of.rows.len())?;
            expect_holds(format!("{:?} in {parts} parts of {most}", of.key), parts == 1 || rows > most)?;
        }
    }
    Ok(())
}

async fn check_closed_day(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let keys = days_around(&store).await?;
    store.close_before(today()).await?;
    // An earlier day closes nothing more, and opens nothing.
    store.close_before(today().plus(-2)).await?;
    for crashes in 0..2_u16 {
        let news = keys.iter().map(|key| {
            let rows = entry_rows(10 + crashes, 11 + crashes, key.day)?;
            Ok(DayRows { key: key.clone(), rows })
        });
        store.write(news.collect::<Result<_, BrokenStorePromise>>()?, NOW).await?;
        let found = store.read(&keys, NOW).await?.iter().map(Vec::len).collect::<Vec<_>>();
        let open = usize::from(3 + crashes);
        expect_same(format!("rows after {crashes} crashes"), &found, &vec![2, 2, 2, open, open, open, open])?;
        // A day that had no rows when it was closed has none now.
        let empty = day_key("main", "bob", today().plus(-1))?;
        write_rows(&*store, &empty, &entry_rows(0, 2, empty.day)?).await?;
        expect_same("rows of somebody new in a closed day", &read_rows(&*store, &empty).await?, &Vec::new())?;
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn check_closed_day_read(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let keys = days_around(&store).await?;
    store.close_before(today()).await?;
    for crashes in 0..2 {
        for key in &keys {
            let what = format!("in {key:?} after {crashes} crashes");
            expect_same(&what, &read_rows(&*store, key).await?.len(), &2)?;
            let scanned = scan_day(&store, key.day, 10).await?;
            expect_same(what, &scanned.get(key).map(|(rows, _)| rows.len()), &Some(2))?;
        }
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn days_around(store: &Arc<dyn Store>) -> Result<Vec<DayKey>, BrokenStorePromise> {
    let keys: Vec<DayKey> =
        (-3..=3).map(|days| day_key("main", "ann", today().plus(days))).collect::<Result<_, _>>()?;
    for key in &keys {
        write_rows(&**store, key, &entry_rows(0, 2, key.day)?).await?;
    }
    Ok(keys)
}

async fn check_dropped_days(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let keys = days_around(&store).await?;
    expect_same("dropped", &store.drop_before(today()).await?, &3)?;
    expect_same("dropped again", &store.drop_before(today()).await?, &0)?;
    for crashes in 0..2 {
        for key in &keys[..3] {
            expect_same(
                format!("in {key:?} after {crashes} crashes"),
                &read_rows(&*store, key).await?,
                &Vec::new(),
            )?;
        }
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn check_other_days_stay(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let keys = days_around(&store).await?;
    store.drop_before(today()).await?;
    for key in &keys[3..] {
        write_rows(&*store, key, &entry_rows(5, 6, key.day)?).await?;
    }
    for crashes in 0..2 {
        for key in &keys[3..] {
            expect_same(
                format!("in {key:?} after {crashes} crashes"),
                &read_rows(&*store, key).await?.len(),
                &3,
            )?;
        }
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn check_dropped_for_good(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let keys = days_around(&store).await?;
    store.drop_before(today()).await?;
    for crashes in 0..2 {
        for key in &keys[..3] {
            write_rows(&*store, key, &entry_rows(5, 6, key.day)?).await?;
            let what = format!("in {key:?} after {crashes} crashes");
            expect_same(&what, &read_rows(&*store, key).await?, &Vec::new())?;
            expect_same(what, &scan_day(&store, key.day, 10).await?, &ScannedRows::new())?;
        }
        expect_same("dropped again", &store.drop_before(today()).await?, &0)?;
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn check_newest_day(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    expect_same("of nothing", &store.newest().await?, &None)?;
    days_around(&store).await?;
    // Each day that is dropped, and the newest one then.
    for (before, newest) in [(-9, Some(3)), (3, Some(3)), (4, None)] {
        store.drop_before(today().plus(before)).await?;
        for crashes in 0..2 {
            let newest = newest.map(|days| today().plus(days));
            let what = format!("dropped before {before}, after {crashes} crashes");
            expect_same(what, &store.newest().await?, &newest)?;
            store = harness.crash(store).await?;
        }
    }
    Ok(())
}
