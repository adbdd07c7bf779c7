//! Writes marks, and then announces them: a mark that was answered is never lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::Context as _;
use futures::future::try_join_all;
use model::{Day, DayView, EntryKey, UtcMillis, VersionedState, person::notes::ERASED};
use room::{
    feedback::{
        feedback_records, list_settled_entries, mark_rows, takes_notes_back, up_to_note, up_to_record,
    },
    open_streams::{list_stale, note_ended, note_open},
    saved,
};
use runtime::crash_point;
use store::{DayRows, StateKey, StoreError};
use wire::{FeedbackAction, mark_right::MarkRight};

use crate::{
    decide::list_told,
    deps::{Deps, FeedBoard},
    facts::{PersonFacts, TenantPerson},
    load::{FeedOwner, LoadedFeed, MarkedDays, forget_cells, keep_marked, load_facts, load_saved, read_days},
    mark::MarkPlan,
    noted_streams::{NOTES_AT_ONCE, NotedStreams, StreamChanges},
    read::ChangedDays,
};

/// What is known of a person who marks, and their feed if it was loaded.
#[derive(Clone, Copy)]
pub struct MarkedFeed<'a> {
    pub facts: &'a PersonFacts,
    pub feed: Option<&'a LoadedFeed>,
}

/// Days that count as changed unless they are known to be kept as they are: also where whoever writes them gives up.
struct UnsureDays<'a> {
    board: &'a FeedBoard,
    whose: &'a TenantPerson,
    days: BTreeSet<Day>,
}

impl Drop for UnsureDays<'_> {
    fn drop(&mut self) {
        if !self.days.is_empty() {
            let days = std::mem::take(&mut self.days);
            self.board.note_change(self.whose, &ChangedDays::Some(days));
        }
    }
}

/// Writes a mark; when this returns, it is durable and announced.
pub async fn apply_mark(
    deps: &Deps,
    owner: FeedOwner<'_>,
    (did, plan): (FeedbackAction, &MarkPlan),
    MarkedFeed { facts, feed }: MarkedFeed<'_>,
    now: UtcMillis,
) -> anyhow::Result<()> {
    let (who, partitions) = ((owner.tenant, owner.person), deps.room.partitions);
    let whose = owner.key();
    let (records, changed) = match plan {
        MarkPlan::Note { kind, unseen } => {
            let seen = mark_rows(who, (FeedbackAction::Seen, now), unseen, (deps.room.store.day_life(), now));
            if !seen.is_empty() {
                deps.room.store.write(seen, now).await.context("what a person saw")?;
            }
            let key = StateKey::Notes(owner.tenant.clone(), owner.person.clone());
            let note = up_to_note(did, kind.as_ref(), now);
            deps.room.store.merge(vec![(key, note)]).await.context("a note of a person")?;
            let mut records = feedback_records(who, (FeedbackAction::Seen, now), unseen, partitions)?;
            records.push(up_to_record(who, (did, now), partitions)?);
            let days: BTreeSet<Day> = unseen.iter().map(|key| key.day()).collect();
            (records, if days.is_empty() { ChangedDays::None } else { ChangedDays::Some(days) })
        }
        MarkPlan::Entries(keys) => {
            let mut marked = find_marked_days(deps, owner, (did, keys), (facts, feed), now).await?;
            let change = change_copies(deps, owner, (did, keys), (&marked.views, facts), now).await?;
            let unmarked = list_unmarked(|day| marked.views.get(&day), (did, keys), facts, now);
            let living = (deps.room.store.day_life(), now);
            let mut rows = mark_rows(who, (did, now), &unmarked, living);
            for (at, keys) in list_looked_before(&marked.views, (did, &unmarked), facts, now) {
                for looked in mark_rows(who, (FeedbackAction::Seen, at), &keys, living) {
                    let of_day = rows.iter_mut().filter(|of| of.key == looked.key);
                    of_day.for_each(|of| of.rows.extend(looked.rows.clone()));
                }
            }
            let days = keys.iter().map(|key| key.day()).collect();
            let mut unsure = UnsureDays { board: &deps.board, whose: &whose, days };
            for DayRows { key, rows } in &rows {
                let view = marked.views.entry(key.day).or_default();
                rows.iter().for_each(|row| view.add(row));
            }
            if !rows.is_empty() {
                deps.room.store.write(rows, now).await.context("marks of a person")?;
            }
            let are_copies_new = !change.is_empty();
            // A copy lives as long as nobody lets go of it: it must not come behind an erasure.
            if !change.is_empty() && !is_erased(deps, owner).await? {
                let copies = vec![(owner.saved_key(), change)];
                deps.room.store.merge(copies).await.context("copies of what a person saved")?;
            }
            if let Some(feed) = feed {
                match keep_marked(deps, owner, feed, (marked, keys, are_copies_new), now).await {
                    Ok(true) => unsure.days.clear(),
                    Ok(false) => {}
                    // The mark is written; what is kept can be read anew.
                    Err(error) => tracing::debug!(%error, "what a mark made"),
                }
            }
            drop(unsure);
            (feedback_records(who, (did, now), keys, partitions)?, ChangedDays::None)
        }
    };
    // Whoever asks here next sees it, and need not wait for the log.
    deps.board.note_change(&whose, &changed);
    crash_point::point(crash_point::STORED);
    if !records.is_empty() {
        deps.room.topics.append(records).await.context("what a person did")?;
    }
    Ok(())
}

