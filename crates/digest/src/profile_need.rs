//! Decides for which persons a turn has to read the profile. Most records concern a window that is open already, or say
//! that a person is still online; then the person's record is enough, and the store is not asked.

use std::collections::BTreeSet;

use catalogue::{Catalogue, KindDef};
use model::{Kind, person::PersonRecord, plan::Plan};

use crate::read::PersonNews;

/// Whether what becomes of some news depends on the profile: on the person's zone, hours and preferences.
pub(crate) fn needs_profile(
    news: &[PersonNews],
    record: Option<&PersonRecord>,
    catalogue: &Catalogue,
) -> bool {
    news.iter().any(|news| match news {
        PersonNews::Announced { kinds, windows, .. } => {
            !windows.is_empty() || kinds.iter().any(|kind| may_open_window(kind, record, catalogue))
        }
        PersonNews::Seen { .. } => catalogue.plans.ask_habits(),
        PersonNews::Delivered(_) => true,
        PersonNews::Profile => record.is_some(),
        PersonNews::NumberChanged
        | PersonNews::Revoked
        | PersonNews::PutOff { .. }
        | PersonNews::ByHand { .. }
        | PersonNews::Erased => false,
    })
}

/// Whether rows of a kind may open a window, or one of several plans, for which the profile is asked.
fn may_open_window(kind: &Kind, record: Option<&PersonRecord>, catalogue: &Catalogue) -> bool {
    // Of a kind that is gone any window hears.
    let Some(kind) = catalogue.kinds.get(kind) else { return true };
    let plans = || kind.plans.iter().filter_map(|name| catalogue.plans.by_name.get(name));
    is_chosen(kind, catalogue) || plans().any(|plan| plan.close.is_calendar() && !is_open(plan, record))
}

/// Whether the person chooses between plans of a kind: two of one channel.
fn is_chosen(kind: &KindDef, catalogue: &Catalogue) -> bool {
    let plans = kind.plans.iter().filter_map(|name| catalogue.plans.by_name.get(name));
    let mut seen = BTreeSet::new();
    !plans.map(|plan| plan.channel).all(|channel| seen.insert(channel))
}

/// Whether the plan's one window is open under its rules of now: then its instant stands.
fn is_open(plan: &Plan, record: Option<&PersonRecord>) -> bool {
    let windows = record.map_or(&[][..], |record| &record.windows);
    windows
        .iter()
        .any(|window| window.plan == plan.name && window.key.is_empty() && window.plan_hash == plan.hash)
}
