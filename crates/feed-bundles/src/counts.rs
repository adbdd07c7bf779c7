//! How many bundles are new, and how many unread. Nobody keeps a count, for it would drift: it is made of the bundles that
//! the page lists, and stops at one more than is shown.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::DayView;

use crate::{
    bundle::{FeedBundle, find_last_look, make_bundles},
    listing::FeedRules,
};

/// The number that is shown at most; more are "99+".
pub const COUNT_MAX: usize = 99;

/// A number that is not counted to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CappedCount(usize);

impl CappedCount {
    pub fn number(self) -> usize {
        self.0.min(COUNT_MAX)
    }

    /// Whether there are more than the number says.
    pub fn has_more(self) -> bool {
        self.0 > COUNT_MAX
    }

    fn is_full(self) -> bool {
        self.0 > COUNT_MAX
    }

    fn add(&mut self, counts: bool) {
        if counts && !self.is_full() {
            self.0 += 1;
        }
    }
}

/// Bundles that are new, and bundles with something unread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BundleCounts {
    pub new: CappedCount,
    pub unread: CappedCount,
}

impl BundleCounts {
    fn add(&mut self, bundle: &FeedBundle) {
        self.new.add(bundle.is_new());
        self.unread.add(bundle.is_unread());
    }
}

/// The counts of a feed, and of each category that has any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeedCounts {
    pub all: BundleCounts,
    pub by_category: BTreeMap<String, BundleCounts>,
}

impl FeedCounts {
    /// The counts of the feed that these days make, as they were settled.
    pub fn count_feed<'a>(rules: FeedRules<'_>, days: impl IntoIterator<Item = &'a DayView>) -> Self {
        let entries: Vec<_> = days.into_iter().flat_map(|day| rules.list_entries(day)).collect();
        let as_of = find_last_look(&entries, rules.now);
        Self::from_bundles(&make_bundles(entries, as_of), rules.catalogue)
    }

    pub fn from_bundles(bundles: &[FeedBundle], catalogue: &Catalogue) -> Self {
        let mut counts = Self::default();
        for bundle in bundles {
            counts.all.add(bundle);
            let category = catalogue.kinds.get(&bundle.lead().kind).and_then(|kind| kind.category.as_ref());
            if let Some(category) = category {
                counts.by_category.entry(category.clone()).or_default().add(bundle);
            }
        }
        counts
    }
}
