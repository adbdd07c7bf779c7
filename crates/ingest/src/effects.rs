//! What admitted things come to: what must be asked first, what is written, and what is announced.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Cell, Channel, Crowd, Day, Enrolment, EntryKey, Event, Fact, Follow, Kind, Mark, Millis, Person, Row,
    State, SubjectRef, Tenant, Value, What,
    entry::DayKey,
    erase::{Erasure, Heard, hear},
    partition::Partitions,
    person::{
        notes::{self, UP_TO, up_to},
        profile,
    },
};
use store::{DayRows, StateKey};
use topic::NewRecord;
use wire::{Did, Feedback, Inbox, WireError, topics};

use crate::{
    admit::{Admitted, Refused},
    change::Change,
    config::MARK_KEYS_MAX,
    feedback::About,
    moves::{self, Move},
    mute::Mute,
};

/// Why somebody is not welcome yet.
pub const STILL_RUNNING: &str = "the erasure of this person is not done yet, and what is said meanwhile goes with it: \
    welcome them when `tidings erase PERSON --receipt` says that it is done";

/// What the store is asked before anything is written.
#[derive(Debug, Default, PartialEq)]
pub struct Questions {
    /// Whether persons were erased, where they are who now move, and what they muted who now mute.
    pub states: BTreeSet<StateKey>,
    /// What there is about a subject, in the days that still live.
    pub days: BTreeSet<DayKey>,
}

/// What the store said.
#[derive(Debug, Default)]
pub struct Known {
    pub states: BTreeMap<StateKey, State>,
    pub days: BTreeMap<DayKey, Vec<Row>>,
    /// Where what is announced belongs.
    pub partitions: Partitions,
    /// Whether somebody waits to hear that a page was read.
    pub have_badges: bool,
}

/// What is written, then announced.
#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    /// Written before the states, and what is left after them: see [`moves`].
    pub enrolments: Vec<Enrolment>,
    pub left: Vec<Enrolment>,
    /// One for each subject and person, however many changes there are.
    pub states: BTreeMap<StateKey, State>,
    pub marks: Vec<DayRows>,
    pub records: Vec<NewRecord>,
    /// What became of each, in the order in which they came.
    pub verdicts: Vec<Verdict>,
}

/// What became of an admitted thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Taken,
    /// It is about somebody who was erased, or a later word on that stands; whoever said it is not told so.
    Ignored,
    Refused(Refused),
}

impl Questions {
    pub fn of(admitted: &[Admitted], now: Millis) -> Self {
        let mut questions = Self::default();
        for one in admitted {
            if let Some((tenant, person)) = whose(one) {
                questions.states.insert(StateKey::Notes(tenant.clone(), person.clone()));
            }
            match one {
                Admitted::Profile { tenant, person, state } if state.cells.contains_key(profile::PLACE) => {
                    questions.states.insert(StateKey::Person(tenant.clone(), person.clone()));
                }
                Admitted::Mute(Mute { tenant, person, .. }) => {
                    questions.states.insert(StateKey::Mutes(tenant.clone(), person.clone()));
                }
                _ => {}
            }
            if let Admitted::Feedback { tenant, person, about, .. } = one {
                let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
                match about {
                    About::Subject { until, .. } => questions.days.extend(living(*until, now).map(key)),
                    // One cell says it, whatever lies in the days.
                    About::UpTo { .. } => {}
                    About::Entries(keys) => questions.days.extend(keys.iter().map(|of| key(of.day()))),
                }
            }
        }
        questions
    }
}

/// What of a profile goes on a topic: what windows depend on. Names, addresses and places stay in the store,
/// where they can be erased.
fn without_addresses(mut state: State) -> State {
    const OPEN: [&str; 3] = [profile::ZONE, profile::LANGUAGE, profile::QUIET];
    let wished =
        |field: &str| Channel::ALL.iter().any(|channel| channel.off() == field || channel.plan() == field);
    state.cells.retain(|field, _| OPEN.contains(&&**field) || wished(field));
    state
}

