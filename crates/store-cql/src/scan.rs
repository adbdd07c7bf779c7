//! A day as a whole: its table walked in the order of tokens, a part at a time.

use futures::TryStreamExt as _;
use model::{Day, Person, Tenant, entry::DayKey, limits::DAY_ROWS_READ_MAX};
use scylla::statement::prepared::PreparedStatement;
use store::{DayPart, DayRows, StoreError, codec::unreadable_error, rows::decode_row};

use crate::{CqlStore, errors::CqlError};

/// Rows of a page, however few a part may have or however many.
const PAGE_ROWS: std::ops::RangeInclusive<usize> = 2..=5_000;

/// Where a part ended: behind a person, or behind a row of one.
struct DayScanCursor {
    token: i64,
    key: DayKey,
    row: Option<Vec<u8>>,
}

impl CqlStore {
    pub(crate) async fn scan_part(
        &self,
        day: Day,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<DayPart, StoreError> {
        let most = most.clamp(1, DAY_ROWS_READ_MAX);
        let from = from
            .map(|bytes| {
                DayScanCursor::parse(bytes, day)
                    .ok_or_else(|| unreadable_error("the place where a scan goes on"))
            })
            .transpose()?;
        let what = "scanning a day";
        let marks =
            self.marks.fresh_marks(&self.engine).await.map_err(|trouble| trouble.into_store_error(what))?;
        if marks.is_dropped(day) {
            return Ok(DayPart { rows: Vec::new(), next: None });
        }
        self.engine.run_with_retries(what, || self.read_part(day, from.as_ref(), most)).await
    }

    async fn read_part(
        &self,
        day: Day,
        from: Option<&DayScanCursor>,
        most: usize,
    ) -> Result<DayPart, CqlError> {
        let slot = self.engine.statements.slot(&self.engine.session, day).await?;
        let mut part = DayScanPart { persons: Vec::new(), looked: 0, most, before: None, at: None };
        if let Some(DayScanCursor { token, key, row: Some(row) }) = from {
            let of = (key.tenant.as_str(), key.person.as_str(), key.day.0, row);
            let pager = self.engine.session.execute_iter(with_page_size(&slot.behind, most), of).await?;
            let mut rows = pager.rows_stream::<(Vec<u8>, Vec<u8>)>()?;
            while let Some((row, body)) = rows.try_next().await? {
                if !part.take_row(*token, (key.tenant.as_str(), key.person.as_str()), day, row, &body)? {
                    return Ok(part.into_day_part());
                }
            }
        }
        let start = from.map_or(i64::MIN, |place| place.token);
        let pager = self.engine.session.execute_iter(with_page_size(&slot.from, most), (start,)).await?;
        let mut rows = pager.rows_stream::<(i64, String, String, i32, Vec<u8>, Vec<u8>)>()?;
        while let Some((token, tenant, person, of_day, row, body)) = rows.try_next().await? {
            // The table may still hold a day of its turn before.
            if of_day != day.0 || from.is_some_and(|place| place.is_behind(token, &tenant, &person)) {
                continue;
            }
            if !part.take_row(token, (&tenant, &person), day, row, &body)? {
                return Ok(part.into_day_part());
            }
        }
        Ok(DayPart { rows: part.persons, next: None })
    }
}

/// A part as it grows. Whoever would not fit as a whole begins the next one, unless they began this one.
struct DayScanPart {
    persons: Vec<DayRows>,
    looked: usize,
    most: usize,
    /// The end of the person before the last.
    before: Option<DayScanCursor>,
    /// Where the last row stands.
    at: Option<DayScanCursor>,
}

impl DayScanPart {
    /// Takes a row, or says that there is no room left.
    fn take_row(
        &mut self,
        token: i64,
        of: (&str, &str),
        day: Day,
        row: Vec<u8>,
        body: &[u8],
    ) -> Result<bool, StoreError> {
        let goes_on = self
            .persons
            .last()
            .is_some_and(|last| (last.key.tenant.as_str(), last.key.person.as_str()) == of);
        if self.looked == self.most {
            match self.before.take() {
                Some(before) if goes_on => {
                    self.persons.pop();
                    self.at = Some(before);
                }
                _ if goes_on => {}
                _ => self.at = self.at.take().map(DayScanCursor::behind_person),
            }
            return Ok(false);
        }
        if !goes_on {
            let (Ok(tenant), Ok(person)) = (Tenant::new(of.0), Person::new(of.1)) else {
                return Err(unreadable_error("the owner of a row"));
            };
            self.before = self.at.take().map(DayScanCursor::behind_person);
            self.persons.push(DayRows { key: DayKey { tenant, person, day }, rows: Vec::new() });
        }
        if let Some(last) = self.persons.last_mut() {
            last.rows.push(decode_row(&row, body)?);
            self.at = Some(DayScanCursor { token, key: last.key.clone(), row: Some(row) });
        }
        self.looked += 1;
        Ok(true)
    }

