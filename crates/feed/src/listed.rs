//! The entries that a feed lists, day by day: most of a feed stays as it is when something of it changes, and so do its bundles.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use feed_bundles::{
    FeedBundle, FeedEntry,
    bundle::{ListingChange, change_bundles, find_last_look, make_bundles},
};
use model::{Day, EntryKey, UtcMillis, WorldSnapshot};

/// Entries that may have changed: with more it is quicker to make all bundles anew.
const CHANGED_MAX: usize = 1_000;

/// The entries of a day that a feed lists.
#[derive(Clone, Debug)]
pub struct ListedDay {
    /// What it was made of, beside the day.
    pub made_of: u64,
    pub world: Arc<WorldSnapshot>,
    pub made_at: UtcMillis,
    /// Until then it is believed.
    pub until: UtcMillis,
    /// When something of it comes back that was put off.
    pub turns: UtcMillis,
    pub entries: ListedEntries,
}

impl ListedDay {
    /// The same with these entries as they are listed now, or are not.
    pub fn with_marked(&self, marked: &[EntryKey], now: &Self) -> Self {
        let stays = |entry: &&Arc<FeedEntry>| marked.binary_search(&entry.key).is_err();
        let stay = self.entries.list.iter().filter(stays);
        let mut list: Vec<_> = stay.chain(&now.entries.list).cloned().collect();
        list.sort_by_key(|entry| entry.key);
        let (until, turns) = (self.until.min(now.until), self.turns.min(now.turns));
        Self { until, turns, entries: ListedEntries::new(list), ..self.clone() }
    }
}

/// Entries that are listed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListedEntries {
    /// In the order of their keys.
    list: Vec<Arc<FeedEntry>>,
    /// When one of them was seen last, also where that is still to come.
    last_seen: Option<UtcMillis>,
}

impl ListedEntries {
    pub fn new(list: Vec<Arc<FeedEntry>>) -> Self {
        let last_seen = list.iter().filter_map(|entry| entry.attention.seen).max();
        Self { list, last_seen }
    }
}

/// All that a feed lists.
#[derive(Clone, Debug, Default)]
pub struct FeedLists {
    pub days: BTreeMap<Day, Arc<ListedDay>>,
    /// Copies of saved entries whose day is over.
    pub copies: ListedEntries,
}

/// A feed in bundles, the newest first, and when something of it was looked at last: as of then they are what they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BundledFeed {
    pub bundles: Vec<FeedBundle>,
    pub as_of: UtcMillis,
}

impl FeedLists {
    /// Makes the bundles, of those that there were before as far as they stay.
    pub fn bundle(&self, before: Option<(&Self, &BundledFeed)>, now: UtcMillis) -> BundledFeed {
        let last_seen = self.last_seen().unwrap_or_default();
        if let Some((lists, feed)) = before
            // What is still to be seen would be of another bundle then, and nobody would have changed it.
            && lists.last_seen().unwrap_or_default() <= feed.as_of
            && last_seen <= now
            && let Some(change) = self.find_change(lists)
        {
            let bundles = change_bundles((&feed.bundles, feed.as_of), change, last_seen);
            return BundledFeed { bundles, as_of: last_seen };
        }
        let entries: Vec<Arc<FeedEntry>> = self.all().flat_map(|of| &of.list).cloned().collect();
        let as_of = find_last_look(&entries, now);
        BundledFeed { bundles: make_bundles(entries, as_of), as_of }
    }

    /// What is another entry than it was; nothing if that is much.
    fn find_change(&self, before: &Self) -> Option<ListingChange> {
        let mut change = ListingChange::default();
        let days: BTreeSet<&Day> = self.days.keys().chain(before.days.keys()).collect();
        for day in days {
            let (then, now) = (before.days.get(day), self.days.get(day));
            let is_same = then.zip(now).is_some_and(|(then, now)| Arc::ptr_eq(then, now));
            if !is_same {
                change.add(list_entries(then), list_entries(now));
            }
            if change.count() > CHANGED_MAX {
                return None;
            }
        }
        change.add(&before.copies.list, &self.copies.list);
        Some(change)
    }

    fn last_seen(&self) -> Option<UtcMillis> {
        self.all().filter_map(|of| of.last_seen).max()
    }

    fn all(&self) -> impl Iterator<Item = &ListedEntries> {
        self.days.values().map(|day| &day.entries).chain([&self.copies])
    }
}

fn list_entries(day: Option<&Arc<ListedDay>>) -> &[Arc<FeedEntry>] {
    day.map_or(&[], |day| &day.entries.list)
}
