//! A person's life under a drawn catalogue: five busy days of a script and the quiet ones after them, until the last day
//! has expired, on a desk, with a sender that reports whatever one may report. An oracle looks on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::{Catalogue, windows::WindowEntry};
use digest::{
    decide::DigestDecision,
    facts::day_key,
    memory::{PartitionMemory, PersonKey},
    read::PersonNews,
};
use model::{
    AudienceMatch, DayRow, Entry, EntryKey, EntryReason, EventKey, Mark, MarkAction, PlanName, ReadyId,
    SubjectRef, UtcMillis, Value,
    delivery::{Delivery, DeliveryOutcome},
    device::{self, DevicePlatform},
    hook::Hook,
    limits::RECORD_BYTES_MAX,
    person::PersonRecord,
    ready::Ready,
};

use super::{
    oracle::{BrokenLaw, PlanOracle},
    script::{ScriptEvent, ScriptHappening, ScriptStep, script_end},
};
use crate::{
    digest_simulation::DigestSimulation,
    names::{HOUR_MS, LIFE, a_day, kind, person, subject, tenant},
    outcomes::{draw_outcome, report_returned, report_sent},
    seeds::LawDice,
};

/// Who lives it, and how chance falls.
#[derive(Clone, Debug)]
pub struct LifeTrial {
    pub steps: Vec<ScriptStep>,
    pub home: &'static str,
    /// What the sender's luck is made of.
    pub luck: u64,
}

/// What must not matter: how records are cut into turns, and whether the process dies between them.
#[derive(Clone, Copy, Debug)]
pub struct TurnCutting {
    /// What comes at one instant comes in one turn.
    pub at_once: bool,
    /// Every so many turns the memory is lost and read again from what was written.
    pub restarts: usize,
}

/// One message as it was decided.
#[derive(Clone, PartialEq, Debug)]
pub struct DecidedMessage {
    pub at: UtcMillis,
    pub ready: Ready,
}

/// Something of the house's own that comes later.
enum LaterHappening {
    Announced(ScriptEvent),
    /// The sender has it in hand.
    Sends(Box<Ready>),
    Reports(Box<Delivery>),
    Happens(ScriptHappening),
}

/// Turns within a minute, while nothing comes, beside those that each open window may want.
const TURNS_A_MINUTE: usize = 20;
const TURNS_A_WINDOW: usize = 6;
const LOOK_MS: i64 = 24 * HOUR_MS;

pub struct RandomLife<'a> {
    trial: &'a LifeTrial,
    way: TurnCutting,
    desk: DigestSimulation,
    key: PersonKey,
    later: BTreeMap<(UtcMillis, usize), LaterHappening>,
    number: usize,
    oracle: PlanOracle,
    /// What became of Readys for good.
    journal: BTreeMap<ReadyId, Delivery>,
    /// The record as the topic has it.
    written: PersonRecord,
    turns: usize,
    /// The closings of the last minute, while nothing came.
    lately: Vec<UtcMillis>,
    tells: bool,
    pub messages: Vec<DecidedMessage>,
    pub story: Vec<String>,
}

impl<'a> RandomLife<'a> {
    pub fn new(catalogue: Arc<Catalogue>, trial: &'a LifeTrial, way: TurnCutting) -> Self {
        let begin = a_day().start();
        let mut desk = DigestSimulation::new(catalogue.clone(), begin);
        let key = desk.add_person(&tenant("main"), &person("ann"), trial.home);
        desk.set_profile(
            &key,
            &device::device_field("d"),
            Some(device::device_value(DevicePlatform::Android, "token")),
        );
        desk.set_profile(&key, Hook::Chat.name(), Some(Value::from_text("https://chat.example.com/x")));
        let mut life = Self {
            trial,
            way,
            desk,
            key: key.clone(),
            later: BTreeMap::new(),
            number: 0,
            oracle: PlanOracle::new(Arc::new(catalogue.for_person(&key.1).clone())),
            journal: BTreeMap::new(),
            written: PersonRecord::default(),
            turns: 0,
            lately: Vec::new(),
            tells: false,
            messages: Vec::new(),
            story: Vec::new(),
        };
        for author in 0..2 {
            life.apply_happening(&ScriptHappening::Follow { author, on: true });
        }
        for step in &trial.steps {
            life.put(step.at, LaterHappening::Happens(step.what.clone()));
        }
        life
    }

