//! How many bundles are new, and how many unread. Nobody keeps a count, for it would drift: it is made of the bundles that
//! the page lists, and stops at one more than is shown.

use std::collections::BTreeMap;

use catalogue::Catalogue;

use crate::bundle::FeedBundle;

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