/// The days up to an instant that have not expired.
fn living(until: Millis, now: Millis) -> impl Iterator<Item = Day> {
    std::iter::successors(Some(Day::of(until)), |day| Some(day.plus(-1)))
        .take_while(move |day| day.expires() > now)
}

fn whose(admitted: &Admitted) -> Option<(&Tenant, &Person)> {
    match admitted {
        Admitted::Change(_) => None,
        Admitted::Follow(Follow { tenant, person, .. })
        | Admitted::Profile { tenant, person, .. }
        | Admitted::Mute(Mute { tenant, person, .. })
        | Admitted::Erase { tenant, person, .. }
        | Admitted::Seen { tenant, person, .. }
        | Admitted::Feedback { tenant, person, .. } => Some((tenant, person)),
    }
}

impl Effects {
    pub fn of(admitted: Vec<Admitted>, known: &Known, now: Millis) -> Self {
        let mut effects = Self::default();
        for one in admitted {
            let verdict = if effects.is_erased(&one, known) {
                Verdict::Ignored
            } else {
                effects.add(one, known, now).unwrap_or_else(Verdict::Refused)
            };
            effects.verdicts.push(verdict);
        }
        effects
    }

    /// What is refused here has been written nowhere: what cannot be announced is not stored either.
    fn add(&mut self, admitted: Admitted, known: &Known, now: Millis) -> Result<Verdict, Refused> {
        match admitted {
            Admitted::Change(change) => self.add_change(&change, known.partitions)?,
            Admitted::Follow(follow) => {
                self.records.push(heard(&Inbox::Fact(Fact::Follow(follow.clone())), known.partitions)?);
                self.enrolments.push(follow.into());
            }
            Admitted::Profile { tenant, person, state } => {
                self.add_profile(tenant, person, state, known)?;
            }
            // Nothing waits for it: whoever closes a window or sends a mail asks the store.
            Admitted::Mute(mute) => {
                let key = StateKey::Mutes(mute.tenant.clone(), mute.person.clone());
                mute.fits(known.states.get(&key), self.states.get(&key))?;
                self.merge(key, &mute.state());
            }
            Admitted::Erase { tenant, person, version, welcomes } => {
                return self.add_erasure((tenant, person), (welcomes, version), known, now);
            }
            Admitted::Seen { tenant, person, surface, at } => {
                let seen = Inbox::Seen { tenant, person, surface, at };
                self.records.push(heard(&seen, known.partitions)?);
            }
            Admitted::Feedback { tenant, person, what, about, at } => {
                let covered: BTreeSet<EntryKey> = match about {
                    About::UpTo { kind, until } => {
                        self.read_up_to((tenant, person), what, kind.as_ref(), (until, at), known)?;
                        return Ok(Verdict::Taken);
                    }
                    About::Entries(keys) => keys.into_iter().collect(),
                    About::Subject { subject, until } => {
                        known.about((&tenant, &person), &subject, until, now)
                    }
                };
                let covered: Vec<EntryKey> = covered.into_iter().collect();
                let marked = known.marked((&tenant, &person), &covered, what);
                for keys in covered.chunks(MARK_KEYS_MAX) {
                    let (tenant, person, keys) = (tenant.clone(), person.clone(), keys.to_vec());
                    let feedback = Inbox::Feedback(Feedback { tenant, person, what, keys, at });
                    self.records.push(heard(&feedback, known.partitions)?);
                }
                let unmarked: Vec<EntryKey> =
                    covered.into_iter().filter(|key| !marked.contains(key)).collect();
                self.mark(&tenant, &person, what, &unmarked, at, now);
            }
        }
        Ok(Verdict::Taken)
    }

