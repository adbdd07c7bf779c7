//! What was loaded for a turn: profiles of everybody concerned, and for those whose windows are due their
//! days and the world that their entries speak of.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{
    Catalogue,
    truth::{reachable, still},
};
use model::{
    Day, DayView, EntryKey, EntryView, PlanName, Reason, Row, State, Tenant, Value, Why, World,
    closing::Candidate,
    entry::DayKey,
    person::{PersonRecord, Window},
    plan::{Order, Plan},
};

use crate::memory::PersonKey;

/// All that a decision looks at beside the records.
#[derive(Default, Debug)]
pub struct Facts {
    pub profiles: BTreeMap<PersonKey, State>,
    pub days: BTreeMap<DayKey, Vec<Row>>,
    pub world: World,
}

/// The day of a person.
pub fn day_key(key: &PersonKey, day: Day) -> DayKey {
    DayKey { tenant: key.0.clone(), person: key.1.clone(), day }
}

impl Facts {
    /// The days of a window, folded with the marks that are still owed to them.
    pub fn view(&self, key: &PersonKey, window: &Window, record: &PersonRecord) -> DayView {
        let rows =
            window.days.iter().flat_map(|day| self.days.get(&day_key(key, *day)).into_iter().flatten());
        let mut view = model::fold::fold(rows);
        for row in record.owed_rows() {
            view.add(&row);
        }
        view
    }

    /// Entries of a window that still wait on the plan's channel, each with whether it still holds.
    pub fn candidates(
        &self,
        key: &PersonKey,
        view: &DayView,
        plan: &Plan,
        catalogue: &Catalogue,
    ) -> (Vec<Candidate>, Others) {
        let nobody = State::default();
        let reached = reachable(self.profiles.get(key).unwrap_or(&nobody), plan.channel);
        let (mut candidates, mut others) = (Vec::new(), Others::new());
        for (at, entry) in view.entries().filter(|(_, entry)| entry.waits(plan.channel)) {
            let holds = match ours(entry, plan, catalogue) {
                Ours::AnotherPlans(plans) => {
                    others.extend(plans.into_iter().map(|plan| (plan, at.day())));
                    continue;
                }
                Ours::Nobodys => Err(Why::KindGone),
                Ours::These(reasons) => reached.map(|()| reasons),
            };
            candidates.extend(self.candidate(key, at, entry, holds, plan, catalogue));
        }
        (candidates, others)
    }

    fn candidate(
        &self,
        key: &PersonKey,
        at: EntryKey,
        entry: &EntryView,
        reasons: Result<BTreeSet<Reason>, Why>,
        plan: &Plan,
        catalogue: &Catalogue,
    ) -> Option<Candidate> {
        let subject = entry.subject()?.clone();
        let still = |reasons| still(&self.world, (&key.0, &key.1), &subject, &reasons, catalogue);
        let (reasons, holds) = match reasons.and_then(still) {
            Ok(reasons) => (reasons, Ok(())),
            Err(why) => (Vec::new(), Err(why)),
        };
        let rank = self.rank(&key.0, &subject, at, &reasons, plan);
        Some(Candidate { key: at, subject, reasons, rank, holds, maybe: entry.maybe_sent() })
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "a rank only orders, and milliseconds fit 53 bits for ages"
    )]
    fn rank(
        &self,
        tenant: &Tenant,
        subject: &model::SubjectRef,
        at: EntryKey,
        reasons: &[Reason],
        plan: &Plan,
    ) -> f64 {
        let section = reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min();
        let field = |name: &str| self.world.state(tenant, subject).and_then(|state| state.get(name));
        match section.and_then(|index| plan.sections.get(index)).map(|section| &section.order) {
            None => 0.0,
            Some(Order::Newest) => at.occurred.0 as f64,
            Some(Order::Oldest) => -(at.occurred.0 as f64),
            Some(Order::Soonest(name)) => match field(name) {
                Some(Value::Time(at)) => -(at.0 as f64),
                _ => f64::MIN,
            },
            Some(Order::Best(name)) => match field(name) {
                Some(Value::Number(number)) => *number,
                _ => f64::MIN,
            },
        }
    }
}

/// Days with entries that wait for other plans. Usually these have a window for them; after a change of the
/// catalogue that gave a kind to another plan they do not yet.
pub type Others = BTreeSet<(PlanName, Day)>;

/// Which of an entry's reasons concern a plan.
enum Ours {
    These(BTreeSet<Reason>),
    AnotherPlans(Vec<PlanName>),
    /// Its kinds are not in the catalogue any more.
    Nobodys,
}

fn ours(entry: &EntryView, plan: &Plan, catalogue: &Catalogue) -> Ours {
    let mut others = Vec::new();
    let mut reasons = BTreeSet::new();
    for reason in &entry.reasons {
        if let Some(kind) = catalogue.kinds.get(&reason.kind) {
            if kind.plans.contains(&plan.name) {
                reasons.insert(reason.clone());
            } else {
                others.extend(kind.plans.iter().cloned());
            }
        }
    }
    match (others.is_empty(), reasons.is_empty()) {
        (_, false) => Ours::These(reasons),
        (false, true) => Ours::AnotherPlans(others),
        (true, true) => Ours::Nobodys,
    }
}
