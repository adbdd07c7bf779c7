//! Of whom a turn has to read the profile. Most of what comes says something of a window that is open already, or that
//! somebody is still there: then the record says it all, and the store is not asked.

use std::collections::BTreeSet;

use catalogue::{Catalogue, KindDef};
use model::{Kind, person::PersonRecord, plan::Plan};

use crate::news::News;

/// Whether what becomes of some news depends on the profile: on the person's zone, hours and preferences.
pub(crate) fn profile(news: &[News], record: Option<&PersonRecord>, catalogue: &Catalogue) -> bool {
    news.iter().any(|news| match news {
        News::Announced { kinds, windows, .. } => {
            !windows.is_empty() || kinds.iter().any(|kind| opens(kind, record, catalogue))
        }
        News::Seen { .. } => catalogue.plans.ask_habits(),
        News::Delivered(_) => true,
        News::Profile => record.is_some(),
        News::Read { .. } | News::ByHand { .. } | News::Erased => false,
    })
}

/// Whether rows of a kind may open a window, or one of several plans, for which the profile is asked.
fn opens(kind: &Kind, record: Option<&PersonRecord>, catalogue: &Catalogue) -> bool {
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
