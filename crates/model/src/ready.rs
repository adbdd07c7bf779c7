//! A Ready: what is due for one person on one channel.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    actor::Actor,
    entry::{EntryKey, EntryReason},
    fault::{self, PlantedFault},
    fold::DayView,
    id::{Person, PlanName, ReadyId, SubjectRef, Tenant, hash_parts},
    kept_fields::KeptFields,
    key_list::{self, DayKeyList, KeyList, KeyListId},
    limits::BUNDLE_KEYS_MAX,
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
    /// Whether it tells the number on the app's icon.
    pub badge: bool,
    /// The Ready whose push it puts into other words: only the sender makes one like this, and it is on no topic.
    pub renews: Option<ReadyId>,
}

impl Ready {
    /// Whether it is to come back if it was not sent.
    pub fn is_recalled(&self) -> bool {
        self.attempt == RECALLED
    }

    /// Every entry that it tells.
    pub fn keys(&self) -> impl Iterator<Item = EntryKey> {
        self.entries.iter().flat_map(ReadyEntry::keys)
    }

    /// With the entries that its lists name, or the first list that is not to be found.
    pub fn with_lists(mut self, view: &DayView) -> Result<Self, KeyListId> {
        for entry in &mut self.entries {
            for list in &entry.lists {
                let keys = view.list(list.id).ok_or(list.id)?;
                entry.others.extend(keys);
            }
            entry.others.sort_unstable();
            entry.others.dedup();
        }
        Ok(self)
    }

    /// The days that it needs to be told.
    pub fn days(&self) -> BTreeSet<Day> {
        let listed = self.entries.iter().flat_map(|entry| &entry.lists).map(|list| list.day);
        self.keys().map(EntryKey::day).chain(listed).collect()
    }

    /// Without the words of its events, as it waits: then it is small.
    #[must_use]
    pub fn without_words(mut self) -> Self {
        for entry in &mut self.entries {
            (entry.actor, entry.kept) = (None, KeptFields::new());
        }
        self
    }

    /// Has bundles that are large name lists. Those lists are to be written before it is.
    pub fn list_others(&mut self) -> Vec<(DayKeyList, KeyList)> {
        let mut lists = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.others.len() > BUNDLE_KEYS_MAX) {
            let cut = key_list::cut_lists(&entry.others);
            entry.lists = cut.iter().map(|(named, _)| *named).collect();
            entry.others.clear();
            lists.extend(cut);
        }
        lists
    }

    /// Whether it is a push without words: it sets the number on the app's icon, if it has one, and takes away what was revoked.
    pub fn is_wordless(&self) -> bool {
        self.entries.is_empty() && self.channel == Channel::Push
    }

    /// The Ready by which its entries are marked as told, and under whose id a device shows it.
    pub fn teller(&self) -> ReadyId {
        self.renews.unwrap_or(self.id)
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
    /// Who did it, and what its kinds keep of the event's own words. A Ready that is issued again has neither: a sender of
    /// ours reads the day.
    pub actor: Option<Actor>,
    pub kept: KeptFields,
    /// The others of its bundle, which it stands for. A Ready that was read names those of its lists only when
    /// [`Ready::with_lists`] has looked them up.
    pub others: Vec<EntryKey>,
    /// The lists of those, where they are many.
    pub lists: Vec<DayKeyList>,
}

impl ReadyEntry {
    /// One that stands for itself, in the first section.
    pub fn new(key: EntryKey, subject: SubjectRef, reasons: Vec<EntryReason>) -> Self {
        let (section, maybe, actor, kept) = (0, false, None, KeptFields::new());
        Self { key, subject, reasons, section, maybe, actor, kept, others: Vec::new(), lists: Vec::new() }
    }

    /// All that it tells.
    pub fn keys(&self) -> impl Iterator<Item = EntryKey> {
        std::iter::once(self.key).chain(self.others.iter().copied())
    }

    /// The others that it names itself, as it is written.
    pub fn named_others(&self) -> &[EntryKey] {
        if self.lists.is_empty() { &self.others } else { &[] }
    }
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
