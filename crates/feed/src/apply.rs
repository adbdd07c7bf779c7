//! Writes marks, and then announces them: a mark that was answered is never lost.

use std::collections::BTreeSet;

use anyhow::Context as _;
use model::{DayView, EntryKey, UtcMillis, VersionedState};
use room::feedback::{
    feedback_records, list_settled_entries, mark_rows, takes_notes_back, up_to_note, up_to_record,
};
use runtime::crash_point;
use store::StateKey;
use wire::FeedbackAction;

use crate::{
    deps::Deps,
    facts::PersonFacts,
    load::{FeedOwner, read_days},
    mark::MarkPlan,
    read::ChangedDays,
};

/// Writes a mark; when this returns, it is durable and announced.
pub async fn apply_mark(
    deps: &Deps,
    owner: FeedOwner<'_>,
    (did, plan): (FeedbackAction, &MarkPlan),
    facts: &PersonFacts,
    now: UtcMillis,
) -> anyhow::Result<()> {
    let (who, partitions) = ((owner.tenant, owner.person), deps.room.partitions);
    let (records, changed) = match plan {
        MarkPlan::Note(kind) => {
            let key = StateKey::Notes(owner.tenant.clone(), owner.person.clone());
            let note = up_to_note(did, kind.as_ref(), now);
            deps.room.store.merge(vec![(key, note)]).await.context("a note of a person")?;
            (vec![up_to_record(who, (did, now), partitions)?], ChangedDays::None)
        }
        MarkPlan::Entries(keys) => {
            let unmarked = list_unmarked(deps, owner, (did, keys), facts, now).await?;
            let rows = mark_rows(who, (did, now), &unmarked, (deps.room.store.day_life(), now));
            if !rows.is_empty() {
                deps.room.store.write(rows, now).await.context("marks of a person")?;
            }
            let days = keys.iter().map(|key| key.day()).collect();
            (feedback_records(who, (did, now), keys, partitions)?, ChangedDays::Some(days))
        }
    };
    // Whoever asks here next sees it, and need not wait for the log.
    deps.board.note_change(&(owner.tenant.clone(), owner.person.clone()), &changed);
    crash_point::point(crash_point::STORED);
    if !records.is_empty() {
        deps.room.topics.append(records).await.context("what a person did")?;
    }
    Ok(())
}

/// The entries of which it does not hold already, by what is stored now and not by what was read before.
async fn list_unmarked(
    deps: &Deps,
    owner: FeedOwner<'_>,
    (did, keys): (FeedbackAction, &[EntryKey]),
    facts: &PersonFacts,
    now: UtcMillis,
) -> anyhow::Result<Vec<EntryKey>> {
    let nothing = VersionedState::default();
    let notes = if takes_notes_back(did) { &facts.notes } else { &nothing };
    let views = read_days(deps, owner, keys.iter().map(|key| key.day()).collect(), now).await?;
    let settled: BTreeSet<EntryKey> = views
        .into_values()
        .map(|view| DayView::settle(view, notes, now))
        .flat_map(|view| list_settled_entries(&view, keys, did))
        .collect();
    Ok(keys.iter().filter(|key| !settled.contains(key)).copied().collect())
}
