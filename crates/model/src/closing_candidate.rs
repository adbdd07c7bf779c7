//! An entry at the closing of its window, with what was found out about it.
//!
//! A closing is decided in two rooms of the house. Which entries a window has, and which of them still hold, needs the
//! catalogue: `digest::closing_candidates` says so, before the step. What the window makes of them is decided here
//! ([`crate::closing`]) without it.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    actor::Actor,
    entry::{EntryKey, EntryReason},
    id::SubjectRef,
    kept_fields::KeptFields,
    mark::EndReason,
    plan::Plan,
    time::UtcMillis,
};

/// An entry that still waits, with what was found out about it before the turn.
#[derive(Clone, PartialEq, Debug)]
pub struct ClosingCandidate {
    pub key: EntryKey,
    pub subject: SubjectRef,
    /// Who did it.
    pub actor: Option<Actor>,
    /// What its kinds keep of the event's own words.
    pub kept: KeptFields,
    pub reasons: Vec<EntryReason>,
    /// Where it stands within its section: greater first.
    pub rank: f64,
    /// Whether it still holds, and if not, why.
    pub holds: Result<(), EndReason>,
    /// It came back from a Ready that may have been sent.
    pub maybe: bool,
    /// Its subject is said once, by a Ready that is on its way and may yet go out without it: it waits for what becomes of
    /// that one.
    pub awaits: bool,
    /// The instant that it is about, where the plan closes before one.
    pub aim: Option<UtcMillis>,
    /// It was told before the others of its window, by a plan that tells it with them too.
    pub repeated: bool,
    /// When the plan that this one follows told it.
    pub told: Option<UtcMillis>,
    /// The plan that this one follows is still to tell it.
    pub untold: bool,
    /// What it has in common with others that are told with it as one, where its kind bundles.
    pub bundle: Option<Arc<str>>,
    /// The keys of the windows that it is of.
    pub keys: BTreeSet<Arc<str>>,
}

impl ClosingCandidate {
    /// The best section that tells one of its kinds.
    pub(crate) fn best_section(&self, plan: &Plan) -> Option<usize> {
        self.reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min()
    }

    /// Whether a message of the plan would tell it.
    pub(crate) fn is_told_by(&self, plan: &Plan) -> bool {
        self.holds.is_ok() && !self.awaits && !self.repeated && self.best_section(plan).is_some()
    }
}