    /// The one that the person has.
    fn catalogue(&self) -> &Catalogue {
        self.desk.catalogue.for_person(&self.key.1)
    }

    fn put(&mut self, at: UtcMillis, what: LaterHappening) {
        self.number += 1;
        self.later.insert((at, self.number), what);
    }

    /// From the first day to the last.
    pub fn run(&mut self) -> Result<(), BrokenLaw> {
        let (mut look, end) = (self.desk.now.plus(LOOK_MS), script_end());
        let mut ends: BTreeSet<UtcMillis> = BTreeSet::new();
        while self.desk.now < end {
            ends.extend(self.desk.days.keys().map(|key| LIFE.expiry(key.day).plus(-1)));
            ends.retain(|end| *end > self.desk.now);
            let comes = self.later.first_key_value().map(|((at, _), _)| *at);
            let due = self.desk.memory.next_due();
            let stop = ends.first().copied().into_iter().chain([look, end]).min().unwrap_or(end);
            let next = comes.into_iter().chain(due).min().unwrap_or(end).max(self.desk.now);
            if next > stop {
                self.desk.now = stop;
                self.desk.write_owed();
                self.check_fates()?;
                look = if stop == look { look.plus(LOOK_MS) } else { look };
                continue;
            }
            self.desk.now = next;
            if comes.is_some_and(|at| at <= next) {
                self.hear_due()?;
            } else {
                self.close()?;
            }
        }
        Ok(())
    }

    /// Everything of this instant, in one turn or one by one.
    fn hear_due(&mut self) -> Result<(), BrokenLaw> {
        let mut news = Vec::new();
        while let Some(first) = self.later.first_entry() {
            if first.key().0 > self.desk.now {
                break;
            }
            let heard = match first.remove() {
                LaterHappening::Happens(what) => self.apply_happening(&what),
                LaterHappening::Announced(event) => Some(self.announce_event(&event)),
                LaterHappening::Sends(ready) => {
                    self.send(&ready)?;
                    None
                }
                LaterHappening::Reports(delivery) => {
                    self.oracle.note_report(&delivery);
                    Some(PersonNews::Delivered(delivery))
                }
            };
            let Some(heard) = heard else { continue };
            if self.way.at_once {
                news.push(heard);
            } else {
                self.hear(vec![heard])?;
            }
        }
        if news.is_empty() { Ok(()) } else { self.hear(news) }
    }

    fn hear(&mut self, news: Vec<PersonNews>) -> Result<(), BrokenLaw> {
        self.lately.clear();
        let key = self.key.clone();
        let decided = self.desk.hear(&key, news);
        self.apply_decided(&decided)
    }

    fn close(&mut self) -> Result<(), BrokenLaw> {
        let now = self.desk.now;
        let decided = self.desk.turn(&BTreeMap::new(), true);
        self.lately.retain(|at| at.plus(60_000) > now);
        self.lately.push(now);
        if self.lately.len() > TURNS_A_MINUTE {
            let open = self.desk.record(&self.key).windows;
            if self.lately.len() > TURNS_A_MINUTE + TURNS_A_WINDOW * open.len() {
                return Err(
                    self.broken_law(format!("turns without end though nothing comes; open are {open:?}"))
                );
            }
        }
        self.apply_decided(&decided)
    }

