//! Which entries a feed lists: those that the person did not clear, put off or turn off, that were not revoked, of kinds that there are; and what
//! those of one bundle have in common.

use std::sync::Arc;

use catalogue::{
    Catalogue, KindDef,
    bundles::BundleEntry,
    choices::{ChoiceSource, FoundChoice},
    truth::{ReaderFacts, TellableEntry},
};
use model::{
    Channel, DayView, EntryKey, EntryReason, EntryView, SubjectRef, UtcMillis, VersionedState, WorldSnapshot,
    time::AskedMoment,
};
use preferences::{PreferenceChoice, PreferenceField, ReadingPlace};

use crate::bundle::FeedEntry;

/// What decides which entries are listed, beside the entries themselves.
#[derive(Clone, Copy, Debug)]
pub struct FeedRules<'a> {
    /// The one that the person has.
    pub catalogue: &'a Catalogue,
    pub reader: ReaderFacts<'a>,
    pub world: &'a WorldSnapshot,
    pub now: UtcMillis,
}

impl FeedRules<'_> {
    /// The entries that are listed, in no order.
    pub fn list_entries(&self, view: &DayView) -> Vec<Arc<FeedEntry>> {
        view.entries().filter_map(|(key, entry)| self.list_entry(key, entry).map(Arc::new)).collect()
    }

    fn list_entry(&self, key: EntryKey, entry: &EntryView) -> Option<FeedEntry> {
        let attention = entry.attention(key);
        let subject = entry.subject().filter(|_| attention.is_listed())?;
        if self.world.is_withdrawn(self.reader.tenant, subject, key) {
            return None;
        }
        let kind = self.find_kind(key, subject, entry)?;
        let unknown = VersionedState::default();
        let state = self.world.state(self.reader.tenant, subject).unwrap_or(&unknown);
        let of = BundleEntry { subject, actor: entry.actor(), kept: entry.kept_fields(), state };
        let bundle = kind.bundle_of(of);
        Some(FeedEntry {
            key,
            kind: kind.name.clone(),
            subject: subject.clone(),
            actor: entry.actor().cloned(),
            attention,
            kind_bundle: bundle.clone(),
            bundle,
        })
    }

    /// The kind in whose words an entry is listed: of those that the person has on the one with the highest priority. Nothing
    /// if they turned all of them off.
    fn find_kind(&self, key: EntryKey, subject: &SubjectRef, entry: &EntryView) -> Option<&KindDef> {
        let known =
            entry.reasons.iter().filter_map(|reason| Some((reason, self.catalogue.kinds.get(&reason.kind)?)));
        let wanted = known.filter(|(reason, kind)| self.is_wanted((key, subject, entry), (reason, kind)));
        wanted.map(|(_, kind)| kind).min_by_key(|kind| (kind.priority, kind.line))
    }

    /// Whether the person has a kind on: by their choice for the feed, else if it is on for some channel.
    fn is_wanted(
        &self,
        (key, subject, entry): (EntryKey, &SubjectRef, &EntryView),
        of: (&EntryReason, &KindDef),
    ) -> bool {
        let find_choice = |place| {
            let told = TellableEntry {
                subject,
                key,
                actor: entry.actor().and_then(|actor| actor.person()),
                reasons: &entry.reasons,
                place,
                moment: AskedMoment { now: self.now, due: self.now },
            };
            self.catalogue.find_choice(self.world, &self.reader, &told, of)
        };
        let is_on = |found: &FoundChoice| found.choice != PreferenceChoice::Off;
        let here = find_choice(ReadingPlace::Feed);
        let is_own = match &here.by {
            ChoiceSource::Person(fields) => {
                fields.iter().any(|field| PreferenceField::parse(field).is_of_feed())
            }
            _ => false,
        };
        let is_on_elsewhere = || Channel::ALL.into_iter().any(|one| is_on(&find_choice(one.into())));
        if is_own { is_on(&here) } else { is_on_elsewhere() }
    }
}
