//! A person's entries for a client that polls: pages, oldest first, from where the client is.
//!
//! What is new is not what occurred last: an event of yesterday may arrive today, and the fate of an entry
//! changes days after it. So the client's place is no instant. Its [`EntryCursor`] holds, for every day that
//! lives, how many entries the client has and what they were like; a day that is not what it was is given
//! again from where it changed, or from a little before. A client keeps entries by their id, and of one id
//! the one it was given last.

mod cursor;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use model::Day;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use room::days::EntryReport;

pub use cursor::{CursorError, EntryCursor};
use cursor::{DayCursor, PrefixHash};

/// Entries of a page, unless it is said otherwise.
pub const PAGE_ENTRIES: usize = 100;
pub const PAGE_ENTRIES_MAX: usize = 500;
/// Bytes of a page's entries, unless one alone has more.
pub const PAGE_BYTES_MAX: usize = 512 * 1024;
/// How many days back, unless it is said otherwise, and at most: a cursor has something of each.
pub const DAYS_BACK: i32 = 7;
pub const LISTED_DAYS_MAX: i32 = 21;

/// What a client is given at once.
#[derive(Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct EntryPage<'a> {
    /// Oldest first, but for those of a day that is given again.
    pub entries: Vec<&'a EntryReport>,
    /// Where to go on.
    pub next: String,
    /// Whether there are more right now.
    pub more: bool,
}

/// The next page for a client that is at `cursor`. `days` are the days that are read, oldest first, each
/// with its entries in the order of their keys; of days that do not live any more the cursor is forgotten.
pub fn cut_page<'a>(
    days: &'a [(Day, Vec<EntryReport>)],
    lives: &RangeInclusive<Day>,
    cursor: EntryCursor,
    most: usize,
) -> EntryPage<'a> {
    let (mut next, mut entries, mut more) = (cursor, Vec::new(), false);
    let mut bytes = 0;
    next.days.retain(|day, _| lives.contains(day));
    for (day, all) in days {
        let beginnings = beginnings(all);
        let from = next.days.get(day).map_or(0, |seen| seen.count_unchanged(&beginnings));
        let room = |entry: &&EntryReport| {
            bytes += bytes_of(entry);
            bytes <= PAGE_BYTES_MAX || bytes == bytes_of(entry)
        };
        let fit = all[from..].iter().take(most - entries.len().min(most)).take_while(room).count();
        let upto = from + fit;
        more |= upto < all.len();
        if upto > from {
            entries.extend(&all[from..upto]);
            next.days.insert(*day, DayCursor::from_beginnings(&beginnings, upto));
        }
    }
    EntryPage { entries, next: next.to_string(), more }
}

fn bytes_of(entry: &EntryReport) -> usize {
    serde_json::to_string(entry).map_or(PAGE_BYTES_MAX, |text| text.len() + 1)
}

/// Fingerprints of the first 0, 1, 2 … entries: of their keys, reasons and fates, but not of the names of subjects,
/// because a new name is no change of an entry.
fn beginnings(entries: &[EntryReport]) -> Vec<PrefixHash> {
    let mut hash = Sha256::new();
    let check = |hash: &Sha256| {
        let mut check = PrefixHash::default();
        let whole = hash.clone().finalize();
        check.iter_mut().zip(whole).for_each(|(to, from)| *to = from);
        check
    };
    let mut beginnings = Vec::with_capacity(entries.len() + 1);
    beginnings.push(check(&hash));
    for EntryReport { entry, kinds, reasons, withdrawn, fates, .. } in entries {
        hash_text(&mut hash, entry);
        // An entry that was not is as it was before there were any: clients have cursors.
        if *withdrawn {
            hash_text(&mut hash, "withdrawn");
        }
        for list in [kinds, reasons] {
            hash_text(&mut hash, &list.len().to_string());
            list.iter().for_each(|text| hash_text(&mut hash, text));
        }
        for fate in fates {
            hash_text(&mut hash, &fate.channel);
            hash_text(&mut hash, &fate.fate);
            for text in [&fate.ready, &fate.journal, &fate.at] {
                hash_text(&mut hash, text.as_deref().unwrap_or_default());
            }
        }
        beginnings.push(check(&hash));
    }
    beginnings
}

/// With its length before it, so that no two lists of texts are the same bytes.
fn hash_text(hash: &mut Sha256, text: &str) {
    hash.update(text.len().to_be_bytes());
    hash.update(text);
}