    /// What a turn came to.
    fn apply_decided(&mut self, decided: &DigestDecision) -> Result<(), BrokenLaw> {
        if let Some(record) = decided.records.get(&self.key) {
            if record.weight() > RECORD_BYTES_MAX {
                let bytes = wire::window::encode(&self.key.0, &self.key.1, record).unwrap().len();
                if bytes > RECORD_BYTES_MAX {
                    return Err(self.broken_law(format!("a record of {bytes} bytes: {record:?}")));
                }
            }
            if !decided.hints.contains(&self.key) {
                self.written = record.clone();
            }
        }
        for ready in &decided.ready {
            self.take_ready(ready)?;
        }
        self.turns += 1;
        if self.way.restarts > 0 && self.turns.is_multiple_of(self.way.restarts) {
            self.restart();
        }
        Ok(())
    }

    /// The process dies, and another one reads what was written.
    fn restart(&mut self) {
        let bytes = wire::window::encode(&self.key.0, &self.key.1, &self.written).unwrap();
        let (.., record) = wire::window::decode(&bytes).unwrap();
        let mut memory = PartitionMemory::default();
        if !record.is_spent(self.desk.now) {
            memory.unwritten.extend(record.owed.iter().map(|owed| (self.key.clone(), owed.clone())));
            memory.put(&self.key, Some(&record)).unwrap();
        }
        self.desk.memory = memory;
    }

    fn take_ready(&mut self, ready: &Ready) -> Result<(), BrokenLaw> {
        let now = self.desk.now;
        if ready.attempt == 0 {
            self.add_to_story(|| {
                format!("{} tells {:?} by {}", ready_name(ready), told_works(ready), ready.channel)
            });
            let profile = &self.desk.profiles[&self.key];
            let live = self.desk.live.get(&self.key).copied();
            let world = super::oracle::TellingMoment { now, profile, live, zones: &self.desk.zones };
            if let Err(why) = self.oracle.check_told(ready, &world) {
                return Err(self.broken_law(format!("{}: {why}", ready_name(ready))));
            }
            self.messages.push(DecidedMessage { at: now, ready: ready.clone() });
        }
        let wait = self.luck(ready, "wait").pick(&[0, 200, 3_000, 3_000, 60_000, 2 * HOUR_MS]);
        self.put(now.plus(wait), LaterHappening::Sends(Box::new(ready.clone())));
        Ok(())
    }

    /// What becomes of a Ready, which depends on what it tells and on nothing else.
    fn send(&mut self, ready: &Ready) -> Result<(), BrokenLaw> {
        let now = self.desk.now;
        let mut luck = self.luck(ready, "sends");
        let delivery = match self.journal.get(&ready.id) {
            Some(ended) => Delivery { attempt: ready.attempt, ..ended.clone() },
            None if ready.is_recalled() => report_returned(ready, now),
            None => draw_outcome(&mut luck, ready, now),
        };
        let goes_out = match &delivery.outcome {
            DeliveryOutcome::Deferred { .. } => luck.once_in_a_hundred(30).then(|| report_sent(ready, now)),
            _ => Some(delivery.clone()),
        };
        if let Some(ended) = goes_out.filter(|_| !self.journal.contains_key(&ready.id)) {
            if let Err(why) = self.oracle.check_sent(ready, &ended) {
                return Err(self.broken_law(format!("{}: {why}", ready_name(ready))));
            }
            self.journal.insert(ready.id, ended);
        }
        self.add_to_story(|| {
            format!("{} of {:?}: {}", ready_name(ready), told_works(ready), describe_outcome(&delivery))
        });
        for _ in 0..1 + usize::from(luck.once_in_a_hundred(20)) {
            let wait = luck.pick(&[0, 0, 1_000, 20_000]);
            self.put(now.plus(wait), LaterHappening::Reports(Box::new(delivery.clone())));
        }
        Ok(())
    }

    fn luck(&self, ready: &Ready, what: &str) -> LawDice {
        let keys: Vec<u8> = ready.entries.iter().flat_map(|entry| entry.key.to_bytes()).collect();
        let text = format!("{} {what} {} {} {keys:?}", self.trial.luck, ready.plan, ready.attempt);
        let EventKey(hash) = EventKey::from_source_id(&self.key.0, "luck", &text);
        LawDice::new(u64::from_be_bytes(hash[..8].try_into().unwrap()))
    }

