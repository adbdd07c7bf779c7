//! Pages of a feed, the newest bundle first. From one page to the next nothing is skipped and nothing comes twice, whatever
//! arrives, is read or comes back meanwhile: a reader sees the feed as it was at their first page, without what is gone since.

use std::sync::Arc;

use model::{
    UtcMillis,
    fault::{self, PlantedFault},
};

use crate::{
    bundle::{FeedBundle, FeedEntry, make_bundles},
    cursor::FeedCursor,
};

/// Bundles of a page.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedPage {
    pub bundles: Vec<FeedBundle>,
    /// Where to go on; nothing after the last one.
    pub next: Option<FeedCursor>,
}

/// The next page of a reader; of one without a cursor the first. `wants` chooses bundles.
pub fn cut_page(
    entries: Vec<Arc<FeedEntry>>,
    cursor: Option<FeedCursor>,
    most: usize,
    wants: impl Fn(&FeedBundle) -> bool,
    now: UtcMillis,
) -> FeedPage {
    let as_of = cursor.as_ref().map_or(now, |cursor| cursor.as_of);
    // What is newer than the newest one was arrived since, or came back.
    let there = |entry: &FeedEntry| cursor.as_ref().is_none_or(|cursor| entry.place() <= cursor.top);
    let entries: Vec<Arc<FeedEntry>> = entries.into_iter().filter(|entry| there(entry)).collect();
    let bundles = make_bundles(entries, as_of).into_iter().filter(wants);
    let rest = bundles.filter(|bundle| cursor.as_ref().is_none_or(|cursor| !has_passed(cursor, bundle)));
    take_page(rest, cursor.as_ref(), most, as_of)
}

/// The first page of a reader, of bundles that were made as of now.
pub fn cut_first_page(
    bundles: &[FeedBundle],
    most: usize,
    wants: impl Fn(&FeedBundle) -> bool,
    now: UtcMillis,
) -> FeedPage {
    take_page(bundles.iter().filter(|bundle| wants(bundle)).cloned(), None, most, now)
}

fn take_page(
    mut rest: impl Iterator<Item = FeedBundle>,
    cursor: Option<&FeedCursor>,
    most: usize,
    as_of: UtcMillis,
) -> FeedPage {
    let bundles: Vec<FeedBundle> = rest.by_ref().take(most).collect();
    let next = match (rest.next(), bundles.first(), bundles.last()) {
        (Some(_), Some(first), Some(last)) => {
            let begun = cursor.cloned().unwrap_or_else(|| FeedCursor::new(first.place(), as_of));
            Some(bundles.iter().fold(begun, FeedCursor::with_shown).with_last(last.place()))
        }
        _ => None,
    };
    FeedPage { bundles, next }
}

/// Whether a reader has been given a bundle already. Its place does not say so: it moves up with an entry that arrives late,
/// and down when its newest one is cleared. Its name does, as long as the cursor has room for all names.
fn has_passed(cursor: &FeedCursor, bundle: &FeedBundle) -> bool {
    let is_behind = bundle.place() >= cursor.last;
    if fault::is_planted(PlantedFault::PlaceIsEnough) {
        return is_behind;
    }
    cursor.has_shown(bundle) || cursor.is_full() && is_behind
}
