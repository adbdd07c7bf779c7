//! A desk: the digest's own decision over rows in memory, without engines and without waiting, so that long
//! stretches of a person's life pass in a millisecond. What the loop and the store do around it is done here
//! by hand, in the order in which they do it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::Catalogue;
use digest::{
    decide::{DigestDecider, DigestDecision},
    facts::{DigestFacts, DigestPersonStates, day_key, days_to_read},
    memory::{PartitionMemory, PersonKey},
    read::PersonNews,
};
use house_facts::pause::PausedPlans;
use model::{
    Channel, Day, DayRow, Entry, EntryKey, EntryReason, Fate, Kind, Person, SubjectRef, Tenant, UtcMillis,
    Value, VersionedState, WorldSnapshot,
    civil_time::ZoneRules,
    delivery::Delivery,
    entry::DayKey,
    fold::{DayView, fold_rows},
    limits::TURN_CLOSINGS_MAX,
    person::{OwedMark, PersonRecord, Window, profile},
    ready::Ready,
};

use crate::names::{LIFE, entry_row};

/// One owner, its persons, their days, and what is known of the world.
pub struct DigestSimulation {
    pub catalogue: Arc<Catalogue>,
    pub zones: ZoneRules,
    pub now: UtcMillis,
    pub memory: PartitionMemory,
    pub days: BTreeMap<DayKey, BTreeSet<DayRow>>,
    pub world: WorldSnapshot,
    pub profiles: BTreeMap<PersonKey, VersionedState>,
    /// Whose app is known to be connected, or not to be.
    pub live: BTreeMap<PersonKey, bool>,
    /// Every Ready there ever was, in order; a deferred one comes again.
    pub readys: Vec<Ready>,
    version: i64,
}

impl DigestSimulation {
    pub fn new(catalogue: Arc<Catalogue>, now: UtcMillis) -> Self {
        Self {
            catalogue,
            zones: ZoneRules::load_bundled(),
            now,
            memory: PartitionMemory::default(),
            days: BTreeMap::new(),
            world: WorldSnapshot::default(),
            profiles: BTreeMap::new(),
            live: BTreeMap::new(),
            readys: Vec::new(),
            version: 0,
        }
    }

    /// Somebody who can be told, in a zone.
    pub fn add_person(&mut self, of: &Tenant, who: &Person, zone: &str) -> PersonKey {
        let key = (of.clone(), who.clone());
        self.set_profile(&key, profile::EMAIL, Some(Value::from_text("somebody@example.com")));
        self.set_profile(&key, profile::ZONE, Some(Value::from_text(zone)));
        key
    }

    pub fn set_profile(&mut self, key: &PersonKey, field: &str, value: Option<Value>) {
        self.version += 1;
        let state = VersionedState::from_values(self.version, [(field, value)]);
        self.profiles.entry(key.clone()).or_default().merge(&state);
    }

    pub fn follow(&mut self, key: &PersonKey, target: &SubjectRef, on: bool) {
        self.world.get_or_insert(&key.0).set_follow(key.1.clone(), target.clone(), on);
    }

    /// Whether a subject may be seen.
    pub fn set_public(&mut self, of: &Tenant, subject: &SubjectRef, flag: bool) {
        let title = Value::from_text(subject.as_str());
        self.set_subject(of, subject, &[("public", Value::Flag(flag)), ("title", title)]);
    }

    /// What is so of a subject from now on.
    pub fn set_subject(&mut self, of: &Tenant, subject: &SubjectRef, fields: &[(&str, Value)]) {
        self.version += 1;
        let fields = fields.iter().map(|(name, value)| (*name, Some(value.clone())));
        let state = VersionedState::from_values(self.version, fields);
        self.world.get_or_insert(of).subjects.entry(subject.clone()).or_default().merge(&state);
    }

    /// An event of the usual sort arrives for a person.
    pub fn add_event(
        &mut self,
        key: &PersonKey,
        day: Day,
        number: usize,
        because: EntryReason,
    ) -> PersonNews {
        match entry_row(day, number, because) {
            DayRow::Entry(entry) => self.store_entry(key, entry),
            DayRow::Mark(_) | DayRow::List(_) => unreachable!("it is an entry"),
        }
    }

    /// An entry is stored. Its announcement is given back.
    pub fn store_entry(&mut self, key: &PersonKey, entry: Entry) -> PersonNews {
        let news = self.announcement(entry.key.day(), &entry.reason.kind);
        let day = entry.key.day();
        self.days.entry(day_key(key, day)).or_default().insert(DayRow::Entry(entry));
        news
    }

    /// The announcement of a row, as `digest::news` reads it.
    pub fn announcement(&self, day: Day, kind: &Kind) -> PersonNews {
        PersonNews::Announced {
            day,
            rows: 1,
            kinds: vec![kind.clone()],
            windows: vec![],
            traces: Default::default(),
        }
    }

    /// The person's days as they stand, with nothing that is only owed.
    pub fn view(&self, key: &PersonKey) -> DayView {
        let own = self.days.iter().filter(|(day, _)| day.tenant == key.0 && day.person == key.1);
        fold_rows(own.flat_map(|(_, rows)| rows))
    }

    pub fn fates(&self, key: &PersonKey) -> BTreeMap<EntryKey, Fate> {
        let record = self.record(key);
        let mut view = self.view(key);
        record.owed_rows().for_each(|row| view.add(&row));
        view.entries().map(|(key, entry)| (key, entry.fate(Channel::Email))).collect()
    }

