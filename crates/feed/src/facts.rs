//! What is known of a person when their feed is asked for, and the feed that is made of it.

use std::{
    collections::{BTreeSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    sync::Arc,
};

use catalogue::{Catalogue, truth::ReaderFacts};
use feed_bundles::{FeedBundle, FeedEntry, bundle::make_bundles, counts::FeedCounts, rule::BundleRule};
use model::{Person, Tenant, UtcMillis, VersionedState, WorldSnapshot, person::notes};

use crate::listed::{BundledFeed, FeedLists};

/// Names a person among all tenants.
pub type TenantPerson = (Tenant, Person);

/// What is asked of a person at every request.
#[derive(Clone, Debug, Default)]
pub struct PersonFacts {
    pub profile: VersionedState,
    pub preferences: VersionedState,
    pub notes: VersionedState,
}

impl PersonFacts {
    pub fn reader<'a>(&'a self, tenant: &'a Tenant, person: &'a Person) -> ReaderFacts<'a> {
        let Self { profile, preferences, notes } = self;
        ReaderFacts { tenant, person, profile, preferences, notes }
    }

    /// Whether the person was erased, and did not come back.
    pub fn is_erased(&self) -> bool {
        self.notes.flag(notes::ERASED)
    }

    /// Names what a feed depends on beside the days: while it is the same, so is the feed.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        for state in [&self.profile, &self.preferences, &self.notes] {
            state.cells.len().hash(&mut hash);
            for (field, cell) in &state.cells {
                (field, cell.version, cell.value.is_some()).hash(&mut hash);
            }
        }
        hash.finish()
    }
}

/// A person's feed at an instant.
#[derive(Clone, Debug, Default)]
pub struct FeedSheet {
    /// What it was made of, beside the days.
    pub made_of: u64,
    pub made_at: UtcMillis,
    /// Until then it is believed.
    pub until: UtcMillis,
    /// From then on it is another one although nothing was written: what was put off comes back, a day ends.
    pub turns: UtcMillis,
    pub lists: FeedLists,
    pub feed: BundledFeed,
    pub counts: FeedCounts,
    /// Names what it shows: another one shows something else.
    pub revision: u64,
}

impl FeedSheet {
    /// The same entries as they were bundled when everything until an instant had been looked at; or by another key.
    pub fn bundles_as_of(
        &self,
        rule: BundleRule,
        as_of: UtcMillis,
        catalogue: &Catalogue,
    ) -> Vec<FeedBundle> {
        if rule == BundleRule::Catalogue && as_of == self.feed.as_of {
            return self.feed.bundles.clone();
        }
        make_bundles(self.list_ruled(rule, catalogue), as_of)
    }

    /// How many of its bundles are new and unread, bundled by a rule.
    pub fn count_by(&self, rule: BundleRule, catalogue: &Catalogue) -> FeedCounts {
        if rule == BundleRule::Catalogue {
            return self.counts.clone();
        }
        FeedCounts::from_bundles(&self.bundles_as_of(rule, self.feed.as_of, catalogue), catalogue)
    }

    /// Names what it shows, bundled by a rule: whoever asks by another one does not have what that one shows.
    pub fn revision_by(&self, rule: BundleRule) -> u64 {
        if rule == BundleRule::Catalogue {
            return self.revision;
        }
        let mut hash = DefaultHasher::new();
        (self.revision, rule.name()).hash(&mut hash);
        hash.finish()
    }

    /// The entries with their keys by a rule.
    pub fn list_ruled(&self, rule: BundleRule, catalogue: &Catalogue) -> Vec<Arc<FeedEntry>> {
        self.entries().map(|entry| rule.apply(entry.clone(), catalogue)).collect()
    }

    /// The entries that it lists, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<FeedEntry>> {
        self.feed.bundles.iter().flat_map(FeedBundle::entries)
    }
}

/// What bundles are told with: what is known of what they speak of, and who is not named any more.
#[derive(Debug, Default, PartialEq)]
pub struct BundleContext {
    pub world: WorldSnapshot,
    pub erased: BTreeSet<Person>,
}
