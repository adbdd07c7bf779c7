//! Days: a partition for each person's day, in the table whose turn it is; rows only ever added.

use std::sync::PoisonError;

use async_trait::async_trait;
use model::{Day, DayRow, UtcMillis, entry::DayKey};
use store::{DayPart, DayRows, DayStore, StoreError, rows::decode_row};

use crate::{
    CqlStore,
    engine::CqlEngine,
    errors::CqlError,
    statements::DayTableStatements,
    write_steps::{WriteStep, WriteStepBuilder, row_ttl},
};

#[async_trait]
impl DayStore for CqlStore {
    async fn write(&self, mut rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        let ring = self.engine.statements.ring;
        rows.retain(|of| !ring.life().is_over(of.key.day, now) && !of.rows.is_empty());
        if rows.is_empty() {
            return Ok(());
        }
        let _writing = self.marks.begin_write().await;
        let before =
            self.engine.run_with_retries("writing a day", || self.marks.fresh_marks(&self.engine)).await?;
        rows.retain(|of| !before.is_closed(of.key.day));
        // What one write has for one day goes out together, wherever in it it stands.
        rows.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        let mut slots: Vec<(Day, &DayTableStatements)> = Vec::new();
        for of in &rows {
            let day = of.key.day;
            if !slots.iter().any(|(known, _)| *known == day) {
                self.hold_day(day, now).await?;
                slots.push((day, self.slot(day).await?));
            }
        }
        let mut puts = WriteStepBuilder::new(slots, ring, now);
        let steps = rows.chunk_by(|one, other| one.key == other.key).flat_map(|of| puts.build_steps(of));
        self.engine.run_all(steps.map(|put| self.put_step(put))).await.map(|_| ())
    }

    async fn read(&self, keys: &[DayKey], now: UtcMillis) -> Result<Vec<Vec<DayRow>>, StoreError> {
        self.engine.run_all(keys.iter().map(|key| self.read_rows(key, now))).await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.scan_part(day, from, most).await
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        let held = self.engine.run_with_retries("reading which days there are", || self.held_days()).await?;
        let marks = self
            .marks
            .fresh_marks(&self.engine)
            .await
            .map_err(|trouble| trouble.into_store_error("reading the newest day"))?;
        Ok(held.into_iter().filter(|day| !marks.is_dropped(*day)).max())
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.marks.close_before(&self.engine, day, false).await.map(|_| ())
    }

    /// The rows themselves go when their time is up: then whole files fall.
    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        let old = self.marks.close_before(&self.engine, day, true).await?;
        let held = self.engine.run_with_retries("reading which days there are", || self.held_days()).await?;
        let went = held.into_iter().filter(|one| *one < day && !old.is_dropped(*one)).count();
        Ok(u64::try_from(went).unwrap_or(u64::MAX))
    }
}

impl CqlStore {
    pub(crate) async fn slot(&self, day: Day) -> Result<&DayTableStatements, StoreError> {
        let CqlEngine { session, statements, .. } = &self.engine;
        self.engine
            .run_with_retries("preparing the statements of a day", || statements.slot(session, day))
            .await
    }

    async fn put_step(&self, put: Result<WriteStep, StoreError>) -> Result<(), StoreError> {
        let put = put?;
        let attempt = || async {
            if self.marks.fresh_marks(&self.engine).await?.is_closed(put.day) {
                return Ok(());
            }
            put.send(&self.engine).await
        };
        self.engine.run_with_retries("writing a day", attempt).await
    }

    async fn read_rows(&self, key: &DayKey, now: UtcMillis) -> Result<Vec<DayRow>, StoreError> {
        if self.engine.statements.ring.life().is_over(key.day, now) {
            return Ok(Vec::new());
        }
        let slot = self.slot(key.day).await?;
        let attempt = || async {
            if self.marks.fresh_marks(&self.engine).await?.is_dropped(key.day) {
                return Ok(Vec::new());
            }
            let of = (key.tenant.as_str(), key.person.as_str(), key.day.0);
            let mut rows = Vec::new();
            for page in self.engine.read_pages(&slot.read, &of).await? {
                for row in page.rows::<(&[u8], &[u8])>()? {
                    let (row, body) = row?;
                    rows.push(decode_row(row, body)?);
                }
            }
            Ok(rows)
        };
        self.engine.run_with_retries("reading a day", attempt).await
    }

    /// Sees to it that the list of days has this one.
    async fn hold_day(&self, day: Day, now: UtcMillis) -> Result<(), StoreError> {
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(&day) {
            return Ok(());
        }
        let attempt = || async {
            let values = (day.0, row_ttl(self.engine.statements.ring, day, now));
            self.engine.session.execute_unpaged(&self.engine.statements.hold, values).await?;
            Ok(())
        };
        self.engine.run_with_retries("noting a day", attempt).await?;
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(day);
        Ok(())
    }

    async fn held_days(&self) -> Result<Vec<Day>, CqlError> {
        let mut days = Vec::new();
        for page in self.engine.read_pages(&self.engine.statements.held, &()).await? {
            for row in page.rows::<(i32,)>()? {
                days.push(Day(row?.0));
            }
        }
        Ok(days)
    }
}
