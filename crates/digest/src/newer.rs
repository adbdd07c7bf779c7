//! Kinds and plans that our catalogue does not have. They are gone if ours is the newest edition; if it is not, they may
//! just have come, and the partition waits until this process is replaced.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::{
    Millis, What, Why,
    edition::{Editions, Verdict},
    person::Owed,
};
use topic::{Record, drive::Waits};
use wire::note;

use crate::{
    decide::Decided,
    memory::{PersonKey, Records},
    news::News,
};

/// Whether somebody announced kinds or windows of plans that we do not have.
pub fn announced(of: &BTreeMap<PersonKey, Vec<News>>, catalogue: &Catalogue) -> bool {
    of.values().flatten().any(|news| match news {
        News::Announced { kinds, windows, .. } => {
            kinds.iter().any(|kind| !catalogue.kinds.contains_key(kind))
                || windows.iter().any(|window| !catalogue.plans.by_name.contains_key(&window.plan))
        }
        _ => false,
    })
}

/// Whether a decision ends entries, or moves windows, because what they are of is not in our catalogue.
pub fn gone(decided: &Decided, records: &Records, catalogue: &Catalogue) -> bool {
    let is_gone = |owed: &Owed| matches!(owed.mark.what, What::Ended(Why::KindGone | Why::PlanGone));
    decided.marks.iter().any(|(_, owed)| is_gone(owed))
        || decided.records.iter().any(|(key, after)| {
            let before = records.get(key);
            let windows = before.map_or(&[][..], |before| &before.windows).iter();
            let mut strange = windows.filter(|window| !catalogue.plans.by_name.contains_key(&window.plan));
            let is_new = |owed: &&Owed| before.is_none_or(|before| !before.owed.contains(owed));
            strange.any(|window| !after.windows.contains(window))
                || after.owed.iter().filter(is_new).any(is_gone)
        })
}

/// Fails while a newer edition is waited for, which may know what ours does not.
pub fn wait(records: &[Record], editions: &Editions, now: Millis) -> anyhow::Result<()> {
    let said = note::newest_of(records.iter().map(|record| &record.headers));
    match editions.judge_unknown(said, now) {
        Verdict::Known => Ok(()),
        Verdict::Wait { edition, is_first, .. } => {
            let why = editions.awaited(now).map(|awaited| awaited.why(editions.own()));
            let why = why.unwrap_or_else(|| edition.to_string());
            if is_first {
                tracing::warn!(why, "the digest waits");
            }
            Err(Waits(why).into())
        }
        Verdict::Passed { edition, is_first } => {
            if is_first {
                tracing::warn!(
                    %edition,
                    "nobody came with a newer catalogue: the digest ends what its own does not have"
                );
            }
            Ok(())
        }
    }
}
