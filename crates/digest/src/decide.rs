//! The decision of a turn: pure and synchronous. News and due windows go through `model::window::step` on
//! copies of the records; what comes out are the records to write and what is ready.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use house_facts::pause::PausedPlans;
use model::{
    Day, DayKeyList, KeyList, Kind, Person, PlanName, Tenant, UtcMillis,
    civil_time::{ZoneRules, start_of_date},
    fault::{self, PlantedFault},
    mark::MarkAction,
    person::{OwedMark, PersonRecord, Window, profile},
    plan::{LocalHours, LocalTime, Plan},
    ready::Ready,
    step_context::StepContext,
    trace::{ReadyTraces, link_ready},
    window::{self, StepEffects, StepInput, WindowTarget},
};

use crate::{
    closing::{FoundCandidates, OtherWindowDays},
    facts::DigestFacts,
    memory::PersonKey,
    read::PersonNews,
};

/// What a turn comes to.
#[derive(Default, Debug)]
pub struct DigestDecision {
    /// New records of the persons concerned, only where something changed.
    pub records: BTreeMap<PersonKey, PersonRecord>,
    /// Those of them that are remembered and not written: only hints changed.
    pub hints: BTreeSet<PersonKey>,
    pub ready: Vec<Ready>,
    /// Days that have become full.
    pub full: Vec<(PersonKey, Day)>,
    /// Days that take nothing any more.
    pub shut: Vec<(PersonKey, Day)>,
    /// Persons for whom something was closed and nothing came of it, with its plan: nothing is told, nothing ended, and
    /// nobody said anything of them.
    pub idle: BTreeMap<PersonKey, PlanName>,
    /// Marks that only repeat what was reported. They may be written before the commit, for whoever reads the
    /// report again writes the same; so however many reports come at once, the record does not grow.
    pub marks: Vec<(PersonKey, OwedMark)>,
    /// Lists that those records and Readys name: written before the commit, for they say nothing by themselves.
    pub lists: BTreeMap<(PersonKey, DayKeyList), KeyList>,
    /// Windows that were closed, with or without a Ready.
    pub closed: usize,
    /// Of which traces the Readys are; of most there is nothing.
    pub traces: Vec<ReadyTraces>,
}

/// Everything a decision looks at.
pub struct DigestDecider<'a> {
    pub facts: &'a DigestFacts,
    /// Marks that the store has by now.
    pub acknowledged: &'a [(PersonKey, OwedMark)],
    pub catalogue: &'a Catalogue,
    pub zones: &'a ZoneRules,
    /// Windows of these stay open, however long they are due.
    pub paused: &'a PausedPlans,
    pub now: UtcMillis,
    /// Windows that were due by this instant may close: the partition has been read that far. What fell due
    /// since has to wait for its own reading.
    pub closing: UtcMillis,
}

