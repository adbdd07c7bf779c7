//! Law 18: what a visit showed stays as it was seen, and what comes after it is a bundle of its own; and from one page to the
//! next nothing is skipped and nothing comes twice, while entries arrive, also late ones, and are read. A feed that is changed is
//! what it would be if it were made anew.

use std::{collections::BTreeSet, sync::Arc};

use feed_bundles::{
    FeedBundle, FeedEntry,
    bundle::{ListingChange, change_bundles, make_bundles},
    cursor::FeedCursor,
    page::{FeedPage, cut_page},
};
use model::{
    DayRow, EntryKey, EventKey, Mark, MarkAction, UtcMillis, VersionedState,
    entry::Entry,
    fold::{DayView, fold_rows},
};

use crate::{
    names::{HOUR_MS, a_day, kind, reason, subject},
    seeds::{LawDice, run_schedules},
};

#[test]
fn law_18_what_was_seen_stays_as_it_was() {
    run_schedules(300, |dice| FeedLife::new(dice).run_visits());
}

#[test]
fn law_18_pages_skip_nothing_and_repeat_nothing() {
    run_schedules(600, |dice| FeedLife::new(dice).run_pages());
}

#[test]
fn law_18_a_changed_feed_is_one_made_anew() {
    run_schedules(300, |dice| FeedLife::new(dice).run_changes());
}

/// Few enough that bundles grow.
const KEYS: usize = 4;

/// A person who reads while things happen.
struct FeedLife {
    dice: LawDice,
    now: UtcMillis,
    rows: Vec<DayRow>,
    events: usize,
}

impl FeedLife {
    fn new(dice: LawDice) -> Self {
        Self { dice, now: a_day().start().plus(48 * HOUR_MS), rows: Vec::new(), events: 0 }
    }

    /// The days as they are now, whatever order their rows come in.
    fn view(&mut self) -> DayView {
        self.dice.shuffle(&mut self.rows);
        fold_rows(&self.rows).settle(&VersionedState::default(), self.now)
    }

    fn entries(&mut self) -> Vec<Arc<FeedEntry>> {
        let view = self.view();
        let listed = view.entries().filter(|(key, entry)| entry.attention(*key).is_listed());
        let one = |(key, entry): (EntryKey, &model::EntryView)| FeedEntry {
            key,
            kind: kind("made"),
            subject: entry.subject().unwrap().clone(),
            actor: None,
            attention: entry.attention(key),
            bundle: entry.subject().filter(|of| of.as_str() != "work:0").map(|of| of.as_str().into()),
            kind_bundle: None,
        };
        listed.map(one).map(Arc::new).collect()
    }

    fn bundles(&mut self) -> Vec<FeedBundle> {
        let (entries, now) = (self.entries(), self.now);
        make_bundles(entries, now)
    }

    /// Something happened just now, or a while ago and is heard of now.
    fn add_entry(&mut self) {
        self.now = self.now.plus(self.dice.ms(1, HOUR_MS));
        let ago = if self.dice.once_in_a_hundred(40) { self.dice.ms(0, 40 * HOUR_MS) } else { 0 };
        self.events += 1;
        let event =
            EventKey::from_source_id(&crate::names::tenant("main"), "source", &self.events.to_string());
        self.rows.push(DayRow::Entry(Entry {
            key: EntryKey { occurred: self.now.plus(-ago), event },
            reason: reason("made", 0),
            subject: subject(&format!("work:{}", self.dice.below(KEYS))),
            actor: None,
            kept: model::KeptFields::new(),
        }));
    }

    fn mark(&mut self, what: MarkAction, keys: &BTreeSet<EntryKey>) {
        self.now = self.now.plus(self.dice.ms(1, HOUR_MS));
        for key in keys {
            self.rows.push(DayRow::Mark(Mark::new(None, what, vec![*key], self.now)));
        }
    }

    /// A visit shows the newest of what is new, and may say so twice.
    fn visit(&mut self) -> Vec<BTreeSet<EntryKey>> {
        let most = 1 + self.dice.below(3);
        let new = self.bundles().into_iter().filter(FeedBundle::is_new).take(most);
        let shown: Vec<BTreeSet<EntryKey>> = new.map(|bundle| bundle_keys(&bundle)).collect();
        let all: BTreeSet<EntryKey> = shown.iter().flatten().copied().collect();
        let what = self.dice.pick(&[MarkAction::Seen, MarkAction::Seen, MarkAction::Read]);
        self.mark(what, &all);
        if self.dice.once_in_a_hundred(30) {
            self.mark(MarkAction::Seen, &all);
        }
        shown
    }