    fn into_day_part(self) -> DayPart {
        DayPart { rows: self.persons, next: self.at.map(|place| place.bytes()) }
    }
}

impl DayScanCursor {
    /// Behind all rows of the person.
    fn behind_person(self) -> Self {
        Self { row: None, ..self }
    }

    /// Whether a person comes no later. Those of one token, if ever there are two, stand in the order of
    /// their keys as the cluster writes them.
    fn is_behind(&self, token: i64, tenant: &str, person: &str) -> bool {
        token < self.token
            || token == self.token
                && partition_key(tenant, person)
                    <= partition_key(self.key.tenant.as_str(), self.key.person.as_str())
    }

    fn bytes(&self) -> Vec<u8> {
        let (tenant, person) = (self.key.tenant.as_str(), self.key.person.as_str());
        let mut out = Vec::with_capacity(16 + tenant.len() + person.len());
        out.extend_from_slice(&self.token.to_be_bytes());
        for name in [tenant, person] {
            // Names have at most 128 bytes.
            out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.extend_from_slice(name.as_bytes());
        }
        out.extend_from_slice(self.row.as_deref().unwrap_or_default());
        out
    }

    fn parse(bytes: &[u8], day: Day) -> Option<Self> {
        fn split_name(bytes: &[u8]) -> Option<(&str, &[u8])> {
            let (&length, rest) = bytes.split_first()?;
            let (name, rest) = rest.split_at_checked(usize::from(length))?;
            Some((std::str::from_utf8(name).ok()?, rest))
        }
        let (token, rest) = bytes.split_first_chunk::<8>()?;
        let (tenant, rest) = split_name(rest)?;
        let (person, row) = split_name(rest)?;
        let key = DayKey { tenant: Tenant::new(tenant).ok()?, person: Person::new(person).ok()?, day };
        let row = (!row.is_empty()).then(|| row.to_vec());
        Some(Self { token: i64::from_be_bytes(*token), key, row })
    }
}

/// The beginning of a partition's key in the cluster's own bytes; of one day, it orders as the whole does.
fn partition_key(tenant: &str, person: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + tenant.len() + person.len());
    for name in [tenant, person] {
        out.extend_from_slice(&u16::try_from(name.len()).unwrap_or(u16::MAX).to_be_bytes());
        out.extend_from_slice(name.as_bytes());
        out.push(0);
    }
    out
}

fn with_page_size(statement: &PreparedStatement, most: usize) -> PreparedStatement {
    let mut paged = statement.clone();
    let rows = (most + 1).clamp(*PAGE_ROWS.start(), *PAGE_ROWS.end());
    paged.set_page_size(i32::try_from(rows).unwrap_or(i32::MAX));
    paged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor_at(person: &str, row: Option<&[u8]>) -> DayScanCursor {
        let key = DayKey {
            tenant: Tenant::new("main").unwrap(),
            person: Person::new(person).unwrap(),
            day: Day(20_000),
        };
        DayScanCursor { token: -7, key, row: row.map(<[u8]>::to_vec) }
    }

    #[test]
    fn a_place_is_found_again() {
        for (person, row) in [("ann", None), ("ann", Some(&[2, 0, 255][..])), (&"a".repeat(128), None)] {
            let back = DayScanCursor::parse(&cursor_at(person, row).bytes(), Day(20_000)).unwrap();
            assert_eq!((back.token, back.key.person.as_str(), back.row.as_deref()), (-7, person, row));
        }
        for bytes in [&[][..], &[0; 8], &[0; 9], &[0; 12], &[1; 40]] {
            assert!(DayScanCursor::parse(bytes, Day(20_000)).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn whoever_stands_no_later_is_behind() {
        let at = cursor_at("b", None);
        for (token, person, behind) in [
            (-8, "z", true),
            (-7, "a", true),
            (-7, "b", true),
            (-7, "c", false),
            (-7, "aa", false),
            (-6, "a", false),
        ] {
            assert_eq!(at.is_behind(token, "main", person), behind, "{token} {person}");
        }
    }
}