impl DigestDecider<'_> {
    /// Decides a turn: first what the store acknowledged, then the news in order, then what is due.
    pub fn decide(&self, news: &BTreeMap<PersonKey, Vec<PersonNews>>, due: &[PersonKey]) -> DigestDecision {
        let mut decided = DigestDecision::default();
        for (key, owed) in self.acknowledged {
            self.step_windows(&mut decided, key, StepInput::Acknowledged(std::slice::from_ref(owed)));
        }
        for (key, news) in news {
            for one in news {
                self.apply_news(&mut decided, key, one);
            }
        }
        for key in due {
            self.close_due_windows(&mut decided, key);
            if !news.contains_key(key) {
                self.note_idle(&mut decided, key);
            }
        }
        for (key, record) in &mut decided.records {
            let (reported, owed) = std::mem::take(&mut record.owed).into_iter().partition(is_of_a_report);
            record.owed = owed;
            decided.marks.extend(Vec::into_iter(reported).map(|owed| (key.clone(), owed)));
            let lists = record.list_owed_keys();
            decided.lists.extend(lists.into_iter().map(|(named, list)| ((key.clone(), named), list)));
        }
        self.settle_traces(&mut decided);
        for ready in &mut decided.ready {
            let key = (ready.tenant.clone(), ready.person.clone());
            let lists = ready.list_others();
            decided.lists.extend(lists.into_iter().map(|(named, list)| ((key.clone(), named), list)));
        }
        decided.records.retain(|key, record| match self.facts.records.get(key) {
            Some(old) => old != record || record.is_spent(self.now),
            None => *record != PersonRecord::default(),
        });
        let hints = decided.records.iter().filter(|(key, record)| {
            let (before, plans) = (self.facts.records.get(*key), &self.catalogue_of(key).plans);
            !record.is_spent(self.now)
                && before.is_some_and(|before| record.differs_by_hints_only(before, plans))
        });
        decided.hints = hints.map(|(key, _)| key.clone()).collect();
        decided
    }

    /// Everything else is decided by now: what is told is linked to its traces, and those that are over are forgotten.
    fn settle_traces(&self, decided: &mut DigestDecision) {
        let of_ready = |ready: &Ready| {
            let key = (ready.tenant.clone(), ready.person.clone());
            link_ready(ready, &self.record(decided, &key)?.traces)
        };
        decided.traces = decided.ready.iter().filter_map(of_ready).collect();
        decided.records.values_mut().for_each(PersonRecord::drop_old_traces);
    }

    fn apply_news(&self, decided: &mut DigestDecision, key: &PersonKey, news: &PersonNews) {
        match news {
            PersonNews::Announced { day, rows, kinds, windows, traces } => {
                let wanted = self.wanted_windows(key, kinds, windows);
                self.step_windows(
                    decided,
                    key,
                    StepInput::Announced { day: *day, rows: *rows, wanted: &wanted },
                );
                if let Some(record) = decided.records.get_mut(key).filter(|_| !traces.is_empty()) {
                    record.add_traces(traces);
                }
            }
            PersonNews::Seen { surface, at } => {
                self.step_windows(decided, key, StepInput::Seen { surface, at: *at });
            }
            PersonNews::Delivered(delivery) => self.step_windows(decided, key, StepInput::Reported(delivery)),
            // Spent, it is written as a tombstone. What was owed is owed to days that go as well.
            PersonNews::Erased => {
                if self.record(decided, key).is_some() {
                    decided.records.insert(key.clone(), PersonRecord::default());
                }
            }
            // Nothing open, nothing to move or to release.
            PersonNews::Profile
            | PersonNews::ByHand { .. }
            | PersonNews::NumberChanged
            | PersonNews::Revoked
                if self.record(decided, key).is_none() => {}
            PersonNews::PutOff { back } => self.step_windows(decided, key, StepInput::PutOff { back }),
            PersonNews::NumberChanged => self.step_windows(decided, key, StepInput::NumberChanged),
            PersonNews::Revoked => self.step_windows(decided, key, StepInput::Revoked),
            PersonNews::Profile => {
                self.step_windows(decided, key, StepInput::Moved);
                self.follow_preference(decided, key);
            }
            PersonNews::ByHand { act, plan, key: of, at } => {
                self.step_windows(
                    decided,
                    key,
                    StepInput::ByHand { act: *act, plan, key: of.as_deref(), at: *at },
                );
            }
        }
    }

    /// The one that a person has.
    fn catalogue_of(&self, (_, person): &PersonKey) -> &Catalogue {
        if fault::is_planted(PlantedFault::CanaryForgotten) {
            return self.catalogue;
        }
        self.catalogue.for_person(person)
    }

    /// The plans under which a person is told these kinds.
    fn plans_of(&self, key: &PersonKey, kinds: &[Kind]) -> Vec<PlanName> {
        let (reader, catalogue) = (self.facts.reader(key), self.catalogue_of(key));
        let kinds = kinds.iter().filter_map(|kind| catalogue.kinds.get(kind));
        let plans = kinds.flat_map(|kind| catalogue.plans_of_reader(kind, &reader));
        let plans: BTreeSet<&PlanName> = plans.map(|plan| &plan.name).collect();
        if plans.is_empty() {
            // A kind that is gone still has rows in the day: on each channel the closing of any plan ends them.
            return catalogue.plans.one_per_channel().map(|plan| plan.name.clone()).collect();
        }
        plans.into_iter().cloned().collect()
    }

    /// The windows that such rows belong to: of plans that tell several apart those that were named, of the others
    /// the one there is.
    fn wanted_windows(&self, key: &PersonKey, kinds: &[Kind], named: &[WindowTarget]) -> Vec<WindowTarget> {
        let plans = self.plans_of(key, kinds);
        let wanted = plans.into_iter().flat_map(|plan| {
            let mut of_plan: Vec<WindowTarget> =
                named.iter().filter(|one| one.plan == plan).cloned().collect();
            if of_plan.is_empty() {
                of_plan.push(single_window(plan));
            }
            of_plan
        });
        wanted.collect()
    }

    /// Entries gathered under one plan may belong to another that the person prefers by now. They are told when that
    /// one closes, instead of waiting for the old one, which may be a week away.
    fn follow_preference(&self, decided: &mut DigestDecision, key: &PersonKey) {
        let Some(record) = self.record(decided, key) else { return };
        let (reader, catalogue) = (self.facts.reader(key), self.catalogue_of(key));
        let mut others = OtherWindowDays::new();
        for window in &record.windows {
            for kind in catalogue.kinds.values().filter(|kind| kind.plans.contains(&window.plan)) {
                let plans = catalogue.plans_of_reader(kind, &reader);
                if plans.iter().all(|plan| plan.name != window.plan) {
                    // Of a plan with several windows none is named here: its closing finds which are meant.
                    let names = plans.iter().map(|plan| &plan.name);
                    let days = |name: &PlanName| {
                        let wanted = single_window(name.clone());
                        window.days.iter().map(move |day| (wanted.clone(), *day)).collect::<Vec<_>>()
                    };
                    others.extend(names.flat_map(days));
                }
            }
        }
        for (wanted, day) in others {
            self.hand_on(decided, key, wanted, day);
        }
    }

    /// Closes what is due of one person, and then issues again what waited.
    fn close_due_windows(&self, decided: &mut DigestDecision, key: &PersonKey) {
        let Some(record) = self.record(decided, key).cloned() else { return };
        // In an order of their own: that in which they lie in the record depends on what was announced last, which is a hint.
        let mut due: Vec<&Window> =
            record.windows.iter().filter(|window| self.may_close(key, window)).collect();
        due.sort_by_key(|window| (window.due, &window.plan, &window.key));
        for window in due {
            // Folded with what this very turn already owes, for two plans may share a channel.
            let Some(record) = self.record(decided, key) else { return };
            // It may have been told with another one.
            if !record.windows.contains(window) {
                continue;
            }
            let live = self.facts.live.get(key).copied();
            let catalogue = self.catalogue_of(key);
            let plan = catalogue.plans.by_name.get(&window.plan);
            let joined = plan.map_or_else(Vec::new, |plan| self.joined_windows(key, window, record, plan));
            let open: Vec<&Window> = joined.iter().chain([window]).collect();
            let FoundCandidates { candidates, others, put_off } = match plan {
                Some(plan) => self.facts.candidates(key, &open, record, plan, (catalogue, self.now)),
                None => FoundCandidates::default(),
            };
            let due = StepInput::Due { window, joined: &joined, candidates, put_off, live };
            self.step_windows(decided, key, due);
            for (wanted, day) in others {
                self.hand_on(decided, key, wanted, day);
            }
            decided.closed += 1;
        }
        // After the windows: while they close, nothing that waited counts as told.
        let badge = record.badge.iter().filter_map(|badge| badge.due);
        let back = record.put_off.values().copied();
        if record.waiting.iter().map(|waiting| waiting.at).chain(badge).chain(back).any(|at| at <= self.now) {
            self.step_windows(decided, key, StepInput::Again);
        }
        // Also when nothing was closed: a spent record is written once more, as a tombstone.
        let record = self.record(decided, key).cloned().unwrap_or_default();
        decided.records.insert(key.clone(), record);
    }

    /// Whether a window is due, and nobody has paused its plan.
    fn may_close(&self, (tenant, _): &PersonKey, window: &Window) -> bool {
        window.due <= self.closing && !self.paused.has(tenant, &window.plan)
    }

    /// Whether what was closed of a person came to nothing at all.
    fn note_idle(&self, decided: &mut DigestDecision, key: &PersonKey) {
        let before = self.facts.records.get(key).map_or(&[][..], |record| &record.windows);
        let Some(closed) = before.iter().find(|window| self.may_close(key, window)) else { return };
        let (tenant, person) = key;
        let tells = decided.ready.iter().any(|ready| ready.tenant == *tenant && ready.person == *person);
        let owes = self.record(decided, key).is_some_and(|record| !record.owed.is_empty());
        if !tells && !owes {
            decided.idle.insert(key.clone(), closed.plan.clone());
        }
    }

    /// The windows that are told with one that is due. What opened in this very turn is not among them, for nobody
    /// has read its days.
    fn joined_windows(
        &self,
        key: &PersonKey,
        due: &Window,
        record: &PersonRecord,
        plan: &Plan,
    ) -> Vec<Window> {
        let before = self.facts.records.get(key).map_or(&[][..], |record| &record.windows);
        let is_read = |window: &&Window| before.contains(window) && *window != due;
        // What somebody acted on is told, or ended, by itself.
        let together = plan.together && !due.is_acted_on();
        let same = record.windows.iter().filter(|window| together && window.plan == plan.name);
        let same = same.filter(|window| !window.is_acted_on());
        same.filter(is_read).cloned().collect()
    }

    /// A day holds something for a plan that has no window for it: its kind was told under another one
    /// before, or the person preferred another one.
    fn hand_on(&self, decided: &mut DigestDecision, key: &PersonKey, wanted: WindowTarget, day: Day) {
        let open = |record: &PersonRecord| {
            let same = |window: &&Window| window.plan == wanted.plan && window.key == wanted.key;
            record.windows.iter().filter(same).any(|window| window.days.contains(&day))
        };
        if !self.record(decided, key).is_some_and(open) {
            self.step_windows(decided, key, StepInput::Announced { day, rows: 0, wanted: &[wanted] });
        }
    }

    fn record<'b>(&'b self, decided: &'b DigestDecision, key: &PersonKey) -> Option<&'b PersonRecord> {
        decided.records.get(key).or_else(|| self.facts.records.get(key))
    }

    fn step_windows(&self, decided: &mut DigestDecision, key: &PersonKey, input: StepInput<'_>) {
        let unknown = PersonRecord::default();
        let record = self.record(decided, key).unwrap_or(&unknown);
        let profile = &self.facts.person_states(key).profile;
        let zone = self.zones.get_or_utc(profile.text(profile::ZONE));
        let quiet = profile.text(profile::QUIET).and_then(LocalHours::parse);
        let quiet_until = profile.text(profile::QUIET_UNTIL).and_then(Day::parse);
        let quiet_until = quiet_until.and_then(|Day(date)| start_of_date(date, &zone));
        let hour = profile.text(profile::HOUR).and_then(LocalTime::parse);
        let (tenant, person): (&Tenant, &Person) = (&key.0, &key.1);
        let plans = &self.catalogue_of(key).plans;
        let (now, zones) = (self.now, self.zones);
        let at = StepContext { tenant, person, now, zone: &zone, zones, plans, quiet, quiet_until, hour };
        let (mut record, StepEffects { ready, full, shut }) = window::decide_step(record, input, &at);
        decided.ready.extend(ready);
        decided.full.extend(full.map(|day| (key.clone(), day)));
        decided.shut.extend(shut.map(|day| (key.clone(), day)));
        if fault::is_planted(PlantedFault::OwedForgotten) {
            record.owed.clear();
        }
        decided.records.insert(key.clone(), record);
    }
}

/// The one window of a plan that does not tell several apart.
fn single_window(plan: PlanName) -> WindowTarget {
    WindowTarget { plan, key: "".into(), aim: None }
}

fn is_of_a_report(owed: &OwedMark) -> bool {
    matches!(owed.mark.what, MarkAction::Returned { .. } | MarkAction::Left { .. })
}
