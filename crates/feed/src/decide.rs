//! Makes the feed of a person: of their days, of what they chose, and of now.

use std::{
    collections::{BTreeSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
};

use catalogue::Catalogue;
use feed_bundles::{FeedBundle, counts::FeedCounts, listing::FeedRules};
use model::{DayLife, DayView, EntryKey, EntryView, Person, SubjectRef, Tenant, UtcMillis};
use wire::mark_right::MarkRight;

use crate::{
    facts::{FeedSheet, PersonFacts},
    listed::{FeedLists, ListedDay, ListedEntries},
    shelf::PersonShelf,
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
        let entries = ListedEntries::new(rules.list_entries(&settled));
        ListedDay { made_of, world, made_at: now, until, turns, entries }
    };
    let mut lists = FeedLists::default();
    let (mut turns, mut until) = (UtcMillis(i64::MAX), now.plus(BELIEVED_MS));
    for (day, known) in shelf.days.iter().filter(|(day, _)| !life.is_over(**day, now)) {
        let listed = known.list((made_of, &shelf.world), now, list_day);
        turns = turns.min(listed.turns).min(life.expiry(*day));
        until = until.min(listed.until);
        lists.days.insert(*day, listed);
    }
    let outlived: Vec<EntryKey> =
        shelf.saved.entries().map(|(key, _)| key).filter(|key| life.is_over(key.day(), now)).collect();
    let copies = shelf.saved.pick(&outlived).settle(&facts.notes, now);
    lists.copies = ListedEntries::new(rules.list_entries(&copies));
    let before = shelf.find_last_sheet();
    let feed = lists.bundle(before.as_deref().map(|sheet| (&sheet.lists, &sheet.feed)), now);
    let counts = FeedCounts::from_bundles(&feed.bundles, catalogue);
    let revision = revision_of(&feed.bundles);
    FeedSheet { made_of, made_at: now, until: until.min(turns), turns, lists, feed, counts, revision }
}

/// Changes with whatever a page shows of bundles, but for the words of what their subjects are by now.
fn revision_of(bundles: &[FeedBundle]) -> u64 {
    let mut hash = DefaultHasher::new();
    bundles.iter().for_each(|bundle| bundle.look().hash(&mut hash));
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
