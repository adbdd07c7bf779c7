//! Law 8: no entry vanishes. At any time an entry has a fate, or waits in a window that is open for its day;
//! and before its day expires it has a fate for good, told or not, with the reason. Told is told once, whatever
//! plan the person prefers, whatever is released by hand, and where a plan says a subject once, so is that.

use std::collections::{BTreeMap, BTreeSet};

use digest::{memory::PersonKey, read::PersonNews};
use model::{
    Day, DayRow, Entry, EntryKey, Fate, Kind, Mark, MarkAction, ReadyId, SubjectRef, UtcMillis,
    delivery::{Delivery, DeliveryOutcome},
    limits::{DAY_MS, ID_BYTES_MAX},
    person::{Act, profile},
    ready::Ready,
};

use crate::{
    catalogue_text::{CHANGED, CHOSEN, CatalogueKnobs, PLANS, USUAL, catalogue_of},
    digest_simulation::DigestSimulation,
    names::{HOUR_MS, LIFE, a_day, entry_key, person, plan, reason, subject, tenant},
    outcomes::{draw_outcome, report_deferred, report_returned, report_sent, told_entries},
    seeds::{LawDice, run_schedules},
};

#[test]
fn law_8_no_entry_vanishes() {
    run_schedules(60, |dice| OwnerLife::new(dice).run());
    // Long enough a memory, and room enough, that something could be said again.
    run_schedules(40, |dice| {
        let knobs =
            CatalogueKnobs { once_per: "subject", look_back_days: 9, most: 20, ..CatalogueKnobs::default() };
        OwnerLife::with_knobs(dice, knobs).run();
    });
    // All of a kind is one thing, however much it is.
    run_schedules(30, |mut dice| {
        let is_crowded = dice.once_in_a_hundred(50);
        let knobs = CatalogueKnobs { look_back_days: 9, most: 2, bundles: true, ..CatalogueKnobs::default() };
        OwnerLife { is_crowded, ..OwnerLife::with_knobs(dice, knobs) }.run();
    });
    // So much that the record has no room for all that waits at the sender.
    run_schedules(16, |dice| {
        let knobs = CatalogueKnobs { look_back_days: 19, most: 20, ..CatalogueKnobs::default() };
        OwnerLife { is_crowded: true, ..OwnerLife::with_knobs(dice, knobs) }.run();
    });
}

