//! Law 8: what somebody puts off is told neither before it comes back nor never: once it is back the next message of its
//! plan tells it, also if one told it before.

use std::collections::BTreeMap;

use digest::{facts::day_key, memory::PersonKey, read::PersonNews};
use model::{
    Day, DayRow, EntryKey, Mark, MarkAction, UtcMillis,
    limits::{DAY_MS, LAST_CALL_MS},
};

use crate::{
    catalogue_text::{CatalogueKnobs, USUAL, catalogue_of},
    digest_simulation::DigestSimulation,
    names::{HOUR_MS, LIFE, a_day, entry_key, person, reason, subject, tenant},
    outcomes::report_sent,
    seeds::{LawDice, run_schedules},
};

#[test]
fn law_8_what_is_put_off_comes_back() {
    run_schedules(120, |dice| PutOffLife::new(dice).run());
}

/// The plan tells each day at nine.
const PERIOD_MS: i64 = DAY_MS + HOUR_MS;

/// A person who puts things off, again and again.
struct PutOffLife {
    dice: LawDice,
    desk: DigestSimulation,
    person: PersonKey,
    entries: Vec<EntryKey>,
    /// When each was put off last, and until when.
    put_off: BTreeMap<EntryKey, (UtcMillis, UtcMillis)>,
    /// When it was told.
    told: BTreeMap<EntryKey, Vec<UtcMillis>>,
}

impl PutOffLife {
    fn new(dice: LawDice) -> Self {
        let knobs = CatalogueKnobs { most: 60, look_back_days: 19, ..CatalogueKnobs::default() };
        let mut desk = DigestSimulation::new(catalogue_of(&knobs, USUAL), a_day().start());
        let person = desk.add_person(&tenant("main"), &person("ann"), "UTC");
        let (put_off, told) = (BTreeMap::new(), BTreeMap::new());
        Self { dice, desk, person, entries: Vec::new(), put_off, told }
    }

    fn run(mut self) {
        for _ in 0..12 {
            match self.dice.below(3) {
                0 => self.add_entry(),
                _ => self.put_off_entry(),
            }
            let hours = i64::try_from(self.dice.below(18)).unwrap();
            self.pass_to(self.desk.now.plus(hours * HOUR_MS));
        }
        let backs = self.put_off.values().map(|(_, back)| *back);
        let last = backs.chain([self.desk.now]).max().unwrap();
        self.pass_to(last.plus(PERIOD_MS));
        for entry in &self.entries {
            let told = self.told.get(entry).map_or(&[][..], Vec::as_slice);
            let Some((_, back)) = self.put_off.get(entry) else {
                assert_eq!(told.len(), 1, "{entry} was told {told:?}");
                continue;
            };
            let after: Vec<_> = told.iter().filter(|at| *at >= back).collect();
            assert_eq!(after.len(), 1, "{entry}, back at {back}, was told {told:?}");
            assert!(*after[0] <= back.plus(PERIOD_MS), "{entry}, back at {back}, was told {told:?}");
        }
    }

    fn add_entry(&mut self) {
        let number = self.entries.len();
        let (day, because) = (Day::from_instant(self.desk.now), reason("made", 0));
        self.desk.follow(&self.person, &subject("author:0"), true);
        self.desk.set_public(&self.person.0, &subject(&format!("work:{number}")), true);
        let news = self.desk.add_event(&self.person, day, number, because);
        self.entries.push(entry_key(day, number));
        self.desk.hear(&self.person.clone(), vec![news]);
    }

    /// Until some hour that its day still lives to see.
    fn put_off_entry(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        let (entry, now) = (self.dice.pick(&self.entries), self.desk.now);
        let last = LIFE.expiry(entry.day()).plus(-LAST_CALL_MS - 2 * PERIOD_MS);
        let until = now.plus(self.dice.ms(0, 4 * DAY_MS)).min(last);
        let mark = Mark::new(None, MarkAction::Snoozed(until), vec![entry], now);
        self.desk.days.entry(day_key(&self.person, entry.day())).or_default().insert(DayRow::Mark(mark));
        self.desk.hear(&self.person.clone(), vec![PersonNews::PutOff { back: vec![(entry.day(), until)] }]);
        // Of one instant the longest counts.
        let same = self.put_off.get(&entry).filter(|(at, _)| *at == now).map(|(_, until)| *until);
        self.put_off.insert(entry, (now, until.max(same.unwrap_or(until))));
    }

    fn pass_to(&mut self, until: UtcMillis) {
        for ready in self.desk.pass_to(until) {
            for key in ready.keys() {
                if let Some((at, back)) = self.put_off.get(&key) {
                    let is_away = ready.due > *at && ready.due < *back;
                    assert!(!is_away, "{key}, put off at {at} until {back}, was told at {}", ready.due);
                }
                self.told.entry(key).or_default().push(ready.due);
            }
            self.desk.report(report_sent(&ready, self.desk.now));
        }
    }
}