/// For so long a mark by a message's right is announced anew when it comes again.
const SAID_AGAIN_MS: i64 = 60_000;

/// Marks what a message told as read, as far as it is not yet; how many entries it is for. When this returns, it is durable and
/// announced.
pub async fn mark_told(deps: &Deps, right: &MarkRight, now: UtcMillis) -> anyhow::Result<usize> {
    let owner = FeedOwner { tenant: &right.tenant, person: &right.person };
    let life = deps.room.store.day_life();
    let days = right.days().filter(|day| !life.is_over(*day, now)).collect();
    let facts = load_facts(deps, owner).await?;
    if facts.is_erased() {
        return Ok(0);
    }
    let views = read_days(deps, owner, days, now).await?;
    let settled = views.into_values().map(|view| DayView::settle(view, &facts.notes, now));
    // Whoever has the right could fill the disk with it, so what was read is not said again; but for a while, since the first
    // time may have ended between the mark and its announcement.
    let lately = now.plus(-SAID_AGAIN_MS);
    let keys: Vec<EntryKey> = settled.flat_map(|view| list_told(&view, right, lately)).collect();
    if !keys.is_empty() {
        let plan = MarkPlan::Entries(keys.clone());
        let of = MarkedFeed { facts: &facts, feed: None };
        apply_mark(deps, owner, (FeedbackAction::Read, &plan), of, now).await?;
    }
    Ok(keys.len())
}

/// The days of these entries. They are those that are kept, where it does not matter that somebody else may just have marked them
/// too: the mark is written in any case, and a copy that they had made before they were answered is found with the copies. What
/// comes back has to know whether it was saved.
async fn find_marked_days(
    deps: &Deps,
    owner: FeedOwner<'_>,
    (did, keys): (FeedbackAction, &[EntryKey]),
    (facts, feed): (&PersonFacts, Option<&LoadedFeed>),
    now: UtcMillis,
) -> anyhow::Result<MarkedDays> {
    let days: BTreeSet<Day> = keys.iter().map(|key| key.day()).collect();
    if let Some(feed) = feed.filter(|_| did != FeedbackAction::Restored) {
        let kept = |day: Day| feed.shelf.days.get(&day).map(|day| &day.view);
        let is_there = |key: &EntryKey| kept(key.day()).is_some_and(|view| view.get(*key).is_some());
        if keys.iter().all(is_there) && list_unmarked(kept, (did, keys), facts, now).len() == keys.len() {
            let views = days.into_iter().filter_map(|day| Some((day, kept(day)?.clone()))).collect();
            return Ok(MarkedDays { views, are_kept: true });
        }
    }
    Ok(MarkedDays { views: read_days(deps, owner, days, now).await?, are_kept: false })
}

async fn is_erased(deps: &Deps, owner: FeedOwner<'_>) -> anyhow::Result<bool> {
    let key = StateKey::Notes(owner.tenant.clone(), owner.person.clone());
    let notes = deps.room.store.states(&[key]).await.context("the notes of a person")?;
    Ok(notes.iter().any(|notes| notes.flag(ERASED)))
}

