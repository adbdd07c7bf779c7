//! The decision of a turn: pure and synchronous. News and due windows go through `model::window::step` on
//! copies of the records; what comes out are the records to write and what is ready.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use model::{
    Day, Kind, Millis, Person, PlanName, Tenant,
    civil::Zones,
    fault::{self, Fault},
    mark::What,
    person::{Owed, PersonRecord, profile},
    ready::Ready,
    window::{self, At, Effects, Input},
};

use crate::{
    facts::{Facts, Others},
    memory::{Memory, PersonKey},
    news::News,
};

/// What a turn comes to.
#[derive(Default, Debug)]
pub struct Decided {
    /// New records of the persons concerned, only where something changed.
    pub records: BTreeMap<PersonKey, PersonRecord>,
    pub ready: Vec<Ready>,
    /// Days that have become full.
    pub full: Vec<(PersonKey, Day)>,
    /// Marks that only repeat what was reported. They may be written before the commit, for whoever reads the
    /// report again writes the same; so however many reports come at once, the record does not grow.
    pub marks: Vec<(PersonKey, Owed)>,
    /// Windows that were closed, with or without a Ready.
    pub closed: usize,
}

/// Everything a decision looks at.
pub struct Deciding<'a> {
    pub memory: &'a Memory,
    pub facts: &'a Facts,
    pub catalogue: &'a Catalogue,
    pub zones: &'a Zones,
    pub now: Millis,
    /// Windows that were due by this instant may close: the partition has been read that far. What fell due
    /// since has to wait for its own reading.
    pub closing: Millis,
}