    /// Something comes from outside; what the digest hears of it.
    fn apply_happening(&mut self, what: &ScriptHappening) -> Option<PersonNews> {
        if !matches!(what, ScriptHappening::Follow { .. }) || self.desk.now > a_day().start() {
            self.add_to_story(|| format!("{what:?}"));
        }
        let (now, key) = (self.desk.now, self.key.clone());
        self.oracle.note_happening(what, now);
        match what {
            ScriptHappening::Event(event) => self.store_event(event),
            ScriptHappening::Public { work, flag } => self.set_work(*work, &[("public", Value::Flag(*flag))]),
            ScriptHappening::Starts { work, at } => self.set_work(*work, &[("starts", Value::Time(*at))]),
            ScriptHappening::Follow { author, on } => {
                self.desk.follow(&key, &subject(&format!("author:{author}")), *on);
            }
            ScriptHappening::Seen { event, cleared } => {
                let what = if *cleared { MarkAction::Cleared } else { MarkAction::Read };
                let entry =
                    self.oracle.entries.keys().find(|entry| self.oracle.entries[entry].number == *event);
                let entry = *entry?;
                let mark = Mark::new(None, what, vec![entry], now);
                self.desk.days.entry(day_key(&key, entry.day())).or_default().insert(DayRow::Mark(mark));
                return Some(PersonNews::NumberChanged);
            }
            ScriptHappening::Profile { field, value } => {
                self.desk.set_profile(&key, field, value.map(Value::from_text));
                return Some(PersonNews::Profile);
            }
            ScriptHappening::Off { channel, off } => {
                self.desk.set_profile(&key, channel.off(), Some(Value::Flag(*off)));
                return Some(PersonNews::Profile);
            }
            ScriptHappening::Prefers { plan } => {
                let plan = self.plan(*plan)?;
                let channel = self.catalogue().plans.by_name[&plan].channel;
                self.desk.set_profile(&key, channel.plan(), Some(Value::from_text(plan.as_str())));
                return Some(PersonNews::Profile);
            }
            ScriptHappening::Visit { surface } => {
                return Some(PersonNews::Seen { surface: (*surface).into(), at: now });
            }
            ScriptHappening::Connected { on } => {
                self.desk.live.insert(key, *on);
            }
            ScriptHappening::ByHand { act, plan, window, ago_ms } => {
                let (plan, at) = (self.plan(*plan)?, now.plus(-ago_ms));
                let record = self.desk.record(&key);
                let mut open = record.windows.iter().rev().filter(|window| window.plan == plan);
                let of = window.and_then(|nth| open.nth(nth)).map(|window| window.key.clone());
                self.oracle.note_act(*act, &plan, of.as_deref(), at);
                return Some(PersonNews::ByHand { act: *act, plan, key: of, at });
            }
        }
        None
    }

    fn plan(&self, number: usize) -> Option<PlanName> {
        self.catalogue().plans.by_name.keys().nth(number).cloned()
    }

    /// An event is stored for the person, and announced sooner or later.
    fn store_event(&mut self, event: &ScriptEvent) {
        let key = self.key.clone();
        self.set_work(
            event.work,
            &[
                ("public", Value::Flag(event.public)),
                ("title", Value::from_text("x")),
                ("author", Value::Ref(author_ref(event.work))),
                ("board", Value::from_text(["a", "b", "c"][event.work % 3])),
                ("starts", Value::Time(event.starts)),
            ],
        );
        let entry = event_entry(event);
        self.oracle.note_stored(entry.key, event, self.desk.now);
        self.desk.store_entry(&key, entry);
        for wait in [Some(event.announced_ms), event.again_ms].into_iter().flatten() {
            self.put(self.desk.now.plus(wait), LaterHappening::Announced(event.clone()));
        }
    }

