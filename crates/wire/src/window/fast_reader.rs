//! The usual record, read without the library: a house that starts reads all of them, and there may be millions.
//!
//! It answers only where it understands every byte. Whatever else there is (another schema, marks or Readys that wait, bytes
//! that are no record) the library reads, or says what is wrong with it. A property holds the two together.

use std::sync::Arc;

use model::{
    Day, EntryKey, Person, PlanName, ReadyId, Tenant, UtcMillis,
    closing_dates::ClosingNumber,
    habit::VisitHabit,
    person::{Act, HoldCause, MessageHistory, PersonBadge, PersonRecord, ToldClosing, Window},
    trace::EntryTraces,
};

use crate::codec::{HEADER_BYTES, LIST_MAX, RECORD_BYTES_MAX};

/// Reads a record whose bytes begin with the header of our schema.
pub(super) fn read_usual_record(
    bytes: &[u8],
    header: [u8; HEADER_BYTES],
) -> Option<(Tenant, Person, PersonRecord)> {
    let mut rest = DatumCursor(bytes.strip_prefix(&header)?);
    let (tenant, person) = (Tenant::new(rest.read_text()?).ok()?, Person::new(rest.read_text()?).ok()?);
    let windows = rest.read_list(read_window)?;
    if rest.read_long()? != 0 || rest.read_long()? != 0 {
        return None;
    }
    let record = PersonRecord {
        windows,
        owed: Vec::new(),
        waiting: Vec::new(),
        last_opening: rest.read_instant()?,
        told_on: rest.read_list(read_told_date)?.into_iter().collect(),
        told: rest.read_list(read_told)?,
        counted: rest
            .read_list(|rest| Some((rest.read_word()?, rest.read_list(DatumCursor::read_instant)?)))?
            .into_iter()
            .collect(),
        seen: rest.read_list(|rest| Some((rest.read_word()?, rest.read_instant()?)))?.into_iter().collect(),
        habit: VisitHabit::from_visits(
            rest.read_list(|rest| Some((rest.read_small()?, rest.read_small()?)))?,
        ),
        badge: rest.read_optional(read_badge)?,
        put_off: rest
            .read_list(|rest| Some((Day(rest.read_int()?), rest.read_instant()?)))?
            .into_iter()
            .collect(),
        rows: rest.read_list(|rest| Some((Day(rest.read_int()?), rest.read_count()?)))?.into_iter().collect(),
        traces: EntryTraces::new(),
        keep_until: rest.read_instant()?,
    };
    (rest.0.is_empty() && bytes.len() <= RECORD_BYTES_MAX).then_some((tenant, person, record))
}

fn read_window(rest: &mut DatumCursor<'_>) -> Option<Window> {
    let (plan, plan_hash, key) = (read_plan(rest)?, rest.read_long()?.cast_unsigned(), rest.read_word()?);
    let (opening, due) = (rest.read_instant()?, rest.read_instant()?);
    let (released, cancelled) = (rest.read_flag()?, rest.read_flag()?);
    Some(Window {
        plan,
        plan_hash,
        key,
        opening,
        due,
        act: if cancelled { Some(Act::Cancel) } else { released.then_some(Act::Release) },
        after: rest.read_optional(|rest| rest.read_array().map(ReadyId))?,
        held: rest.read_optional(read_held)?,
        heard: rest.read_count()?,
        last: rest.read_optional(DatumCursor::read_instant)?.unwrap_or(opening),
        hour: rest.read_optional(DatumCursor::read_small)?,
        aim: rest.read_optional(DatumCursor::read_instant)?,
        first: rest.read_optional(|rest| EntryKey::from_bytes(&rest.read_array::<24>()?))?,
        days: rest.read_list(|rest| rest.read_int().map(Day))?.into_iter().collect(),
    })
}

fn read_badge(rest: &mut DatumCursor<'_>) -> Option<PersonBadge> {
    let plan = read_plan(rest)?;
    rest.read_list(DatumCursor::read_int)?;
    // Since when it counted, and when it was told: nobody asks any more.
    let (_since, _told) = (rest.read_instant()?, rest.read_instant()?);
    Some(PersonBadge { plan, due: rest.read_optional(DatumCursor::read_instant)? })
}

fn read_held(rest: &mut DatumCursor<'_>) -> Option<HoldCause> {
    match rest.read_long()? {
        0 => Some(HoldCause::Online),
        1 => Some(HoldCause::Quiet),
        2 => Some(HoldCause::Cap),
        _ => None,
    }
}

fn read_told_date(rest: &mut DatumCursor<'_>) -> Option<(PlanName, ToldClosing)> {
    let plan = read_plan(rest)?;
    Some((
        plan,
        ToldClosing {
            number: ClosingNumber(rest.read_int()?),
            keys: rest.read_list(DatumCursor::read_long)?.into_iter().collect(),
        },
    ))
}

fn read_told(rest: &mut DatumCursor<'_>) -> Option<MessageHistory> {
    Some(MessageHistory {
        plan: read_plan(rest)?,
        key: rest.read_word()?,
        at: rest.read_list(DatumCursor::read_instant)?,
        heard: rest.read_instant()?,
        row: rest.read_small()?,
        until: rest.read_instant()?,
    })
}

fn read_plan(rest: &mut DatumCursor<'_>) -> Option<PlanName> {
    PlanName::new(rest.read_text()?).ok()
}

/// What is still to be read.
struct DatumCursor<'a>(&'a [u8]);

impl<'a> DatumCursor<'a> {
    fn take_bytes(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn read_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take_bytes(N)?.try_into().ok()
    }

    /// Seven bits a byte, the sign in the lowest one.
    fn read_long(&mut self) -> Option<i64> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let [byte] = self.read_array()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(unfold_zigzag(number));
            }
        }
        // Of the tenth byte one bit has room.
        match self.read_array()? {
            [last @ (0 | 1)] => Some(unfold_zigzag(number | u64::from(last) << 63)),
            _ => None,
        }
    }

    fn read_int(&mut self) -> Option<i32> {
        i32::try_from(self.read_long()?).ok()
    }

    fn read_small(&mut self) -> Option<u8> {
        u8::try_from(self.read_int()?).ok()
    }

    fn read_count(&mut self) -> Option<u32> {
        u32::try_from(self.read_long()?).ok()
    }

    fn read_instant(&mut self) -> Option<UtcMillis> {
        self.read_long().map(UtcMillis)
    }

    fn read_text(&mut self) -> Option<&'a str> {
        let bytes = usize::try_from(self.read_long()?).ok()?;
        std::str::from_utf8(self.take_bytes(bytes)?).ok()
    }

    fn read_word(&mut self) -> Option<Arc<str>> {
        self.read_text().map(Arc::from)
    }

    fn read_flag(&mut self) -> Option<bool> {
        match self.read_array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    #[allow(clippy::option_option, reason = "a null that was read is not what could not be read")]
    fn read_optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.read_long()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    /// A list comes in blocks: how many there are, they, and after the last block nothing. A count below zero has the
    /// length of its block behind it.
    fn read_list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        loop {
            let count = self.read_long()?;
            if count == 0 {
                return Some(all);
            }
            if count < 0 {
                self.read_long()?;
            }
            let count = usize::try_from(count.unsigned_abs()).ok()?;
            if count > LIST_MAX - all.len() {
                return None;
            }
            for _ in 0..count {
                all.push(read(self)?);
            }
        }
    }
}

fn unfold_zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}
