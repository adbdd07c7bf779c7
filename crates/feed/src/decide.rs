//! Makes the feed of a person: of their days, of what they chose, and of now.

use std::{
    collections::{BTreeSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
};

use catalogue::Catalogue;
use feed_bundles::{
    FeedBundle,
    bundle::{find_last_look, make_bundles},
    counts::FeedCounts,
    listing::FeedRules,
};
use model::{DayLife, DayView, EntryKey, EntryView, Person, SubjectRef, Tenant, UtcMillis};
use wire::mark_right::MarkRight;

use crate::{
    facts::{FeedSheet, PersonFacts},
    shelf::{ListedDay, PersonShelf},
};

/// For so long at most a feed is believed that was made of the same: words in force may end by the clock.
const BELIEVED_MS: i64 = 60_000;

/// Of what a feed is made.
#[derive(Clone, Copy, Debug)]
pub struct SheetInput<'a> {
    /// The one that the person has.
    pub catalogue: &'a Catalogue,
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub facts: &'a PersonFacts,
    /// The fingerprint of these.
    pub made_of: u64,
    pub shelf: &'a PersonShelf,
    pub life: DayLife,
    pub now: UtcMillis,
}

pub fn make_sheet(input: SheetInput<'_>) -> FeedSheet {
    let SheetInput { catalogue, tenant, person, facts, made_of, shelf, life, now } = input;
    let reader = facts.reader(tenant, person);
    let rules = FeedRules { catalogue, reader, world: &shelf.world, now };
    let list_day = |view: &DayView| {
        let settled = view.clone().settle(&facts.notes, now);
        let back = settled.entries().filter_map(|(_, entry)| entry.put_off());
        let turns = back.fold(UtcMillis(i64::MAX), UtcMillis::min);
        let (world, until) = (shelf.world.clone(), turns.min(now.plus(BELIEVED_MS)));
        ListedDay { made_of, world, made_at: now, until, turns, entries: rules.list_entries(&settled) }
    };
    let (mut entries, mut turns) = (Vec::new(), UtcMillis(i64::MAX));
    let mut until = now.plus(BELIEVED_MS);
    for (day, known) in shelf.days.iter().rev().filter(|(day, _)| !life.is_over(**day, now)) {
        let listed = known.list((made_of, &shelf.world), now, list_day);
        turns = turns.min(listed.turns).min(life.expiry(*day));
        until = until.min(listed.until);
        entries.extend(listed.entries.iter().cloned());
    }
    let saved = DayView::clone(&shelf.saved).settle(&facts.notes, now);
    entries.extend(rules.list_entries(&saved).into_iter().filter(|entry| life.is_over(entry.key.day(), now)));
    let as_of = find_last_look(&entries, now);
    let bundles = make_bundles(entries, as_of);
    let counts = FeedCounts::from_bundles(&bundles, catalogue);
    let revision = revision_of(&bundles);
    FeedSheet { made_of, made_at: now, until: until.min(turns), turns, as_of, bundles, counts, revision }
}

/// Changes with whatever a page shows of bundles, but for the words of what their subjects are by now.
fn revision_of(bundles: &[FeedBundle]) -> u64 {
    let mut hash = DefaultHasher::new();
    for bundle in bundles {
        bundle.id.hash(&mut hash);
        for entry in bundle.entries() {
            (entry.place(), entry.attention.is_read, entry.attention.is_saved).hash(&mut hash);
        }
    }
    hash.finish()
}

/// The subjects of which bundles and choices ask what is known of them.
pub fn list_asked_subjects(catalogue: &Catalogue, view: &DayView) -> BTreeSet<SubjectRef> {
    let asks = |kind: &model::Kind| {
        catalogue.kinds.get(kind).is_some_and(|kind| kind.thread.is_some() || kind.bundles_by_state())
    };
    let entries = view.entries().filter(|(_, entry)| entry.reasons.iter().any(|reason| asks(&reason.kind)));
    entries.filter_map(|(_, entry)| entry.subject().cloned()).collect()
}

/// The entries that a message told and that are unread, or were read only after an instant. What is put off is not there to be
/// read.
pub fn list_told(view: &DayView, right: &MarkRight, lately: UtcMillis) -> Vec<EntryKey> {
    let is_told = |entry: &EntryView| entry.tellers(right.channel).any(|(ready, _)| ready == right.ready);
    let is_meant =
        |entry: &EntryView| entry.put_off().is_none() && (!entry.is_read() || entry.was_read_after(lately));
    let told = view.entries().filter(|(_, entry)| is_told(entry) && is_meant(entry));
    told.map(|(key, _)| key).collect()
}