    fn announce_event(&mut self, event: &ScriptEvent) -> PersonNews {
        let entry = event_entry(event);
        self.oracle.note_announced(entry.key, self.desk.now);
        let state = self.desk.world.state(&self.key.0, &entry.subject).cloned().unwrap_or_default();
        let thing = WindowEntry {
            kind: &entry.reason.kind,
            subject: &entry.subject,
            actor: entry.actor.as_ref(),
            state: &state,
        };
        let kind = self.catalogue().kinds.get(&entry.reason.kind);
        let windows = kind.map(|kind| self.catalogue().windows_of(kind, &thing)).unwrap_or_default();
        PersonNews::Announced {
            day: event.day(),
            rows: 1,
            kinds: vec![entry.reason.kind],
            windows,
            traces: Default::default(),
        }
    }

    fn set_work(&mut self, work: usize, fields: &[(&str, Value)]) {
        let of = self.key.0.clone();
        self.desk.set_subject(&of, &work_ref(work), fields);
    }

    /// Every entry has a fate, or something is on its way to give it one.
    fn check_fates(&mut self) -> Result<(), BrokenLaw> {
        let record = self.desk.record(&self.key);
        let mut view = self.desk.view(&self.key);
        record.owed_rows().for_each(|row| view.add(&row));
        let profile = &self.desk.profiles[&self.key];
        match self.oracle.check_fates(&view, &record, profile, self.desk.now) {
            Ok(()) => Ok(()),
            Err(why) => Err(self.broken_law(why)),
        }
    }

    fn add_to_story(&mut self, line: impl FnOnce() -> String) {
        if self.tells {
            let line = format!("{} {}", self.desk.now, line());
            self.story.push(line);
        }
    }

    fn broken_law(&self, why: String) -> BrokenLaw {
        BrokenLaw { why: format!("{} {why}", self.desk.now), story: self.story.clone() }
    }

    /// Has it tell what happens, for somebody to read.
    pub fn with_story(mut self) -> Self {
        self.tells = true;
        self
    }
}

fn work_ref(work: usize) -> SubjectRef {
    subject(&format!("work:{work}"))
}

fn author_ref(work: usize) -> SubjectRef {
    subject(&format!("author:{}", work % 2))
}

/// The row of an event.
fn event_entry(event: &ScriptEvent) -> Entry {
    let number = EventKey::from_source_id(&tenant("main"), "source", &event.number.to_string());
    Entry {
        key: EntryKey { occurred: event.occurred, event: number },
        reason: EntryReason {
            kind: kind(event.kind),
            because: AudienceMatch::Follows(author_ref(event.work)),
        },
        subject: work_ref(event.work),
        actor: event.actor.map(|actor| person(&format!("actor{actor}")).into()),
        kept: model::KeptFields::new(),
    }
}

fn ready_name(ready: &Ready) -> String {
    format!("{}[{}] of {}, attempt {}", ready.plan, ready.key, ready.opening, ready.attempt)
}

/// The works that a Ready tells, which are easier to read than keys.
fn told_works(ready: &Ready) -> Vec<String> {
    ready.entries.iter().map(|entry| format!("{} {}", entry.key.occurred, entry.subject)).collect()
}

fn describe_outcome(delivery: &Delivery) -> String {
    match &delivery.outcome {
        DeliveryOutcome::Sent { left } if left.is_empty() => "sent".to_owned(),
        DeliveryOutcome::Sent { left } => format!("sent without {left:?}"),
        DeliveryOutcome::Nothing { left } => format!("nothing, without {left:?}"),
        DeliveryOutcome::Refused { left } => format!("refused, without {left:?}"),
        DeliveryOutcome::Unknown { back, left } => format!("unknown, back {back:?}, without {left:?}"),
        DeliveryOutcome::Returned { back } => format!("back {back:?}"),
        DeliveryOutcome::Deferred { until, .. } => format!("deferred until {until}"),
    }
}
