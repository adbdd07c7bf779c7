//! Kinds and plans that our catalogue does not have. They are gone if ours is the newest edition; if it is not, they may
//! just have come, and the partition waits until this process is replaced.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use house_facts::edition::{EditionTracker, EditionVerdict};
use model::{EndReason, MarkAction, UtcMillis, person::OwedMark};
use topic::{TopicRecord, drive::TurnDeferredError};
use wire::house_note;

use crate::{
    decide::DigestDecision,
    memory::{PersonKey, PersonRecords},
    read::PersonNews,
};

/// Whether somebody announced kinds or windows of plans that we do not have.
pub fn announces_unknown(of: &BTreeMap<PersonKey, Vec<PersonNews>>, catalogue: &Catalogue) -> bool {
    let is_unknown = |catalogue: &Catalogue, news: &PersonNews| match news {
        PersonNews::Announced { kinds, windows, .. } => {
            kinds.iter().any(|kind| !catalogue.kinds.contains_key(kind))
                || windows.iter().any(|window| !catalogue.plans.by_name.contains_key(&window.plan))
        }
        _ => false,
    };
    of.iter().any(|((_, person), news)| {
        let catalogue = catalogue.for_person(person);
        news.iter().any(|news| is_unknown(catalogue, news))
    })
}

/// Whether a decision ends entries, or moves windows, because what they are of is not in our catalogue.
pub fn ends_unknown(decided: &DigestDecision, records: &PersonRecords, catalogue: &Catalogue) -> bool {
    let is_gone = |owed: &OwedMark| {
        matches!(owed.mark.what, MarkAction::Ended(EndReason::KindGone | EndReason::PlanGone))
    };
    decided.marks.iter().any(|(_, owed)| is_gone(owed))
        || decided.records.iter().any(|(key, after)| {
            let before = records.get(key);
            let windows = before.map_or(&[][..], |before| &before.windows).iter();
            let plans = &catalogue.for_person(&key.1).plans.by_name;
            let mut strange = windows.filter(|window| !plans.contains_key(&window.plan));
            let is_new = |owed: &&OwedMark| before.is_none_or(|before| !before.owed.contains(owed));
            strange.any(|window| !after.windows.contains(window))
                || after.owed.iter().filter(is_new).any(is_gone)
        })
}

/// Fails while a newer edition is waited for, which may know what ours does not.
pub fn check_newer_edition(
    records: &[TopicRecord],
    editions: &EditionTracker,
    now: UtcMillis,
) -> anyhow::Result<()> {
    let said = house_note::newest_edition(records.iter().map(|record| &record.headers));
    match editions.judge_unknown(said, now) {
        EditionVerdict::Known => Ok(()),
        EditionVerdict::Wait { edition, is_first, .. } => {
            let why =
                editions.awaited_edition(now).map(|awaited| awaited.describe_wait(editions.own_edition()));
            let why = why.unwrap_or_else(|| edition.to_string());
            if is_first {
                tracing::warn!(why, "the digest waits");
            }
            Err(TurnDeferredError(why).into())
        }
        EditionVerdict::Passed { edition, is_first } => {
            if is_first {
                tracing::warn!(
                    %edition,
                    "no process came with the newer catalogue; the digest ends what its own does not have"
                );
            }
            Ok(())
        }
    }
}