impl Deciding<'_> {
    /// Decides a turn: first what the store acknowledged, then the news in order, then what is due.
    pub fn decide(&self, news: &BTreeMap<PersonKey, Vec<News>>, due: &[PersonKey]) -> Decided {
        let mut decided = Decided::default();
        for (key, owed) in &self.memory.acknowledged {
            self.step(&mut decided, key, Input::Acknowledged(std::slice::from_ref(owed)));
        }
        for (key, news) in news {
            for one in news {
                self.hear(&mut decided, key, one);
            }
        }
        for key in due {
            self.close(&mut decided, key);
        }
        for (key, record) in &mut decided.records {
            let (reported, owed) = std::mem::take(&mut record.owed).into_iter().partition(is_of_a_report);
            record.owed = owed;
            decided.marks.extend(Vec::into_iter(reported).map(|owed| (key.clone(), owed)));
        }
        decided.records.retain(|key, record| match self.memory.get(key) {
            Some(old) => old != record || record.is_spent(self.now),
            None => *record != PersonRecord::default(),
        });
        decided
    }

    fn hear(&self, decided: &mut Decided, key: &PersonKey, news: &News) {
        match news {
            News::Announced { day, rows, kinds } => {
                let plans = self.plans_of(key, kinds);
                self.step(decided, key, Input::Announced { day: *day, rows: *rows, plans: &plans });
            }
            News::Delivered(delivery) => self.step(decided, key, Input::Reported(delivery)),
            // Nothing open, nothing to move or to release.
            News::Profile | News::Released { .. } if self.record(decided, key).is_none() => {}
            News::Profile => {
                self.step(decided, key, Input::Moved);
                self.prefer(decided, key);
            }
            News::Released { plan, at } => self.step(decided, key, Input::Released { plan, at: *at }),
        }
    }

    /// The plans under which a person is told these kinds.
    fn plans_of(&self, key: &PersonKey, kinds: &[Kind]) -> Vec<PlanName> {
        let profile = &self.facts.known(key).profile;
        let kinds = kinds.iter().filter_map(|kind| self.catalogue.kinds.get(kind));
        let plans = kinds.flat_map(|kind| self.catalogue.plans_for(kind, profile));
        let plans: BTreeSet<&PlanName> = plans.map(|plan| &plan.name).collect();
        if plans.is_empty() {
            // A kind that is gone still has rows in the day: every plan's closing ends them, so any window does.
            return self.catalogue.plans.by_name.keys().take(1).cloned().collect();
        }
        plans.into_iter().cloned().collect()
    }

    /// What was gathered under one plan may be for another that the person prefers by now. It is told when
    /// that one closes, and does not wait for the old one, which may be a week away.
    fn prefer(&self, decided: &mut Decided, key: &PersonKey) {
        let Some(record) = self.record(decided, key) else { return };
        let profile = &self.facts.known(key).profile;
        let mut others = Others::new();
        for window in &record.windows {
            for kind in self.catalogue.kinds.values().filter(|kind| kind.plans.contains(&window.plan)) {
                let plans = self.catalogue.plans_for(kind, profile);
                if plans.iter().all(|plan| plan.name != window.plan) {
                    let names = plans.iter().map(|plan| &plan.name);
                    others.extend(names.flat_map(|name| window.days.iter().map(|day| (name.clone(), *day))));
                }
            }
        }
        for (plan, day) in others {
            self.hand_on(decided, key, plan, day);
        }
    }

    /// Closes what is due of one person, and then issues again what waited.
    fn close(&self, decided: &mut Decided, key: &PersonKey) {
        let Some(record) = self.record(decided, key).cloned() else { return };
        for window in record.windows.iter().filter(|window| window.due <= self.closing) {
            // Folded with what this very turn already owes, for two plans may share a channel.
            let Some(record) = self.record(decided, key) else { return };
            let (candidates, others) = match self.catalogue.plans.by_name.get(&window.plan) {
                Some(plan) => self.facts.candidates(key, window, record, plan, self.catalogue),
                None => Default::default(),
            };
            self.step(decided, key, Input::Due { window, candidates });
            for (plan, day) in others {
                self.hand_on(decided, key, plan, day);
            }
            decided.closed += 1;
        }
        // After the windows: while they close, nothing that waited counts as told.
        if record.waiting.iter().any(|waiting| waiting.at <= self.now) {
            self.step(decided, key, Input::Again);
        }
        // Also when nothing was closed: a spent record is written once more, as a tombstone.
        let record = self.record(decided, key).cloned().unwrap_or_default();
        decided.records.insert(key.clone(), record);
    }

    /// A day holds something for a plan that has no window for it: its kind was told under another one
    /// before, or the person preferred another one.
    fn hand_on(&self, decided: &mut Decided, key: &PersonKey, plan: PlanName, day: Day) {
        let open = |record: &PersonRecord| {
            record.windows.iter().any(|window| window.plan == plan && window.days.contains(&day))
        };
        if !self.record(decided, key).is_some_and(open) {
            self.step(decided, key, Input::Announced { day, rows: 0, plans: &[plan] });
        }
    }

    fn record<'b>(&'b self, decided: &'b Decided, key: &PersonKey) -> Option<&'b PersonRecord> {
        decided.records.get(key).or_else(|| self.memory.get(key))
    }

    fn step(&self, decided: &mut Decided, key: &PersonKey, input: Input<'_>) {
        let unknown = PersonRecord::default();
        let record = self.record(decided, key).unwrap_or(&unknown);
        let zone = self.zones.get_or_utc(self.facts.known(key).profile.text(profile::ZONE));
        let (tenant, person): (&Tenant, &Person) = (&key.0, &key.1);
        let plans = &self.catalogue.plans;
        let at = At { tenant, person, now: self.now, zone: &zone, zones: self.zones, plans };
        let (mut record, Effects { ready, full }) = window::step(record, input, &at);
        decided.ready.extend(ready);
        decided.full.extend(full.map(|day| (key.clone(), day)));
        if fault::planted(Fault::OwedForgotten) {
            record.owed.clear();
        }
        decided.records.insert(key.clone(), record);
    }
}

fn is_of_a_report(owed: &Owed) -> bool {
    matches!(owed.mark.what, What::Returned { .. } | What::Left { .. })
}