    fn run_visits(mut self) {
        let mut seen: Vec<BTreeSet<EntryKey>> = Vec::new();
        for _ in 0..20 {
            match self.dice.below(5) {
                0..3 => self.add_entry(),
                3 => seen.extend(self.visit()),
                _ => {
                    let what = self.dice.pick(&[MarkAction::Read, MarkAction::Unread, MarkAction::Saved]);
                    let old: Vec<_> = seen.iter().flatten().copied().collect();
                    let some = old.into_iter().filter(|_| self.dice.once_in_a_hundred(40)).collect();
                    self.mark(what, &some);
                }
            }
            let bundles = self.bundles();
            let sets: BTreeSet<BTreeSet<EntryKey>> = bundles.iter().map(bundle_keys).collect();
            for shown in &seen {
                assert!(sets.contains(shown), "{shown:?} was one bundle when it was seen: {sets:?}");
            }
            let ids: BTreeSet<_> = bundles.iter().map(|bundle| bundle.id).collect();
            assert_eq!(ids.len(), bundles.len(), "two bundles have one name");
            let listed: usize = bundles.iter().map(|bundle| bundle.entries().len()).sum();
            assert_eq!(listed, self.events, "each entry is in one bundle");
        }
    }

    fn run_changes(mut self) {
        let (mut entries, mut bundles, mut as_of) = (Vec::new(), Vec::new(), self.now);
        for _ in 0..30 {
            match self.dice.below(6) {
                0..3 => self.add_entry(),
                3 => drop(self.visit()),
                _ => {
                    let all: Vec<_> = self.view().entries().map(|(key, _)| key).collect();
                    let some = all.into_iter().filter(|_| self.dice.once_in_a_hundred(20)).collect();
                    let did = [MarkAction::Read, MarkAction::Unread, MarkAction::Saved];
                    let what =
                        self.dice.pick(&[&did[..], &[MarkAction::Cleared, MarkAction::Restored]].concat());
                    self.mark(what, &some);
                }
            }
            let (now, mut change) = (self.entries(), ListingChange::default());
            change.add(&entries, &now);
            bundles = change_bundles((&bundles, as_of), change, self.now);
            (entries, as_of) = (now, self.now);
            assert_eq!(bundles, self.bundles());
        }
    }

    fn run_pages(mut self) {
        for _ in 0..6 + self.dice.below(14) {
            if self.dice.once_in_a_hundred(15) {
                self.visit();
            }
            self.add_entry();
        }
        let (mut due, mut given) = (all_keys(&self.entries()), BTreeSet::new());
        let most = 1 + self.dice.below(3);
        let mut cursor: Option<FeedCursor> = None;
        loop {
            let (entries, now) = (self.entries(), self.now);
            let FeedPage { bundles, next } = cut_page(entries, cursor.take(), most, |_| true, now);
            for key in bundles.iter().flat_map(bundle_keys) {
                assert!(given.insert(key), "{key} was given twice");
            }
            let Some(next) = next else { break };
            let text = next.to_string();
            cursor = Some(FeedCursor::parse(&text).unwrap());
            assert_eq!(cursor.as_ref(), Some(&next));
            for _ in 0..self.dice.below(4) {
                match self.dice.below(4) {
                    0..2 => self.add_entry(),
                    2 => drop(self.visit()),
                    _ => {
                        let key = self.dice.pick(&due.iter().copied().collect::<Vec<_>>());
                        due.remove(&key);
                        self.mark(MarkAction::Cleared, &[key].into());
                        if due.is_empty() {
                            return;
                        }
                    }
                }
            }
        }
        let skipped: Vec<_> = due.difference(&given).collect();
        assert!(skipped.is_empty(), "{skipped:?} were there from the beginning and never given");
    }
}

fn bundle_keys(bundle: &FeedBundle) -> BTreeSet<EntryKey> {
    all_keys(bundle.entries())
}

fn all_keys(entries: &[Arc<FeedEntry>]) -> BTreeSet<EntryKey> {
    entries.iter().map(|entry| entry.key).collect()
}