    /// Whoever closes a window or sends a mail asks the store; only a badge waits for it.
    fn read_up_to(
        &mut self,
        (tenant, person): (Tenant, Person),
        did: Did,
        kind: Option<&Kind>,
        (until, at): (Millis, Millis),
        known: &Known,
    ) -> Result<(), Refused> {
        if known.have_badges {
            let (tenant, person, keys) = (tenant.clone(), person.clone(), Vec::new());
            let feedback = Inbox::Feedback(Feedback { tenant, person, what: did, keys, at });
            self.records.push(heard(&feedback, known.partitions)?);
        }
        let words = UP_TO.into_iter().filter(|(_, said)| *said == what(did));
        for (word, _) in words {
            let cell = Cell { version: until.0, value: Some(Value::Flag(true)) };
            let mut state = State::default();
            state.set(&up_to(word, kind), cell);
            self.merge(StateKey::Notes(tenant.clone(), person.clone()), &state);
        }
        Ok(())
    }

    fn add_change(&mut self, change: &Change, partitions: Partitions) -> Result<(), Refused> {
        let events: Vec<Event> = change.events().collect();
        let records: Vec<NewRecord> =
            events.iter().map(|event| announced(event, change, partitions)).collect::<Result<_, _>>()?;
        self.records.extend(records);
        for event in events {
            self.merge(StateKey::Subject(event.tenant, event.subject), &event.state);
        }
        Ok(())
    }

    fn add_profile(
        &mut self,
        tenant: Tenant,
        person: Person,
        state: State,
        known: &Known,
    ) -> Result<(), Refused> {
        let fact = Fact::Profile {
            tenant: tenant.clone(),
            person: person.clone(),
            state: without_addresses(state.clone()),
        };
        self.records.push(heard(&Inbox::Fact(fact), known.partitions)?);
        let key = StateKey::Person(tenant.clone(), person.clone());
        if let Some(stated) = state.cells.get(profile::PLACE) {
            let held = self.held(&key, profile::PLACE, known);
            let Move { entered, left } = moves::of(&tenant, &person, held, stated);
            self.enrolments.extend(entered);
            self.left.extend(left);
        }
        let version = state.cells.values().map(|cell| cell.version).max().unwrap_or_default();
        self.merge(key, &state);
        self.enrolments.push(Enrolment { tenant, person, crowd: Crowd::Everyone, version, on: true });
        Ok(())
    }

    /// The mark is all that is done here: from now on nothing is heard of the person, and nobody tells them. The rest
    /// is the keeper's, and takes its time.
    fn add_erasure(
        &mut self,
        (tenant, person): (Tenant, Person),
        said: (bool, i64),
        known: &Known,
        now: Millis,
    ) -> Result<Verdict, Refused> {
        let key = StateKey::Notes(tenant.clone(), person.clone());
        let mut noted = known.states.get(&key).cloned().unwrap_or_default();
        noted.merge(self.states.get(&key).unwrap_or(&State::default()));
        let (notes, told) = match hear(&noted, said, now) {
            Heard::Taken { notes, told } => (notes, told),
            Heard::Late => return Ok(Verdict::Ignored),
            Heard::Running => return Err(Refused::new("/type", STILL_RUNNING)),
        };
        if let Some((asked, progress)) = told {
            self.records.push(erasure_record(&Erasure { tenant, person, asked, at: now, progress })?);
        }
        self.merge(key, &notes);
        Ok(Verdict::Taken)
    }

    /// Whether nothing is heard of whom it is about, by what is stored or what came just before it.
    fn is_erased(&self, admitted: &Admitted, known: &Known) -> bool {
        let Some((tenant, person)) = whose(admitted) else { return false };
        let key = StateKey::Notes(tenant.clone(), person.clone());
        let marked = self.held(&key, notes::ERASED, known).and_then(|cell| cell.value.as_ref());
        // Asked for again it is done again, and who is welcome is so whatever was.
        !matches!(admitted, Admitted::Erase { .. }) && marked == Some(&Value::Flag(true))
    }

    /// The cell that holds, of what is stored and what is about to be.
    fn held<'a>(&'a self, key: &StateKey, field: &str, known: &'a Known) -> Option<&'a Cell> {
        let cell = |states: &'a BTreeMap<StateKey, State>| states.get(key)?.cells.get(field);
        match (cell(&known.states), cell(&self.states)) {
            (Some(stored), Some(coming)) if stored.wins_over(coming) => Some(stored),
            (stored, coming) => coming.or(stored),
        }
    }

