//! Lists of entry keys that are too long for a record: each is a row of its own in the day, named by a hash of what it holds.
//!
//! A list says nothing by itself. It is written before the turn that names it is committed, and may be written twice; one
//! that nobody names, since the turn was not committed, is passed over.

use std::fmt;

use crate::{entry::EntryKey, id, limits::LIST_KEYS_MAX, time::Day};

/// Names a list: a hash of its keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyListId(pub [u8; 16]);

impl fmt::Display for KeyListId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        id::write_hex(f, &self.0)
    }
}

impl fmt::Debug for KeyListId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Keys of entries of one day.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KeyList {
    /// Sorted, without doubles.
    keys: Vec<EntryKey>,
}

impl KeyList {
    pub fn new(mut keys: Vec<EntryKey>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { keys }
    }

    pub fn keys(&self) -> &[EntryKey] {
        &self.keys
    }

    pub fn id(&self) -> KeyListId {
        let bytes: Vec<u8> = self.keys.iter().flat_map(|key| key.to_bytes()).collect();
        KeyListId(id::hash_parts(&[b"keys", &bytes]))
    }
}

/// A list, as somebody outside its day names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DayKeyList {
    pub day: Day,
    pub id: KeyListId,
    /// How many keys it has.
    pub count: u32,
}

/// Keys as lists, each of one day and none longer than a row should be.
pub fn cut_lists(keys: &[EntryKey]) -> Vec<(DayKeyList, KeyList)> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let of_days = sorted.chunk_by(|a, b| a.day() == b.day());
    let lists = of_days.flat_map(|of_day| of_day.chunks(LIST_KEYS_MAX));
    lists
        .map(|keys| {
            let list = KeyList { keys: keys.to_vec() };
            let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
            (DayKeyList { day: keys[0].day(), id: list.id(), count }, list)
        })
        .collect()
}
