//! Which entries a mark is for: of those that are listed, or by their names.

use std::{collections::BTreeSet, sync::Arc};

use feed_bundles::{BundleName, FeedBundle, FeedEntry};
use model::{DayLife, EntryKey, Kind, UtcMillis};
use room::{
    feedback::{check_entry_day, check_snooze},
    saved,
};
use web::HttpProblem;
use wire::FeedbackAction;

use crate::{
    load::LoadedFeed,
    request::{FilterContext, MarkRequest, MarkTarget, wrong_at},
};

/// What a mark comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkPlan {
    /// A note stands for all until now, or for all of a kind. What no visit showed before is seen by it at once, so that its
    /// bundles stay as they are.
    Note { kind: Option<Kind>, unseen: Vec<EntryKey> },
    /// These entries, in order.
    Entries(Vec<EntryKey>),
}

pub fn plan_mark(
    request: &MarkRequest,
    feed: &LoadedFeed,
    context: FilterContext<'_>,
    (life, now): (DayLife, UtcMillis),
) -> Result<MarkPlan, HttpProblem> {
    let has_note = matches!(request.did, FeedbackAction::Read | FeedbackAction::Cleared);
    match &request.target {
        MarkTarget::All if has_note && request.shown.is_none() => return Ok(plan_note(None, feed)),
        MarkTarget::Kind(kind) if has_note && request.shown.is_none() => {
            return Ok(plan_note(Some(kind.clone()), feed));
        }
        _ => {}
    }
    let keys = list_meant(request, feed, context, (life, now))?;
    check_snooze(&keys, request.did, life).map_err(|reason| wrong_at("/until", reason))?;
    Ok(MarkPlan::Entries(keys))
}

fn plan_note(kind: Option<Kind>, feed: &LoadedFeed) -> MarkPlan {
    let is_unseen = |entry: &&Arc<FeedEntry>| {
        entry.attention.seen.is_none() && kind.as_ref().is_none_or(|kind| entry.kind == *kind)
    };
    let unseen: BTreeSet<EntryKey> = feed.sheet.entries().filter(is_unseen).map(|entry| entry.key).collect();
    MarkPlan::Note { kind, unseen: unseen.into_iter().collect() }
}

fn list_meant(
    request: &MarkRequest,
    feed: &LoadedFeed,
    context: FilterContext<'_>,
    (life, now): (DayLife, UtcMillis),
) -> Result<Vec<EntryKey>, HttpProblem> {
    let MarkRequest { target, shown, rule, did } = request;
    let (sheet, saved) = (&feed.sheet, &feed.shelf.saved);
    // Of what was saved and outlived its day there is no other word than to let it go.
    let takes = |key: &EntryKey| !life.is_over(key.day(), now) || saved::lets_go(*did);
    let bundles_as_of = |as_of| sheet.bundles_as_of(*rule, as_of, context.catalogue);
    let shown = shown.as_ref().map(|visit| visit.list_shown(&bundles_as_of(visit.at)));
    let is_key_shown = |key: &EntryKey| shown.as_ref().is_none_or(|shown| shown.contains(key));
    let is_shown = |entry: &FeedEntry| is_key_shown(&entry.key);
    let of = |wants: &dyn Fn(&FeedEntry) -> bool| -> BTreeSet<EntryKey> {
        let meant = sheet.entries().filter(|entry| wants(entry) && is_shown(entry));
        meant.map(|entry| entry.key).collect()
    };
    let keys = match target {
        MarkTarget::Entries(keys) => {
            for (number, key) in keys.iter().enumerate().filter(|(_, key)| saved.get(**key).is_none()) {
                check_entry_day(*key, life, now)
                    .map_err(|reason| wrong_at(&format!("/entries/{number}"), reason))?;
            }
            // Named by themselves, also what is not listed: what was cleared is restored so.
            keys.iter().copied().filter(is_key_shown).collect()
        }
        MarkTarget::All => of(&|_| true),
        MarkTarget::Kind(kind) => of(&|entry| entry.kind == *kind),
        MarkTarget::Category(category) => of(&|entry| context.is_of_category(entry, category)),
        MarkTarget::Thread(thread) => of(&|entry| context.is_in_thread(entry, thread)),
        MarkTarget::Bundles(names) => list_named_bundles(names, bundles_as_of)
            .iter()
            .flat_map(FeedBundle::entries)
            .filter(|entry| is_shown(entry))
            .map(|entry| entry.key)
            .collect(),
    };
    Ok(keys.into_iter().filter(takes).collect())
}

/// The bundles of these names; those that are not there any more are left out.
fn list_named_bundles(
    names: &[BundleName],
    bundles_as_of: impl Fn(UtcMillis) -> Vec<FeedBundle>,
) -> Vec<FeedBundle> {
    let instants: BTreeSet<UtcMillis> = names.iter().map(|name| name.as_of).collect();
    let of = |as_of: UtcMillis| {
        let is_named = move |bundle: &FeedBundle| names.contains(&BundleName { id: bundle.id, as_of });
        bundles_as_of(as_of).into_iter().filter(is_named)
    };
    instants.into_iter().flat_map(of).collect()
}
