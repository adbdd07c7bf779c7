//! A Ready: what is due for one person on one channel.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    entry::{EntryKey, EntryReason},
    fault::{self, PlantedFault},
    id::{Person, PlanName, ReadyId, SubjectRef, Tenant, hash_parts},
    mark::Channel,
    time::{Day, UtcMillis},
};

/// The attempt of a Ready that its owner calls back, since there is no room where it would wait: nobody tries any more, and if
/// it was not sent its entries come back. Whether it was only the journal can say.
pub const RECALLED: u16 = u16::MAX;

/// What is due. It carries keys and references, never addresses or rendered text.
#[derive(Clone, PartialEq, Debug)]
pub struct Ready {
    pub id: ReadyId,
    pub tenant: Tenant,
    pub person: Person,
    pub plan: PlanName,
    /// The window's key under the plan; empty where a plan has one window a person.
    pub key: Arc<str>,
    pub opening: UtcMillis,
    pub channel: Channel,
    /// Told without a sound, where the channel can make one.
    pub silent: bool,
    /// Counts how often this same Ready was issued, from 0.
    pub attempt: u16,
    pub due: UtcMillis,
    /// After this instant it is not sent.
    pub expires: UtcMillis,
    pub entries: Vec<ReadyEntry>,
    /// For each section of the plan, how many things it had no room for: they come in the next digest.
    pub more: Vec<u16>,
    /// What the number on the app's icon counts, where the plan has it told. Without entries that number is all
    /// that is told.
    pub badge: Option<UnseenDays>,
}

impl Ready {
    /// Whether it is to come back if it was not sent.
    pub fn is_recalled(&self) -> bool {
        self.attempt == RECALLED
    }

    /// Whether it only sets the number on the app's icon.
    pub fn is_badge(&self) -> bool {
        self.entries.is_empty() && self.badge.is_some()
    }
}

/// One entry of a Ready.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadyEntry {
    pub key: EntryKey,
    pub subject: SubjectRef,
    pub reasons: Vec<EntryReason>,
    /// Which section of the plan it is told in.
    pub section: u16,
    /// It was in a Ready of which nobody can say whether it was sent.
    pub maybe: bool,
}

/// What the number on an app's icon counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnseenDays {
    /// The days of what was told.
    pub days: BTreeSet<Day>,
    /// The person has seen everything that was told until this instant.
    pub since: UtcMillis,
}

/// The identity of a Ready. The part counts the Readys of one window.
pub fn derive_ready_id(
    tenant: &Tenant,
    person: &Person,
    plan: &PlanName,
    key: &str,
    opening: UtcMillis,
    part: u16,
) -> ReadyId {
    let opening = if fault::is_planted(PlantedFault::IdWithoutOpening) { UtcMillis(0) } else { opening };
    ReadyId(hash_parts(&[
        b"ready",
        tenant.as_str().as_bytes(),
        person.as_str().as_bytes(),
        plan.as_str().as_bytes(),
        key.as_bytes(),
        &opening.0.to_be_bytes(),
        &part.to_be_bytes(),
    ]))
}
