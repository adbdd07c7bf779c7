//! Rows of a day under the day's prefix, in the form that the database takes without copying.

use fjall::{UserKey, UserValue};
use model::{DayRow, entry::DayKey};
use store::{StoreError, rows::push_row};

use super::keys;

/// A row's key and value.
pub(super) type StoredPair = (UserKey, UserValue);

/// Encodes rows of one person's day after the other, in room that is used again.
#[derive(Default)]
pub(super) struct DayRowEncoder {
    key: Vec<u8>,
    /// How much of the key says whose day it is.
    owner: usize,
    value: Vec<u8>,
}

impl DayRowEncoder {
    /// The rows that follow are of this day.
    pub(super) fn begin(&mut self, day: &DayKey) {
        self.key.clear();
        keys::push_day(&mut self.key, day);
        self.owner = self.key.len();
    }

    pub(super) fn encode_row(&mut self, row: &DayRow) -> Result<StoredPair, StoreError> {
        self.key.truncate(self.owner);
        self.value.clear();
        push_row(&mut self.key, &mut self.value, row)?;
        Ok((self.key.as_slice().into(), self.value.as_slice().into()))
    }
}
