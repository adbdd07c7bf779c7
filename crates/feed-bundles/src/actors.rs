//! Who did what a bundle tells: "A and 2 others".

use std::collections::BTreeSet;

use model::{Actor, limits::ACTORS_SOUGHT_MAX};

use crate::bundle::FeedBundle;

/// Others that are counted; more are "99+".
pub const OTHERS_MAX: usize = 99;
/// Who is named at most.
const NAMED_MAX: usize = 3;

/// Who did what a bundle tells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BundleActors {
    /// Each once, the newest first: so many as a sentence may name.
    pub first: Vec<Actor>,
    /// How many did it, one by one, at most one more than [`OTHERS_MAX`] beside the first.
    pub count: usize,
}

impl BundleActors {
    /// Sought among the newest entries.
    pub fn from_bundle(bundle: &FeedBundle) -> Self {
        let newest = bundle.entries().iter().take(ACTORS_SOUGHT_MAX).filter_map(|entry| entry.actor.as_ref());
        let mut known = BTreeSet::new();
        let distinct: Vec<&Actor> = newest.filter(|actor| known.insert(&actor.id)).collect();
        let first = distinct.iter().take(NAMED_MAX).map(|actor| (*actor).clone()).collect();
        Self { first, count: distinct.len().min(OTHERS_MAX + 2) }
    }

    /// How many beside the first: "and 2 others"; and whether there are more than that.
    pub fn others(&self) -> (usize, bool) {
        let others = self.count.saturating_sub(1);
        (others.min(OTHERS_MAX), others > OTHERS_MAX)
    }
}
