//! Days: a keyspace each, rows only ever added.

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot};
use model::{Day, Millis, Row, entry::DayKey, limits::DAY_ROWS_READ_MAX};

use super::{
    Embedded,
    engine::{Engine, failed},
    keys,
    rows::{row, row_back},
    writer::Pair,
};
use crate::port::{DayRows, Days, StoreError};

/// Keys and values, by day.
type Encoded = Vec<(Day, Vec<Pair>)>;

#[async_trait]
impl Days for Embedded {
    async fn write(&self, mut rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
        rows.retain(|of| of.key.day.expires() > now && !of.rows.is_empty());
        if rows.is_empty() {
            return Ok(());
        }
        let count = rows.iter().map(|of| of.rows.len()).sum();
        let encoded = self.prepare(count, move || encode(&rows)).await?;
        self.writer
            .run(count, move |stage| {
                stage.hear(now);
                encoded.into_iter().try_for_each(|(day, rows)| stage.add(day, rows))
            })
            .await
    }

    async fn read(&self, keys: &[DayKey], now: Millis) -> Result<Vec<Vec<Row>>, StoreError> {
        let keys = keys.to_vec();
        self.look(keys.len(), move |engine| {
            let view = engine.view();
            keys.iter().map(|key| rows_of(engine, &view, key, now)).collect()
        })
        .await
    }

    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.writer.drop_before(day).await
    }
}

fn encode(rows: &[DayRows]) -> Result<Encoded, StoreError> {
    let mut encoded: Encoded = Vec::new();
    for of in rows {
        let prefix = keys::day(&of.key);
        let at = match encoded.iter().position(|(day, _)| *day == of.key.day) {
            Some(at) => at,
            None => {
                encoded.push((of.key.day, Vec::new()));
                encoded.len() - 1
            }
        };
        for one in &of.rows {
            encoded[at].1.push(row(&prefix, one)?);
        }
    }
    Ok(encoded)
}

fn rows_of(engine: &Engine, view: &Snapshot, key: &DayKey, now: Millis) -> Result<Vec<Row>, StoreError> {
    if key.day.expires() <= now {
        return Ok(Vec::new());
    }
    let Some(keyspace) = engine.day(key.day) else { return Ok(Vec::new()) };
    let prefix = keys::day(key);
    let mut rows = Vec::new();
    for row in view.prefix(&keyspace, &prefix).take(DAY_ROWS_READ_MAX) {
        let (key, value) = row.into_inner().map_err(|error| failed("reading a day", &error))?;
        rows.push(row_back(&key[prefix.len()..], &value)?);
    }
    Ok(rows)
}