/// Notes who has a stream open here, as far as that is to be noted. What cannot be noted now is tried with the next look.
pub async fn note_streams(deps: &Deps, process: &str, noted: &mut NotedStreams, open: &[TenantPerson]) {
    let now = deps.room.now();
    let StreamChanges { open, ended } = noted.find_changes(open, now);
    for some in open.chunks(NOTES_AT_ONCE) {
        let new: Vec<&TenantPerson> = some.iter().filter(|whose| !noted.has(whose)).collect();
        if let Err(error) = sweep_streams(deps, &new, now).await {
            tracing::debug!(%error, "notes of processes that are gone stay");
        }
        match merge_streams(deps, some, &note_open(process, now)).await {
            Ok(()) => noted.add_open(some, now),
            Err(error) => tracing::debug!(%error, "open streams are not noted yet"),
        }
    }
    for some in ended.chunks(NOTES_AT_ONCE) {
        match end_streams(deps, process, some, now).await {
            Ok(()) => noted.remove_ended(some),
            Err(error) => tracing::debug!(%error, "ended streams are not noted yet"),
        }
    }
}

fn stream_key((tenant, person): &TenantPerson) -> StateKey {
    StateKey::Streams(tenant.clone(), person.clone())
}

async fn merge_streams(deps: &Deps, of: &[TenantPerson], note: &VersionedState) -> Result<(), StoreError> {
    deps.room.store.merge(of.iter().map(|whose| (stream_key(whose), note.clone())).collect()).await
}

/// Of who came and went nothing is left: nothing older comes of this process.
async fn end_streams(
    deps: &Deps,
    process: &str,
    of: &[TenantPerson],
    now: UtcMillis,
) -> Result<(), StoreError> {
    merge_streams(deps, of, &note_ended(process, now)).await?;
    let removed = [(Arc::from(process), now.0)];
    let forget = |whose| {
        let (key, removed) = (stream_key(whose), &removed);
        async move { deps.room.store.forget_removed(&key, removed).await }
    };
    try_join_all(of.iter().map(forget)).await.map(drop)
}

/// Takes away what processes noted of these persons that were killed since.
async fn sweep_streams(deps: &Deps, of: &[&TenantPerson], now: UtcMillis) -> Result<(), StoreError> {
    let keys: Vec<StateKey> = of.iter().map(|whose| stream_key(whose)).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let noted = deps.room.store.states(&keys).await?;
    for (key, noted) in keys.iter().zip(noted) {
        forget_cells(deps, key, list_stale(&noted, now), Vec::new()).await?;
    }
    Ok(())
}

/// What becomes of the copies of what the person saved.
async fn change_copies(
    deps: &Deps,
    owner: FeedOwner<'_>,
    (did, keys): (FeedbackAction, &[EntryKey]),
    (views, facts): (&BTreeMap<Day, DayView>, &PersonFacts),
    now: UtcMillis,
) -> anyhow::Result<VersionedState> {
    if !saved::concerns_saved(did) {
        return Ok(VersionedState::default());
    }
    let held = load_saved(deps, owner).await?;
    let find = |key: EntryKey| views.get(&key.day())?.get(key);
    Ok(saved::change_saved((&held, &facts.notes), find, keys, (did, now))?)
}

/// The entries of which it does not hold already, by these days.
fn list_unmarked<'a>(
    find_day: impl Fn(Day) -> Option<&'a DayView>,
    (did, keys): (FeedbackAction, &[EntryKey]),
    facts: &PersonFacts,
    now: UtcMillis,
) -> Vec<EntryKey> {
    let nothing = VersionedState::default();
    let notes = if takes_notes_back(did) { &facts.notes } else { &nothing };
    let holds = |key: EntryKey| {
        let view = find_day(key.day())?.pick(&[key]).settle(notes, now);
        Some(!list_settled_entries(&view, &[key], did).is_empty())
    };
    keys.iter().filter(|key| holds(**key) != Some(true)).copied().collect()
}

/// Entries that count as seen by a note alone, with the instant that it gives them: a look that is noted now must not come first, or
/// they would leave the bundle in which they were shown.
fn list_looked_before(
    views: &BTreeMap<Day, DayView>,
    (did, unmarked): (FeedbackAction, &[EntryKey]),
    facts: &PersonFacts,
    now: UtcMillis,
) -> BTreeMap<UtcMillis, Vec<EntryKey>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    if !matches!(did, FeedbackAction::Seen | FeedbackAction::Read | FeedbackAction::Cleared) {
        return found;
    }
    for key in unmarked {
        let Some(view) = views.get(&key.day()).map(|view| view.pick(&[*key])) else { continue };
        let seen = |view: &DayView| Some(view.get(*key)?.attention(*key).seen);
        if seen(&view) == Some(None)
            && let Some(Some(at)) = seen(&view.settle(&facts.notes, now))
        {
            found.entry(at).or_default().push(*key);
        }
    }
    found
}
