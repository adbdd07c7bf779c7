//! Days: a partition for each person's day, in the table whose turn it is; rows only ever added.

use std::sync::PoisonError;

use async_trait::async_trait;
use model::{Day, Millis, Row, entry::DayKey};
use store::{DayPart, DayRows, Days, StoreError, rows::row_back};

use crate::{
    Cql,
    engine::Engine,
    errors::Trouble,
    put::{Put, Puts, ttl},
    statements::Slot,
};

#[async_trait]
impl Days for Cql {
    async fn write(&self, mut rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
        rows.retain(|of| of.key.day.expires() > now && !of.rows.is_empty());
        if rows.is_empty() {
            return Ok(());
        }
        let _writing = self.marks.writing().await;
        let before = self.engine.tried("writing a day", || self.marks.now(&self.engine)).await?;
        rows.retain(|of| !before.is_closed(of.key.day));
        // What one write has for one day goes out together, wherever in it it stands.
        rows.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        let mut slots: Vec<(Day, &Slot)> = Vec::new();
        for of in &rows {
            let day = of.key.day;
            if !slots.iter().any(|(known, _)| *known == day) {
                self.hold(day, now).await?;
                slots.push((day, self.slot(day).await?));
            }
        }
        let mut puts = Puts::new(slots, now);
        let steps = rows.chunk_by(|one, other| one.key == other.key).flat_map(|of| puts.of(of));
        self.engine.each(steps.map(|put| self.put(put))).await.map(|_| ())
    }

    async fn read(&self, keys: &[DayKey], now: Millis) -> Result<Vec<Vec<Row>>, StoreError> {
        self.engine.each(keys.iter().map(|key| self.rows_of(key, now))).await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.part(day, from, most).await
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        let held = self.engine.tried("reading which days there are", || self.held()).await?;
        let marks =
            self.marks.now(&self.engine).await.map_err(|trouble| trouble.told("reading the newest day"))?;
        Ok(held.into_iter().filter(|day| !marks.is_dropped(*day)).max())
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.marks.close_before(&self.engine, day, false).await.map(|_| ())
    }

    /// The rows themselves go when their time is up: then whole files fall.
    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        let old = self.marks.close_before(&self.engine, day, true).await?;
        let held = self.engine.tried("reading which days there are", || self.held()).await?;
        let went = held.into_iter().filter(|one| *one < day && !old.is_dropped(*one)).count();
        Ok(u64::try_from(went).unwrap_or(u64::MAX))
    }
}

impl Cql {
    pub(crate) async fn slot(&self, day: Day) -> Result<&Slot, StoreError> {
        let Engine { session, statements, .. } = &self.engine;
        self.engine.tried("preparing the statements of a day", || statements.slot(session, day)).await
    }

    async fn put(&self, put: Result<Put, StoreError>) -> Result<(), StoreError> {
        let put = put?;
        let attempt = || async {
            if self.marks.now(&self.engine).await?.is_closed(put.day) {
                return Ok(());
            }
            put.send(&self.engine).await
        };
        self.engine.tried("writing a day", attempt).await
    }

    async fn rows_of(&self, key: &DayKey, now: Millis) -> Result<Vec<Row>, StoreError> {
        if key.day.expires() <= now {
            return Ok(Vec::new());
        }
        let slot = self.slot(key.day).await?;
        let attempt = || async {
            if self.marks.now(&self.engine).await?.is_dropped(key.day) {
                return Ok(Vec::new());
            }
            let of = (key.tenant.as_str(), key.person.as_str(), key.day.0);
            let mut rows = Vec::new();
            for page in self.engine.pages(&slot.read, &of).await? {
                for row in page.rows::<(&[u8], &[u8])>()? {
                    let (row, body) = row?;
                    rows.push(row_back(row, body)?);
                }
            }
            Ok(rows)
        };
        self.engine.tried("reading a day", attempt).await
    }

    /// Sees to it that the list of days has this one.
    async fn hold(&self, day: Day, now: Millis) -> Result<(), StoreError> {
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(&day) {
            return Ok(());
        }
        let attempt = || async {
            let values = (day.0, ttl(day, now));
            self.engine.session.execute_unpaged(&self.engine.statements.hold, values).await?;
            Ok(())
        };
        self.engine.tried("noting a day", attempt).await?;
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(day);
        Ok(())
    }

    async fn held(&self) -> Result<Vec<Day>, Trouble> {
        let mut days = Vec::new();
        for page in self.engine.pages(&self.engine.statements.held, &()).await? {
            for row in page.rows::<(i32,)>()? {
                days.push(Day(row?.0));
            }
        }
        Ok(days)
    }
}
