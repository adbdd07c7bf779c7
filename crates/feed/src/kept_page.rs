//! The page that was answered last, for whoever asks for the same while nothing is different: a bell asks with each page of a
//! site.

use std::{collections::BTreeSet, sync::Arc};

use feed_bundles::{counts::FeedCounts, page::FeedPage};
use model::{Person, UtcMillis};
use web::etag::TaggedBody;

use crate::{
    facts::{BundleContext, FeedSheet},
    request::PageRequest,
};

/// Bytes of a page that is kept at most.
pub const KEPT_BYTES_MAX: usize = 32 * 1024;
/// What is said may change with the minute: a text may show the time until something.
const MINUTE_MS: i64 = 60_000;

/// A page, and all that it was made of.
#[derive(Debug)]
pub struct KeptPage {
    pub sheet: Arc<FeedSheet>,
    pub request: PageRequest,
    pub made_at: UtcMillis,
    pub cut: Arc<CutPage>,
    pub context: BundleContext,
    pub body: TaggedBody,
}

/// The bundles of a page, and as of when they are what they are.
#[derive(Debug)]
pub struct CutPage {
    pub page: FeedPage,
    /// Of the whole feed, by the key of the page.
    pub counts: FeedCounts,
    pub as_of: UtcMillis,
    /// Whom it may name.
    pub named: BTreeSet<Person>,
}

impl KeptPage {
    /// Whether it has the bundles that are asked for; whether they are said as they were, its context tells.
    pub fn answers(&self, sheet: &Arc<FeedSheet>, request: &PageRequest, now: UtcMillis) -> bool {
        let minute = |at: UtcMillis| at.0.div_euclid(MINUTE_MS);
        Arc::ptr_eq(&self.sheet, sheet) && self.request == *request && minute(self.made_at) == minute(now)
    }
}