    fn merge(&mut self, key: StateKey, state: &State) {
        if !state.is_empty() {
            self.states.entry(key).or_default().merge(state);
        }
    }

    /// One mark for each day that still lives; the keys are sorted.
    fn mark(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        did: Did,
        keys: &[EntryKey],
        at: Millis,
        now: Millis,
    ) {
        for of_day in keys.chunk_by(|a, b| a.day() == b.day()) {
            let day = of_day[0].day();
            if day.expires() <= now {
                continue;
            }
            let mark = |keys: &[EntryKey]| Row::Mark(Mark::new(None, what(did), keys.to_vec(), at));
            let rows = of_day.chunks(MARK_KEYS_MAX).map(mark).collect();
            let key = DayKey { tenant: tenant.clone(), person: person.clone(), day };
            self.marks.push(DayRows { key, rows });
        }
    }
}

impl Known {
    /// A person's entries about a subject up to an instant.
    fn about(
        &self,
        (tenant, person): (&Tenant, &Person),
        subject: &SubjectRef,
        until: Millis,
        now: Millis,
    ) -> BTreeSet<EntryKey> {
        let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        let rows = living(until, now).filter_map(|day| self.days.get(&key(day))).flatten();
        let about = |row: &Row| match row {
            Row::Entry(entry) if entry.subject == *subject && entry.key.occurred <= until => Some(entry.key),
            Row::Entry(_) | Row::Mark(_) => None,
        };
        rows.filter_map(about).collect()
    }

    /// Which of these entries are marked so already. They are not marked again, or each look at a page would
    /// add a row; but they are announced again, since the first time may have ended between the mark and its
    /// announcement.
    fn marked(
        &self,
        (tenant, person): (&Tenant, &Person),
        keys: &[EntryKey],
        did: Did,
    ) -> BTreeSet<EntryKey> {
        let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        let days: BTreeSet<Day> = keys.iter().map(|of| of.day()).collect();
        let rows = days.into_iter().filter_map(|day| self.days.get(&key(day))).flatten();
        let covers = |row: &Row| match row {
            Row::Mark(mark) if mark.channel.is_none() && mark.what == what(did) => mark.covers.clone(),
            Row::Mark(_) | Row::Entry(_) => Vec::new(),
        };
        rows.flat_map(covers).collect()
    }
}

fn what(did: Did) -> What {
    match did {
        Did::Read => What::Read,
        Did::Cleared => What::Cleared,
    }
}

impl From<WireError> for Refused {
    fn from(error: WireError) -> Self {
        Self::new("/", error.to_string())
    }
}

fn announced(event: &Event, of: &Change, partitions: Partitions) -> Result<NewRecord, WireError> {
    Ok(NewRecord {
        topic: topics::EVENTS.into(),
        partition: partitions.of_subject(&event.tenant, &event.subject),
        key: wire::key::subject(&event.tenant, &event.subject),
        value: Some(wire::event::encode(event)?),
        headers: of.headers.clone(),
    })
}

/// How far it is with an erasure, as a record for whoever does it.
pub fn erasure_record(erasure: &Erasure) -> Result<NewRecord, WireError> {
    Ok(NewRecord {
        topic: topics::ERASURES.into(),
        partition: 0,
        key: wire::key::person(&erasure.tenant, &erasure.person),
        value: Some(wire::erasure::encode(erasure)?),
        headers: Vec::new(),
    })
}

fn heard(inbox: &Inbox, partitions: Partitions) -> Result<NewRecord, WireError> {
    let (tenant, person) = inbox.whose();
    Ok(NewRecord {
        topic: topics::INBOX.into(),
        partition: partitions.of_person(tenant, person),
        key: wire::key::person(tenant, person),
        value: Some(wire::inbox::encode(inbox)?),
        headers: Vec::new(),
    })
}