    pub fn record(&self, key: &PersonKey) -> PersonRecord {
        self.memory.get(key).unwrap().unwrap_or_default()
    }

    /// One turn over news, or over what is due: decided, committed, and what it owes put on the list.
    pub fn turn(&mut self, news: &BTreeMap<PersonKey, Vec<PersonNews>>, closing: bool) -> DigestDecision {
        self.write_owed();
        let due = if closing { self.memory.due_at(self.now, TURN_CLOSINGS_MAX).unwrap() } else { Vec::new() };
        let acknowledged = &self.memory.acknowledged;
        let concerned = || news.keys().chain(&due).chain(acknowledged.iter().map(|(key, _)| key));
        let known = |key: &PersonKey| {
            let profile = self.profiles.get(key).cloned().unwrap_or_default();
            (key.clone(), DigestPersonStates { profile, ..DigestPersonStates::default() })
        };
        let facts = DigestFacts {
            records: self.memory.records(concerned()).unwrap(),
            known: concerned().map(known).collect(),
            days: self.days_of(&due),
            // Lent for the turn: a copy of it would be most of what a turn costs here.
            world: std::mem::take(&mut self.world),
            live: self.live.clone(),
        };
        let (catalogue, zones, now) = (&*self.catalogue, &self.zones, self.now);
        let deciding = DigestDecider {
            facts: &facts,
            acknowledged,
            catalogue,
            zones,
            paused: &PausedPlans::default(),
            now,
            closing: now,
        };
        let mut decided = deciding.decide(news, &due);
        self.world = facts.world;
        for ((key, named), list) in &decided.lists {
            self.days.entry(day_key(key, named.day)).or_default().insert(DayRow::List(list.clone()));
        }
        // As the sender reads it.
        for ready in &mut decided.ready {
            let view = self.view(&(ready.tenant.clone(), ready.person.clone()));
            *ready = ready.clone().with_lists(&view).unwrap();
        }
        self.readys.extend(decided.ready.iter().cloned());
        for (key, owed) in &decided.marks {
            self.write(key, owed);
        }
        self.memory.acknowledged.clear();
        for (key, record) in &decided.records {
            self.memory.unwritten.extend(record.owed.iter().map(|owed| (key.clone(), owed.clone())));
            self.memory.put(key, (!record.is_spent(self.now)).then_some(record)).unwrap();
        }
        decided
    }

    /// The rows of the days that closings of these persons read: of windows that are due, and of those that are told
    /// with them.
    fn days_of(&self, due: &[PersonKey]) -> BTreeMap<DayKey, Vec<DayRow>> {
        let records: Vec<_> = due.iter().map(|key| (key, self.record(key))).collect();
        let plans_of = |key: &PersonKey| &self.catalogue.for_person(&key.1).plans;
        let is_due = |window: &Window| window.due <= self.now;
        let closes = |key: &PersonKey, record: &PersonRecord, window: &Window| {
            let together = plans_of(key).by_name.get(&window.plan).is_some_and(|plan| plan.together);
            is_due(window)
                || together && record.windows.iter().any(|due| due.plan == window.plan && is_due(due))
        };
        let windows = records.iter().flat_map(|(key, record)| {
            let closing = record.windows.iter().filter(|window| closes(key, record, window));
            closing.map(move |window| (*key, window))
        });
        let days = windows.flat_map(|(key, window)| {
            days_to_read(window, plans_of(key), self.now).into_iter().map(|day| day_key(key, day))
        });
        let alive = days.filter(|key| LIFE.expiry(key.day) > self.now);
        let rows = |key: &DayKey| self.days.get(key).into_iter().flatten().cloned().collect();
        alive.map(|key| (key.clone(), rows(&key))).collect()
    }

    pub fn hear(&mut self, key: &PersonKey, news: Vec<PersonNews>) -> DigestDecision {
        self.turn(&BTreeMap::from([(key.clone(), news)]), false)
    }

    pub fn report(&mut self, delivery: Delivery) -> DigestDecision {
        let key = (delivery.tenant.clone(), delivery.person.clone());
        self.hear(&key, vec![PersonNews::Delivered(Box::new(delivery))])
    }

    /// The marks that are owed reach the store.
    pub fn write_owed(&mut self) {
        for (key, owed) in std::mem::take(&mut self.memory.unwritten) {
            self.write(&key, &owed);
            self.memory.acknowledged.push((key, owed));
        }
    }

    fn write(&mut self, key: &PersonKey, owed: &OwedMark) {
        if LIFE.expiry(owed.day) > self.now {
            let rows = self.days.entry(day_key(key, owed.day)).or_default();
            rows.insert(DayRow::Mark(owed.mark.clone()));
        }
    }

    /// Time passes up to an instant; on the way everything that is due is done as soon as it is.
    pub fn pass_to(&mut self, until: UtcMillis) -> Vec<Ready> {
        let before = self.readys.len();
        let mut turns = 0;
        while let Some(due) = self.memory.next_due().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.write_owed();
            self.turn(&BTreeMap::new(), true);
            turns += 1;
            assert!(turns < 5_000, "turns without end at {}", self.now);
        }
        self.write_owed();
        self.now = self.now.max(until);
        self.readys[before..].to_vec()
    }
}
