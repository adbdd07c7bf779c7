//! The usual record, read without the library: a house that starts reads all of them, and there may be millions.
//!
//! It answers only where it understands every byte. Whatever else there is (another schema, marks or Readys that wait, bytes
//! that are no record) the library reads, or says what is wrong with it. A property holds the two together.

use std::sync::Arc;

use model::{
    Day, EntryKey, Millis, Person, PlanName, ReadyId, Tenant,
    badge::{Badge, Unseen},
    habit::Habit,
    hold::Held,
    person::{Act, PersonRecord, Told, ToldDate, Window},
};

use crate::codec::{HEADER_BYTES, LIST_MAX, RECORD_BYTES_MAX};

/// Reads a record whose bytes begin with the header of our schema.
pub(super) fn read(bytes: &[u8], header: [u8; HEADER_BYTES]) -> Option<(Tenant, Person, PersonRecord)> {
    let mut rest = Rest(bytes.strip_prefix(&header)?);
    let (tenant, person) = (Tenant::new(rest.text()?).ok()?, Person::new(rest.text()?).ok()?);
    let windows = rest.list(window)?;
    if rest.long()? != 0 || rest.long()? != 0 {
        return None;
    }
    let record = PersonRecord {
        windows,
        owed: Vec::new(),
        waiting: Vec::new(),
        last_opening: rest.instant()?,
        told_on: rest.list(told_date)?.into_iter().collect(),
        told: rest.list(told)?,
        counted: rest.list(|rest| Some((rest.word()?, rest.list(Rest::instant)?)))?.into_iter().collect(),
        seen: rest.list(|rest| Some((rest.word()?, rest.instant()?)))?.into_iter().collect(),
        habit: Habit::of(rest.list(|rest| Some((rest.small()?, rest.small()?)))?),
        badge: rest.maybe(badge)?,
        rows: rest.list(|rest| Some((Day(rest.int()?), rest.count()?)))?.into_iter().collect(),
        keep_until: rest.instant()?,
    };
    (rest.0.is_empty() && bytes.len() <= RECORD_BYTES_MAX).then_some((tenant, person, record))
}

fn window(rest: &mut Rest<'_>) -> Option<Window> {
    let (plan, plan_hash, key) = (plan(rest)?, rest.long()?.cast_unsigned(), rest.word()?);
    let (opening, due) = (rest.instant()?, rest.instant()?);
    let (released, cancelled) = (rest.flag()?, rest.flag()?);
    Some(Window {
        plan,
        plan_hash,
        key,
        opening,
        due,
        act: if cancelled { Some(Act::Cancel) } else { released.then_some(Act::Release) },
        after: rest.maybe(|rest| rest.array().map(ReadyId))?,
        held: rest.maybe(held)?,
        heard: rest.count()?,
        last: rest.maybe(Rest::instant)?.unwrap_or(opening),
        hour: rest.maybe(Rest::small)?,
        aim: rest.maybe(Rest::instant)?,
        first: rest.maybe(|rest| EntryKey::from_bytes(&rest.array::<24>()?))?,
        days: rest.list(|rest| rest.int().map(Day))?.into_iter().collect(),
    })
}

fn badge(rest: &mut Rest<'_>) -> Option<Badge> {
    let plan = plan(rest)?;
    let days = rest.list(|rest| rest.int().map(Day))?.into_iter().collect();
    let unseen = Unseen { days, since: rest.instant()? };
    Some(Badge { plan, unseen, told: rest.instant()?, due: rest.maybe(Rest::instant)? })
}

fn held(rest: &mut Rest<'_>) -> Option<Held> {
    match rest.long()? {
        0 => Some(Held::Online),
        1 => Some(Held::Quiet),
        2 => Some(Held::Cap),
        _ => None,
    }
}

fn told_date(rest: &mut Rest<'_>) -> Option<(PlanName, ToldDate)> {
    let plan = plan(rest)?;
    Some((plan, ToldDate { date: rest.int()?, keys: rest.list(Rest::long)?.into_iter().collect() }))
}

fn told(rest: &mut Rest<'_>) -> Option<Told> {
    Some(Told {
        plan: plan(rest)?,
        key: rest.word()?,
        at: rest.list(Rest::instant)?,
        heard: rest.instant()?,
        row: rest.small()?,
        until: rest.instant()?,
    })
}

fn plan(rest: &mut Rest<'_>) -> Option<PlanName> {
    PlanName::new(rest.text()?).ok()
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Seven bits a byte, the sign in the lowest one.
    fn long(&mut self) -> Option<i64> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(unfolded(number));
            }
        }
        // Of the tenth byte one bit has room.
        match self.array()? {
            [last @ (0 | 1)] => Some(unfolded(number | u64::from(last) << 63)),
            _ => None,
        }
    }

    fn int(&mut self) -> Option<i32> {
        i32::try_from(self.long()?).ok()
    }

    fn small(&mut self) -> Option<u8> {
        u8::try_from(self.int()?).ok()
    }

    fn count(&mut self) -> Option<u32> {
        u32::try_from(self.long()?).ok()
    }

    fn instant(&mut self) -> Option<Millis> {
        self.long().map(Millis)
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = usize::try_from(self.long()?).ok()?;
        std::str::from_utf8(self.take(bytes)?).ok()
    }

    fn word(&mut self) -> Option<Arc<str>> {
        self.text().map(Arc::from)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    #[allow(clippy::option_option, reason = "a null that was read is not what could not be read")]
    fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.long()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    /// A list comes in blocks: how many there are, they, and after the last block nothing. A count below zero has the
    /// length of its block behind it.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        loop {
            let count = self.long()?;
            if count == 0 {
                return Some(all);
            }
            if count < 0 {
                self.long()?;
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

fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}
