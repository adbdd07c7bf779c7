//! A person's life under a drawn catalogue: five busy days of a script and the quiet ones after them, until the last day
//! has expired, on a desk, with a sender that reports whatever one may report. An oracle looks on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::{Catalogue, windows::Thing};
use digest::{
    decide::Decided,
    facts::day_key,
    memory::{Memory, PersonKey},
    news::News,
};
use model::{
    Because, Entry, EntryKey, EventKey, Mark, Millis, PlanName, ReadyId, Reason, Row, SubjectRef, Value,
    What,
    delivery::{Delivery, Outcome},
    device::{self, Platform},
    hook::Hook,
    limits::RECORD_BYTES_MAX,
    person::PersonRecord,
    ready::Ready,
};

use super::{
    oracle::{Broken, Oracle},
    script::{Event, Happens, Step, end},
};
use crate::{
    desk::Desk,
    names::{HOUR_MS, a_day, kind, person, subject, tenant},
    outcomes::{outcome, returned, sent},
    seeds::Dice,
};

/// Who lives it, and how chance falls.
#[derive(Clone, Debug)]
pub struct Trial {
    pub steps: Vec<Step>,
    pub home: &'static str,
    /// What the sender's luck is made of.
    pub luck: u64,
}

/// What must not matter: how records are cut into turns, and whether the process dies between them.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// What comes at one instant comes in one turn.
    pub at_once: bool,
    /// Every so many turns the memory is lost and read again from what was written.
    pub restarts: usize,
}

/// One message as it was decided.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub at: Millis,
    pub ready: Ready,
}

/// Something of the house's own that comes later.
enum Later {
    Announced(Event),
    /// The sender has it in hand.
    Sends(Box<Ready>),
    Reports(Box<Delivery>),
    Happens(Happens),
}

/// Turns within a minute, while nothing comes, beside those that each open window may want.
const TURNS_A_MINUTE: usize = 20;
const TURNS_A_WINDOW: usize = 6;
const LOOK_MS: i64 = 24 * HOUR_MS;

pub struct Life<'a> {
    trial: &'a Trial,
    way: Way,
    desk: Desk,
    key: PersonKey,
    later: BTreeMap<(Millis, usize), Later>,
    number: usize,
    oracle: Oracle,
    /// What became of Readys for good.
    journal: BTreeMap<ReadyId, Delivery>,
    /// The record as the topic has it.
    written: PersonRecord,
    turns: usize,
    /// The closings of the last minute, while nothing came.
    lately: Vec<Millis>,
    tells: bool,
    pub messages: Vec<Message>,
    pub story: Vec<String>,
}

impl<'a> Life<'a> {
    pub fn new(catalogue: Arc<Catalogue>, trial: &'a Trial, way: Way) -> Self {
        let begin = a_day().start();
        let mut desk = Desk::new(catalogue.clone(), begin);
        let key = desk.person(&tenant("main"), &person("ann"), trial.home);
        desk.profile(&key, &device::field("d"), Some(device::value(Platform::Android, "token")));
        desk.profile(&key, Hook::Chat.name(), Some(Value::text("https://chat.example.com/x")));
        let mut life = Self {
            trial,
            way,
            desk,
            key: key.clone(),
            later: BTreeMap::new(),
            number: 0,
            oracle: Oracle::new(catalogue),
            journal: BTreeMap::new(),
            written: PersonRecord::default(),
            turns: 0,
            lately: Vec::new(),
            tells: false,
            messages: Vec::new(),
            story: Vec::new(),
        };
        for author in 0..2 {
            life.happens(&Happens::Follow { author, on: true });
        }
        for step in &trial.steps {
            life.put(step.at, Later::Happens(step.what.clone()));
        }
        life
    }

    fn put(&mut self, at: Millis, what: Later) {
        self.number += 1;
        self.later.insert((at, self.number), what);
    }

