//! Days: a keyspace for those that lie together, rows only ever added.

use std::ops::Bound;

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot, UserKey};
use model::{Day, DayRow, UtcMillis, entry::DayKey, limits::DAY_ROWS_READ_MAX};
use store::{DayPart, DayRows, DayStore, StoreError, codec::unreadable_error, rows::decode_row};

use super::{
    EmbeddedStore,
    engine::{EmbeddedStoreEngine, map_database_error},
    keys,
    rows::{DayRowEncoder, StoredPair},
};

/// Rows by day.
type EncodedDays = Vec<(Day, Vec<StoredPair>)>;

#[async_trait]
impl DayStore for EmbeddedStore {
    async fn write(&self, mut rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        rows.retain(|of| !self.engine.ring.life().is_over(of.key.day, now) && !of.rows.is_empty());
        if rows.is_empty() {
            return Ok(());
        }
        let count = rows.iter().map(|of| of.rows.len()).sum();
        let encoded = self.prepare_write(count, move || encode_days(&rows, count)).await?;
        self.writer
            .run(count, move |stage| {
                stage.note_time(now);
                encoded.into_iter().try_for_each(|(day, rows)| stage.add_rows(day, rows))
            })
            .await
    }

    async fn read(&self, keys: &[DayKey], now: UtcMillis) -> Result<Vec<Vec<DayRow>>, StoreError> {
        let keys = keys.to_vec();
        self.read_engine(keys.len(), move |engine| {
            let view = engine.snapshot();
            keys.iter().map(|key| read_rows(engine, &view, key, now)).collect()
        })
        .await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        let most = most.clamp(1, DAY_ROWS_READ_MAX);
        let from = from.map(keys::bounded_cursor);
        self.read_engine(most, move |engine| read_day_part(engine, day, from, most)).await
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        self.read_engine(1, |engine| Ok(engine.held_days()?.pop())).await
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.writer.run(1, move |stage| stage.close_before(day)).await
    }

    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.writer.drop_before(day).await
    }
}

fn encode_days(of: &[DayRows], count: usize) -> Result<EncodedDays, StoreError> {
    let mut encoded: EncodedDays = Vec::new();
    let mut encoder = DayRowEncoder::default();
    for DayRows { key, rows } in of {
        let at = match encoded.iter().position(|(day, _)| *day == key.day) {
            Some(at) => at,
            None => {
                // Nearly always all rows are of one day.
                let room = if encoded.is_empty() { count } else { 0 };
                encoded.push((key.day, Vec::with_capacity(room)));
                encoded.len() - 1
            }
        };
        encoder.begin(key);
        for row in rows {
            encoded[at].1.push(encoder.encode_row(row)?);
        }
    }
    Ok(encoded)
}

fn read_rows(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    key: &DayKey,
    now: UtcMillis,
) -> Result<Vec<DayRow>, StoreError> {
    if engine.ring.life().is_over(key.day, now) {
        return Ok(Vec::new());
    }
    let Some(keyspace) = engine.day(key.day) else { return Ok(Vec::new()) };
    let mut prefix = Vec::with_capacity(64);
    keys::push_day(&mut prefix, key);
    let mut rows = Vec::new();
    for row in view.prefix(&keyspace, &prefix).take(DAY_ROWS_READ_MAX) {
        let (key, value) = row.into_inner().map_err(|error| map_database_error("reading a day", &error))?;
        rows.push(decode_row(&key[prefix.len()..], &value)?);
    }
    Ok(rows)
}

/// A part of a day. Whoever would not fit as a whole begins the next one, unless they began this one.
fn read_day_part(
    engine: &EmbeddedStoreEngine,
    day: Day,
    from: Option<Vec<u8>>,
    most: usize,
) -> Result<DayPart, StoreError> {
    let mut part = DayPart { rows: Vec::new(), next: None };
    let Some(keyspace) = engine.day(day) else { return Ok(part) };
    let start = from.map_or_else(|| Bound::Included(keys::date_prefix(day).to_vec()), Bound::Excluded);
    let end = Bound::Excluded(keys::date_prefix(day.plus(1)).to_vec());
    // The owner of the last rows, as keys begin; and the last keys of the one before and of this one.
    let mut owner: Vec<u8> = Vec::new();
    let (mut before, mut last): (Option<UserKey>, Option<UserKey>) = (None, None);
    for (looked, row) in engine.snapshot().range(&keyspace, (start, end)).enumerate() {
        let (key, value) = row.into_inner().map_err(|error| map_database_error("reading a day", &error))?;
        let goes_on = !owner.is_empty() && key.starts_with(&owner);
        if looked == most {
            if goes_on && let Some(before) = before {
                part.rows.pop();
                last = Some(before);
            }
            part.next = last.map(|key| key.to_vec());
            break;
        }
        if !goes_on {
            let (of, bytes) =
                keys::split_day(&key, day).ok_or_else(|| unreadable_error("the owner of a row"))?;
            part.rows.push(DayRows { key: of, rows: Vec::new() });
            owner = key[..bytes].to_vec();
            before = last.take();
        }
        if let Some(of) = part.rows.last_mut() {
            of.rows.push(decode_row(&key[owner.len()..], &value)?);
        }
        last = Some(key);
    }
    Ok(part)
}
