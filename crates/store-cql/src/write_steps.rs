//! Rows on their way to the cluster: encoded once, a row alone or the rows of one person's day in one batch,
//! which is one mutation of one partition and so becomes visible at once.

use house_facts::day_ring::DayRing;
use model::{Day, UtcMillis, entry::DayKey};
use scylla::statement::{
    batch::{Batch, BatchType},
    bound::BoundStatement,
};
use store::{DayRows, StoreError, rows::push_row};

use crate::{engine::CqlEngine, errors::CqlError, statements::DayTableStatements};

/// What one batch may have; a cluster takes no more than some 16 MiB at once. What goes beyond it, ten
/// thousand rows of one person in one write, becomes visible in several steps.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// What a row of a batch has beside its own bytes and its owner's.
const ROW_BYTES: usize = 72;

/// What is written in one step.
pub(crate) struct WriteStep {
    pub day: Day,
    what: WriteStepBody,
}

enum WriteStepBody {
    Row(BoundStatement),
    Rows { batch: Batch, key: DayKey, rows: Vec<RowBodyPair>, ttl: i32 },
}

/// A row's key and body.
type RowBodyPair = (Vec<u8>, Vec<u8>);

impl WriteStep {
    pub(crate) async fn send(&self, engine: &CqlEngine) -> Result<(), CqlError> {
        match &self.what {
            // Boxed, since what surrounds it is moved several times for each row, and this is nearly all of it.
            WriteStepBody::Row(bound) => Box::pin(engine.session.execute_bound_unpaged(bound)).await?,
            WriteStepBody::Rows { batch, key, rows, ttl } => {
                let (tenant, person, day) = (key.tenant.as_str(), key.person.as_str(), key.day.0);
                let values: Vec<_> =
                    rows.iter().map(|(row, body)| (tenant, person, day, row, body, ttl)).collect();
                Box::pin(engine.session.batch(batch, values)).await?
            }
        };
        Ok(())
    }
}

/// Makes the steps of one write.
pub(crate) struct WriteStepBuilder<'a> {
    slots: Vec<(Day, &'a DayTableStatements)>,
    ring: DayRing,
    now: UtcMillis,
    row: Vec<u8>,
    body: Vec<u8>,
}

impl<'a> WriteStepBuilder<'a> {
    pub(crate) fn new(slots: Vec<(Day, &'a DayTableStatements)>, ring: DayRing, now: UtcMillis) -> Self {
        Self { slots, ring, now, row: Vec::new(), body: Vec::new() }
    }

    /// The steps for all that a write has for one person's day.
    pub(crate) fn build_steps(&mut self, of: &[DayRows]) -> Vec<Result<WriteStep, StoreError>> {
        let Some(key) = of.first().map(|first| &first.key) else { return Vec::new() };
        let Some((_, slot)) = self.slots.iter().find(|(day, _)| *day == key.day) else { return Vec::new() };
        let ttl = row_ttl(self.ring, key.day, self.now);
        match of {
            [DayRows { rows, .. }] if rows.len() == 1 => vec![self.row_step(slot, key, &rows[0], ttl)],
            _ => match encode_pairs(of) {
                Ok(pairs) => split_batches(pairs, key)
                    .into_iter()
                    .map(|rows| Ok(WriteStep { day: key.day, what: batch_step(slot, key, rows, ttl) }))
                    .collect(),
                Err(error) => vec![Err(error)],
            },
        }
    }

    fn row_step(
        &mut self,
        slot: &DayTableStatements,
        key: &DayKey,
        row: &model::DayRow,
        ttl: i32,
    ) -> Result<WriteStep, StoreError> {
        self.row.clear();
        self.body.clear();
        push_row(&mut self.row, &mut self.body, row)?;
        let values = (key.tenant.as_str(), key.person.as_str(), key.day.0, &self.row, &self.body, ttl);
        match slot.write.clone().bind(&values) {
            Ok(bound) => Ok(WriteStep { day: key.day, what: WriteStepBody::Row(bound) }),
            Err(error) => Err(StoreError::Broken(format!("a row cannot be written: {error}"))),
        }
    }
}

fn encode_pairs(of: &[DayRows]) -> Result<Vec<RowBodyPair>, StoreError> {
    let mut pairs = Vec::with_capacity(of.iter().map(|of| of.rows.len()).sum());
    for row in of.iter().flat_map(|of| &of.rows) {
        let (mut key, mut body) = RowBodyPair::default();
        push_row(&mut key, &mut body, row)?;
        pairs.push((key, body));
    }
    Ok(pairs)
}

/// As few batches as may be.
fn split_batches(pairs: Vec<RowBodyPair>, key: &DayKey) -> Vec<Vec<RowBodyPair>> {
    let owner = key.tenant.as_str().len() + key.person.as_str().len() + ROW_BYTES;
    let (mut batches, mut bytes) = (vec![Vec::new()], 0);
    for pair in pairs {
        let size = owner + pair.0.len() + pair.1.len();
        if bytes > 0 && bytes + size > BATCH_BYTES_MAX {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(last) = batches.last_mut() {
            last.push(pair);
        }
    }
    batches
}

fn batch_step(slot: &DayTableStatements, key: &DayKey, rows: Vec<RowBodyPair>, ttl: i32) -> WriteStepBody {
    let statements = vec![slot.write.clone().into(); rows.len()];
    let mut batch = Batch::new_with_statements(BatchType::Unlogged, statements);
    batch.set_is_idempotent(true);
    WriteStepBody::Rows { batch, key: key.clone(), rows, ttl }
}

/// The seconds a row of this day has: until the day expires, and never longer than until its table is used
/// again.
pub(crate) fn row_ttl(ring: DayRing, day: Day, now: UtcMillis) -> i32 {
    let left = ring.life().expiry(day).since(now).clamp(1, ring.stay_ms());
    i32::try_from((left + 999) / 1_000).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use model::{DayLife, Person, Tenant};

    use super::*;

    #[test]
    fn a_row_lives_until_its_day_expires() {
        let day = Day(20_000);
        for days in [21, 90, 400] {
            let ring = DayRing::new(DayLife::new(days).unwrap());
            let life = ring.life();
            let check = |left_ms: i64, secs: i64| {
                let now = life.expiry(day).plus(-left_ms);
                assert_eq!(i64::from(row_ttl(ring, day, now)), secs, "{left_ms} ms left of {life}");
            };
            check(1, 1);
            check(1_000, 1);
            check(1_001, 2);
            check(life.ms(), life.ms() / 1_000);
            check(i64::MAX, ring.stay_ms() / 1_000);
        }
    }

    #[test]
    fn rows_go_in_few_batches_none_too_large() {
        let key =
            DayKey { tenant: Tenant::new("main").unwrap(), person: Person::new("ann").unwrap(), day: Day(0) };
        let rows = |count: usize, bytes: usize| vec![(vec![0; bytes], Vec::new()); count];
        for (count, bytes, batches) in [(1, 10, 1), (10_000, 100, 1), (1, 5 << 20, 1), (9, 1 << 20, 3)] {
            let split = split_batches(rows(count, bytes), &key);
            assert_eq!(split.len(), batches, "{count} rows of {bytes} bytes");
            assert_eq!(split.iter().map(Vec::len).sum::<usize>(), count);
        }
    }
}
