//! Where rows of days lie: in buckets of a day, of a week or of thirty days, so that there are few of them however long
//! days live.

use std::ops::RangeInclusive;

use model::{Day, DayLife, limits::DAY_MS};

/// Tables of days at most.
pub const DAY_TABLES_MAX: usize = 40;

/// A table is used again so many days after all in it has expired, so that what compacts late is gone.
const REST_DAYS: i32 = 10;

/// The days of a bucket, the smallest first.
const WIDTHS: [i32; 3] = [1, 7, 30];

/// The buckets of a house.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayRing {
    life: DayLife,
    /// Days of a bucket.
    width: i32,
    /// Tables that are used in turn.
    tables: i32,
}

/// Why days cannot live for so long.
pub fn describe_other_life(found: &str, asked: DayLife) -> String {
    format!(
        "this house keeps days for {found}, as was chosen when it was set up, and the configuration says {asked}: set `day_life: {}`",
        found.trim_end_matches('d')
    )
}

/// Days that lie together. Buckets order as their days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DayBucket(pub i32);

impl DayRing {
    pub fn new(life: DayLife) -> Self {
        let widest = WIDTHS[WIDTHS.len() - 1];
        let tables = |width: i32| (i32::from(life.days()) + REST_DAYS + width - 1) / width + 1;
        let fits = |width: &i32| usize::try_from(tables(*width)).is_ok_and(|tables| tables <= DAY_TABLES_MAX);
        let width = WIDTHS.into_iter().find(fits).unwrap_or(widest);
        Self { life, width, tables: tables(width) }
    }

    pub fn life(self) -> DayLife {
        self.life
    }

    pub fn bucket(self, day: Day) -> DayBucket {
        DayBucket(day.0.div_euclid(self.width))
    }

    /// The days of a bucket.
    pub fn days(self, bucket: DayBucket) -> RangeInclusive<i32> {
        let first = bucket.0.saturating_mul(self.width);
        first..=first.saturating_add(self.width - 1)
    }

    /// Tables that are used in turn.
    pub fn tables(self) -> usize {
        usize::try_from(self.tables).unwrap_or(1)
    }

    /// The table of a day, of that many.
    pub fn table(self, day: Day) -> usize {
        usize::try_from(self.bucket(day).0.rem_euclid(self.tables)).unwrap_or(0)
    }

    /// The longest that a row may stay in its table: until that is used again.
    pub fn stay_ms(self) -> i64 {
        i64::from(self.tables - 1) * i64::from(self.width) * DAY_MS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn few_tables_hold_days_of_any_life() {
        for days in 21..=400 {
            let ring = DayRing::new(DayLife::new(days).unwrap());
            assert!(ring.tables() <= DAY_TABLES_MAX, "{ring:?}");
            assert!(ring.stay_ms() >= ring.life().ms(), "{ring:?}");
        }
        let check = |days: u16, width: i32, tables: usize| {
            let ring = DayRing::new(DayLife::new(days).unwrap());
            assert_eq!((ring.width, ring.tables()), (width, tables), "{days}");
        };
        check(21, 1, 32);
        check(29, 1, 40);
        check(30, 7, 7);
        check(90, 7, 16);
        check(263, 7, 40);
        check(264, 30, 11);
        check(400, 30, 15);
    }

    #[test]
    fn no_two_buckets_that_live_at_once_share_a_table() {
        for days in [21, 29, 30, 90, 263, 264, 400] {
            let ring = DayRing::new(DayLife::new(days).unwrap());
            for first in [-900, -1, 0, 20_778] {
                let mut buckets = BTreeMap::new();
                for day in (first..=first + i32::from(days) + 1).map(Day) {
                    let bucket = ring.bucket(day);
                    let before = buckets.insert(ring.table(day), bucket);
                    assert!(
                        before.is_none_or(|before| before == bucket),
                        "{days} days from {first}: {day:?}"
                    );
                    assert!(ring.days(bucket).contains(&day.0));
                }
            }
        }
    }
}