const ZONES: [&str; 4] = ["Europe/Berlin", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu"];
const BUSY_DAYS: i32 = 6;

/// Some persons under one owner, from the first event until the last day has expired.
struct OwnerLife {
    dice: LawDice,
    knobs: CatalogueKnobs,
    /// Whether the catalogue changes now and then.
    changes: bool,
    /// Names are long, a lot happens at once more often, and the sender is slow.
    is_crowded: bool,
    desk: DigestSimulation,
    persons: Vec<PersonKey>,
    /// Stored, but not announced yet.
    unannounced: Vec<(PersonKey, Kind, EntryKey)>,
    /// At the sender.
    sending: Vec<Ready>,
    events: usize,
    /// What became of Readys for good.
    journal: BTreeMap<ReadyId, Delivery>,
    /// How often each entry was sent for certain.
    sent: BTreeMap<(PersonKey, EntryKey), usize>,
    /// Which Readys told a subject for certain, by their place in the order in which they were decided, and
    /// the days of the entries that told it.
    said: BTreeMap<(PersonKey, SubjectRef), Vec<(usize, Day)>>,
}

impl OwnerLife {
    fn new(mut dice: LawDice) -> Self {
        let most = 1 + dice.below(6);
        let knobs = CatalogueKnobs {
            most,
            // What wants more than there is room for is refused.
            at_least: (1 + dice.below(3)).min(most),
            once_per: dice.pick(&["event", "mail", "subject"]),
            morning: dice.pick(&["09:00", "00:00", "23:59"]),
            morning_on: dice.pick(&["", "", "[sun, wed]"]),
            morning_zone: dice.pick(&["person", "person", "America/New_York"]),
            look_back_days: 1 + dice.below(19),
            unsure: "later",
            bundles: false,
        };
        Self::with_knobs(dice, knobs)
    }

    fn with_knobs(mut dice: LawDice, knobs: CatalogueKnobs) -> Self {
        let changes = dice.once_in_a_hundred(40);
        let told = dice.pick(&[USUAL, CHOSEN]);
        let mut desk = DigestSimulation::new(catalogue_of(&knobs, told), a_day().start());
        let persons = (0..2).map(|n| {
            let zone = dice.pick(&ZONES);
            desk.add_person(&tenant("main"), &person(&format!("p{n}")), zone)
        });
        let persons = persons.collect();
        Self {
            dice,
            knobs,
            changes,
            is_crowded: false,
            desk,
            persons,
            unannounced: Vec::new(),
            sending: Vec::new(),
            journal: BTreeMap::new(),
            events: 0,
            sent: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    fn run(mut self) {
        let first = a_day();
        let quiet_from = first.plus(BUSY_DAYS);
        while self.desk.now < LIFE.expiry(first.plus(BUSY_DAYS)) {
            let busy = Day::from_instant(self.desk.now) < quiet_from;
            if busy {
                for _ in 0..self.dice.below(4) {
                    self.draw_happening();
                }
            }
            let hours = if busy { 1 + self.dice.below(12) } else { 12 };
            let until = self.desk.now.plus(i64::try_from(hours).unwrap() * HOUR_MS);
            self.pass_to(until, busy);
        }
    }

    /// Time passes, but stops before each day's end to look at what became of it.
    fn pass_to(&mut self, until: UtcMillis, busy: bool) {
        let days: BTreeSet<Day> = self.desk.days.keys().map(|key| key.day).collect();
        let ends = days.into_iter().map(|day| LIFE.expiry(day).plus(-1));
        let mut stops: Vec<UtcMillis> = ends.filter(|end| *end > self.desk.now && *end < until).collect();
        stops.push(until);
        for stop in stops {
            let ready = self.desk.pass_to(stop);
            self.sending.extend(ready);
            while !(self.sending.is_empty() || busy && self.dice.once_in_a_hundred(30)) {
                self.send();
            }
            self.announce(!busy);
            self.check_fates();
        }
    }

    fn draw_happening(&mut self) {
        let key = self.dice.pick(&self.persons);
        match self.dice.below(14) {
            12 => self.choose_plan(&key),
            13 => self.act_by_hand(&key),
            0..5 => {
                let many = if self.dice.once_in_a_hundred(if self.is_crowded { 12 } else { 4 }) {
                    150 + self.dice.below(200)
                } else {
                    1
                };
                let about = self.dice.once_in_a_hundred(50);
                for _ in 0..many {
                    self.event(&key, about);
                }
            }
            5 => self.announce(true),
            6 => {
                let number = self.dice.below(self.events + 1);
                let subject = self.work(number);
                let flag = self.dice.once_in_a_hundred(30);
                self.desk.set_public(&key.0, &subject, flag);
            }
            7 => {
                let author = subject(&format!("author:{}", self.dice.below(3)));
                let on = self.dice.once_in_a_hundred(50);
                self.desk.follow(&key, &author, on);
            }
            8 => self.give_feedback(&key),
            9 => {
                let zone = self.dice.pick(&ZONES);
                let value = Some(model::Value::from_text(zone));
                self.desk.set_profile(&key, profile::ZONE, value);
                self.desk.hear(&key, vec![PersonNews::Profile]);
            }
            10 => {
                let off = self.dice.once_in_a_hundred(30);
                let value = Some(model::Value::Flag(off));
                self.desk.set_profile(&key, profile::EMAIL_OFF, value);
            }
            // The catalogue is another from now on: kinds move, plans and kinds go.
            _ if self.changes => {
                let told = self.dice.pick(&CHANGED);
                self.desk.catalogue = catalogue_of(&self.knobs, told);
            }
            _ => self.announce(true),
        }
    }

    fn event(&mut self, key: &PersonKey, public: bool) {
        let late = i32::try_from(self.dice.below(8)).unwrap();
        let day =
            Day::from_instant(self.desk.now).plus(if self.dice.once_in_a_hundred(30) { -late } else { 0 });
        let number = self.events;
        self.events += 1;
        let author = self.dice.below(3);
        let because = reason(self.dice.pick(&["made", "shown", "gone"]), author);
        self.desk.follow(key, &subject(&format!("author:{author}")), true);
        // Often of a work that something has happened to before.
        let work = if self.dice.once_in_a_hundred(40) { self.dice.below(number + 1) } else { number };
        let about = self.work(work);
        self.desk.set_public(&key.0, &about, public);
        let kind = because.kind.clone();
        let entry = Entry {
            key: entry_key(day, number),
            reason: because,
            subject: about,
            actor: None,
            kept: model::KeptFields::new(),
        };
        self.desk.store_entry(key, entry);
        self.unannounced.push((key.clone(), kind, entry_key(day, number)));
    }

    fn work(&self, number: usize) -> SubjectRef {
        let longer = if self.is_crowded { "x".repeat(ID_BYTES_MAX / 2) } else { String::new() };
        subject(&format!("work:{number}{longer}"))
    }

    /// Announcements come sooner or later, some of them twice.
    fn announce(&mut self, all: bool) {
        let mut left = Vec::new();
        for (key, kind, entry) in std::mem::take(&mut self.unannounced) {
            if all || self.dice.once_in_a_hundred(70) {
                let news = self.desk.announcement(entry.day(), &kind);
                let again = self.dice.once_in_a_hundred(20).then(|| news.clone());
                self.desk.hear(&key, [news].into_iter().chain(again).collect());
            } else {
                left.push((key, kind, entry));
            }
        }
        self.unannounced = left;
    }

    /// Another plan is preferred, or none; the digest hears of it now or never.
    fn choose_plan(&mut self, key: &PersonKey) {
        let choice = self.dice.below(PLANS.len() + 1);
        let value = PLANS.get(choice).map(|plan| model::Value::from_text(plan));
        self.desk.set_profile(key, profile::EMAIL_PLAN, value);
        if self.dice.once_in_a_hundred(70) {
            self.desk.hear(key, vec![PersonNews::Profile]);
        }
    }

    /// A window is released or cancelled by hand, now or a while ago; the record may come twice.
    fn act_by_hand(&mut self, key: &PersonKey) {
        let at = self.desk.now.plus(-self.dice.ms(0, 3 * HOUR_MS));
        let act = self.dice.pick(&[Act::Release, Act::Release, Act::Cancel]);
        let news = PersonNews::ByHand { act, plan: plan(self.dice.pick(&PLANS)), key: None, at };
        for _ in 0..1 + self.dice.below(2) {
            self.desk.hear(key, vec![news.clone()]);
            let ready = self.desk.pass_to(self.desk.now.plus(1));
            self.sending.extend(ready);
        }
    }

    fn give_feedback(&mut self, key: &PersonKey) {
        let what = self.dice.pick(&[MarkAction::Read, MarkAction::Cleared]);
        let keys: Vec<EntryKey> = self.desk.fates(key).into_keys().collect();
        if keys.is_empty() {
            return;
        }
        let entry = self.dice.pick(&keys);
        let mark = Mark::new(None, what, vec![entry], self.desk.now);
        let day = digest::facts::day_key(key, entry.day());
        self.desk.days.entry(day).or_default().insert(DayRow::Mark(mark));
    }

    /// What becomes of a Ready, whatever it is; most are sent. What somebody has in hand goes out after its report, and
    /// whoever has the Ready next learns it of the journal.
    fn send(&mut self) {
        let ready = self.sending.remove(self.dice.below(self.sending.len()));
        let now = self.desk.now;
        let delivery = match self.journal.get(&ready.id) {
            Some(ended) => Delivery { attempt: ready.attempt, ..ended.clone() },
            None if self.is_crowded && self.dice.once_in_a_hundred(60) => {
                report_deferred(&mut self.dice, &ready, now)
            }
            None if ready.is_recalled() => report_returned(&ready, now),
            None => draw_outcome(&mut self.dice, &ready, now),
        };
        let goes_out = match &delivery.outcome {
            DeliveryOutcome::Deferred { .. } => self
                .dice
                .once_in_a_hundred(if self.is_crowded { 60 } else { 30 })
                .then(|| report_sent(&ready, now)),
            _ => Some(delivery.clone()),
        };
        if let Some(ended) = goes_out.filter(|_| !self.journal.contains_key(&ready.id)) {
            if matches!(ended.outcome, DeliveryOutcome::Sent { .. }) {
                self.count_sent(&ready, &ended);
            }
            self.journal.insert(ready.id, ended);
        }
        for _ in 0..1 + usize::from(self.dice.once_in_a_hundred(20)) {
            let again = self.desk.report(delivery.clone()).ready;
            self.sending.extend(again);
        }
    }

    fn count_sent(&mut self, ready: &Ready, delivery: &Delivery) {
        let key = (ready.tenant.clone(), ready.person.clone());
        for entry in told_entries(ready, delivery) {
            let times = self.sent.entry((key.clone(), entry)).or_default();
            *times += 1;
            assert_eq!(*times, 1, "{entry:?} of {key:?} was sent again in {ready:?}");
        }
        self.check_said_once(&key, ready, &told_entries(ready, delivery).collect());
    }

    /// What a message says of subjects: where each is said once, no other message within the look-back did.
    fn check_said_once(&mut self, key: &PersonKey, ready: &Ready, told: &BTreeSet<EntryKey>) {
        let place = |ready: &Ready| self.desk.readys.iter().position(|one| one.id == ready.id).unwrap();
        let place = place(ready);
        let look_back = i32::try_from(self.knobs.look_back_days).unwrap();
        for entry in ready.entries.iter().filter(|entry| told.contains(&entry.key)) {
            let said = self.said.entry((key.clone(), entry.subject.clone())).or_default();
            for (other, day) in said.iter().filter(|(other, _)| *other != place) {
                // The one that was decided later looked back on when the other was, as long as its day lived.
                let (earlier, day, later) =
                    if *other < place { (*other, *day, place) } else { (place, entry.key.day(), *other) };
                let (earlier, later) = (self.desk.readys[earlier].due, &self.desk.readys[later]);
                let oldest = Day::from_instant(later.due).plus(-look_back);
                let seen = Day::from_instant(earlier) >= oldest && LIFE.expiry(day) > later.due;
                let once = self.knobs.once_per != "subject" || !seen;
                assert!(once, "{} was said again in {later:?}", entry.subject);
            }
            said.push((place, entry.key.day()));
        }
    }

    /// Every entry has its fate, or a window is open for it; and on the last millisecond of a day the fate
    /// is for good.
    fn check_fates(&self) {
        for key in &self.persons {
            let record = self.desk.record(key);
            let unannounced: BTreeSet<EntryKey> =
                self.unannounced.iter().filter(|(of, ..)| of == key).map(|(_, _, entry)| *entry).collect();
            for (entry, fate) in self.desk.fates(key) {
                if let Fate::Told { ready } = fate {
                    let told = self.desk.readys.iter().any(|one| {
                        one.id == ready && one.person == key.1 && one.keys().any(|told| told == entry)
                    });
                    assert!(told, "{entry:?} of {key:?} counts as told, and {ready:?} does not tell it");
                }
                let left = LIFE.expiry(entry.day()).since(self.desk.now);
                if left <= 0 || unannounced.contains(&entry) || !matches!(fate, Fate::Waiting { .. }) {
                    continue;
                }
                let open: Vec<UtcMillis> = record
                    .windows
                    .iter()
                    .filter(|window| window.days.contains(&entry.day()))
                    .map(|window| window.due)
                    .collect();
                let is_open = !open.is_empty();
                assert!(
                    is_open,
                    "{entry:?} of {key:?} is {fate} and no window is open for its day: {record:?}"
                );
                // A house that was away is late itself: it tells then what is due, one message after the other.
                let is_due = open.iter().any(|due| *due <= self.desk.now);
                let in_time = left > DAY_MS / 2 || is_due;
                assert!(in_time, "{entry:?} of {key:?} is {fate} and its day is about to expire");
            }
        }
    }
}