    /// From the first day to the last.
    pub fn run(&mut self) -> Result<(), Broken> {
        let (mut look, end) = (self.desk.now.plus(LOOK_MS), end());
        let mut ends: BTreeSet<Millis> = BTreeSet::new();
        while self.desk.now < end {
            ends.extend(self.desk.days.keys().map(|key| key.day.expires().plus(-1)));
            ends.retain(|end| *end > self.desk.now);
            let comes = self.later.first_key_value().map(|((at, _), _)| *at);
            let due = self.desk.memory.next_due();
            let stop = ends.first().copied().into_iter().chain([look, end]).min().unwrap_or(end);
            let next = comes.into_iter().chain(due).min().unwrap_or(end).max(self.desk.now);
            if next > stop {
                self.desk.now = stop;
                self.desk.write_owed();
                self.look()?;
                look = if stop == look { look.plus(LOOK_MS) } else { look };
                continue;
            }
            self.desk.now = next;
            if comes.is_some_and(|at| at <= next) {
                self.hear_what_comes()?;
            } else {
                self.close()?;
            }
        }
        Ok(())
    }

    /// Everything of this instant, in one turn or one by one.
    fn hear_what_comes(&mut self) -> Result<(), Broken> {
        let mut news = Vec::new();
        while let Some(first) = self.later.first_entry() {
            if first.key().0 > self.desk.now {
                break;
            }
            let heard = match first.remove() {
                Later::Happens(what) => self.happens(&what),
                Later::Announced(event) => Some(self.announced(&event)),
                Later::Sends(ready) => {
                    self.send(&ready)?;
                    None
                }
                Later::Reports(delivery) => {
                    self.oracle.reported(&delivery);
                    Some(News::Delivered(delivery))
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

    fn hear(&mut self, news: Vec<News>) -> Result<(), Broken> {
        self.lately.clear();
        let key = self.key.clone();
        let decided = self.desk.hear(&key, news);
        self.decided(&decided)
    }

    fn close(&mut self) -> Result<(), Broken> {
        let now = self.desk.now;
        let decided = self.desk.turn(&BTreeMap::new(), true);
        self.lately.retain(|at| at.plus(60_000) > now);
        self.lately.push(now);
        if self.lately.len() > TURNS_A_MINUTE {
            let open = self.desk.record(&self.key).windows;
            if self.lately.len() > TURNS_A_MINUTE + TURNS_A_WINDOW * open.len() {
                return Err(self.broken(format!("turns without end though nothing comes; open are {open:?}")));
            }
        }
        self.decided(&decided)
    }

    /// What a turn came to.
    fn decided(&mut self, decided: &Decided) -> Result<(), Broken> {
        if let Some(record) = decided.records.get(&self.key) {
            if record.weight() > RECORD_BYTES_MAX {
                let bytes = wire::window::encode(&self.key.0, &self.key.1, record).unwrap().len();
                if bytes > RECORD_BYTES_MAX {
                    return Err(self.broken(format!("a record of {bytes} bytes: {record:?}")));
                }
            }
            if !decided.hints.contains(&self.key) {
                self.written = record.clone();
            }
        }
        for ready in &decided.ready {
            self.issued(ready)?;
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
        let mut memory = Memory::default();
        if !record.is_spent(self.desk.now) {
            memory.unwritten.extend(record.owed.iter().map(|owed| (self.key.clone(), owed.clone())));
            memory.put(&self.key, Some(&record)).unwrap();
        }
        self.desk.memory = memory;
    }

    fn issued(&mut self, ready: &Ready) -> Result<(), Broken> {
        let now = self.desk.now;
        if ready.attempt == 0 {
            self.tell(|| format!("{} tells {:?} by {}", name(ready), numbers(ready), ready.channel));
            let profile = &self.desk.profiles[&self.key];
            let live = self.desk.live.get(&self.key).copied();
            let world = super::oracle::World { now, profile, live, zones: &self.desk.zones };
            if let Err(why) = self.oracle.told(ready, &world) {
                return Err(self.broken(format!("{}: {why}", name(ready))));
            }
            self.messages.push(Message { at: now, ready: ready.clone() });
        }
        let wait = self.luck(ready, "wait").of(&[0, 200, 3_000, 3_000, 60_000, 2 * HOUR_MS]);
        self.put(now.plus(wait), Later::Sends(Box::new(ready.clone())));
        Ok(())
    }

    /// What becomes of a Ready, which depends on what it tells and on nothing else.
    fn send(&mut self, ready: &Ready) -> Result<(), Broken> {
        let now = self.desk.now;
        let mut luck = self.luck(ready, "sends");
        let delivery = match self.journal.get(&ready.id) {
            Some(ended) => Delivery { attempt: ready.attempt, ..ended.clone() },
            None if ready.is_recalled() => returned(ready, now),
            None => outcome(&mut luck, ready, now),
        };
        let goes_out = match &delivery.outcome {
            Outcome::Deferred { .. } => luck.once_in_a_hundred(30).then(|| sent(ready, now)),
            _ => Some(delivery.clone()),
        };
        if let Some(ended) = goes_out.filter(|_| !self.journal.contains_key(&ready.id)) {
            if let Err(why) = self.oracle.went_out(ready, &ended) {
                return Err(self.broken(format!("{}: {why}", name(ready))));
            }
            self.journal.insert(ready.id, ended);
        }
        self.tell(|| format!("{} of {:?}: {}", name(ready), numbers(ready), came_to(&delivery)));
        for _ in 0..1 + usize::from(luck.once_in_a_hundred(20)) {
            let wait = luck.of(&[0, 0, 1_000, 20_000]);
            self.put(now.plus(wait), Later::Reports(Box::new(delivery.clone())));
        }
        Ok(())
    }

    fn luck(&self, ready: &Ready, what: &str) -> Dice {
        let keys: Vec<u8> = ready.entries.iter().flat_map(|entry| entry.key.bytes()).collect();
        let text = format!("{} {what} {} {} {keys:?}", self.trial.luck, ready.plan, ready.attempt);
        let EventKey(hash) = EventKey::of(&self.key.0, "luck", &text);
        Dice::new(u64::from_be_bytes(hash[..8].try_into().unwrap()))
    }

    /// Something comes from outside; what the digest hears of it.
    fn happens(&mut self, what: &Happens) -> Option<News> {
        if !matches!(what, Happens::Follow { .. }) || self.desk.now > a_day().start() {
            self.tell(|| format!("{what:?}"));
        }
        let (now, key) = (self.desk.now, self.key.clone());
        self.oracle.happened(what, now);
        match what {
            Happens::Event(event) => self.stored(event),
            Happens::Public { work, flag } => self.work(*work, &[("public", Value::Flag(*flag))]),
            Happens::Starts { work, at } => self.work(*work, &[("starts", Value::Time(*at))]),
            Happens::Follow { author, on } => {
                self.desk.follow(&key, &subject(&format!("author:{author}")), *on);
            }
            Happens::Seen { event, cleared } => {
                let what = if *cleared { What::Cleared } else { What::Read };
                let entry =
                    self.oracle.entries.keys().find(|entry| self.oracle.entries[entry].number == *event);
                let entry = *entry?;
                let mark = Mark::new(None, what, vec![entry], now);
                self.desk.days.entry(day_key(&key, entry.day())).or_default().insert(Row::Mark(mark));
                return Some(News::Read { at: now });
            }
            Happens::Profile { field, value } => {
                self.desk.profile(&key, field, value.map(Value::text));
                return Some(News::Profile);
            }
            Happens::Off { channel, off } => {
                self.desk.profile(&key, channel.off(), Some(Value::Flag(*off)));
                return Some(News::Profile);
            }
            Happens::Prefers { plan } => {
                let plan = self.plan(*plan)?;
                let channel = self.desk.catalogue.plans.by_name[&plan].channel;
                self.desk.profile(&key, channel.plan(), Some(Value::text(plan.as_str())));
                return Some(News::Profile);
            }
            Happens::Visit { surface } => return Some(News::Seen { surface: (*surface).into(), at: now }),
            Happens::Connected { on } => {
                self.desk.live.insert(key, *on);
            }
            Happens::ByHand { act, plan, window, ago_ms } => {
                let (plan, at) = (self.plan(*plan)?, now.plus(-ago_ms));
                let record = self.desk.record(&key);
                let mut open = record.windows.iter().rev().filter(|window| window.plan == plan);
                let of = window.and_then(|nth| open.nth(nth)).map(|window| window.key.clone());
                self.oracle.acted(*act, &plan, of.as_deref(), at);
                return Some(News::ByHand { act: *act, plan, key: of, at });
            }
        }
        None
    }

    fn plan(&self, number: usize) -> Option<PlanName> {
        self.desk.catalogue.plans.by_name.keys().nth(number).cloned()
    }

    /// An event is stored for the person, and announced sooner or later.
    fn stored(&mut self, event: &Event) {
        let key = self.key.clone();
        self.work(
            event.work,
            &[
                ("public", Value::Flag(event.public)),
                ("title", Value::text("x")),
                ("author", Value::Ref(author(event.work))),
                ("board", Value::text(["a", "b", "c"][event.work % 3])),
                ("starts", Value::Time(event.starts)),
            ],
        );
        let entry = entry(event);
        self.oracle.stored(entry.key, event, self.desk.now);
        self.desk.arrives(&key, entry);
        for wait in [Some(event.announced_ms), event.again_ms].into_iter().flatten() {
            self.put(self.desk.now.plus(wait), Later::Announced(event.clone()));
        }
    }

    fn announced(&mut self, event: &Event) -> News {
        let entry = entry(event);
        self.oracle.announced(entry.key, self.desk.now);
        let state = self.desk.world.state(&self.key.0, &entry.subject).cloned().unwrap_or_default();
        let thing = Thing {
            kind: &entry.reason.kind,
            subject: &entry.subject,
            actor: entry.actor.as_ref(),
            state: &state,
        };
        let kind = self.desk.catalogue.kinds.get(&entry.reason.kind);
        let windows = kind.map(|kind| self.desk.catalogue.windows_of(kind, &thing)).unwrap_or_default();
        News::Announced { day: event.day(), rows: 1, kinds: vec![entry.reason.kind], windows }
    }

    fn work(&mut self, work: usize, fields: &[(&str, Value)]) {
        let of = self.key.0.clone();
        self.desk.subject(&of, &about(work), fields);
    }

    /// Every entry has a fate, or something is on its way to give it one.
    fn look(&mut self) -> Result<(), Broken> {
        let record = self.desk.record(&self.key);
        let mut view = self.desk.view(&self.key);
        record.owed_rows().for_each(|row| view.add(&row));
        let profile = &self.desk.profiles[&self.key];
        match self.oracle.look(&view, &record, profile, self.desk.now) {
            Ok(()) => Ok(()),
            Err(why) => Err(self.broken(why)),
        }
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.tells {
            let line = format!("{} {}", self.desk.now, line());
            self.story.push(line);
        }
    }

    fn broken(&self, why: String) -> Broken {
        Broken { why: format!("{} {why}", self.desk.now), story: self.story.clone() }
    }

    /// Has it tell what happens, for somebody to read.
    pub fn aloud(mut self) -> Self {
        self.tells = true;
        self
    }
}

fn about(work: usize) -> SubjectRef {
    subject(&format!("work:{work}"))
}

fn author(work: usize) -> SubjectRef {
    subject(&format!("author:{}", work % 2))
}

/// The row of an event.
fn entry(event: &Event) -> Entry {
    let number = EventKey::of(&tenant("main"), "source", &event.number.to_string());
    Entry {
        key: EntryKey { occurred: event.occurred, event: number },
        reason: Reason { kind: kind(event.kind), because: Because::Follows(author(event.work)) },
        subject: about(event.work),
        actor: event.actor.map(|actor| person(&format!("actor{actor}"))),
    }
}

fn name(ready: &Ready) -> String {
    format!("{}[{}] of {}, attempt {}", ready.plan, ready.key, ready.opening, ready.attempt)
}

/// The works that a Ready tells, which are easier to read than keys.
fn numbers(ready: &Ready) -> Vec<String> {
    ready.entries.iter().map(|entry| format!("{} {}", entry.key.occurred, entry.subject)).collect()
}

fn came_to(delivery: &Delivery) -> String {
    match &delivery.outcome {
        Outcome::Sent { left } if left.is_empty() => "sent".to_owned(),
        Outcome::Sent { left } => format!("sent without {left:?}"),
        Outcome::Nothing { left } => format!("nothing, without {left:?}"),
        Outcome::Refused { left } => format!("refused, without {left:?}"),
        Outcome::Unknown { back, left } => format!("unknown, back {back:?}, without {left:?}"),
        Outcome::Returned { back } => format!("back {back:?}"),
        Outcome::Deferred { until, .. } => format!("deferred until {until}"),
    }
}
