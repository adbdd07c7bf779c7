//! Pauses: an operator stops a plan, a channel or a tenant at once. What gathers meanwhile waits and is told afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use model::{
    id::{PlanName, Tenant},
    mark::Channel,
    plan::Plan,
    time::UtcMillis,
};

/// What is paused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PauseScope {
    Plan(PlanName),
    Channel(Channel),
    Tenant(Tenant),
}

impl PauseScope {
    /// Reads `plan:NAME`, `channel:NAME` or `tenant:NAME`.
    pub fn parse(text: &str) -> Option<Self> {
        let (what, name) = text.split_once(':')?;
        match what {
            "plan" => PlanName::new(name).ok().map(Self::Plan),
            "channel" => Channel::parse(name).map(Self::Channel),
            "tenant" => Tenant::new(name).ok().map(Self::Tenant),
            _ => None,
        }
    }

    /// What sort of thing it is.
    pub fn sort(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Channel(_) => "channel",
            Self::Tenant(_) => "tenant",
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Plan(plan) => plan.as_str(),
            Self::Channel(channel) => channel.name(),
            Self::Tenant(tenant) => tenant.as_str(),
        }
    }
}

impl fmt::Display for PauseScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sort(), self.name())
    }
}

/// That something was paused, or goes on: the latest word on a scope holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PauseNote {
    pub scope: PauseScope,
    pub is_paused: bool,
    /// Who did it.
    pub by: String,
    pub why: String,
    pub at: UtcMillis,
}

/// All words on pauses, by scope.
pub type PauseNotes = BTreeMap<PauseScope, PauseNote>;

/// The pauses of a catalogue's plans, quick to ask.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PausedPlans {
    plans: BTreeSet<PlanName>,
    tenants: BTreeSet<Tenant>,
    /// When plans and tenants went on that had been paused.
    plans_resumed: BTreeMap<PlanName, UtcMillis>,
    tenants_resumed: BTreeMap<Tenant, UtcMillis>,
}

impl PausedPlans {
    pub fn new<'a>(notes: &PauseNotes, plans: impl Iterator<Item = &'a Plan> + Clone) -> Self {
        let mut paused = Self::default();
        for note in notes.values() {
            match &note.scope {
                PauseScope::Tenant(tenant) if note.is_paused => {
                    paused.tenants.insert(tenant.clone());
                }
                PauseScope::Tenant(tenant) => {
                    paused.tenants_resumed.insert(tenant.clone(), note.at);
                }
                PauseScope::Plan(plan) => paused.note_plan(plan, note),
                PauseScope::Channel(channel) => {
                    for plan in plans.clone().filter(|plan| plan.channel == *channel) {
                        paused.note_plan(&plan.name, note);
                    }
                }
            }
        }
        paused
    }

    fn note_plan(&mut self, plan: &PlanName, note: &PauseNote) {
        if note.is_paused {
            self.plans.insert(plan.clone());
        } else {
            let resumed = self.plans_resumed.entry(plan.clone()).or_insert(note.at);
            *resumed = (*resumed).max(note.at);
        }
    }

    /// Whether nothing is paused.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty() && self.tenants.is_empty()
    }

    /// Whether a plan of a tenant is paused.
    pub fn has(&self, tenant: &Tenant, plan: &PlanName) -> bool {
        !self.is_empty() && (self.plans.contains(plan) || self.tenants.contains(tenant))
    }

    /// From when on a message counts as late: from when it was due, or from when its pause was over.
    pub fn count_from(&self, tenant: &Tenant, plan: &PlanName, due: UtcMillis) -> UtcMillis {
        let resumed = [self.plans_resumed.get(plan), self.tenants_resumed.get(tenant)];
        resumed.into_iter().flatten().copied().fold(due, UtcMillis::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_they_are_written() {
        for text in ["plan:daily", "channel:email", "channel:webhook", "tenant:main"] {
            assert_eq!(PauseScope::parse(text).unwrap().to_string(), text);
        }
        for odd in ["", "daily", "plan:", "channel:fax", "tenant:", "kind:x", ":daily"] {
            assert_eq!(PauseScope::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_latest_word_on_a_scope_holds() {
        let (main, other) = (Tenant::new("main").unwrap(), Tenant::new("other").unwrap());
        let (daily, weekly) = (PlanName::new("daily").unwrap(), PlanName::new("weekly").unwrap());
        let check = |notes: &[(&str, bool, i64)], expected: [bool; 3], late_from: i64| {
            let mut all = PauseNotes::new();
            for (scope, is_paused, at) in notes {
                let (scope, at) = (PauseScope::parse(scope).unwrap(), UtcMillis(*at));
                let note = PauseNote {
                    scope: scope.clone(),
                    is_paused: *is_paused,
                    by: String::new(),
                    why: String::new(),
                    at,
                };
                all.insert(scope, note);
            }
            let paused = PausedPlans::new(&all, std::iter::empty());
            let found = [paused.has(&main, &daily), paused.has(&main, &weekly), paused.has(&other, &daily)];
            assert_eq!(found, expected, "{notes:?}");
            assert_eq!(paused.count_from(&main, &daily, UtcMillis(5)), UtcMillis(late_from), "{notes:?}");
        };
        check(&[], [false; 3], 5);
        check(&[("plan:daily", true, 9)], [true, false, true], 5);
        check(&[("plan:daily", true, 1), ("plan:daily", false, 9)], [false; 3], 9);
        check(&[("tenant:main", true, 1)], [true, true, false], 5);
        check(&[("tenant:main", false, 7), ("plan:daily", false, 9)], [false; 3], 9);
        check(&[("plan:daily", false, 1)], [false; 3], 5);
    }
}
