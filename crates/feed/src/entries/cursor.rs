//! The cursor of a client in a person's entries. The client keeps it and sends it back, so it is bounded and not
//! trusted: at worst a client gets again what it has.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{Day, limits::DAY_ROWS_READ_MAX};

use super::LISTED_DAYS_MAX;

/// The form below; another form is another number.
const VERSION: u8 = 1;
/// Places within a day at which it is noticed that nothing before them has changed.
const CHECKS_MAX: usize = 4;
/// Today, tomorrow a minute before it begins, and all days behind that live.
const DAYS: usize = LISTED_DAYS_MAX as usize + 2;
/// Characters of the longest text: the version, and of each day its number, the count and the checks.
const CHARS_MAX: usize = (1 + DAYS * (4 + 2 + CHECKS_MAX * CHECK_BYTES)).div_ceil(3) * 4;

const CHECK_BYTES: usize = 8;
/// What the entries up to a place are like: the beginning of a SHA-256.
pub(super) type PrefixHash = [u8; CHECK_BYTES];

/// A client's place, day by day. One without days is at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryCursor {
    pub(super) days: BTreeMap<Day, DayCursor>,
}

/// What a client has of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DayCursor {
    /// That many entries from the first one on.
    count: u16,
    /// What they were like up to each of the places.
    checks: Vec<PrefixHash>,
}

/// A text that no client was ever given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a valid cursor: {0}; leave it out to start again")]
pub struct CursorError(&'static str);

impl DayCursor {
    /// The first entries of a day, by what the first 0, 1, 2 … are like.
    pub(super) fn from_beginnings(beginnings: &[PrefixHash], count: usize) -> Self {
        let checks = places(count).filter_map(|place| beginnings.get(place).copied()).collect();
        // A day that is read has fewer entries than fit: see the assertion below.
        Self { count: u16::try_from(count).unwrap_or(u16::MAX), checks }
    }

    /// How many of them are still what they were.
    pub(super) fn count_unchanged(&self, beginnings: &[PrefixHash]) -> usize {
        let places = places(self.count.into()).zip(&self.checks);
        let standing = places.filter(|(place, check)| beginnings.get(*place) == Some(*check));
        standing.map(|(place, _)| place).max().unwrap_or(0)
    }
}

const _: () = assert!(DAY_ROWS_READ_MAX < u16::MAX as usize);

/// The places that divide so many entries in parts of about one size; the last one is behind the last entry.
fn places(count: usize) -> impl Iterator<Item = usize> {
    let parts = count.min(CHECKS_MAX);
    (1..=parts).map(move |part| (count * part).div_ceil(parts))
}

impl fmt::Display for EntryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        for (day, DayCursor { count, checks }) in &self.days {
            bytes.extend_from_slice(&day.0.to_be_bytes());
            bytes.extend_from_slice(&count.to_be_bytes());
            checks.iter().for_each(|check| bytes.extend_from_slice(check));
        }
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl EntryCursor {
    /// Reads a text that a client brings back.
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        if text.len() > CHARS_MAX {
            return Err(CursorError("it is too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError("it is not base64url"))?;
        let Some((&VERSION, mut rest)) = bytes.split_first() else {
            return Err(CursorError("it has another form"));
        };
        let mut days = BTreeMap::new();
        while !rest.is_empty() {
            let (day, seen, behind) = decode_day(rest).ok_or(CursorError("it is cut off or garbled"))?;
            if days.last_key_value().is_some_and(|(last, _)| *last >= day) {
                return Err(CursorError("its days are not in order"));
            }
            days.insert(day, seen);
            rest = behind;
        }
        Ok(Self { days })
    }
}

/// The first day, and the bytes behind it.
fn decode_day(bytes: &[u8]) -> Option<(Day, DayCursor, &[u8])> {
    let (day, rest) = bytes.split_first_chunk()?;
    let (count, mut rest) = rest.split_first_chunk()?;
    let count = u16::from_be_bytes(*count);
    if !(1..=DAY_ROWS_READ_MAX).contains(&usize::from(count)) {
        return None;
    }
    let mut checks = Vec::with_capacity(CHECKS_MAX);
    for _ in places(count.into()) {
        let (check, behind) = rest.split_first_chunk()?;
        checks.push(*check);
        rest = behind;
    }
    Some((Day(i32::from_be_bytes(*day)), DayCursor { count, checks }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day_cursor(count: u16) -> DayCursor {
        DayCursor { count, checks: places(count.into()).map(|place| [place as u8; CHECK_BYTES]).collect() }
    }

    #[test]
    fn places_divide_a_day_and_end_behind_it() {
        let check = |count, expect: &[usize]| assert_eq!(places(count).collect::<Vec<_>>(), expect);
        check(0, &[]);
        check(1, &[1]);
        check(3, &[1, 2, 3]);
        check(4, &[1, 2, 3, 4]);
        check(5, &[2, 3, 4, 5]);
        check(100, &[25, 50, 75, 100]);
    }

    #[test]
    fn the_longest_text_is_read_back() {
        let days =
            (0..DAYS as i32).map(|day| (Day(20_000 + day), day_cursor(DAY_ROWS_READ_MAX as u16))).collect();
        let cursor = EntryCursor { days };
        let text = cursor.to_string();
        assert!(text.len() <= CHARS_MAX && text.len() < 1_200, "{}", text.len());
        assert_eq!(EntryCursor::parse(&text), Ok(cursor));
        assert_eq!(EntryCursor::parse(&EntryCursor::default().to_string()), Ok(EntryCursor::default()));
    }

    #[test]
    fn what_nobody_was_given_is_refused() {
        let check = |bytes: &[u8], reason: &str| {
            let refused = EntryCursor::parse(&URL_SAFE_NO_PAD.encode(bytes)).unwrap_err();
            assert!(refused.to_string().contains(reason), "{bytes:?}: {refused}");
        };
        let day = |day: i32, count: u16| [&day.to_be_bytes()[..], &count.to_be_bytes(), &[7; 8]].concat();
        check(&[], "another form");
        check(&[2], "another form");
        check(&[1, 0, 0], "cut off");
        check(&[&[1], &day(9, 1)[..13]].concat(), "cut off");
        check(&[&[1], &day(9, 2)[..]].concat(), "cut off");
        check(&[&[1], &day(9, 0)[..]].concat(), "cut off");
        check(&[&[1], &day(9, u16::MAX)[..]].concat(), "cut off");
        check(&[&[1], &day(9, 1)[..], &day(9, 1)].concat(), "in order");
        check(&[&[1], &day(9, 1)[..], &day(-9, 1)].concat(), "in order");
        check(&[1; 2_000], "too long");
        for text in ["", "%", "AQ==", "AR", "\u{e4}", "A Q"] {
            assert!(EntryCursor::parse(text).is_err(), "{text}");
        }
    }
}
